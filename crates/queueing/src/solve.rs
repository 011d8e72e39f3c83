//! Chooses a method, solves, and says what the answer rests on.
//!
//! Exact where the network has product form and the cost is bearable; else by the approximation that fits, which the
//! answer names. A model without a steady state is refused with the name of what is overloaded.

use crate::amva::{self, Estimate};
use crate::answer::Answer;
use crate::assemble;
use crate::convolution;
use crate::join;
use crate::model::{Discipline, Fault, Model};
use crate::mva;
use crate::network::{Load, Network};
use crate::open;
use crate::pools;

/// Operations that an exact solution may take, about a second.
const OPERATIONS_AT_MOST: f64 = 1.5e9;
/// Values that an exact solution may keep in memory, about a gigabyte with copies.
const VALUES_AT_MOST: f64 = 1.2e7;
/// Most servers or jobs of a table that finite stations and pools are worked through for.
const TABLE_AT_MOST: u64 = 10_000_000;
/// Largest residual of the population that an exact solution may have.
const RESIDUAL_AT_MOST: f64 = 1e-7;

/// Which method to use.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Method {
    /// Exact where it can be, else the best approximation.
    #[default]
    Auto,
    /// Exact, or a fault that says why not.
    Exact,
    /// Approximate mean value analysis after Bard and Schweitzer.
    BardSchweitzer,
    /// Approximate mean value analysis by the Linearizer.
    Linearizer,
}

impl Method {
    /// Method of a name: `auto`, `exact`, `bard-schweitzer`, `linearizer`.
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

/// Mean values as solvers give them; lists by class, then station or pool.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Completed transactions. [1/s]
    pub throughput: Vec<f64>,
    /// Transactions that reach and enter each station. [1/s]
    pub flow: Vec<Vec<f64>>,
    /// Mean numbers of jobs.
    pub jobs: Vec<Vec<f64>>,
    /// Response times. [s]
    pub response: Vec<f64>,
    /// Share of arrivals lost at each station.
    pub loss: Vec<f64>,
    /// Units held, by pool.
    pub held: Vec<f64>,
    /// Jobs waiting for a unit, by class and pool.
    pub waiting: Vec<Vec<f64>>,
    /// How it was worked out.
    pub method: String,
    /// Whether that is exact here.
    pub exact: bool,
    /// What the reader must know.
    pub warnings: Vec<String>,
}

/// Solves a model.
///
/// # Errors
///
/// All faults of the model; the stations and pools that have no steady state; an exact solution asked for where there is
/// none.
pub fn solve(model: &Model, method: Method) -> Result<Answer, Vec<Fault>> {
    let whole = Network::of(model)?;
    if let Some(fault) = model.behaviour.beyond_analysis() {
        return Err(vec![fault]);
    }
    let faults = unsteady(&whole);
    if !faults.is_empty() {
        return Err(faults);
    }
    let network = whole.without_idle_pools();
    let mut solution = match method {
        Method::Auto | Method::Exact => choose(&network)?,
        Method::BardSchweitzer => approximate(&network, Estimate::BardSchweitzer)?,
        Method::Linearizer => approximate(&network, Estimate::Linearizer)?,
    };
    if method == Method::Exact && !solution.exact {
        let why = solution.warnings.first().cloned().unwrap_or_default();
        return Err(vec![Fault::new(
            &["method"],
            format!("must be one that this model allows, got 'exact': {why}"),
        )]);
    }
    solution.extend_pools(&whole, &network);
    Ok(assemble::answer(&whole, &solution))
}

/// Stations whose open classes bring more than they can do, and tables too long to work through.
fn unsteady(network: &Network) -> Vec<Fault> {
    let flows = open_flows(network).0;
    let mut faults = Vec::new();
    for (index, center) in network.centers.iter().enumerate() {
        let load: f64 = flows
            .iter()
            .zip(&center.demand)
            .map(|(flow, need)| flow[index] * need)
            .sum();
        let utilization = load / center.speed.limit();
        if center
            .capacity
            .is_some_and(|capacity| capacity > TABLE_AT_MOST)
        {
            let message = format!(
                "must be at most {TABLE_AT_MOST} for solving, got {} instead",
                center.capacity.unwrap_or(0)
            );
            faults.push(Fault::new(&["stations", &center.name, "capacity"], message));
        } else if center.capacity.is_none() && utilization >= 1.0 {
            faults.push(Fault::new(
                &["stations", &center.name],
                overloaded(utilization),
            ));
        }
    }
    faults
}

fn overloaded(utilization: f64) -> String {
    format!(
        "must have a utilization below 1 for a steady state, got {utilization:.4} from the arrivals of open classes"
    )
}

/// Flow of transactions of open classes into each station in the order of the file, thinned by losses, with the results
/// of the stations with a capacity.
fn open_flows(network: &Network) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut left: Vec<f64> = (0..network.loads.len())
        .map(|class| network.rate(class))
        .collect();
    let mut flows = vec![Vec::new(); left.len()];
    let mut losses = Vec::new();
    for center in &network.centers {
        let loss = match center.capacity {
            Some(capacity) if capacity <= TABLE_AT_MOST => open::solve(center, &left, 1.0).loss,
            _ => 0.0,
        };
        for (class, flow) in left.iter_mut().enumerate() {
            flows[class].push(*flow);
            if loss > 0.0 {
                *flow *= (1.0 - loss).powf(center.visits[class]);
            }
        }
        losses.push(loss);
    }
    (flows, losses)
}

fn choose(network: &Network) -> Result<Solution, Vec<Fault>> {
    let (closed, open) = (network.closed(), network.open());
    if !network.holds.is_empty() {
        return with_pools(network, &closed, &open);
    }
    if closed.is_empty() {
        return Ok(all_open(network));
    }
    if network.is_product_form() {
        if let Some(solution) = exact(network, &closed) {
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
    approximate(network, Estimate::Linearizer)
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
                    overloaded(utilization),
                )]
            })?
        } else {
            pools::solve_closed(network)
        };
        if let Some(state) = state {
            return Ok(from_state(network, &state));
        }
    }
    let mut solution = approximate(network, Estimate::Linearizer)?;
    if !open.is_empty() {
        for (pool, hold) in network.holds.iter().enumerate() {
            let utilization = solution.held[pool] / hold.size as f64;
            if utilization >= 1.0 {
                return Err(vec![Fault::new(
                    &["pools", &hold.name],
                    overloaded(utilization),
                )]);
            }
        }
    }
    solution.warnings.push(
        "pools of several classes are solved as stations that hold others: check with a simulation"
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
        warnings: vec![
            "a pool limits how many jobs are inside: solved by decomposition, which is approximate"
                .into(),
        ],
    }
}

/// Only open classes: station by station.
fn all_open(network: &Network) -> Solution {
    let (flow, loss) = open_flows(network);
    let classes = network.loads.len();
    let mut solution = Solution {
        jobs: vec![Vec::new(); classes],
        ..Solution::default()
    };
    let arrival_scv = if let [
        Load::Open {
            scv,
            poisson: false,
            ..
        },
    ] = network.loads[..]
    {
        scv
    } else {
        1.0
    };
    let mut formulas = Vec::new();
    let mut exact = network
        .loads
        .iter()
        .all(|load| matches!(load, Load::Open { poisson: true, .. }));
    for (index, center) in network.centers.iter().enumerate() {
        let rates: Vec<f64> = flow.iter().map(|row| row[index]).collect();
        let visit = open::solve(center, &rates, arrival_scv);
        exact &= visit.exact;
        if center.is_queue() && !formulas.contains(&visit.formula) {
            formulas.push(visit.formula);
        }
        solution
            .jobs
            .iter_mut()
            .zip(visit.jobs)
            .for_each(|(row, jobs)| row.push(jobs));
    }
    // Without product form the flow out of one station is not Poisson, and only the first one is exact.
    let alone = network
        .centers
        .iter()
        .filter(|center| center.is_queue())
        .count()
        == 1
        && network
            .centers
            .iter()
            .all(|center| center.visits.iter().all(|&count| count <= 1.0));
    let forks = !network.splits.is_empty();
    solution.exact = exact && !forks && (network.is_product_form() || alone);
    solution.method = formulas.join(", ");
    if solution.method.is_empty() {
        solution.method = "delays".into();
    }
    if !solution.exact {
        solution.warnings.push(why_not_exact(network));
    }
    solution.throughput = (0..classes)
        .map(|class| {
            let kept = network
                .centers
                .iter()
                .zip(&loss)
                .map(|(center, lost)| (1.0 - lost).powf(center.visits[class]));
            network.rate(class) * kept.product::<f64>()
        })
        .collect();
    solution.flow = flow
        .iter()
        .map(|row| {
            row.iter()
                .zip(&loss)
                .map(|(rate, lost)| rate * (1.0 - lost))
                .collect()
        })
        .collect();
    solution.loss = loss;
    solution.response = responses(network, &solution);
    solution.waiting = vec![Vec::new(); classes];
    solution
}

fn responses(network: &Network, solution: &Solution) -> Vec<f64> {
    let stations: Vec<usize> = (0..network.centers.len()).collect();
    let utilization: Vec<f64> = (network.centers.iter().enumerate())
        .map(|(index, center)| {
            let load: f64 = solution
                .flow
                .iter()
                .zip(&center.demand)
                .map(|(row, need)| row[index] * need)
                .sum();
            load / center.speed.highest()
        })
        .collect();
    (0..network.loads.len())
        .map(|class| {
            let residence: Vec<f64> = (solution.jobs[class].iter().zip(&solution.flow[class]))
                .map(|(jobs, flow)| if *flow > 0.0 { jobs / flow } else { 0.0 })
                .collect();
            join::through(network, class, &stations, &residence, &utilization)
        })
        .collect()
}

/// Why a network has no closed form, for people.
fn why_not_exact(network: &Network) -> String {
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
            "station {name:?} drops jobs, and what follows it is not reached by Poisson arrivals: the answer is approximate"
        );
    }
    if let Some(name) = named(&|center| !center.is_product_form()) {
        return format!(
            "station {name:?} has service times that differ between classes or are not exponential, which first come first served does not turn into product form: the answer is approximate"
        );
    }
    "arrivals are not Poisson: the answer is approximate".into()
}

/// Exact solution of a product form; nothing where it costs too much or leaves its range.
fn exact(network: &Network, closed: &[usize]) -> Option<Solution> {
    let users: Vec<u64> = closed.iter().map(|&class| network.users(class)).collect();
    let single = network
        .centers
        .iter()
        .all(|center| !center.is_queue() || center.speed.is_single());
    let queues: Vec<usize> = (0..network.centers.len())
        .filter(|&index| {
            network.centers[index].is_queue()
                && closed
                    .iter()
                    .any(|&class| network.centers[index].demand[class] > 0.0)
        })
        .collect();
    let points = mva::lattice_points(&users);
    let longest = users.iter().copied().max().unwrap_or(0) as f64 + 1.0;
    let count = queues.len().max(1) as f64;
    let solution = if single
        && points * count * users.len() as f64 * 2.0 <= OPERATIONS_AT_MOST
        && points / longest * count * 2.0 <= VALUES_AT_MOST * 8.0
    {
        by_mva(network, closed, &queues)
    } else {
        by_convolution(network, closed, &queues, points)?
    };
    residual(network, &solution)
        .is_some_and(|largest| largest < RESIDUAL_AT_MOST)
        .then_some(solution)
}

/// Largest relative error of the populations; nothing where numbers are not finite.
fn residual(network: &Network, solution: &Solution) -> Option<f64> {
    let mut largest = 0.0_f64;
    for class in network.closed() {
        let inside: f64 = solution.jobs[class].iter().sum();
        let users = network.users(class) as f64;
        let error =
            (inside + solution.throughput[class] * network.think_time(class) - users).abs() / users;
        largest = if error.is_finite() {
            largest.max(error)
        } else {
            return None;
        };
    }
    Some(largest)
}

/// Think time with all delays.
fn delays(network: &Network, class: usize) -> f64 {
    let waits = network
        .centers
        .iter()
        .filter(|center| !center.is_queue())
        .map(|center| center.demand[class]);
    network.think_time(class) + waits.sum::<f64>()
}

fn by_mva(network: &Network, closed: &[usize], queues: &[usize]) -> Solution {
    let left = |index: usize| 1.0 - network.open_load(&network.centers[index]);
    let demand = |class: usize| -> Vec<f64> {
        queues
            .iter()
            .map(|&index| network.centers[index].demand[class] / left(index))
            .collect()
    };
    let means = mva::solve(&mva::Closed {
        users: closed.iter().map(|&class| network.users(class)).collect(),
        think_time: closed.iter().map(|&class| delays(network, class)).collect(),
        demand: closed.iter().map(|&class| demand(class)).collect(),
    });
    let mut jobs = vec![vec![0.0; network.centers.len()]; network.loads.len()];
    for (row, &class) in closed.iter().enumerate() {
        for (column, &index) in queues.iter().enumerate() {
            jobs[class][index] = means.throughput[row] * means.residence[row][column];
        }
    }
    for (index, center) in network.centers.iter().enumerate() {
        let inside: f64 = closed.iter().map(|&class| jobs[class][index]).sum();
        for class in network.open() {
            let load = network.rate(class) * center.demand[class];
            jobs[class][index] = if center.is_queue() {
                load * (1.0 + inside) / left(index)
            } else {
                load
            };
        }
    }
    closed_solution(network, closed, means.throughput, jobs, "exact MVA")
}

fn by_convolution(
    network: &Network,
    closed: &[usize],
    queues: &[usize],
    points: f64,
) -> Option<Solution> {
    let users: Vec<u64> = closed.iter().map(|&class| network.users(class)).collect();
    let mut problem = convolution::Closed {
        users,
        think_time: closed.iter().map(|&class| delays(network, class)).collect(),
        queues: (queues.iter())
            .map(|&index| &network.centers[index])
            .map(|center| convolution::Queue {
                speed: center.speed.clone(),
                open_load: network.open_load(center),
                demand: closed.iter().map(|&class| center.demand[class]).collect(),
            })
            .collect(),
        estimate: Vec::new(),
    };
    if points > VALUES_AT_MOST || convolution::cost(&problem) > OPERATIONS_AT_MOST {
        return None;
    }
    for estimate in estimates(network, closed, &problem) {
        problem.estimate = estimate;
        let Some(means) = convolution::solve(&problem, convolution::Extras::default()) else {
            continue;
        };
        let mut jobs = vec![vec![0.0; network.centers.len()]; network.loads.len()];
        for (row, &class) in closed.iter().enumerate() {
            for (column, &index) in queues.iter().enumerate() {
                jobs[class][index] = means.jobs[row][column];
            }
        }
        open_jobs(network, queues, &means.open_jobs, &mut jobs);
        return Some(closed_solution(
            network,
            closed,
            means.throughput,
            jobs,
            "exact convolution",
        ));
    }
    None
}

/// Jobs of open classes: in mixed stations by share of load, in others as if alone.
fn open_jobs(network: &Network, queues: &[usize], mixed: &[f64], jobs: &mut [Vec<f64>]) {
    for (index, center) in network.centers.iter().enumerate() {
        let load = network.open_load(center);
        if load == 0.0 {
            continue;
        }
        let total = match queues.iter().position(|&queue| queue == index) {
            Some(column) => mixed[column],
            None if center.is_queue() => crate::series::Series::open_jobs(&center.speed, load),
            None => load,
        };
        for class in network.open() {
            jobs[class][index] = total * network.rate(class) * center.demand[class] / load;
        }
    }
}

/// Estimates of the throughputs to scale by, best first.
fn estimates(network: &Network, closed: &[usize], problem: &convolution::Closed) -> Vec<Vec<f64>> {
    let approximate = || {
        let means = amva::solve(network, Estimate::BardSchweitzer);
        closed
            .iter()
            .map(|&class| means.throughput[class])
            .collect::<Vec<f64>>()
    };
    if closed.len() > 1 {
        return vec![approximate()];
    }
    let most = |speed: &dyn Fn(&convolution::Queue) -> f64| {
        let alone: f64 = problem.think_time[0]
            + problem
                .queues
                .iter()
                .map(|queue| {
                    queue.demand[0] / queue.speed.at(1).max(queue.speed.highest().min(1.0))
                })
                .sum::<f64>();
        let limits = problem
            .queues
            .iter()
            .map(|queue| (speed(queue) - queue.open_load) / queue.demand[0]);
        vec![limits.fold(problem.users[0] as f64 / alone, f64::min)]
    };
    vec![
        most(&|queue| queue.speed.highest()),
        most(&|queue| queue.speed.limit()),
        approximate(),
    ]
}

fn closed_solution(
    network: &Network,
    closed: &[usize],
    rates: Vec<f64>,
    mut jobs: Vec<Vec<f64>>,
    method: &str,
) -> Solution {
    let stations = network.centers.len();
    let mut throughput: Vec<f64> = (0..network.loads.len())
        .map(|class| network.rate(class))
        .collect();
    closed
        .iter()
        .zip(rates)
        .for_each(|(&class, rate)| throughput[class] = rate);
    for (index, center) in network
        .centers
        .iter()
        .enumerate()
        .filter(|(_, center)| !center.is_queue())
    {
        for (class, rate) in throughput.iter().enumerate() {
            jobs[class][index] = rate * center.demand[class];
        }
    }
    Solution {
        response: jobs
            .iter()
            .zip(&throughput)
            .map(|(row, rate)| row.iter().sum::<f64>() / rate)
            .collect(),
        flow: throughput
            .iter()
            .map(|&rate| vec![rate; stations])
            .collect(),
        loss: vec![0.0; stations],
        waiting: vec![Vec::new(); throughput.len()],
        throughput,
        jobs,
        method: if network.open().is_empty() {
            method.into()
        } else {
            format!("{method}, open classes first")
        },
        exact: true,
        ..Solution::default()
    }
}

fn approximate(network: &Network, estimate: Estimate) -> Result<Solution, Vec<Fault>> {
    if let Some(center) = network
        .centers
        .iter()
        .find(|center| center.capacity.is_some())
    {
        let message = "must be left out here: stations with a capacity are solved among open classes only, without pools; simulate";
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
    let finite = means.response.iter().all(|time| time.is_finite());
    if !means.converged || !finite {
        warnings
            .push("the fixed point was not reached: the answer may be far off, simulate".into());
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
        warnings,
    })
}

impl Solution {
    /// Puts pools that never limit back in: nobody waits for them.
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

    /// Units held of a pool that never limits: the jobs inside.
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
