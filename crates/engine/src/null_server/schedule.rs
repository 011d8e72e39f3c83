//! Computes the time of a response from the arrival time of the request.

/// Periods in which the server sends no responses (stalls). A stall begins every `every_ns`, for the first time
/// `every_ns` after the start.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_field_names)] // the unit belongs to each name
pub struct Stalls {
    pub started_ns: u64,
    pub every_ns: u64,
    /// Duration of each stall, less than `every_ns`. [ns]
    pub for_ns: u64,
}

impl Stalls {
    /// Returns the end of the stall at the time `instant_ns`, or `instant_ns` itself if the server is not stalled then.
    fn pass(&self, instant_ns: u64) -> u64 {
        let elapsed = instant_ns.saturating_sub(self.started_ns);
        let into = elapsed % self.every_ns;
        if elapsed >= self.every_ns && into < self.for_ns {
            instant_ns + (self.for_ns - into)
        } else {
            instant_ns
        }
    }
}

/// Computes when requests are answered, from a constant delay and optional stalls.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub delay_ns: u64,
    pub stalls: Option<Stalls>,
}

impl Schedule {
    /// Returns `true` if there is no delay and there are no stalls. The arrival times of requests are then not needed.
    pub fn is_immediate(&self) -> bool {
        self.delay_ns == 0 && self.stalls.is_none()
    }

    /// Returns the time of the response to a request that arrived at `arrival_ns`. Responses are in the order of
    /// arrival of their requests, so a single queue is sufficient.
    pub fn answer_ns(&self, arrival_ns: u64) -> u64 {
        let delayed = arrival_ns + self.delay_ns;
        self.stalls.map_or(delayed, |stalls| stalls.pass(delayed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_begin_after_the_first_period_and_hold_answers_to_their_end() {
        let stalls = Stalls {
            started_ns: 1_000,
            every_ns: 100,
            for_ns: 30,
        };
        let schedule = Schedule {
            delay_ns: 0,
            stalls: Some(stalls),
        };
        for (arrival, answer) in [
            (1_000, 1_000),
            (1_099, 1_099),
            (1_100, 1_130),
            (1_129, 1_130),
            (1_130, 1_130),
            (1_215, 1_230),
        ] {
            assert_eq!(schedule.answer_ns(arrival), answer, "{arrival}");
        }
    }

    #[test]
    fn answers_keep_the_order_of_arrivals() {
        let stalls = Stalls {
            started_ns: 0,
            every_ns: 70,
            for_ns: 20,
        };
        let schedule = Schedule {
            delay_ns: 33,
            stalls: Some(stalls),
        };
        let answers: Vec<u64> = (0..1_000)
            .map(|arrival| schedule.answer_ns(arrival))
            .collect();
        assert!(answers.is_sorted());
        assert!(
            answers
                .iter()
                .zip(0..)
                .all(|(answer, arrival)| *answer >= arrival + 33)
        );
    }
}
