//! Creates the answer from a solution: named values, bounds, and checks of the operational laws on the reported values.

use crate::answer::{Answer, Checks, ClassAnswer, ClassBounds, Named, PoolAnswer, StationAnswer};
use crate::bounds::{Range, Single};
use crate::model::Discipline;
use crate::network::{Center, Load, Network, Speed};
use crate::series::Series;
use crate::solve::Solution;
use crate::stated;

/// Tolerance for rounding errors in the comparison of an answer with its bounds.
pub const ROUNDING: f64 = 1e-9;

/// Creates the answer from the solution of a network.
#[must_use]
pub fn answer(network: &Network, solution: &Solution) -> Answer {
    let names = &network.names;
    let classes = Named(
        (0..names.len())
            .map(|class| (names[class].clone(), class_answer(network, solution, class)))
            .collect(),
    );
    let stations = (network.centers.iter().enumerate())
        .map(|(index, center)| {
            (
                center.name.clone(),
                station_answer(network, solution, index, center),
            )
        })
        .collect();
    let pools = Named(
        (0..network.holds.len())
            .map(|pool| {
                (
                    network.holds[pool].name.clone(),
                    pool_answer(network, solution, pool),
                )
            })
            .collect(),
    );
    let bounds = Named(
        (0..names.len())
            .map(|class| (names[class].clone(), class_bounds(network, class)))
            .collect(),
    );
    let stations = Named(stations);
    let checks = checks(network, &classes, &stations, &bounds);
    let mut warnings = solution.warnings.clone();
    let within = stated::within(
        network,
        solution,
        &stated::Values {
            classes: &classes,
            stations: &stations,
            pools: &pools,
            bounds: (bounds.0.iter())
                .map(|(_, range)| ends(range.response_time_s))
                .collect(),
            least: (0..names.len())
                .map(|class| without_waiting(network, class))
                .collect(),
        },
    );
    let approximate_within =
        (within.as_ref()).map(|ranges| stated::response_error(ranges, &classes));
    warnings.extend(
        approximate_within
            .filter(|&error| error > 0.0)
            .map(warning_of),
    );
    warnings.extend(checks.warnings());
    Answer {
        schema: "towtank/solve/1",
        pools,
        method: solution.method.clone(),
        exact: solution.exact,
        approximate_within,
        within,
        classes,
        stations,
        bounds,
        checks,
        warnings,
    }
}

/// Returns the ends of a range; infinity if it has no upper bound.
fn ends(range: Range) -> [f64; 2] {
    [range.lower, range.upper.unwrap_or(f64::INFINITY)]
}

/// Describes the largest error of an approximation in a sentence.
fn warning_of(error: f64) -> String {
    let percent = (100.0 * error).max(1.0);
    if error < 1.0 {
        format!(
            "approximate within {percent:.0} % of a mean response time: the largest error in simulated networks of this kind"
        )
    } else {
        format!(
            "a mean response time may be many times too small or too large: in simulated networks of this kind it was off by up to {percent:.0} %; simulate this network"
        )
    }
}

fn class_answer(network: &Network, solution: &Solution, class: usize) -> ClassAnswer {
    let throughput = solution.throughput[class];
    ClassAnswer {
        throughput_per_s: throughput,
        response_time_s: solution.response[class],
        users_in_system: throughput * solution.response[class],
        dropped_per_s: match network.loads[class] {
            Load::Open { rate, .. } => (rate - throughput).max(0.0),
            Load::Closed { .. } => 0.0,
        },
    }
}

fn station_answer(
    network: &Network,
    solution: &Solution,
    index: usize,
    center: &Center,
) -> StationAnswer {
    let used =
        |class: usize| solution.flow[class][index] * center.demand[class] / center.speed.highest();
    let classes: Vec<usize> = center.visitors().collect();
    let by_class = |value: &dyn Fn(usize) -> f64| {
        Named(
            classes
                .iter()
                .map(|&class| (network.names[class].clone(), value(class)))
                .collect(),
        )
    };
    StationAnswer {
        utilization: classes.iter().map(|&class| used(class)).sum(),
        queue_length: solution.jobs.iter().map(|row| row[index]).sum(),
        throughput_per_s: classes
            .iter()
            .map(|&class| solution.flow[class][index] * center.visits[class])
            .sum(),
        loss_probability: solution.loss[index],
        hit_ratio: 0.0,
        residence_time_s: by_class(&|class| {
            solution.jobs[class][index] / solution.throughput[class]
        }),
        utilization_by_class: by_class(&used),
    }
}

fn pool_answer(network: &Network, solution: &Solution, pool: usize) -> PoolAnswer {
    let hold = &network.holds[pool];
    let concerned = (0..network.names.len()).filter(|&class| hold.concerns[class]);
    PoolAnswer {
        utilization: solution.held[pool] / hold.size as f64,
        held: solution.held[pool],
        waiting: solution.waiting.iter().map(|row| row[pool]).sum(),
        waiting_time_s: Named(
            concerned
                .map(|class| {
                    (
                        network.names[class].clone(),
                        solution.waiting[class][pool] / solution.throughput[class],
                    )
                })
                .collect(),
        ),
    }
}

/// Returns the number of servers of a station that open classes leave free for closed classes.
fn room(network: &Network, center: &Center) -> f64 {
    center.speed.highest() - network.open_load(center)
}

/// Returns the total time that a transaction of a class spends at its stations and forks if it never waits. [s]
fn without_waiting(network: &Network, class: usize) -> f64 {
    let least: Vec<f64> = (network.centers.iter())
        .map(|center| match &center.speed {
            Speed::Rates(_) => center.demand[class] / center.speed.highest(),
            _ => center.demand[class],
        })
        .collect();
    let mut time: f64 = least.iter().sum();
    for split in network.splits.iter().filter(|split| split.concerns[class]) {
        let branches = split
            .branches
            .iter()
            .map(|branch| branch.iter().map(|&station| least[station]).sum::<f64>());
        time += branches.clone().fold(0.0, f64::max) - branches.sum::<f64>();
    }
    time
}

/// Returns an upper bound of the mean time that a closed class spends at a station; `None` if there is no bound.
fn with_all_ahead(network: &Network, class: usize, center: &Center) -> Option<f64> {
    let demand = center.demand[class];
    let jobs: f64 = (center.visitors())
        .map(|other| network.users(other) as f64)
        .sum();
    let open = network.open_load(center);
    if demand == 0.0 || !center.is_queue() {
        return Some(demand);
    }
    let lowest = match &center.speed {
        Speed::Rates(rates) => rates.iter().copied().fold(f64::INFINITY, f64::min),
        speed => speed.limit(),
    };
    let sharing = matches!(center.discipline, Discipline::Ps)
        || center.is_product_form() && center.discipline != Discipline::LcfsPr
        || network.is_product_form() && !network.keeps_distances[class];
    if sharing && (open == 0.0 || center.speed.is_single()) {
        let servers = if matches!(center.speed, Speed::Rates(_)) {
            lowest.min(1.0)
        } else {
            lowest
        };
        return Some(demand * (jobs / servers).max(1.0) / (1.0 - open));
    }
    if sharing && matches!(center.speed, Speed::Servers(_)) && jobs < 1e6 {
        let speed = Series::of(&center.speed, open, jobs as usize).speed_at(jobs as usize)?;
        return Some(demand * (jobs / speed).max(1.0));
    }
    if open > 0.0 || center.discipline != Discipline::Fcfs {
        return None;
    }
    let work = |other: usize| {
        network.users(other) as f64
            * center.service_time[other]
            * (1.0 + center.scv[other]).max(1.0)
    };
    let ahead: f64 = (0..network.names.len()).map(work).sum();
    Some(demand + center.visits[class] * ahead / lowest.min(center.speed.highest()))
}

/// Returns the bounds of a class, which hold for any method.
#[must_use]
pub fn class_bounds(network: &Network, class: usize) -> ClassBounds {
    let least = without_waiting(network, class);
    let heaviest = (network.centers.iter())
        .filter(|center| center.is_queue() && center.demand[class] > 0.0)
        .max_by(|a, b| {
            (a.demand[class] / room(network, a)).total_cmp(&(b.demand[class] / room(network, b)))
        });
    let bottleneck = heaviest.map_or_else(String::new, |center| center.name.clone());
    let Load::Closed { users, think_time } = network.loads[class] else {
        let rate = network.rate(class);
        let lossy = network
            .centers
            .iter()
            .any(|center| center.capacity.is_some() && center.demand[class] > 0.0);
        return ClassBounds {
            throughput_per_s: Range {
                lower: if lossy { 0.0 } else { rate },
                upper: Some(rate),
            },
            response_time_s: Range {
                lower: if lossy { 0.0 } else { least },
                upper: None,
            },
            knee_users: None,
            bottleneck,
            by_method: Named::default(),
        };
    };
    let users = users as f64;
    let heavy = heaviest.map_or(0.0, |center| center.demand[class] / room(network, center));
    let pools = network.holds.iter().filter(|hold| hold.concerns[class]);
    let most_by_pools = pools
        .map(|hold| hold.size as f64 / held_without_waiting(network, hold, class))
        .fold(f64::INFINITY, f64::min);
    let longest: Option<f64> = (network.centers.iter())
        .map(|center| with_all_ahead(network, class, center))
        .sum();
    // While a job waits for a unit of a pool, all other jobs may be served first. A class that uses a pool therefore
    // has no such bound.
    let longest = longest.filter(|_| network.holds.iter().all(|hold| !hold.concerns[class]));
    let asymptotic = [
        longest.map_or(0.0, |time| users / (think_time + time)),
        (users / (think_time + least))
            .min(1.0 / heavy)
            .min(most_by_pools),
    ];
    let mut by_method = vec![("asymptotic".to_owned(), asymptotic)];
    by_method.extend(single_class(network, class));
    let lower = by_method
        .iter()
        .map(|(_, range)| range[0])
        .fold(0.0, f64::max);
    let upper = by_method
        .iter()
        .map(|(_, range)| range[1])
        .fold(f64::INFINITY, f64::min);
    let time = |throughput: f64| (users / throughput - think_time).max(least);
    ClassBounds {
        throughput_per_s: Range {
            lower,
            upper: Some(upper),
        },
        response_time_s: Range {
            lower: time(upper),
            upper: (lower > 0.0).then(|| time(lower)),
        },
        knee_users: (heavy > 0.0).then(|| (least + think_time) / heavy),
        bottleneck,
        by_method: Named(by_method),
    }
}

fn held_without_waiting(network: &Network, hold: &crate::network::Hold, class: usize) -> f64 {
    // The branches of a fork run in parallel. A fork takes at least as long as the slowest station of its branches.
    let forked = |station: usize| {
        network
            .splits
            .iter()
            .any(|split| split.concerns[class] && split.branches.concat().contains(&station))
    };
    let time = |&station: &usize| {
        network.centers[station].demand[class]
            / network.centers[station].speed.highest().min(1.0).max(
                match &network.centers[station].speed {
                    Speed::Rates(_) => network.centers[station].speed.highest(),
                    _ => 1.0,
                },
            )
    };
    let plain: f64 = hold
        .stations
        .iter()
        .filter(|&&station| !forked(station))
        .map(time)
        .sum();
    let longest = hold
        .stations
        .iter()
        .filter(|&&station| forked(station))
        .map(time)
        .fold(0.0, f64::max);
    let inner: f64 = hold
        .pools
        .iter()
        .map(|&pool| held_without_waiting(network, &network.holds[pool], class))
        .sum();
    plain + longest + inner
}

/// Returns balanced job, proportional and geometric bounds. They require a product-form network of one closed class at
/// single servers.
fn single_class(network: &Network, class: usize) -> Vec<(String, [f64; 2])> {
    let single = network.loads.len() == 1
        && network.is_product_form()
        && !network.keeps_distances[class]
        && network
            .centers
            .iter()
            .all(|center| !center.is_queue() || center.speed.is_single());
    let demand: Vec<f64> = (network.centers.iter())
        .filter(|center| center.is_queue() && center.demand[class] > 0.0)
        .map(|center| center.demand[class])
        .collect();
    if !single || demand.is_empty() {
        return Vec::new();
    }
    let delays: f64 = (network.centers.iter())
        .filter(|center| !center.is_queue())
        .map(|center| center.demand[class])
        .sum();
    let bounds = Single {
        users: network.users(class) as f64,
        think_time: network.think_time(class) + delays,
        demand,
    };
    vec![
        ("balanced_job".into(), bounds.balanced_job()),
        ("proportional".into(), bounds.proportional()),
        ("geometric".into(), bounds.geometric()),
    ]
}

fn relative(found: f64, expected: f64) -> f64 {
    let error = (found - expected).abs();
    if error > 0.0 {
        error / expected.abs().max(f64::MIN_POSITIVE)
    } else {
        0.0
    }
}

fn checks(
    network: &Network,
    classes: &Named<ClassAnswer>,
    stations: &Named<StationAnswer>,
    bounds: &Named<ClassBounds>,
) -> Checks {
    let mut checks = Checks {
        little: 0.0,
        utilization_law: 0.0,
        population: 0.0,
        forced_flow: 0.0,
        within_bounds: true,
    };
    let lossless = network
        .centers
        .iter()
        .all(|center| center.capacity.is_none());
    for (center, (_, station)) in network.centers.iter().zip(&stations.0).filter(|_| lossless) {
        let rate = |class: usize| classes.0[class].1.throughput_per_s;
        let sum = |each: &dyn Fn(usize) -> f64| center.visitors().map(each).sum::<f64>();
        let stay = |class: usize| {
            station
                .residence_time_s
                .get(&network.names[class])
                .copied()
                .unwrap_or(0.0)
        };
        checks.little = checks.little.max(relative(
            sum(&|class| rate(class) * stay(class)),
            station.queue_length,
        ));
        let busy = sum(&|class| rate(class) * center.demand[class]) / center.speed.highest();
        checks.utilization_law = checks
            .utilization_law
            .max(relative(busy, station.utilization));
        let visits = sum(&|class| rate(class) * center.visits[class]);
        checks.forced_flow = checks
            .forced_flow
            .max(relative(visits, station.throughput_per_s));
    }
    for (class, (_, of_class)) in classes.0.iter().enumerate() {
        if let Load::Closed { users, think_time } = network.loads[class] {
            let found = of_class.throughput_per_s * (of_class.response_time_s + think_time);
            checks.population = checks.population.max(relative(found, users as f64));
        }
        let range = &bounds.0[class].1;
        // A response time is computed by subtraction of the think time. If the response time is far smaller than the
        // think time, rounding leaves only few correct digits.
        let digits = 1e-13 * network.think_time(class);
        checks.within_bounds &= within(range.throughput_per_s, of_class.throughput_per_s, 0.0)
            && within(range.response_time_s, of_class.response_time_s, digits);
    }
    checks
}

fn within(range: Range, value: f64, more: f64) -> bool {
    let slack = ROUNDING * value.abs() + more;
    value >= range.lower - slack && range.upper.is_none_or(|upper| value <= upper + slack)
}
