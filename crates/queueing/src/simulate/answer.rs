//! The answer of a simulation as data, with the same names as the answer of a solver.

use serde::Serialize;

use super::Settings;
use super::estimate::{Batch, Estimate};
use super::law::Little;
use super::layout::{Count, Layout, StationCount};
use super::plan::{ClassPlan, Plan};
use super::sample::Sample;
use crate::answer::Named;

/// Names of the figures that are shares, whose intervals are limited to at most 1.
const SHARES: [&str; 5] = [
    "utilization",
    "utilization_by_class",
    "loss_probability",
    "hit_ratio",
    "availability",
];
/// Smallest number of failures of a station, over all replications, for a reliable result.
pub(super) const FAILURES: u64 = 30;
/// Test for growth of the number of jobs from the third to the fourth quarter of the run: level of the one-sided test,
/// and smallest relative growth that counts.
const GROWTH: (f64, f64) = (0.999, 0.05);

/// Share of the transactions in the system above which those that are missing in Little's law do not end.
const ENDLESS: f64 = 0.05;

/// Results of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Kind and version of the data format of the answer.
    pub schema: &'static str,
    /// Results of each class.
    pub classes: Named<ClassAnswer>,
    /// Results of each station.
    pub stations: Named<StationAnswer>,
    /// Results of each pool.
    pub pools: Named<PoolAnswer>,
    /// Name of the solution method.
    pub method: &'static str,
    /// Always `false`, since the results are estimates.
    pub exact: bool,
    /// `true` if the model reached a steady state: the number in the system does not grow, and all transactions end.
    pub steady: bool,
    /// Settings of the simulation, and the length and precision of the run.
    pub simulation: Run,
    /// Warnings for the reader of the answer, such as a run that was too short.
    pub warnings: Vec<String>,
}

/// Results of a class. A confidence interval consists of its lower and upper end, at the requested confidence level.
#[derive(Clone, Debug, Serialize)]
pub struct ClassAnswer {
    /// Rate of completed transactions. [1/s]
    pub throughput_per_s: f64,
    /// Mean time from the arrival to the end of completed transactions, including retries. [s]
    pub response_time_s: f64,
    /// Percentiles of the response time of completed transactions. [s]
    pub response_time_percentiles_s: Named<f64>,
    /// Mean number of transactions of the class in the system. [1]
    pub users_in_system: f64,
    /// Rate of transactions that ended because a station was full. [1/s]
    pub dropped_per_s: f64,
    /// Rate of transactions that ended because of a time-out. [1/s]
    pub failed_per_s: f64,
    /// Rate of attempts that exceeded the time limit. [1/s]
    pub timed_out_per_s: f64,
    /// Rate of retries, that is, attempts after the first. [1/s]
    pub retried_per_s: f64,
    /// Check of Little's law for the class; `None` if transactions end before completion.
    pub little: Option<Little>,
    /// Confidence intervals of the results of the class, by name of the result.
    pub confidence_interval: Named<[f64; 2]>,
}

/// Results of a station.
#[derive(Clone, Debug, Serialize)]
pub struct StationAnswer {
    /// Share of the servers that is busy; 0 for a delay.
    pub utilization: f64,
    /// Mean number of jobs at the station, including those in service. [1]
    pub queue_length: f64,
    /// Rate of visits served, including cache hits. [1/s]
    pub throughput_per_s: f64,
    /// Share of visits that are dropped because the station is full.
    pub loss_probability: f64,
    /// Share of visits that are served from the cache of the station.
    pub hit_ratio: f64,
    /// Share of the time during which the station is up, that is, not failed.
    pub availability: f64,
    /// Time of all visits to the station per completed transaction, by class. It includes the visits of transactions that
    /// are not completed. [s]
    pub residence_time_s: Named<f64>,
    /// Share of the servers that each class keeps busy, by class.
    pub utilization_by_class: Named<f64>,
    /// Confidence intervals of the results of the station, by name of the result; `FIGURE.CLASS` for results by class.
    pub confidence_interval: Named<[f64; 2]>,
}

/// Results of a pool.
#[derive(Clone, Debug, Serialize)]
pub struct PoolAnswer {
    /// Share of the units of the pool that are held.
    pub utilization: f64,
    /// Mean number of units that are held. [1]
    pub held: f64,
    /// Mean number of jobs that wait for a unit. [1]
    pub waiting: f64,
    /// Mean time that a completed transaction waits for a unit, by class. [s]
    pub waiting_time_s: Named<f64>,
    /// Confidence intervals of the results of the pool, by name of the result; `FIGURE.CLASS` for results by class.
    pub confidence_interval: Named<[f64; 2]>,
}

/// Settings of a simulation, and the length and precision of its run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Condition that stopped the simulation: `precision` (the requested precision was reached), or a limit: `events`,
    /// `time` or `jobs`.
    pub stopped: &'static str,
    /// Number of independent replications.
    pub replications: usize,
    /// Total number of events of all replications.
    pub events: u64,
    /// Total simulated time of all replications. [s]
    pub simulated_time_s: f64,
    /// Share of the simulated time that was left out as warm-up, averaged over replications.
    pub warm_up_share: f64,
    /// Relaxation time: the time in which the influence of the initial state disappears. [s]
    pub relaxation_s: f64,
    /// Shortest measured part of a replication, in relaxation times. [1]
    pub measured_relaxations: f64,
    /// Confidence level of all confidence intervals.
    pub confidence: f64,
    /// Requested relative half-width of the confidence intervals.
    pub precision_asked: f64,
    /// Largest relative half-width of the intervals of throughput and response time over all classes.
    pub precision_reached: f64,
    /// Name of the figure with the largest relative half-width.
    pub widest: String,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Computes estimates from the results of all replications.
pub(super) struct Over<'a> {
    pub(super) plan: &'a Plan,
    pub(super) samples: &'a [Sample],
    pub(super) confidence: f64,
}

impl Over<'_> {
    /// Estimates a figure, from batches if the replications are long enough. A replication in which no transaction was
    /// completed may lack the figure and is then left out.
    pub fn estimate(&self, figure: impl Fn(&Sample) -> f64) -> Estimate {
        let values: Vec<f64> = self
            .samples
            .iter()
            .map(&figure)
            .filter(|value| value.is_finite())
            .collect();
        if values.len() < 2 {
            return Estimate::none();
        }
        let batches: Vec<Batch> = (self.samples.iter())
            .flat_map(|sample| &sample.batches)
            .map(|batch| (figure(batch), batch.part.duration_s))
            .collect();
        let measured_s = self
            .samples
            .iter()
            .map(|sample| sample.part.duration_s)
            .sum();
        Estimate::of(&values, self.confidence).by_batches(
            values.len(),
            &batches,
            measured_s,
            self.confidence,
        )
    }

    /// Estimates of throughput and response time of all classes, by name.
    pub fn figures(&self) -> Vec<(String, Estimate)> {
        self.figures_of(|_| true)
    }

    fn figures_of(&self, counts: impl Fn(&ClassPlan) -> bool) -> Vec<(String, Estimate)> {
        let classes = (self.plan.classes.iter().enumerate()).filter(|(_, plan)| counts(plan));
        let pairs = classes.flat_map(|(class, plan)| {
            [
                (
                    format!("classes.{}.throughput_per_s", plan.name),
                    self.estimate(|sample| sample.throughput(class)),
                ),
                (
                    format!("classes.{}.response_time_s", plan.name),
                    self.estimate(|sample| sample.response_time(class)),
                ),
            ]
        });
        pairs.collect()
    }

    /// Returns the name and relative half-width of the figure with the largest relative half-width.
    pub fn widest(&self) -> (String, f64) {
        widest(self.figures()).expect("a model has a class")
    }

    /// Returns the largest relative half-width of the figures that a longer run makes narrower: not those of jobs that
    /// keep the distances with which they begin.
    pub fn widest_of_random(&self) -> Option<f64> {
        widest(self.figures_of(|class| !class.keeps_distances)).map(|(_, width)| width)
    }

    /// Returns `true` if the number of jobs in the system does not grow during the run. A one-sided paired t-test
    /// compares the fourth quarter of the run with the third.
    pub fn steady(&self) -> bool {
        let growth: Vec<f64> = self
            .samples
            .iter()
            .map(|sample| sample.quarters[1] - sample.quarters[0])
            .collect();
        let level = self
            .samples
            .iter()
            .map(|sample| sample.quarters[0])
            .sum::<f64>()
            / self.samples.len() as f64;
        let estimate = Estimate::of(&growth, 2.0 * GROWTH.0 - 1.0);
        !(estimate.ends()[0] > 0.0 && estimate.mean > GROWTH.1 * level)
    }

    /// Returns `true` if transactions of a class do not end, although the run has reached its precision: by Little's law, a
    /// share of those in the system is not among the completed ones.
    pub(super) fn has_endless(&self, class: usize, stopped: &str) -> bool {
        let unfinished = |law: &Little| {
            law.difference > ENDLESS * (law.users_by_law + law.difference) && !law.holds
        };
        stopped == "precision" && Little::of(self, class).as_ref().is_some_and(unfinished)
    }

    /// Returns `true` if all replications were measured long enough, and failures occurred often enough. If the number
    /// of jobs of an open class, or of jobs after their response, keeps growing, any length is enough.
    pub fn is_long_enough(&self) -> bool {
        let open = (self.plan.classes.iter())
            .any(|class| class.arrivals.is_some() || !class.after.is_empty());
        let enough = self.samples.iter().all(Sample::is_long_enough)
            && self.failures().iter().all(|&(_, met)| met >= FAILURES);
        enough || (open && !self.steady())
    }

    /// Returns `true` if long service times occurred often enough for the requested precision, or if the system has no
    /// steady state. Distributions without a fourth moment are left out, as they could never meet this condition.
    pub fn has_met_its_tails(&self, precision: f64) -> bool {
        self.tails().is_none_or(|least| least.width <= precision) || !self.steady()
    }

    /// Returns the stations that fail, with the number of failures in the measured part of the run.
    pub fn failures(&self) -> Vec<(&str, u64)> {
        let layout = self.samples[0].layout;
        let fail =
            (self.plan.stations.iter().enumerate()).filter(|(_, plan)| plan.failure.is_some());
        let met = fail.map(|(station, plan)| {
            let count = layout.station(station, StationCount::WentDown);
            let met: f64 = self.samples.iter().map(|sample| sample.total(count)).sum();
            (plan.name.as_str(), met as u64)
        });
        met.collect()
    }

    /// Creates the answer of the simulation.
    pub fn answer(&self, settings: &Settings, stopped: &'static str) -> Answer {
        let (widest, reached) = self.widest();
        let samples = self.samples;
        let simulation = Run {
            stopped,
            replications: samples.len(),
            events: samples.iter().map(|sample| sample.events).sum(),
            simulated_time_s: samples.iter().map(|sample| sample.simulated_s).sum(),
            warm_up_share: samples
                .iter()
                .map(|sample| sample.warm_up_share)
                .sum::<f64>()
                / samples.len() as f64,
            relaxation_s: samples[0].relaxation_s,
            measured_relaxations: (samples.iter())
                .map(|sample| sample.part.duration_s / sample.relaxation_s)
                .fold(f64::INFINITY, f64::min),
            confidence: self.confidence,
            precision_asked: settings.precision,
            precision_reached: reached,
            widest,
            seed: settings.seed,
        };
        let grows = stopped == "jobs" || !self.steady();
        let endless = (0..self.plan.classes.len()).any(|class| self.has_endless(class, stopped));
        let warnings = self.warnings(&simulation, grows);
        Answer {
            schema: "towtank/simulate/1",
            classes: Named(
                self.plan
                    .classes
                    .iter()
                    .enumerate()
                    .map(|(at, class)| (class.name.clone(), self.class(at)))
                    .collect(),
            ),
            stations: Named(
                self.plan
                    .stations
                    .iter()
                    .enumerate()
                    .map(|(at, station)| (station.name.clone(), self.station(at)))
                    .collect(),
            ),
            pools: Named(
                self.plan
                    .pools
                    .iter()
                    .enumerate()
                    .map(|(at, pool)| (pool.name.clone(), self.pool(at)))
                    .collect(),
            ),
            method: "discrete-event simulation",
            exact: false,
            steady: !grows && !endless,
            simulation,
            warnings,
        }
    }

    fn class(&self, class: usize) -> ClassAnswer {
        let rate = |count: Count| self.estimate(|sample| sample.rate(Layout::class(class, count)));
        let (throughput, response) = (
            self.estimate(|sample| sample.throughput(class)),
            self.estimate(|sample| sample.response_time(class)),
        );
        let users = self.estimate(|sample| sample.level(Layout::in_system(class)));
        let figures = [
            ("throughput_per_s", throughput),
            ("response_time_s", response),
            ("users_in_system", users),
            ("dropped_per_s", rate(Count::Dropped)),
            ("failed_per_s", rate(Count::Failed)),
            ("timed_out_per_s", rate(Count::TimedOut)),
            ("retried_per_s", rate(Count::Retried)),
        ];
        let mut intervals = intervals(&figures);
        let percentiles = self.percentiles(class).map(|percentile| {
            let name = percentile.name.to_owned();
            intervals.0.push((name.clone(), percentile.ends));
            (name, percentile.value)
        });
        ClassAnswer {
            throughput_per_s: throughput.mean,
            response_time_s: response.mean,
            response_time_percentiles_s: Named(percentiles.to_vec()),
            users_in_system: users.mean,
            dropped_per_s: figures[3].1.mean,
            failed_per_s: figures[4].1.mean,
            timed_out_per_s: figures[5].1.mean,
            retried_per_s: figures[6].1.mean,
            little: Little::of(self, class),
            confidence_interval: intervals,
        }
    }

    fn station(&self, station: usize) -> StationAnswer {
        let (plan, layout) = (&self.plan.stations[station], self.samples[0].layout);
        let count = |count| layout.station(station, count);
        let arrived = |sample: &Sample| sample.total(count(StationCount::Arrived));
        let figures = [
            (
                "utilization",
                self.estimate(|sample| sample.utilization(self.plan, station)),
            ),
            (
                "queue_length",
                self.estimate(|sample| sample.queue_length(station)),
            ),
            (
                "throughput_per_s",
                self.estimate(|sample| sample.rate(count(StationCount::Served))),
            ),
            (
                "loss_probability",
                self.estimate(|sample| sample.ratio(count(StationCount::Lost), arrived(sample))),
            ),
            (
                "hit_ratio",
                self.estimate(|sample| sample.ratio(count(StationCount::Hit), arrived(sample))),
            ),
            (
                "availability",
                self.estimate(|sample| 1.0 - sample.level(layout.down(station))),
            ),
        ];
        let by_class = |figure: &dyn Fn(&Sample, usize) -> f64| {
            self.by_class(|class| plan.services[class].is_some(), figure)
        };
        let servers = if plan.rates.is_empty() {
            f64::from(plan.servers)
        } else {
            plan.top_rate
        };
        let full = if plan.kind == super::plan::Kind::Delay {
            f64::INFINITY
        } else {
            servers
        };
        let residence = by_class(&|sample, class| {
            sample.total(layout.sojourn(station, class)) / sample.completed(class)
        });
        let utilization =
            by_class(&|sample, class| sample.rate(layout.work(station, class)) / full);
        let mut confidence_interval = intervals(&figures);
        add_intervals(&mut confidence_interval, "residence_time_s", &residence);
        add_intervals(
            &mut confidence_interval,
            "utilization_by_class",
            &utilization,
        );
        StationAnswer {
            utilization: figures[0].1.mean,
            queue_length: figures[1].1.mean,
            throughput_per_s: figures[2].1.mean,
            loss_probability: figures[3].1.mean,
            hit_ratio: figures[4].1.mean,
            availability: figures[5].1.mean,
            residence_time_s: means(&residence),
            utilization_by_class: means(&utilization),
            confidence_interval,
        }
    }

    fn pool(&self, pool: usize) -> PoolAnswer {
        let (plan, layout) = (&self.plan.pools[pool], self.samples[0].layout);
        let held = self.estimate(|sample| sample.level(layout.held(pool)));
        let waiting = self.estimate(|sample| sample.level(layout.waiting(pool)));
        let utilization =
            self.estimate(|sample| sample.level(layout.held(pool)) / plan.size as f64);
        let waits = self.by_class(|class| plan.concerns[class], &|sample, class| {
            sample.total(layout.pool_wait(pool, class)) / sample.completed(class)
        });
        let figures = [
            ("utilization", utilization),
            ("held", held),
            ("waiting", waiting),
        ];
        let mut confidence_interval = intervals(&figures);
        add_intervals(&mut confidence_interval, "waiting_time_s", &waits);
        PoolAnswer {
            utilization: utilization.mean,
            held: held.mean,
            waiting: waiting.mean,
            waiting_time_s: means(&waits),
            confidence_interval,
        }
    }

    /// Pairs of class name and value of a figure, for the classes to which the figure applies.
    fn by_class(
        &self,
        concerns: impl Fn(usize) -> bool,
        figure: &dyn Fn(&Sample, usize) -> f64,
    ) -> Vec<(String, Estimate)> {
        let classes = self.plan.classes.iter().enumerate();
        classes
            .filter(|(class, _)| concerns(*class))
            .map(|(class, plan)| {
                let estimate = self.estimate(|sample| figure(sample, class));
                (plan.name.clone(), estimate)
            })
            .collect()
    }
}

/// Returns the name and relative half-width of the figure with the largest relative half-width.
fn widest(figures: Vec<(String, Estimate)>) -> Option<(String, f64)> {
    let relative = figures.into_iter().map(|(name, estimate)| {
        let width = estimate.relative();
        let known = if width.is_finite() {
            width
        } else {
            f64::INFINITY
        };
        (name, known)
    });
    relative.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn means(figures: &[(String, Estimate)]) -> Named<f64> {
    let means = figures
        .iter()
        .map(|(class, estimate)| (class.clone(), estimate.mean));
    Named(means.collect())
}

/// Adds the confidence intervals of a figure of each class, with the name `FIGURE.CLASS`.
fn add_intervals(to: &mut Named<[f64; 2]>, figure: &str, by_class: &[(String, Estimate)]) {
    to.0.extend(by_class.iter().map(|(class, estimate)| {
        let ends = bounded(figure, estimate);
        (format!("{figure}.{class}"), ends)
    }));
}

fn intervals(figures: &[(&str, Estimate)]) -> Named<[f64; 2]> {
    Named(
        figures
            .iter()
            .map(|(name, estimate)| ((*name).to_owned(), bounded(name, estimate)))
            .collect(),
    )
}

/// Returns the ends of an interval, limited to possible values: at least 0, and at most 1 for a share. If the error of
/// a time is as large as the time itself, there is no interval.
fn bounded(name: &str, estimate: &Estimate) -> [f64; 2] {
    let is_time = name.ends_with("_s") && !name.ends_with("_per_s");
    if is_time && estimate.half_width >= estimate.mean && estimate.half_width > 0.0 {
        return [f64::NAN; 2];
    }
    let most = if SHARES.contains(&name) {
        1.0
    } else {
        f64::INFINITY
    };
    // Comparisons with NaN are false, so that an interval that does not exist remains NaN.
    estimate.ends().map(|end| {
        if end < 0.0 {
            0.0
        } else if end > most {
            most
        } else {
            end
        }
    })
}
