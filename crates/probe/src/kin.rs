//! Kinship: traces that show that a process belongs to a group although all processes between it and the root have
//! ended.
//!
//! A server that detaches from its parent forks, starts a new session and forks again. The intermediate process ends,
//! and the kernel assigns another parent to the last process, the worker. Four traces remain. The first two
//! always prove descent:
//!
//! 1. The group's root is a reaper (`PR_SET_CHILD_SUBREAPER`), as Towtank's guard process is: the
//!    worker becomes a child of the root.
//! 2. The control group contains only this group: the worker stays in the control group.
//! 3. A member was observed as the leader of the worker's session.
//! 4. The worker has the same memory layout ([`Image`]) as a member: the kernel randomizes the layout at
//!    each `exec`.

use std::collections::{BTreeMap, BTreeSet};

use crate::own_cgroup::OwnCgroup;
use crate::process::Image;
use crate::tree::{Entry, Table};

/// Traces of all members of a group, by which further processes of the group are recognized.
#[derive(Debug, Default)]
pub struct Kin {
    /// Sessions that members lead: the process id of the leader, with its start time. [clock ticks]
    sessions: BTreeMap<u32, u64>,
    images: BTreeSet<Image>,
    /// Memory layouts that do not prove membership: those of the root's parent and of the roots of other groups.
    shared: BTreeSet<Image>,
    /// The control group that contains only this group.
    pub cgroup: Option<OwnCgroup>,
    members_of_cgroup: BTreeSet<u32>,
    learned: bool,
}

/// Properties of a member that identify other processes of the group.
#[derive(Debug, Clone, Copy)]
pub struct Trace {
    /// Process id of the leader of the session that contains the process.
    pub session: u32,
    /// Start time of the process. [clock ticks]
    pub start_ticks: u64,
    /// Memory layout of the process.
    pub image: Image,
}

impl Kin {
    /// Records the memory layouts that do not prove membership: those of the root's parent and of the roots of other
    /// groups.
    pub fn exclude(&mut self, root: u32, others: &[u32], table: &Table) {
        let parent = table.get(root).map(|entry| entry.parent);
        self.shared = parent
            .iter()
            .chain(others)
            .filter_map(|pid| Some(table.get(*pid)?.image))
            .collect();
        self.learned = true;
    }

    /// Records the traces of a member. Its memory layout is a trace only if the kernel randomizes memory layouts.
    pub fn learn(&mut self, pid: u32, trace: Trace, images_are_drawn: bool) {
        if trace.session == pid {
            let before = self.sessions.insert(pid, trace.start_ticks);
            self.learned |= before != Some(trace.start_ticks);
        }
        if images_are_drawn && trace.image.is_known() {
            self.learned |= self.images.insert(trace.image);
        }
    }

    /// Returns `true` if there are new traces that have not been compared with all processes.
    #[must_use]
    pub fn is_news(&self) -> bool {
        self.learned
    }

    /// Returns `true` if traces were recorded since the last call. Processes of any age may then belong to the group.
    pub fn has_learned(&mut self) -> bool {
        std::mem::take(&mut self.learned)
    }

    /// Reads the processes of the control group, and removes the sessions of members whose process id was reused.
    pub fn refresh(&mut self, table: &Table) {
        self.members_of_cgroup = self
            .cgroup
            .as_ref()
            .map(OwnCgroup::processes)
            .unwrap_or_default();
        self.sessions.retain(|leader, start| {
            table
                .get(*leader)
                .is_none_or(|entry| entry.start_ticks == *start)
        });
    }

    /// Returns `true` if a trace shows that a process belongs to the group. `root_start_ticks` is the start time of the
    /// root process.
    #[must_use]
    pub fn claims(&self, pid: u32, entry: &Entry, root_start_ticks: u64, table: &Table) -> bool {
        if self.members_of_cgroup.contains(&pid) {
            return true;
        }
        let of_session = self.sessions.get(&entry.session);
        of_session.is_some_and(|start| entry.start_ticks >= *start)
            || (entry.start_ticks >= root_start_ticks && self.has_image_of(entry, table))
    }

    /// Returns `true` if a process has the memory layout of a member. A layout that it inherited from its current
    /// parent or from a process outside the group does not count.
    fn has_image_of(&self, entry: &Entry, table: &Table) -> bool {
        let image = entry.image;
        let inherited = table
            .get(entry.parent)
            .is_some_and(|parent| parent.image == image);
        image.is_known()
            && !inherited
            && self.images.contains(&image)
            && !self.shared.contains(&image)
    }
}
