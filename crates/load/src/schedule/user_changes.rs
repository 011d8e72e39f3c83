//! Times at which the users of a closed load start and leave.

use super::stages::Stages;

/// A change in the number of users: a user starts, or a user is requested to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserChange {
    /// Time of the change. [ns]
    pub at_ns: u64,
    /// Number of the user.
    pub user: u32,
    /// `true` if the user starts, `false` if it should leave.
    pub starts: bool,
}

/// The number of users over one stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    start_ns: u64,
    duration_ns: u64,
    from: u32,
    to: u32,
    /// Number of users that start or leave during the stage. If the stage was shortened, this is less than the
    /// difference between `from` and `to`.
    steps: u32,
}

impl Ramp {
    pub(super) fn new(
        start_ns: u64,
        duration_ns: u64,
        (from, to): (u32, u32),
        cut_ns: Option<u64>,
    ) -> Self {
        let mut ramp = Self {
            start_ns,
            duration_ns,
            from,
            to,
            steps: from.abs_diff(to),
        };
        if let Some(cut_ns) = cut_ns {
            ramp.steps = ramp.steps_before(cut_ns);
        }
        ramp
    }

    /// Returns the number of users at the end of the stage.
    pub(super) fn reached(&self) -> u32 {
        if self.to > self.from {
            self.from + self.steps
        } else {
            self.from - self.steps
        }
    }

    fn at_ns(&self, step: u32) -> u64 {
        let whole = u128::from(self.from.abs_diff(self.to));
        let offset_ns = u128::from(self.duration_ns) * u128::from(step) / whole;
        self.start_ns + offset_ns as u64
    }

    /// Returns the number of starts or departures of users in the stage before the time `at_ns`.
    fn steps_before(&self, at_ns: u64) -> u32 {
        let (mut low, mut high) = (0, self.steps);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_ns(middle) < at_ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn step(&self, step: u32) -> UserChange {
        let starts = self.to > self.from;
        UserChange {
            at_ns: self.at_ns(step),
            user: if starts {
                self.from + step
            } else {
                self.from - 1 - step
            },
            starts,
        }
    }
}

/// Starts and departures of all users of a closed load, in order of time.
///
/// In a ramp from a to b users over a duration d, user i starts at the time d (i - a) / (b - a), i = a ... b - 1. In a
/// ramp from b down to a, the users leave in the order of decreasing numbers, at the same times.
///
/// If groups have their own users, each group has its own ramps. Changes at the same time are in the order of their
/// groups.
#[derive(Debug, Clone)]
pub struct UserChanges {
    lanes: Vec<Lane>,
}

/// Starts and departures of the users of one group, or of all groups together.
#[derive(Debug, Clone)]
struct Lane {
    /// Number of the first user in the group.
    first: u32,
    ramps: Vec<Ramp>,
    /// Position of the next change: index of its stage, and number of the change within this stage.
    place: (usize, u32),
}

impl Lane {
    /// Goes back to the first change at or after the time `at_ns`, if that change was already taken.
    fn go_back(&mut self, at_ns: u64) {
        let mut ahead = (self.ramps.len(), 0);
        for (number, ramp) in self.ramps.iter().enumerate() {
            let before = ramp.steps_before(at_ns);
            if before < ramp.steps {
                ahead = (number, before);
                break;
            }
        }
        self.place = self.place.min(ahead);
    }

    fn peek(&mut self) -> Option<UserChange> {
        loop {
            let (ramp, step) = self.place;
            let current = self.ramps.get(ramp)?;
            if step < current.steps {
                let mut next = current.step(step);
                next.user += self.first;
                return Some(next);
            }
            self.place = (ramp + 1, 0);
        }
    }
}

impl UserChanges {
    /// Creates the changes of the stages; none for an open load.
    #[must_use]
    pub fn new(stages: &Stages) -> Self {
        let lanes = stages.ramps().into_iter().enumerate();
        let lanes = lanes.map(|(number, ramps)| Lane {
            first: stages.first_users().get(number).copied().unwrap_or(0),
            ramps,
            place: (0, 0),
        });
        Self {
            lanes: lanes.collect(),
        }
    }

    /// Continues with the stages after an edit at the time `at_ns`. Changes before the edit remain, even if they have
    /// not been taken yet. Later changes may already have been skipped, because they belong to another thread; such
    /// changes are computed again.
    pub fn follow(&mut self, stages: &Stages, at_ns: u64) {
        for (lane, ramps) in self.lanes.iter_mut().zip(stages.ramps()) {
            lane.go_back(at_ns);
            lane.ramps = ramps;
        }
    }

    fn first(&mut self) -> Option<(usize, UserChange)> {
        let lanes = self.lanes.iter_mut().enumerate();
        let next = lanes.filter_map(|(number, lane)| Some((number, lane.peek()?)));
        next.min_by_key(|(_, next)| next.at_ns)
    }

    /// Returns the next change without removing it.
    #[must_use]
    pub fn peek(&mut self) -> Option<UserChange> {
        self.first().map(|(_, next)| next)
    }

    /// Removes and returns the next change if `take` returns `true` for it.
    pub fn next_if(&mut self, take: impl FnOnce(&UserChange) -> bool) -> Option<UserChange> {
        let (lane, next) = self.first().filter(|(_, next)| take(next))?;
        self.lanes[lane].place.1 += 1;
        Some(next)
    }
}

impl Iterator for UserChanges {
    type Item = UserChange;

    fn next(&mut self) -> Option<UserChange> {
        self.next_if(|_| true)
    }
}
