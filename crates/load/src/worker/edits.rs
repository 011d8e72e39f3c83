//! Passes edits of the stages from the control thread to the load threads.
//!
//! Either all threads make an edit at the same time, or none does. The control thread proposes an edit for a time
//! slightly in the future. If this time has not been reached when all threads can see the proposal, the control thread
//! accepts the edit. A load thread looks for proposals each time after it has read the clock. It therefore processes no
//! event after the time of an edit without having seen the edit.
//!
//! A thread that reaches the time of an edit before the decision rejects the edit for all threads. The control thread
//! then tries again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::schedule::Edit;

use super::{Worker, WorkerFailed};

const OPEN: u8 = 0;
const MADE: u8 = 1;
const DROPPED: u8 = 2;

/// An edit that is made by all threads or by none.
#[derive(Debug)]
pub struct Proposal {
    /// The proposed change of the load stages, and its time.
    pub edit: Edit,
    state: AtomicU8,
}

impl Proposal {
    /// Accepts the edit, unless a load thread has rejected it. Returns `true` if the edit is accepted.
    pub fn decide(&self) -> bool {
        self.settle(MADE) == MADE
    }

    /// Rejects the edit, unless it was already accepted. Returns `true` if the edit is accepted.
    pub fn decline(&self) -> bool {
        self.settle(DROPPED) == MADE
    }

    fn settle(&self, wanted: u8) -> u8 {
        match self
            .state
            .compare_exchange(OPEN, wanted, Ordering::SeqCst, Ordering::SeqCst)
        {
            Ok(_) => wanted,
            Err(settled) => settled,
        }
    }
}

/// All proposed edits of a run, in the order of their times.
#[derive(Debug, Default)]
pub struct Edits {
    count: AtomicUsize,
    list: Mutex<Vec<Arc<Proposal>>>,
}

impl Edits {
    /// Proposes an edit to all load threads. Its time must not be before the time of the previous edit.
    pub fn propose(&self, edit: Edit) -> Arc<Proposal> {
        let proposal = Arc::new(Proposal {
            edit,
            state: AtomicU8::new(OPEN),
        });
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(Arc::clone(&proposal));
        // Every thread must read the clock before this count. Sequential consistency keeps the order in all threads
        // (see the module documentation).
        self.count.store(list.len(), Ordering::SeqCst);
        proposal
    }

    /// Returns the proposals after the first `seen`. If there are none, this costs a single load of an atomic counter.
    fn after(&self, seen: usize) -> Vec<Arc<Proposal>> {
        if self.count.load(Ordering::SeqCst) == seen {
            return Vec::new();
        }
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list[seen..].to_vec()
    }
}

/// Removes and returns the first proposal if its time is at or before `now_ns`. [ns]
fn take_due(proposals: &mut VecDeque<Arc<Proposal>>, now_ns: u64) -> Option<Arc<Proposal>> {
    let due = proposals
        .front()
        .is_some_and(|proposal| proposal.edit.at_ns <= now_ns);
    if due { proposals.pop_front() } else { None }
}

impl Worker<'_> {
    /// Collects new proposals; must be called after the clock was read. `before_ns` is the previous reading of the
    /// clock.
    ///
    /// Proposals for `before_ns` or earlier are rejected, since all work up to that time is done. The thread fails if
    /// such a proposal was already accepted.
    pub(super) fn look_for_edits(&mut self, before_ns: u64) {
        let new = self.edits.after(self.edits_seen);
        if new.is_empty() {
            return;
        }
        self.edits_seen += new.len();
        for proposal in new {
            if proposal.edit.at_ns > before_ns {
                self.proposals.push_back(proposal);
            } else if proposal.decline() {
                let message = "a load thread received a change of the stages too late".to_owned();
                self.clock.failure = Some(WorkerFailed::System(message));
            }
        }
        self.set_next_edit();
    }

    fn set_next_edit(&mut self) {
        let next = self.proposals.front().map(|proposal| proposal.edit.at_ns);
        self.clock.expect_edit(next);
    }

    /// Makes the accepted edits up to the time `now_ns`, at which an interval has just ended.
    pub(super) fn make_edits(&mut self, now_ns: u64) {
        while let Some(proposal) = take_due(&mut self.proposals, now_ns) {
            if proposal.decline() {
                self.make_edit(&proposal.edit);
            }
        }
        self.set_next_edit();
    }

    /// After a stop, applies the accepted edits to the stages, so that all threads report the same stages.
    pub(super) fn note_edits(&mut self) {
        self.look_for_edits(self.clock.ticked_ns);
        self.make_edits(u64::MAX);
    }

    fn make_edit(&mut self, edit: &Edit) {
        self.stages.apply(edit);
        self.user_changes.follow(&self.stages, edit.at_ns);
        self.arrivals.follow(&self.stages);
        let written = self
            .clock
            .writer
            .stages(self.stages.listed(), self.stages.edits());
        if let Err(failure) = written {
            self.clock.failure = Some(WorkerFailed::Disk(failure.to_string()));
        }
        self.clock.follow(&self.stages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Change;

    fn edit(at_ns: u64) -> Edit {
        Edit {
            at_ns,
            change: Change::Next(0),
        }
    }

    #[test]
    fn a_proposal_is_due_from_its_instant_on() {
        let edits = Edits::default();
        edits.propose(edit(10));
        edits.propose(edit(20));
        let mut waiting = VecDeque::from(edits.after(0));
        assert!(take_due(&mut waiting, 9).is_none());
        let due = take_due(&mut waiting, 10).expect("the instant has come");
        assert_eq!(due.edit.at_ns, 10);
        assert!(take_due(&mut waiting, 10).is_none());
        assert_eq!(waiting.len(), 1);
    }

    #[test]
    fn the_first_decision_about_a_proposal_stands() {
        let edits = Edits::default();
        let accepted = edits.propose(edit(10));
        assert!(accepted.decide());
        assert!(accepted.decline());
        let rejected = edits.propose(edit(20));
        assert!(!rejected.decline());
        assert!(!rejected.decide());
    }
}
