//! Kernels (kinds of work with a measured rate), and the threads that execute them.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use towtank_load::sys;

/// Reason why a kernel failed, as a sentence.
pub type Failed = String;

/// Durations of the parts of a turn (one measured execution of a kernel).
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Time at the start of the execution in which work is done but not counted.
    pub warm_up: Duration,
    /// Time after the warm-up in which work is counted.
    pub turn: Duration,
    /// Minimum length of a slice. A turn (one measured execution of a kernel) is divided into slices, and each slice
    /// gives a rate.
    pub slice: Duration,
}

impl Timing {
    /// Divides a turn (one measured execution) of `seconds` into twenty slices. Before the turn, there is a warm-up of
    /// a fifth of `seconds`.
    #[must_use]
    pub fn of_turn(seconds: f64) -> Self {
        Self {
            warm_up: Duration::from_secs_f64(seconds / 5.0),
            turn: Duration::from_secs_f64(seconds),
            slice: Duration::from_secs_f64(seconds / 20.0),
        }
    }
}

/// Result of a turn (one measured execution of a kernel).
#[derive(Debug, Default, Clone)]
pub struct Turn {
    /// Rate in each slice of the measured execution, summed over all threads. [1/s] or [byte/s]
    pub slices: Vec<f64>,
    /// CPU time of other processes that worked for the kernel during the measured execution. [s]
    pub helpers_cpu_s: f64,
}

/// A kind of work with a measured rate, in operations or bytes per second.
pub trait Kernel {
    /// Returns the name of the kernel in machine files (the results of a rating).
    fn name(&self) -> &'static str;

    /// Runs one thread on each of `cpus` for one turn (one measured execution), and returns the rates.
    ///
    /// # Errors
    /// If the machine lacks something that the kernel needs, or a result of the work is wrong.
    fn turn(&mut self, cpus: &[usize], timing: &Timing) -> Result<Turn, Failed>;
}

/// Number of a thread, and the number of threads that execute the kernel together.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    /// Number of this thread, from 0.
    pub number: usize,
    /// Number of threads that execute the kernel together.
    pub threads: usize,
}

/// The work that one thread does for a kernel.
pub trait Work: Send {
    /// Does a fixed amount of work, and returns its number of units (operations or bytes).
    ///
    /// # Errors
    /// If a result is wrong.
    fn batch(&mut self) -> Result<f64, Failed>;

    /// Checks the state of the work after a turn (one measured execution of a kernel).
    ///
    /// # Errors
    /// If the state is wrong.
    fn check(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

type Prepare = dyn Fn(Seat) -> Result<Box<dyn Work>, Failed> + Send + Sync;

/// A kernel with threads that work independently of each other. Each thread is pinned to a CPU.
pub struct Threaded {
    name: &'static str,
    prepare: Box<Prepare>,
    /// Prepared work of each thread, by the number of threads. Later executions with the same number of threads reuse
    /// it.
    crews: BTreeMap<usize, Vec<Option<Box<dyn Work>>>>,
}

impl Threaded {
    /// Creates a kernel with this name. Each thread calls `prepare` once to create its work.
    pub fn new<W, F>(name: &'static str, prepare: F) -> Self
    where
        W: Work + 'static,
        F: Fn(Seat) -> Result<W, Failed> + Send + Sync + 'static,
    {
        Self {
            name,
            prepare: Box::new(move |seat| Ok(Box::new(prepare(seat)?))),
            crews: BTreeMap::new(),
        }
    }
}

impl Kernel for Threaded {
    fn name(&self) -> &'static str {
        self.name
    }

    fn turn(&mut self, cpus: &[usize], timing: &Timing) -> Result<Turn, Failed> {
        let threads = cpus.len();
        let crew = self
            .crews
            .entry(threads)
            .or_insert_with(|| std::iter::repeat_with(|| None).take(threads).collect());
        let (barrier, prepare) = (Barrier::new(threads), &*self.prepare);
        let rates: Vec<Result<Vec<f64>, Failed>> = std::thread::scope(|scope| {
            let spawn = |(number, work)| {
                let (cpu, seat) = (cpus[number], Seat { number, threads });
                let barrier = &barrier;
                scope.spawn(move || work_on(cpu, seat, work, prepare, barrier, timing))
            };
            let working: Vec<_> = crew.iter_mut().enumerate().map(spawn).collect();
            working
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
                })
                .collect()
        });
        let rates = rates.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Turn {
            slices: together(&rates),
            helpers_cpu_s: 0.0,
        })
    }
}

fn work_on(
    cpu: usize,
    seat: Seat,
    work: &mut Option<Box<dyn Work>>,
    prepare: &Prepare,
    barrier: &Barrier,
    timing: &Timing,
) -> Result<Vec<f64>, Failed> {
    let pinned = sys::pin(&[cpu]).map_err(|error| format!("cannot run on CPU {cpu}: {error}"));
    let prepared = pinned.and_then(|()| match work {
        Some(_) => Ok(()),
        None => prepare(seat).map(|made| *work = Some(made)),
    });
    // A thread that failed to prepare its work must also wait at the barrier; otherwise the other threads would wait
    // there forever.
    barrier.wait();
    prepared?;
    let work = work
        .as_mut()
        .ok_or("the thread has not prepared its work")?;
    let rates = slices(&mut **work, timing)?;
    work.check()?;
    Ok(rates)
}

/// Executes the work for the warm-up and one measured execution. Returns the rate in each slice of the measured
/// execution; there is at least one slice.
fn slices(work: &mut dyn Work, timing: &Timing) -> Result<Vec<f64>, Failed> {
    let begin = Instant::now();
    while begin.elapsed() < timing.warm_up {
        work.batch()?;
    }
    let end = Instant::now() + timing.turn;
    let mut rates = Vec::new();
    loop {
        let (start, mut units) = (Instant::now(), 0.0);
        let spent = loop {
            units += work.batch()?;
            let spent = start.elapsed();
            if spent >= timing.slice {
                break spent;
            }
        };
        rates.push(units / spent.as_secs_f64());
        if Instant::now() >= end {
            return Ok(rates);
        }
    }
}

/// Returns the sum of the rates of all threads for each slice. Slices that some thread did not complete are left out.
fn together(threads: &[Vec<f64>]) -> Vec<f64> {
    let shortest = threads.iter().map(Vec::len).min().unwrap_or(0);
    (0..shortest)
        .map(|slice| threads.iter().map(|rates| rates[slice]).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counting(Arc<AtomicUsize>);

    impl Work for Counting {
        fn batch(&mut self) -> Result<f64, Failed> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(2.0)
        }
    }

    const SHORT: Timing = Timing {
        warm_up: Duration::ZERO,
        turn: Duration::ZERO,
        slice: Duration::ZERO,
    };

    fn allowed() -> usize {
        crate::run::allowed_cpus().expect("CPUs")[0]
    }

    #[test]
    fn every_thread_prepares_once_and_works_in_each_turn() {
        let (prepared, batches) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let (count, work) = (Arc::clone(&prepared), Arc::clone(&batches));
        let mut kernel = Threaded::new("counting", move |seat: Seat| {
            assert!(seat.number < seat.threads);
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Counting(Arc::clone(&work)))
        });
        let cpus = [allowed(), allowed()];
        for _ in 0..3 {
            let turn = kernel.turn(&cpus, &SHORT).expect("a turn");
            assert_eq!(turn.slices.len(), 1);
            assert!(turn.slices[0] > 0.0);
        }
        assert_eq!(prepared.load(Ordering::Relaxed), 2);
        assert_eq!(batches.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn a_thread_that_cannot_prepare_fails_the_turn_and_keeps_nobody_waiting() {
        let mut kernel = Threaded::new("failing", |seat: Seat| {
            if seat.number == 1 {
                return Err("no room".to_owned());
            }
            Ok(Counting(Arc::default()))
        });
        let failed = kernel.turn(&[allowed(), allowed()], &SHORT).unwrap_err();
        assert_eq!(failed, "no room");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_told() {
        let mut kernel = Threaded::new("counting", |_| Ok(Counting(Arc::default())));
        let failed = kernel.turn(&[1000], &SHORT).unwrap_err();
        assert!(failed.starts_with("cannot run on CPU 1000"), "{failed}");
    }

    #[test]
    fn rates_add_up_as_far_as_all_threads_have_come() {
        let sums = together(&[vec![1.0, 2.0, 3.0], vec![10.0, 20.0]]);
        assert_eq!(sums, [11.0, 22.0]);
    }
}
