//! Uses CPU time for each request, so that the server has a known service demand.

use towtank_linux::thread_cpu_ns;
use towtank_load::rng::{Random, Stream};

/// Distribution of the CPU time of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    Constant,
    Exponential,
}

impl Variation {
    /// Returns the distribution with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "constant" => Some(Self::Constant),
            "exponential" => Some(Self::Exponential),
            _ => None,
        }
    }
}

/// Generates the CPU times of the requests of one thread, and uses the CPU for these times.
#[derive(Debug)]
pub struct Work {
    mean_ns: u64,
    variation: Variation,
    random: Random,
}

impl Work {
    /// Creates work with the mean CPU time `mean_ns` per request. Each thread has a separate random sequence.
    pub fn new(mean_ns: u64, variation: Variation, seed: u64, thread: u64) -> Self {
        Self {
            mean_ns,
            variation,
            random: Random::for_stream(seed, thread, Stream::User),
        }
    }

    /// Uses the CPU for the work of one request. Only the CPU time of this thread counts, not the time while it waits
    /// for a CPU.
    pub fn burn(&mut self) {
        if self.mean_ns == 0 {
            return;
        }
        let end_ns = thread_cpu_ns() + self.next_ns();
        while thread_cpu_ns() < end_ns {
            std::hint::spin_loop();
        }
    }

    fn next_ns(&mut self) -> u64 {
        match self.variation {
            Variation::Constant => self.mean_ns,
            Variation::Exponential => (self.mean_ns as f64 * self.random.exponential()) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_uses_at_least_its_cpu_time() {
        let mut work = Work::new(3_000_000, Variation::Constant, 1, 0);
        let before_ns = thread_cpu_ns();
        work.burn();
        assert!(thread_cpu_ns() - before_ns >= 3_000_000);
    }

    #[test]
    fn no_work_costs_nothing_and_draws_nothing() {
        let mut work = Work::new(0, Variation::Exponential, 1, 0);
        work.burn();
        assert_eq!(work.next_ns(), 0);
    }

    #[test]
    fn seeds_and_threads_draw_apart_and_the_same_again() {
        let first =
            |seed, thread| Work::new(1_000_000, Variation::Exponential, seed, thread).next_ns();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, 1));
    }

    #[test]
    fn exponential_work_has_its_mean_and_varies_as_much() {
        let mut work = Work::new(1_000_000, Variation::Exponential, 7, 0);
        let count = 100_000;
        let drawn: Vec<f64> = (0..count).map(|_| work.next_ns() as f64 / 1e6).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(count);
        let square = drawn.iter().map(|time| time * time).sum::<f64>() / f64::from(count);
        // The tolerances are five standard errors: `5 * 0.3 %` of the mean and `5 * 1.4 %` of the mean square.
        assert!((mean - 1.0).abs() < 0.015, "{mean}");
        assert!((square - 2.0).abs() < 0.14, "{square}");
    }
}
