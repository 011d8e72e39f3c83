//! Chooses a method, solves the model, and lists the assumptions of the answer.
//!
//! The solution is exact if the network has product form and the cost is acceptable. Otherwise a suitable approximation
//! is used, and the answer names it. A model without a steady state is refused with a fault that names the overloaded
//! resource.

mod refusals;

use crate::aggregate;
use crate::amva::{self, Estimate};
use crate::answer::Answer;
use crate::assemble;
use crate::caches::Parted;
use crate::exact;
use crate::marie;
use crate::model::{Discipline, Fault, Model};
use crate::network::{Load, Network};
use crate::pools;
use crate::row;

/// Limit on the number of servers or jobs for which tables of finite stations and pools are computed. [1]
pub(crate) const TABLE_AT_MOST: u64 = 10_000_000;
/// Methods of solution.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Method {
    /// Exact solution if possible, otherwise the best approximation.
    #[default]
    Auto,
    /// Exact solution. If there is none, the result is a fault that explains the reason.
    Exact,
    /// Approximate mean value analysis with the estimate of Bard and Schweitzer.
    BardSchweitzer,
    /// Approximate mean value analysis by the Linearizer.
    Linearizer,
}

impl Method {
    /// Returns the method with the given name: `auto`, `exact`, `bard-schweitzer` or `linearizer`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "exact" => Some(Self::Exact),
            "bard-schweitzer" => Some(Self::BardSchweitzer),
            "linearizer" => Some(Self::Linearizer),
            _ => None,
        }
    }
}

/// Mean values from a solver. Lists are by class, then by station or pool, unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Rate of completed transactions, by class. [1/s]
    pub throughput: Vec<f64>,
    /// Rate of transactions that reach each station and are not dropped there, by class and station. [1/s]
    pub flow: Vec<Vec<f64>>,
    /// Mean number of jobs, by class and station.
    pub jobs: Vec<Vec<f64>>,
    /// Mean response time, by class. [s]
    pub response: Vec<f64>,
    /// Share of arrivals that are dropped, by station.
    pub loss: Vec<f64>,
    /// Mean number of units that are held, by pool.
    pub held: Vec<f64>,
    /// Mean number of jobs that wait for a unit, by class and pool.
    pub waiting: Vec<Vec<f64>>,
    /// Name of the solution method that was used.
    pub method: String,
    /// `true` if the method is exact for this model.
    pub exact: bool,
    /// `true` if the method is exact for the classes that do not keep their distances, see [`Network::keeps_distances`].
    pub exact_elsewhere: bool,
    /// Warnings about the solution, for the reader of the answer.
    pub warnings: Vec<String>,
}

/// Solves a model.
///
/// # Errors
///
/// If the model has faults, if a station or a pool has no steady state, or if an exact solution is requested but does
/// not exist.
pub fn solve(model: &Model, method: Method) -> Result<Answer, Vec<Fault>> {
    let whole = Network::of(model)?;
    let mut beyond = model.behaviour.beyond_analysis();
    beyond.extend(refusals::nested_forks(model));
    if !beyond.is_empty() {
        return Err(beyond);
    }
    if model.behaviour.caches.is_empty() {
        return solve_network(&whole, method);
    }
    let parted = Parted::of(model)?;
    if let (Method::Exact, Some(fault)) = (method, parted.estimated()) {
        return Err(vec![fault]);
    }
    let answer = solve_network(&parted.network()?, method)?;
    Ok(parted.join(answer))
}

/// Solves a network without caches.
fn solve_network(whole: &Network, method: Method) -> Result<Answer, Vec<Fault>> {
    let mut faults = refusals::unsteady(whole);
    faults.extend(refusals::beyond_methods(whole));
    if !faults.is_empty() {
        return Err(faults);
    }
    let network = whole.without_idle_pools();
    let mut solution = match method {
        Method::Auto | Method::Exact => choose(&network)?,
        Method::BardSchweitzer => approximate(&network, Estimate::BardSchweitzer)?,
        Method::Linearizer => approximate(&network, Estimate::Linearizer)?,
    };
    if solution.exact && depends_on_the_start(&network) {
        (solution.exact, solution.exact_elsewhere) = (false, true);
        solution.warnings.insert(0, steady_distances(&network));
    }
    if method == Method::Exact && !solution.exact {
        let why = solution.warnings.first().cloned().unwrap_or_default();
        return Err(vec![Fault::new(
            &["method"],
            format!("must be an approximate method or 'auto' for this model, got 'exact': {why}"),
        )]);
    }
    solution.extend_pools(whole, &network);
    Ok(assemble::answer(whole, &solution))
}

/// Returns `true` if jobs of a class keep the distances with which they begin, and the bounds of its response time differ.
/// Its mean values then depend on these distances.
fn depends_on_the_start(network: &Network) -> bool {
    let differ = |class| {
        let range = assemble::class_bounds(network, class).response_time_s;
        (range.upper).is_none_or(|most| most > range.lower * (1.0 + assemble::ROUNDING))
    };
    (0..network.names.len()).any(|class| network.keeps_distances[class] && differ(class))
}

/// Returns the warning about an answer that is a mean over all starts of the classes that keep their distances.
fn steady_distances(network: &Network) -> String {
    let kept = (network.names.iter().zip(&network.keeps_distances)).filter(|(_, keeps)| **keeps);
    let names: Vec<String> = kept.map(|(name, _)| format!("{name:?}")).collect();
    format!(
        "no time is random for class {}, so jobs keep the distances with which they begin, and mean times depend on \
         these: the answer is approximate",
        names.join(" and ")
    )
}

fn choose(network: &Network) -> Result<Solution, Vec<Fault>> {
    let (closed, open) = (network.closed(), network.open());
    if !network.holds.is_empty() {
        return with_pools(network, &closed, &open);
    }
    if closed.is_empty() {
        return Ok(row::all_open(network));
    }
    if network.is_product_form() {
        if let Some(solution) = exact::solve(network, &closed) {
            return Ok(solution);
        }
        let mut solution = approximate(network, Estimate::Linearizer)?;
        solution.warnings.insert(
            0,
            "an exact solution would take too long or too much memory: the answer is approximate"
                .into(),
        );
        return Ok(solution);
    }
    if let Some(means) = marie::solve(network) {
        return Ok(from_phases(network, means));
    }
    if let Some(means) = aggregate::solve(network) {
        return Ok(from_classes(network, means));
    }
    approximate(network, Estimate::Linearizer)
}

fn from_phases(network: &Network, means: marie::Means) -> Solution {
    let stations = network.centers.len();
    Solution {
        throughput: vec![means.throughput],
        flow: vec![vec![means.throughput; stations]],
        response: vec![means.jobs.iter().sum::<f64>() / means.throughput],
        jobs: vec![means.jobs],
        loss: vec![0.0; stations],
        held: Vec::new(),
        waiting: vec![Vec::new()],
        method: "phases of service (Marie)".into(),
        exact: false,
        exact_elsewhere: false,
        warnings: vec![why_not_exact(network)],
    }
}

fn from_classes(network: &Network, means: aggregate::Means) -> Solution {
    let stations = network.centers.len();
    let jobs = (means.residence.iter().zip(&means.throughput))
        .map(|(row, rate)| row.iter().map(|time| time * rate).collect());
    Solution {
        flow: (means.throughput.iter())
            .map(|&rate| vec![rate; stations])
            .collect(),
        response: (means.residence.iter())
            .map(|row| row.iter().sum())
            .collect(),
        jobs: jobs.collect(),
        loss: vec![0.0; stations],
        held: Vec::new(),
        waiting: vec![Vec::new(); means.throughput.len()],
        throughput: means.throughput,
        method: "one class for all (Marie)".into(),
        exact: false,
        exact_elsewhere: false,
        warnings: vec![why_not_exact(network)],
    }
}

fn with_pools(network: &Network, closed: &[usize], open: &[usize]) -> Result<Solution, Vec<Fault>> {
    let plain = network.splits.is_empty()
        && network
            .centers
            .iter()
            .all(|center| center.is_product_form() && center.capacity.is_none());
    let poisson = matches!(
        network.loads[0],
        Load::Closed { .. } | Load::Open { poisson: true, .. }
    );
    if network.loads.len() == 1 && plain && poisson {
        let state = if closed.is_empty() {
            pools::solve_open(network).map_err(|(pool, utilization)| {
                vec![Fault::new(
                    &["pools", &network.holds[pool].name],
                    refusals::overloaded(utilization),
                )]
            })?
        } else {
            pools::solve_closed(network)
        };
        if let Some(state) = state {
            return Ok(from_state(network, &state));
        }
    }
    let mut solution = approximate(network, Estimate::BardSchweitzer)?;
    if !open.is_empty() {
        for (pool, hold) in network.holds.iter().enumerate() {
            let utilization = solution.held[pool] / hold.size as f64;
            if utilization >= 1.0 {
                return Err(vec![Fault::new(
                    &["pools", &hold.name],
                    refusals::overloaded(utilization),
                )]);
            }
        }
    }
    solution.warnings.push(
        "pools of several classes are approximated as stations whose service is the work inside: check with a simulation"
            .into(),
    );
    Ok(solution)
}

fn from_state(network: &Network, state: &pools::State) -> Solution {
    let stations = network.centers.len();
    let total: f64 = state.jobs.iter().sum::<f64>() + state.waiting.iter().sum::<f64>();
    Solution {
        throughput: vec![state.throughput],
        flow: vec![vec![state.throughput; stations]],
        jobs: vec![state.jobs.clone()],
        response: vec![total / state.throughput],
        loss: vec![0.0; stations],
        held: state.held.clone(),
        waiting: vec![state.waiting.clone()],
        method: "flow-equivalent servers".into(),
        exact: false,
        exact_elsewhere: false,
        warnings: vec![
            "a pool limits the number of jobs inside: the network is solved by decomposition, which is approximate"
                .into(),
        ],
    }
}

/// Explains in a sentence why a network has no product form.
pub(crate) fn why_not_exact(network: &Network) -> String {
    let named = |found: &dyn Fn(&crate::network::Center) -> bool| {
        network
            .centers
            .iter()
            .find(|center| found(center))
            .map(|center| &center.name)
    };
    if !network.splits.is_empty() {
        return "forks have no product form: the answer is approximate".into();
    }
    if let Some(name) = named(&|center| center.discipline == Discipline::Priority) {
        return format!(
            "station {name:?} serves by priority, which has no product form: the answer is approximate"
        );
    }
    if let Some(name) = named(&|center| center.capacity.is_some()) {
        return format!(
            "station {name:?} drops jobs, so arrivals at the stations after it are not Poisson: the answer is approximate"
        );
    }
    if let Some(name) = named(&|center| !center.is_product_form()) {
        return format!(
            "station {name:?} has service times that differ between classes or are not exponential, which has no product form with its discipline: the answer is approximate"
        );
    }
    "arrivals are not Poisson: the answer is approximate".into()
}

fn approximate(network: &Network, estimate: Estimate) -> Result<Solution, Vec<Fault>> {
    if let Some(center) = network
        .centers
        .iter()
        .find(|center| center.capacity.is_some())
    {
        let message =
            "must be left out for solving, since the model has closed classes or pools: simulate";
        return Err(vec![Fault::new(
            &["stations", &center.name, "capacity"],
            message,
        )]);
    }
    let means = amva::solve(network, estimate);
    let stations = network.centers.len();
    let mut warnings = Vec::new();
    if !network.is_product_form() && network.holds.is_empty() {
        warnings.push(why_not_exact(network));
    }
    let endless = means.response.iter().position(|time| !time.is_finite());
    // If there are pools, the calling function reports the overloaded pool instead.
    if let Some(class) = endless.filter(|_| network.holds.is_empty()) {
        let message = "must have a steady state, got none in this approximation, in which other classes use all servers: simulate";
        return Err(vec![Fault::new(
            &["classes", &network.names[class]],
            message,
        )]);
    }
    if !means.converged || endless.is_some() {
        warnings.push("the iteration did not converge: the answer may be far off, simulate".into());
    }
    let name = match estimate {
        Estimate::BardSchweitzer => "approximate MVA (Bard-Schweitzer)",
        Estimate::Linearizer => "approximate MVA (Linearizer)",
    };
    let times = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
        rows.iter()
            .zip(&means.throughput)
            .map(|(row, rate)| row.iter().map(|time| time * rate).collect())
            .collect()
    };
    let held = times(&means.pool_hold);
    Ok(Solution {
        flow: means
            .throughput
            .iter()
            .map(|&rate| vec![rate; stations])
            .collect(),
        jobs: times(&means.residence),
        waiting: times(&means.pool_wait),
        held: (0..network.holds.len())
            .map(|pool| held.iter().map(|row| row[pool]).sum())
            .collect(),
        throughput: means.throughput,
        response: means.response,
        loss: vec![0.0; stations],
        method: name.into(),
        exact: false,
        exact_elsewhere: false,
        warnings,
    })
}

impl Solution {
    /// Adds the results of the pools that were left out because no job ever waits for them.
    fn extend_pools(&mut self, whole: &Network, solved: &Network) {
        let of = |name: &str| solved.holds.iter().position(|hold| hold.name == name);
        let held = (whole.holds.iter().enumerate())
            .map(|(pool, hold)| {
                of(&hold.name).map_or_else(|| self.inside(whole, pool), |kept| self.held[kept])
            })
            .collect();
        let waiting = (self.waiting.iter())
            .map(|row| {
                whole
                    .holds
                    .iter()
                    .map(|hold| of(&hold.name).map_or(0.0, |kept| row[kept]))
                    .collect()
            })
            .collect();
        self.held = held;
        self.waiting = waiting;
    }

    /// Returns the mean number of held units of a pool for which no job waits. It equals the mean number of jobs inside
    /// the pool.
    fn inside(&self, network: &Network, pool: usize) -> f64 {
        let hold = &network.holds[pool];
        let classes = (0..network.loads.len()).filter(|&class| hold.concerns[class]);
        let direct: f64 = classes
            .map(|class| {
                hold.stations
                    .iter()
                    .map(|&station| self.jobs[class][station])
                    .sum::<f64>()
            })
            .sum();
        direct
            + hold
                .pools
                .iter()
                .map(|&inner| self.inside(network, inner))
                .sum::<f64>()
    }
}
