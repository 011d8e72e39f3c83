//! Detects disturbances of a measurement: other programs, CPU time taken by a hypervisor, and changes of the clock
//! rate.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use towtank_load::sys;

/// Steps of the loop that measures the clock rate. The loop takes about a millisecond.
const STEPS: u64 = 1 << 20;

/// Clock ticks of `/proc/stat` per second (`USER_HZ`), the same on every architecture of Linux except Alpha.
const TICKS_PER_S: f64 = 100.0;

/// CPU time of the machine since it was started. [s]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// CPU time of programs: user, nice and system. Interrupts are left out, since the kernels of this crate cause
    /// interrupts, too.
    programs: f64,
    /// CPU time taken by the hypervisor.
    stolen: f64,
    /// CPU time of all kinds, including idle time.
    total: f64,
}

/// Parses the first line of `/proc/stat`.
fn times(stat: &str, ticks_per_s: f64) -> Option<Times> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    // The guest times after these eight fields are not added, since the first two fields include them.
    let [user, nice, system, _, _, _, _, steal] = ticks.get(..8)?.try_into().ok()?;
    Some(Times {
        programs: (user + nice + system) / ticks_per_s,
        stolen: steal / ticks_per_s,
        total: ticks[..8].iter().sum::<f64>() / ticks_per_s,
    })
}

/// CPU times [s] and clock rate during a turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conditions {
    /// CPU time of all CPUs, used or idle.
    pub total_s: f64,
    /// CPU time of this program and of processes that worked for it.
    pub own_s: f64,
    /// CPU time of all programs, including this one.
    pub programs_s: f64,
    /// CPU time taken by the hypervisor.
    pub stolen_s: f64,
    /// Steps per second of a fixed loop that ran just before the turn: a measure of the clock rate of the CPU. [1/s]
    pub clock_steps_per_s: f64,
}

/// Observes the conditions of one turn.
#[derive(Debug)]
pub struct Watch {
    clock_steps_per_s: f64,
    before: Times,
    own_before_s: f64,
}

impl Watch {
    /// Measures the clock rate and begins the observation.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            clock_steps_per_s: clock(),
            before: now(),
            own_before_s: own_s(),
        }
    }

    /// Ends the observation; `helpers_s` is the CPU time of other processes that worked for the kernel.
    #[must_use]
    pub fn end(&self, helpers_s: f64) -> Conditions {
        let after = now();
        Conditions {
            total_s: after.total - self.before.total,
            own_s: own_s() - self.own_before_s + helpers_s,
            programs_s: after.programs - self.before.programs,
            stolen_s: after.stolen - self.before.stolen,
            clock_steps_per_s: self.clock_steps_per_s,
        }
    }
}

fn own_s() -> f64 {
    let usage = sys::usage();
    usage.user_s + usage.system_s
}

fn now() -> Times {
    std::fs::read_to_string("/proc/stat")
        .ok()
        .and_then(|stat| times(&stat, TICKS_PER_S))
        .unwrap_or_default()
}

/// Measures the steps per second of a loop in which every step depends on the previous one.
fn clock() -> f64 {
    let start = Instant::now();
    let mut state = black_box(1_u64);
    for _ in 0..STEPS {
        // Without the shift, the compiler could merge several steps into one.
        state = (state ^ (state >> 7)).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(state);
    STEPS as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_in_seconds() {
        let stat = "cpu  100 20 30 4000 5 6 7 80 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        let expected = Times {
            programs: 1.5,
            stolen: 0.8,
            total: 42.48,
        };
        assert_eq!(times(stat, 100.0), Some(expected));
    }

    #[test]
    fn a_line_that_is_too_short_gives_nothing() {
        assert_eq!(times("cpu  1 2 3\n", 100.0), None);
        assert_eq!(times("", 100.0), None);
    }

    #[test]
    fn own_time_counts_the_helpers() {
        let watch = Watch::begin();
        let conditions = watch.end(5.0);
        assert!(conditions.own_s >= 5.0);
        assert!(conditions.clock_steps_per_s > 0.0);
    }
}
