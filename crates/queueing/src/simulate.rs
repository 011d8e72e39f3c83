//! Discrete-event simulation, for models that cannot be solved analytically, and as an independent check of the
//! solvers.
//!
//! Replications are independent runs with separate random numbers. They run in rounds, each of which extends the run by
//! half. The simulation stops when throughput and response time of all classes have the requested precision and the run
//! is long compared with the relaxation time of the network. The warm-up is removed by the method MSER-5. A replication
//! depends only on the model, the seed and its number, so the answer is the same for any number of threads.
//!
//! ```
//! use towtank_queueing::model::Model;
//! use towtank_queueing::simulate::{Settings, simulate};
//!
//! let model: Model = serde_json::from_str(
//!     r#"{"classes": [{"name": "web", "arrival_rate_per_s": 0.5}],
//!         "stations": [{"name": "cpu", "services": [{"class": "web", "service_time_s": 1.0}]}]}"#,
//! )
//! .unwrap();
//! let settings = Settings { precision: 0.05, ..Settings::default() };
//! let [ref answer] = simulate(&[model], &settings).unwrap().answers[..] else { panic!() };
//! // M/M/1: R = S / (1 - U) = 2 s.
//! assert!((answer.classes["web"].response_time_s - 2.0).abs() < 0.2);
//! ```

pub mod answer;
mod batches;
mod cache;
mod calendar;
mod clock;
mod compare;
mod estimate;
mod flow;
mod law;
mod layout;
mod length;
mod machine;
mod patience;
mod percentiles;
mod plan;
mod random;
mod record;
mod sample;
mod station;
mod tails;
mod times;
mod walk;
mod warnings;
mod ways;

use std::time::{Duration, Instant};

use serde::Serialize;

pub use compare::{Comparison, Difference};
pub use estimate::{Estimate, mser5, student_t};
pub use law::Little;

use crate::model::{Fault, Model};
use answer::{Answer, Over};
use machine::Machine;
use plan::Plan;
use sample::Sample;

/// Limit on the users of a model, and on the jobs that are in the system in addition to the users. With a million jobs,
/// ten replications need more than a gigabyte of memory.
pub const JOBS_AT_MOST: u64 = 1_000_000;
/// Number of events that each replication processes in the first round. The precision is checked after each round.
pub(crate) const FIRST_ROUND: u64 = 20_000;

/// Settings of a simulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Relative half-width of the confidence intervals at which the simulation stops, > 0.
    pub precision: f64,
    /// Confidence level of the confidence intervals, in (0, 1).
    pub confidence: f64,
    /// Number of independent replications, at least 2.
    pub replications: usize,
    /// Limit on the total number of events of all replications.
    pub events_at_most: u64,
    /// Limit on the duration of the simulation, checked between rounds. None by default, since a result that depends on
    /// the duration is not reproducible.
    pub time_at_most: Option<Duration>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of threads; by default the number of processors.
    pub threads: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            precision: 0.01,
            confidence: 0.95,
            replications: 10,
            events_at_most: 1_000_000_000,
            time_at_most: None,
            seed: 1,
            threads: None,
        }
    }
}

/// Results of simulating one or more models.
pub struct Outcome {
    /// The answer for each model, in the order of the models.
    pub answers: Vec<Answer>,
    /// Comparison of each model after the first with the first model.
    pub comparisons: Vec<Comparison>,
}

/// A fault of one of the models, which prevents the start of the simulation.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Refused {
    /// Index of the model in the list of models, from 0.
    pub model: usize,
    /// The fault of this model.
    #[serde(flatten)]
    pub fault: Fault,
}

/// Simulates models with common random numbers, until all results have the requested precision or a limit is reached.
///
/// # Errors
///
/// With all faults of all models.
pub fn simulate(models: &[Model], settings: &Settings) -> Result<Outcome, Vec<Refused>> {
    let plans = plans(models)?;
    let mut machines: Vec<Vec<Machine>> = (plans.iter())
        .map(|plan| {
            (0..settings.replications as u64)
                .map(|number| Machine::new(plan, settings.seed, number))
                .collect()
        })
        .collect();
    let begin = Instant::now();
    let share = settings.events_at_most / (settings.replications * models.len().max(1)) as u64;
    let mut events = FIRST_ROUND.min(share);
    loop {
        run_all(&mut machines, events, settings.threads);
        let samples: Vec<Vec<Sample>> = machines.iter_mut().map(|ones| Sample::all(ones)).collect();
        let over: Vec<Over> = plans
            .iter()
            .zip(&samples)
            .map(|(plan, samples)| Over {
                plan,
                samples,
                confidence: settings.confidence,
            })
            .collect();
        let spent = [events, share];
        if let Some(stopped) = why_stop(&machines, &over, settings, spent, begin.elapsed()) {
            let answers = (over.iter().zip(stopped))
                .map(|(run, stopped)| run.answer(settings, stopped))
                .collect();
            let comparisons = over[1..]
                .iter()
                .map(|other| compare::compare(&over[0], other))
                .collect();
            return Ok(Outcome {
                answers,
                comparisons,
            });
        }
        events = (events + events / 2).min(share);
    }
}

/// Prepares all models for simulation, or returns all of their faults.
fn plans(models: &[Model]) -> Result<Vec<Plan>, Vec<Refused>> {
    let (mut plans, mut refused) = (Vec::new(), Vec::new());
    for (model, plan) in models.iter().map(Plan::new).enumerate() {
        match plan {
            Ok(plan) => plans.push(plan),
            Err(faults) => {
                refused.extend(faults.into_iter().map(|fault| Refused { model, fault }));
            }
        }
    }
    if refused.is_empty() {
        Ok(plans)
    } else {
        Err(refused)
    }
}

/// Returns the reason for which the simulation of each model stops; `None` if a model has to go on. `spent` are the
/// processed and the allowed events of each replication.
fn why_stop(
    machines: &[Vec<Machine>],
    over: &[Over],
    settings: &Settings,
    [events, share]: [u64; 2],
    elapsed: Duration,
) -> Option<Vec<&'static str>> {
    let is_precise = |over: &Over, width: f64| {
        width <= settings.precision
            && over.is_long_enough()
            && over.has_met_its_tails(settings.precision)
    };
    let is_all_precise = |over: &Over| is_precise(over, over.widest().1);
    // Distances that jobs keep make the figures of replications differ, however long these are.
    let is_done = |over: &Over| match over.plan.rounds {
        None => is_all_precise(over),
        Some(rounds) => {
            let random = over.widest_of_random();
            is_all_precise(over)
                || events >= rounds && random.is_none_or(|width| is_precise(over, width))
        }
    };
    let limit = if machines.iter().flatten().any(|machine| machine.overflow) {
        "jobs"
    } else if over.iter().all(is_done) || events >= share {
        "events"
    } else if settings.time_at_most.is_some_and(|most| elapsed >= most) {
        "time"
    } else {
        return None;
    };
    let reason = |over| match limit {
        "jobs" => limit,
        _ if is_all_precise(over) => "precision",
        _ => limit,
    };
    Some(over.iter().map(reason).collect())
}

/// Runs all replications, distributed over the threads, until each of them has processed `events` events, or repeats
/// itself.
fn run_all(machines: &mut [Vec<Machine>], events: u64, threads: Option<usize>) {
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut all: Vec<&mut Machine> = machines.iter_mut().flatten().collect();
    let threads = threads.unwrap_or(available).clamp(1, all.len().max(1));
    if threads == 1 {
        for machine in all {
            machine.run(events.min(machine.plan.events_at_most()));
        }
        return;
    }
    let chunk = all.len().div_ceil(threads);
    std::thread::scope(|scope| {
        for part in all.chunks_mut(chunk) {
            scope.spawn(move || {
                for machine in part {
                    machine.run(events.min(machine.plan.events_at_most()));
                }
            });
        }
    });
}
