//! Current speed of each CPU: the CPU time of a fixed piece of work.
//!
//! A CPU that is shared with another guest, or whose clock rate falls, does less work per second without any steal
//! time. Each CPU has a separate thread that does the work on request and then sleeps. A saturated CPU delays this
//! thread, but never the samples.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use crate::json::Json;
use crate::sys;

/// Largest number of CPUs that are timed, so that the probe uses few resources on large machines. [1]
const CPUS_AT_MOST: usize = 64;
/// Number of steps of the fixed piece of work. Each step depends on the previous step. [1]
const STEPS: u64 = 20_000;
/// Number of entries of the table that the work reads. The table has 32 KiB, the size of a first-level cache. [1]
const ENTRIES: usize = 4096;
/// Number of repetitions of the work. Only the shortest repetition counts, since the first one fills the cache. [1]
const TRIES: usize = 3;

/// Times a fixed piece of work on each CPU.
#[derive(Debug)]
pub struct Pace {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    thread: Thread,
    /// CPU time of the last completed piece of work; 0 before the first is completed. [ns]
    took_ns: Arc<AtomicU64>,
}

impl Pace {
    /// Starts a thread on each online CPU on which the system permits threads.
    #[must_use]
    pub fn start() -> Self {
        let cpus =
            usize::try_from(sys::online_cpus()).map_or(CPUS_AT_MOST, |cpus| cpus.min(CPUS_AT_MOST));
        Self {
            workers: (0..cpus).map_while(Worker::start).collect(),
        }
    }

    /// Writes the time of the work that each CPU has done since the last call, and starts the work again.
    ///
    /// A CPU is left out if its thread has not run since the last call, or if the system permits no thread on it.
    pub fn write(&self, json: &mut Json) {
        json.object("work_s");
        for (cpu, worker) in self.workers.iter().enumerate() {
            let took_ns = worker.took_ns.swap(0, Ordering::Relaxed);
            json.seconds(&cpu.to_string(), (took_ns > 0).then_some(took_ns));
            worker.thread.unpark();
        }
        json.end_object();
    }
}

impl Worker {
    fn start(cpu: usize) -> Option<Self> {
        let took_ns = Arc::new(AtomicU64::new(0));
        let took = Arc::clone(&took_ns);
        let body = move || {
            // If the system does not permit this CPU, the work would run on another CPU and give the time of that CPU.
            if sys::pin_thread(cpu).is_err() {
                return;
            }
            let table: Vec<u64> = (0..ENTRIES as u64).map(mixed).collect();
            loop {
                thread::park();
                took.store(time_of_work(&table), Ordering::Relaxed);
            }
        };
        let handle = thread::Builder::new()
            .name(format!("pace-{cpu}"))
            .spawn(body);
        // The thread cannot start if a limit on processes is reached. The samples then lack the time of this CPU.
        let thread = handle.ok()?.thread().clone();
        Some(Self { thread, took_ns })
    }
}

/// Returns the CPU time of the fixed piece of work. [ns]
fn time_of_work(table: &[u64]) -> u64 {
    let mut shortest_ns = u64::MAX;
    for _ in 0..TRIES {
        let before_ns = sys::thread_cpu_ns();
        black_box(work(table));
        shortest_ns = shortest_ns.min(sys::thread_cpu_ns() - before_ns);
    }
    shortest_ns
}

fn work(table: &[u64]) -> u64 {
    let mut state = 1_u64;
    for step in 0..STEPS {
        let place = usize::try_from((state ^ step) % ENTRIES as u64).unwrap_or_default();
        state = state.wrapping_mul(31).wrapping_add(table[place]);
    }
    state
}

/// Mixes the bits of a number, so that the work accesses scattered entries.
fn mixed(number: u64) -> u64 {
    let spread = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 29)
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES, Pace, mixed, work};
    use crate::json::Json;
    use std::time::Duration;

    #[test]
    fn the_work_is_the_same_each_time_and_visits_most_of_its_table() {
        let table: Vec<u64> = (0..ENTRIES as u64).map(mixed).collect();
        assert_eq!(work(&table), work(&table));
        let places: std::collections::BTreeSet<u64> =
            table.iter().map(|entry| entry % ENTRIES as u64).collect();
        assert!(places.len() > ENTRIES / 2);
    }

    #[test]
    fn each_cpu_is_timed_once_it_was_asked() {
        let pace = Pace::start();
        let written = |pace: &Pace| {
            let mut json = Json::default();
            json.begin();
            pace.write(&mut json);
            json.end_object();
            json.as_str().to_owned()
        };
        assert_eq!(
            written(&pace),
            r#"{"work_s":{}}"#,
            "nothing was asked before"
        );
        // Each try requests the work again, until the thread of a CPU has run.
        let found = (0..10_000)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(1));
                written(&pace)
            })
            .find(|text| text != r#"{"work_s":{}}"#);
        // A CPU time of zero would mean that no work was done.
        assert!(
            found.is_some_and(|text| text.contains(r#"":0.0"#)),
            "no CPU was timed"
        );
    }
}
