//! Solves stations with a limited capacity, which drop the jobs that arrive while the station is full.
//!
//! Small stations are solved exactly by a birth-death process, an embedded Markov chain or a Markov chain with phases.

use crate::bounded::{self, Stream};
use crate::model::Discipline;
use crate::network::{Center, Speed};
use crate::open::{Visit, birth_death, load, mixture, shares, with_waits};
use crate::shape::Shape;

/// Name of the approximation that merges all classes into one.
pub(crate) const MERGED: &str = "G/G/m/K (merged classes)";
/// Name of a solution that is extrapolated from chains with far fewer phases than the variation of times needs.
pub(crate) const EXTRAPOLATED: &str = "Markov chain of phases, extrapolated";
/// Lower limits on the squared coefficients of variation of times in the Markov chain with phases. A smaller limit
/// needs more phases, so the limits are tried in this order until the chain is small enough. [1]
const FLOORS: [f64; 3] = [0.125, 0.25, 0.5];
/// Largest capacity for which the embedded chain at arrivals is used. [1]
const ROOM_AT_MOST: u64 = 1000;
/// Largest total probability of the numbers of events that the embedded chains ignore. [1]
const NEGLIGIBLE: f64 = 1e-16;

/// Solves a station with a limited capacity. Transactions of each class arrive at `rates`, and `gaps` are the
/// distributions of the times between arrivals of each class. `together` is the squared coefficient of variation of the
/// times between successive arrivals of all classes.
#[must_use]
pub fn solve(
    center: &Center,
    rates: &[f64],
    gaps: &[Shape],
    together: f64,
    capacity: u64,
) -> Visit {
    let streams: Vec<Stream> = (center.visitors())
        .filter(|&class| rates[class] > 0.0)
        .map(|class| Stream {
            class,
            rate: rates[class] * center.visits[class],
            gaps: gaps[class],
        })
        .collect();
    let poisson = streams.iter().all(|stream| stream.gaps.is_exponential());
    let sure = streams
        .iter()
        .all(|stream| stream.gaps == Shape::EXPONENTIAL);
    if center.is_product_form() && poisson {
        let (jobs, loss) = birth_death(center, load(center, rates), capacity);
        let jobs = shares(center, rates, jobs, load(center, rates));
        return visit(jobs, vec![loss; rates.len()], sure, "M/M/m/K");
    }
    if center.discipline == Discipline::Fcfs
        && center.speed == Speed::Servers(1)
        && poisson
        && let Some((found, exact)) = one_server(center, rates, &streams, capacity)
    {
        return Visit {
            exact: sure && exact,
            ..found
        };
    }
    if let (true, [only]) = (center.is_uniform_exponential(), &streams[..])
        && let Some((jobs, loss, exact)) = renewal(center, only, capacity)
    {
        return alone(only, jobs, loss, rates.len(), "GI/M/m/K", exact);
    }
    if let [only] = &streams[..]
        && only.gaps.scv == 0.0
        && center.scv[only.class] == 0.0
        && matches!(center.speed, Speed::Servers(servers) if load(center, rates) <= f64::from(servers))
    {
        // The offered load does not exceed the number of servers. Equal jobs that arrive at equal intervals then always
        // find a free server.
        return alone(only, load(center, rates), 0.0, rates.len(), "D/D/m/K", true);
    }
    by_phases(center, rates, &streams, capacity)
        .or_else(|| shared(center, rates, &streams, capacity))
        .unwrap_or_else(|| rough(center, rates, together, capacity))
}

fn visit(jobs: Vec<f64>, losses: Vec<f64>, exact: bool, formula: &'static str) -> Visit {
    let loss = losses.iter().copied().fold(0.0, f64::max);
    Visit {
        jobs,
        loss,
        losses,
        exact,
        formula,
    }
}

fn alone(
    only: &Stream,
    jobs: f64,
    loss: f64,
    classes: usize,
    formula: &'static str,
    exact: bool,
) -> Visit {
    let mut by_class = vec![0.0; classes];
    by_class[only.class] = jobs;
    visit(by_class, vec![loss; classes], exact, formula)
}

/// Solves M/G/1/K by the embedded Markov chain at departures (Gross, Shortle, Thompson and Harris, *Fundamentals of
/// Queueing Theory*, 2008, section 5.1.7).
///
/// The rate of transitions from n to n + 1 jobs equals the rate from n + 1 to n. This gives a recursion of positive
/// terms.
fn one_server(
    center: &Center,
    rates: &[f64],
    streams: &[Stream],
    capacity: u64,
) -> Option<(Visit, bool)> {
    let rate: f64 = streams.iter().map(|stream| stream.rate).sum();
    let (mut counts, mut exact) = (Vec::new(), true);
    for stream in streams {
        let class = stream.class;
        let events = center
            .shape(class)
            .events(rate * center.service_time[class], NEGLIGIBLE)?;
        exact &= events.exact;
        counts.resize(events.probabilities.len().max(counts.len()), 0.0);
        for (sum, chance) in counts.iter_mut().zip(&events.probabilities) {
            *sum += chance * stream.rate / rate;
        }
    }
    if capacity > 10 * ROOM_AT_MOST {
        return None;
    }
    let more = tails(&counts);
    let above = |number: usize| more.get(number).copied().unwrap_or(0.0);
    let mut left = vec![1.0_f64];
    for jobs in 0..capacity as usize - 1 {
        let up: f64 = left[0] * above(jobs)
            + (1..=jobs)
                .map(|from| left[from] * above(jobs + 1 - from))
                .sum::<f64>();
        left.push(up / counts[0]);
        if left[jobs + 1] > 1e200 {
            for weight in &mut left {
                *weight *= 1e-200;
            }
        }
    }
    let total: f64 = left.iter().sum();
    let offered = load(center, rates);
    let taken = left[0] / total + offered;
    let loss = last_is_full(&left, &more, total, taken);
    let mean: f64 = left
        .iter()
        .enumerate()
        .map(|(jobs, weight)| jobs as f64 * weight / total / taken)
        .sum();
    let jobs = mean + capacity as f64 * loss;
    let kept: Vec<f64> = rates.iter().map(|rate| rate * (1.0 - loss)).collect();
    let wait = (jobs - offered * (1.0 - loss)).max(0.0) / (rate * (1.0 - loss));
    let jobs = with_waits(center, &kept, 1.0, |_| wait);
    Some((
        visit(jobs, vec![loss; rates.len()], exact, "M/G/1/K"),
        exact,
    ))
}

/// Returns the share of arrivals that find the station full. It is the mean number of arrivals beyond the capacity
/// during a service, divided by the mean number of arrivals between two departures.
fn last_is_full(left: &[f64], more: &[f64], total: f64, taken: f64) -> f64 {
    let room = left.len();
    // Mean number of arrivals during a service in excess of the first `from` arrivals. It is the sum of the
    // probabilities of more than `from`, more than `from` + 1, ... arrivals.
    let beyond = |from: usize| more.iter().skip(from).sum::<f64>();
    let lost = left[0] * beyond(room - 1)
        + (1..room)
            .map(|jobs| left[jobs] * beyond(room - jobs))
            .sum::<f64>();
    lost / total / taken
}

/// Returns the probabilities of more than 0, 1, ... events. The sums begin with the largest number of events.
fn tails(counts: &[f64]) -> Vec<f64> {
    let mut found = vec![0.0; counts.len()];
    for number in (1..counts.len()).rev() {
        found[number - 1] = found[number] + counts[number];
    }
    found
}

/// Solves GI/M/m/K by the embedded Markov chain at arrivals (Gross et al., section 5.3).
///
/// Completions between two arrivals are modelled by a Poisson process at the highest speed of the station. While the
/// speed is lower, some events of this process are ignored. Returns the mean number of jobs, the loss, and `true` if
/// the distribution of the times between arrivals is exact.
fn renewal(center: &Center, only: &Stream, capacity: u64) -> Option<(f64, f64, bool)> {
    if capacity > ROOM_AT_MOST {
        return None;
    }
    let (time, room) = (center.service_time[only.class], capacity as usize);
    let highest = center.speed.highest().min(match center.speed {
        Speed::Servers(_) => capacity as f64,
        _ => f64::INFINITY,
    });
    let events = only.gaps.events(highest / time / only.rate, NEGLIGIBLE)?;
    let ends: Vec<f64> = (0..=room)
        .map(|jobs| center.speed.at(jobs as u64) / highest)
        .collect();
    // For each number of jobs before an arrival: the probabilities of 0, 1, ... jobs before the next arrival, and their
    // cumulative sums.
    let next: Vec<Vec<f64>> = (0..=room)
        .map(|jobs| after(&ends, (jobs + 1).min(room), &events.probabilities))
        .collect();
    let below: Vec<Vec<f64>> = next.iter().map(|row| sums(row)).collect();
    let mut seen = vec![0.0; room + 1];
    seen[room] = 1.0;
    for jobs in (0..room).rev() {
        let down: f64 = (jobs + 1..=room)
            .map(|from| seen[from] * below[from][jobs])
            .sum();
        seen[jobs] = down / next[jobs][jobs + 1];
        if seen[jobs] > 1e200 {
            for weight in &mut seen {
                *weight *= 1e-200;
            }
        }
    }
    let total: f64 = seen.iter().sum();
    let present = (0..room).map(|jobs| {
        let rate = center.speed.at(jobs as u64 + 1) / time;
        (jobs + 1) as f64 * only.rate * seen[jobs] / total / rate
    });
    let exact = events.exact && only.gaps.form.is_some();
    Some((present.sum(), seen[room] / total, exact))
}

/// Returns the probabilities of 0, 1, ... jobs just before the next arrival, if `jobs` are present after the last
/// arrival.
fn after(ends: &[f64], jobs: usize, events: &[f64]) -> Vec<f64> {
    let mut now = vec![0.0; jobs + 1];
    now[jobs] = 1.0;
    let mut found = vec![0.0; jobs + 1];
    let mut rest = 1.0_f64;
    for &chance in events {
        found
            .iter_mut()
            .zip(&now)
            .for_each(|(sum, share)| *sum += chance * share);
        rest -= chance;
        for number in 0..=jobs {
            let from_above = if number < jobs {
                now[number + 1] * ends[number + 1]
            } else {
                0.0
            };
            now[number] = now[number] * (1.0 - ends[number]) + from_above;
        }
        if now[0] > 1.0 - NEGLIGIBLE {
            break;
        }
    }
    found[0] += rest.max(0.0);
    found
}

fn sums(chances: &[f64]) -> Vec<f64> {
    let mut total = 0.0;
    chances
        .iter()
        .map(|chance| {
            total += chance;
            total
        })
        .collect()
}

/// Solves the Markov chain with phases. If the variation of a time is lower than the phases can represent, the result
/// is extrapolated from two chains with higher variations.
fn by_phases(center: &Center, rates: &[f64], streams: &[Stream], capacity: u64) -> Option<Visit> {
    if capacity > 10 * ROOM_AT_MOST {
        return None;
    }
    let least = (streams.iter())
        .flat_map(|stream| [stream.gaps.scv, center.scv[stream.class]])
        .fold(f64::INFINITY, f64::min);
    let shapes_known = streams
        .iter()
        .all(|stream| stream.gaps.has_phases() && center.shape(stream.class).has_phases());
    for floor in FLOORS {
        let Some(found) = bounded::solve(center, streams, capacity, floor) else {
            continue;
        };
        let (jobs, loss) = if least < floor {
            let coarse = bounded::solve(center, streams, capacity, 2.0 * floor)?;
            (
                between(&found.jobs, &coarse.jobs, floor, least, false),
                between(&found.loss, &coarse.loss, floor, least, true),
            )
        } else {
            (found.jobs, found.loss)
        };
        // An extrapolation can undershoot the jobs in service, which are the least that the station holds.
        let jobs: Vec<f64> = (jobs.iter().zip(&loss).zip(streams))
            .map(|((&jobs, loss), stream)| {
                let served = stream.rate * (1.0 - loss) * center.service_time[stream.class];
                if least < floor && matches!(center.speed, Speed::Servers(_)) {
                    jobs.max(served)
                } else {
                    jobs
                }
            })
            .collect();
        let exact = shapes_known && least >= floor && is_markov(center, streams);
        let mut found = spread(rates.len(), streams, &jobs, &loss, exact);
        if least < floor && floor > FLOORS[0] {
            found.formula = EXTRAPOLATED;
        }
        return Some(found);
    }
    None
}

/// Solves the Markov chain with phases for exponential service times. This applies only to shared servers, where the
/// distribution of service times has little effect.
fn shared(center: &Center, rates: &[f64], streams: &[Stream], capacity: u64) -> Option<Visit> {
    if !matches!(center.discipline, Discipline::Ps | Discipline::LcfsPr) {
        return None;
    }
    let exponential = Center {
        scv: vec![1.0; rates.len()],
        form: Vec::new(),
        ..center.clone()
    };
    by_phases(&exponential, rates, streams, capacity)
}

/// Extrapolates results to the squared coefficient of variation `least`. `fine` and `coarse` are the results at `floor`
/// and 2 `floor`. `logs` selects extrapolation of the logarithms.
fn between(fine: &[f64], coarse: &[f64], floor: f64, least: f64, logs: bool) -> Vec<f64> {
    let steps = (floor - least) / floor;
    let extended = |(fine, coarse): (&f64, &f64)| {
        if logs && *fine > 0.0 && *coarse > 0.0 {
            fine * (fine / coarse).powf(steps)
        } else {
            fine + (fine - coarse) * steps
        }
    };
    fine.iter().zip(coarse).map(extended).collect()
}

/// Returns `true` if the chain is exact. Each job in a queue must belong to a random class, independently of all other
/// jobs. Interrupted jobs of the same rank must have the same service times.
fn is_markov(center: &Center, streams: &[Stream]) -> bool {
    let ranked = center.discipline == Discipline::Priority;
    let alike = |one: &Stream, other: &Stream| {
        let (first, second) = (one.class, other.class);
        (center.service_time[first] - center.service_time[second]).abs()
            <= 1e-12 * center.service_time[first]
            && center.shape(first) == center.shape(second)
    };
    let pairs = streams
        .iter()
        .flat_map(|one| streams.iter().map(move |other| (one, other)));
    let exponential = streams
        .iter()
        .all(|stream| center.shape(stream.class).is_exponential());
    let together = |one: &Stream, other: &Stream| {
        !ranked || center.rank[one.class] == center.rank[other.class]
    };
    if center.preemptive && ranked {
        // At one server, at most one job of a rank has begun service. At several servers it is not known which of the
        // jobs is interrupted, which has no effect with exponential service times.
        let one_each =
            (pairs.clone()).all(|(one, other)| one.class == other.class || !together(one, other));
        let known = center.speed == Speed::Servers(1) && one_each;
        return known
            || exponential
                && pairs
                    .filter(|(one, other)| together(one, other))
                    .all(|(one, other)| alike(one, other));
    }
    if center.discipline == Discipline::LcfsPr {
        return false;
    }
    center.discipline == Discipline::Ps
        || pairs
            .filter(|(one, other)| one.class != other.class && together(one, other))
            .all(|(one, other)| one.gaps.is_exponential() && other.gaps.is_exponential())
}

fn spread(classes: usize, streams: &[Stream], jobs: &[f64], loss: &[f64], exact: bool) -> Visit {
    let (mut by_class, mut losses) = (vec![0.0; classes], vec![0.0; classes]);
    for ((stream, jobs), loss) in streams.iter().zip(jobs).zip(loss) {
        by_class[stream.class] = *jobs;
        losses[stream.class] = *loss;
    }
    visit(by_class, losses, exact, "Markov chain of phases")
}

/// Approximates a station for which no chain is small enough: all classes are merged into one, and all classes have the
/// same wait.
fn rough(center: &Center, rates: &[f64], together: f64, capacity: u64) -> Visit {
    let total = load(center, rates);
    let (mean_time, scv) = mixture(center, rates);
    let visits: f64 = center
        .visitors()
        .map(|class| rates[class] * center.visits[class])
        .sum();
    let merged = Center {
        discipline: Discipline::Fcfs,
        ..center.only(mean_time, scv)
    };
    let stream = Stream {
        class: 0,
        rate: visits,
        gaps: Shape::unknown(together),
    };
    let found = (FLOORS.iter())
        .find_map(|floor| bounded::solve(&merged, &[stream], capacity, *floor))
        .map(|found| (found.jobs[0], found.loss[0]));
    let exponential = || {
        renewal(&center.only(mean_time, 1.0), &stream, capacity).map(|(jobs, loss, _)| (jobs, loss))
    };
    let (jobs, loss) = found
        .or_else(exponential)
        .unwrap_or_else(|| birth_death(center, total, capacity));
    let by_class = if center.is_product_form() {
        shares(center, rates, jobs, total)
    } else {
        let kept: Vec<f64> = rates.iter().map(|rate| rate * (1.0 - loss)).collect();
        let taken = total * (1.0 - loss);
        let wait = (jobs - taken).max(0.0) * mean_time / taken;
        with_waits(center, &kept, 1.0, |_| wait)
    };
    visit(by_class, vec![loss; rates.len()], false, MERGED)
}

#[cfg(test)]
mod tests;
