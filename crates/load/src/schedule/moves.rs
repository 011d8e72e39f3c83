//! Starts and departures of users.

use super::course::Course;

/// A user starts, or is told to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// When. [ns]
    pub at_ns: u64,
    /// Which user.
    pub user: u32,
    /// Whether it starts.
    pub starts: bool,
}

/// The number of users over one stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    start_ns: u64,
    duration_ns: u64,
    from: u32,
    to: u32,
    /// Users that start or leave in it; fewer than `from` to `to` where the stage was cut short.
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

    /// Users at its end.
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

    /// Steps of it that are before this time.
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

    fn step(&self, step: u32) -> Move {
        let starts = self.to > self.from;
        Move {
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

/// All starts and departures of a closed load, in order of time.
///
/// User i of a ramp from a to b over d starts at d (i - a) / (b - a), i = a ... b - 1; in a ramp from b down to a the
/// users leave in turn from the highest number, at the same instants.
#[derive(Debug, Clone)]
pub struct Moves {
    ramps: Vec<Ramp>,
    /// The ramp and the step of it that come next.
    place: (usize, u32),
}

impl Moves {
    /// The moves of a course; none with an open load.
    #[must_use]
    pub fn new(course: &Course) -> Self {
        Self {
            ramps: course.ramps(),
            place: (0, 0),
        }
    }

    /// Goes on with the course as an edit of this instant made it. Moves before it stay, also those not taken yet;
    /// later ones that were taken (passed over because they are another thread's) are taken back.
    pub fn follow(&mut self, course: &Course, at_ns: u64) {
        let first = self
            .ramps
            .iter()
            .position(|ramp| ramp.steps_before(at_ns) < ramp.steps);
        let ahead = first.map(|ramp| (ramp, self.ramps[ramp].steps_before(at_ns)));
        let end = (self.ramps.len(), 0);
        self.place = self.place.min(ahead.unwrap_or(end));
        self.ramps = course.ramps();
    }

    /// The next move.
    #[must_use]
    pub fn peek(&mut self) -> Option<Move> {
        loop {
            let (ramp, step) = self.place;
            let one = self.ramps.get(ramp)?;
            if step < one.steps {
                return Some(one.step(step));
            }
            self.place = (ramp + 1, 0);
        }
    }

    /// Takes the next move if `take` wants it.
    pub fn next_if(&mut self, take: impl FnOnce(&Move) -> bool) -> Option<Move> {
        let next = self.peek().filter(take)?;
        self.place.1 += 1;
        Some(next)
    }
}

impl Iterator for Moves {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        self.next_if(|_| true)
    }
}
