//! Current speed of each CPU: the CPU time of a fixed piece of work.
//!
//! A CPU that is shared with another guest, or whose clock rate falls, does less work per second without any steal
//! time. Each CPU has a separate thread that does the work several times a second. A saturated CPU delays this thread,
//! but never the samples.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

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
/// Number of pieces of work of which the median counts. Single pieces vary by several percent. [1]
const PIECES: usize = 5;
/// Pause between two pieces of work. It spreads the pieces over the usual interval of a second.
const PAUSE: Duration = Duration::from_millis(200);

/// Times a fixed piece of work on each CPU.
#[derive(Debug)]
pub struct Pace {
    workers: Vec<Worker>,
}

/// CPU times of the last pieces of work; 0 before a piece is completed. [ns]
#[derive(Debug, Default)]
struct Worker {
    took_ns: Arc<[AtomicU64; PIECES]>,
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

    /// Writes the median time of the pieces of work that each CPU has done since the last call, of the last five pieces
    /// at most.
    ///
    /// A CPU is left out if its thread has done no work since the last call, or if the system permits no thread on it.
    pub fn write(&self, json: &mut Json) {
        json.object("work_s");
        for (cpu, worker) in self.workers.iter().enumerate() {
            json.seconds(&cpu.to_string(), worker.take_median_ns());
        }
        json.end_object();
    }
}

impl Worker {
    fn start(cpu: usize) -> Option<Self> {
        let worker = Self::default();
        let took_ns = Arc::downgrade(&worker.took_ns);
        let body = move || {
            // If the system does not permit this CPU, the work would run on another CPU and give the time of that CPU.
            if sys::pin_thread(cpu).is_err() {
                return;
            }
            let table: Vec<u64> = (0..ENTRIES as u64).map(mixed).collect();
            for place in (0..PIECES).cycle() {
                thread::sleep(PAUSE);
                // The thread ends when `Pace` is dropped.
                let Some(took_ns) = took_ns.upgrade() else {
                    return;
                };
                took_ns[place].store(time_of_work(&table), Ordering::Relaxed);
            }
        };
        // The thread cannot start if a limit on processes is reached. The samples then lack the time of this CPU.
        thread::Builder::new()
            .name(format!("pace-{cpu}"))
            .spawn(body)
            .ok()?;
        Some(worker)
    }

    /// Returns the median of the stored times, and removes the times; `None` if there is no time.
    fn take_median_ns(&self) -> Option<u64> {
        let stored = self
            .took_ns
            .iter()
            .map(|took| took.swap(0, Ordering::Relaxed));
        let mut found: Vec<u64> = stored.filter(|&took_ns| took_ns > 0).collect();
        found.sort_unstable();
        let upper = found.get(found.len() / 2)?;
        Some(u64::midpoint(found[(found.len() - 1) / 2], *upper))
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
    use super::{ENTRIES, Pace, Worker, mixed, work};
    use crate::json::Json;
    use std::sync::atomic::Ordering;
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
    fn the_median_of_the_pieces_since_the_last_call_counts() {
        let worker = Worker::default();
        assert_eq!(worker.take_median_ns(), None);
        for (took, value) in worker.took_ns.iter().zip([40, 90, 41, 43, 42]) {
            took.store(value, Ordering::Relaxed);
        }
        assert_eq!(worker.take_median_ns(), Some(42));
        assert_eq!(worker.take_median_ns(), None, "the pieces were taken");
        for (took, value) in worker.took_ns.iter().zip([50, 40]) {
            took.store(value, Ordering::Relaxed);
        }
        assert_eq!(worker.take_median_ns(), Some(45));
    }

    #[test]
    fn each_cpu_is_timed() {
        let pace = Pace::start();
        let written = |pace: &Pace| {
            let mut json = Json::default();
            json.begin();
            pace.write(&mut json);
            json.end_object();
            json.as_str().to_owned()
        };
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
