//! Detects three disturbances of a measurement: CPU time used by other programs, CPU time taken by a hypervisor, and
//! changes of the clock rate of the CPU.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use towtank_load::sys;

/// Number of steps of the loop that measures the clock rate of the CPU. The loop takes about a millisecond.
const STEPS: u64 = 1 << 20;

/// Clock ticks per second in `/proc/stat` (`USER_HZ`). The number is the same on every architecture of Linux except
/// Alpha.
const TICKS_PER_S: f64 = 100.0;

/// CPU times, summed over all CPUs, since the machine was started. [s]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// CPU time of programs (user, nice and system). Interrupts are left out, since the measured kernels cause
    /// interrupts, too. [s]
    programs: f64,
    /// CPU time that the hypervisor took from this machine (steal). [s]
    stolen: f64,
    /// Sum of the CPU times of all kinds, including idle time. [s]
    total: f64,
}

/// Parses the CPU times in the first line of `/proc/stat`.
fn times(stat: &str, ticks_per_s: f64) -> Option<Times> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    // Only eight fields are summed. The guest times that follow are already included in the first two fields (user and
    // nice).
    let [user, nice, system, _, _, _, _, steal] = ticks.get(..8)?.try_into().ok()?;
    Some(Times {
        programs: (user + nice + system) / ticks_per_s,
        stolen: steal / ticks_per_s,
        total: ticks[..8].iter().sum::<f64>() / ticks_per_s,
    })
}

/// Conditions of a turn (one measured execution of a kernel): CPU times and the clock rate of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conditions {
    /// Sum of the CPU times of all CPUs during the measured execution, used or idle. [s]
    pub total_s: f64,
    /// CPU time that this program, and the processes that worked for it, used during the measured execution. [s]
    pub own_s: f64,
    /// CPU time that all programs used during the measured execution, including this program. [s]
    pub programs_s: f64,
    /// CPU time that the hypervisor took from this machine during the measured execution (steal). [s]
    pub stolen_s: f64,
    /// Steps per second of a fixed loop that ran just before the measured execution. They indicate the clock rate of
    /// the CPU. [1/s]
    pub clock_steps_per_s: f64,
}

/// Observes the conditions of one turn (one measured execution of a kernel).
#[derive(Debug)]
pub struct Watch {
    clock_steps_per_s: f64,
    before: Times,
    own_before_s: f64,
}

impl Watch {
    /// Measures the clock rate of the CPU and begins the observation of a turn.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            clock_steps_per_s: clock(),
            before: now(),
            own_before_s: own_s(),
        }
    }

    /// Ends the observation of a measured execution. `helpers_s` is the CPU time of other processes that worked for the
    /// measured kernel.
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

/// Measures the steps per second of a loop in which every step depends on the result of the previous step.
fn clock() -> f64 {
    let start = Instant::now();
    let mut state = black_box(1_u64);
    for _ in 0..STEPS {
        // The shift keeps the compiler from merging several multiplications into one.
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
