//! Computes the time of an answer from the arrival of its request.

/// Periods without any answers (stalls). One begins every `every_ns`, for the first time `every_ns` after the start.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_field_names)] // the unit belongs to each name
pub struct Stalls {
    pub started_ns: u64,
    pub every_ns: u64,
    /// Length of a stall, less than `every_ns`. [ns]
    pub for_ns: u64,
}

impl Stalls {
    /// Returns `instant_ns`, or the end of the stall that contains it.
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

/// Times of answers, with a constant delay and optional stalls.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub delay_ns: u64,
    pub stalls: Option<Stalls>,
}

impl Schedule {
    /// Returns `true` if requests are answered without delay, so that their arrival time is not needed.
    pub fn is_immediate(&self) -> bool {
        self.delay_ns == 0 && self.stalls.is_none()
    }

    /// Time of the answer to a request that arrived at `arrival_ns`. A later arrival never has an earlier answer, so a
    /// queue in the order of arrival is also in the order of answers.
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
