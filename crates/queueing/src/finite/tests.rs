//! Compares the solutions of stations with a limited capacity with solutions of independently written Markov chains.

use super::*;
use crate::model::Distribution;
use crate::network::Back;

fn center(servers: u32, service_time: &[f64], scv: f64, discipline: Discipline) -> Center {
    let classes = service_time.len();
    let form = match scv {
        0.0 => Distribution::Deterministic,
        1.0 => Distribution::Exponential,
        scv if scv < 1.0 => Distribution::Gamma,
        _ => Distribution::Hyperexponential,
    };
    Center {
        name: "one".into(),
        discipline,
        speed: Speed::Servers(servers),
        capacity: None,
        preemptive: false,
        visits: vec![1.0; classes],
        in_row: vec![1.0; classes],
        back: vec![Back::Never; classes],
        row_factor: vec![1.0; classes],
        service_time: service_time.to_vec(),
        demand: service_time.to_vec(),
        scv: vec![scv; classes],
        form: vec![Some(form); classes],
        rank: (1..).take(classes).collect(),
    }
}

fn poisson(center: &Center, rates: &[f64], capacity: u64) -> Visit {
    solve(
        center,
        rates,
        &vec![Shape::EXPONENTIAL; rates.len()],
        1.0,
        capacity,
    )
}

fn gaps(form: Distribution, scv: f64) -> Shape {
    Shape {
        form: Some(form),
        scv,
    }
}

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!(
        (found / expected - 1.0).abs() < within,
        "{found} must be {expected}"
    );
}

/// Expected values come from an independently written chain at departures, solved as linear equations and rounded to
/// the digits shown. The columns are load, capacity, loss and response time.
#[test]
fn constant_times_lose_what_the_chain_at_departures_loses() {
    let center = center(1, &[1.0], 0.0, Discipline::Fcfs);
    for (rate, room, loss, response) in [
        (0.8, 5, 0.03529, 2.2097),
        (0.8, 10, 0.003_639, 2.8298),
        (0.8, 20, 4.827e-5, f64::NAN),
        (0.8, 30, 6.5e-7, f64::NAN),
        (0.9, 20, 0.001_853, 5.1412),
        (0.9, 30, 2.30e-4, 5.4325),
        (0.5, 10, 4.06e-6, f64::NAN),
    ] {
        let visit = poisson(&center, &[rate], room);
        assert!(visit.exact && visit.formula == "M/G/1/K");
        near(visit.loss, loss, 0.01);
        let found = visit.jobs[0] / (rate * (1.0 - visit.loss));
        assert!(
            response.is_nan() || (found / response - 1.0).abs() < 1e-4,
            "{found}"
        );
    }
}

/// Expected values come from an independently written chain at arrivals. The station has one server with exponential
/// service of mean 1 s and a capacity of 10. Jobs arrive at 0.8/s, in bursts (scv 4) or at regular intervals.
#[test]
fn the_variation_of_arrivals_fills_a_room() {
    let center = center(1, &[1.0], 1.0, Discipline::Fcfs);
    for (form, scv, loss, response) in [
        (Distribution::Hyperexponential, 4.0, 0.09098, 4.978),
        (Distribution::Deterministic, 0.0, 0.002_082, 2.590),
    ] {
        let visit = solve(&center, &[0.8], &[gaps(form, scv)], scv, 10);
        assert!(visit.exact);
        near(visit.loss, loss, 1e-3);
        near(visit.jobs[0] / (0.8 * (1.0 - visit.loss)), response, 1e-3);
    }
}

/// The chain with phases represents the distributions in this test exactly.
#[test]
fn embedded_chains_agree_with_the_chain_of_phases() {
    for scv in [0.25, 0.5, 4.0] {
        let form = if scv > 1.0 {
            Distribution::Hyperexponential
        } else {
            Distribution::Gamma
        };
        let varied = center(1, &[1.0], scv, Discipline::Fcfs);
        let stream = |rate: f64, gaps: Shape| Stream {
            class: 0,
            rate,
            gaps,
        };
        let exact = poisson(&varied, &[0.9], 7);
        let chain = bounded::solve(&varied, &[stream(0.9, Shape::EXPONENTIAL)], 7, 0.0).unwrap();
        near(chain.loss[0], exact.loss, 1e-9);
        near(chain.jobs[0], exact.jobs[0], 1e-9);
        for servers in [1, 3] {
            let plain = center(servers, &[1.0], 1.0, Discipline::Fcfs);
            let rate = 0.9 * f64::from(servers);
            let exact = solve(&plain, &[rate], &[gaps(form, scv)], scv, 7);
            let chain = bounded::solve(&plain, &[stream(rate, gaps(form, scv))], 7, 0.0).unwrap();
            assert!(exact.formula == "GI/M/m/K" && exact.exact);
            near(chain.loss[0], exact.loss, 1e-9);
            near(chain.jobs[0], exact.jobs[0], 1e-9);
        }
    }
}

/// Returns the stationary probabilities of a dense chain, computed by many small time steps.
fn dense(size: usize, rates: &[(usize, usize, f64)]) -> Vec<f64> {
    let mut found = vec![1.0 / size as f64; size];
    for _ in 0..200_000 {
        let mut next = found.clone();
        for &(from, to, rate) in rates {
            let moved = 0.05 * found[from] * rate;
            next[from] -= moved;
            next[to] += moved;
        }
        found = next;
    }
    found
}

/// Expected values come from a chain of two ranks at one exponential server, with interruption. A state is the number
/// of jobs of each rank.
#[test]
fn interrupting_ranks_in_a_full_room_are_the_chain_of_two_numbers() {
    let mut center = center(1, &[1.0, 0.5], 1.0, Discipline::Priority);
    center.preemptive = true;
    let rates = [0.7, 0.5];
    let states: Vec<(usize, usize)> = (0..=4)
        .flat_map(|first| (0..=4 - first).map(move |second| (first, second)))
        .collect();
    let place = |state| states.iter().position(|&other| other == state).unwrap();
    let mut moves = Vec::new();
    for &(first, second) in &states {
        let from = place((first, second));
        if first + second < 4 {
            moves.push((from, place((first + 1, second)), rates[0]));
            moves.push((from, place((first, second + 1)), rates[1]));
        }
        if first > 0 {
            moves.push((from, place((first - 1, second)), 1.0));
        } else if second > 0 {
            moves.push((from, place((first, second - 1)), 2.0));
        }
    }
    let chances = dense(states.len(), &moves);
    let mean = |each: &dyn Fn(&(usize, usize)) -> f64| {
        states
            .iter()
            .zip(&chances)
            .map(|(state, chance)| each(state) * chance)
            .sum::<f64>()
    };
    let visit = poisson(&center, &rates, 4);
    assert!(visit.exact);
    near(visit.jobs[0], mean(&|state| state.0 as f64), 1e-8);
    near(visit.jobs[1], mean(&|state| state.1 as f64), 1e-8);
    near(
        visit.losses[1],
        mean(&|state| f64::from(u8::from(state.0 + state.1 == 4))),
        1e-8,
    );
}

/// Expected values come from a chain of two ranks at one exponential server, without interruption. A busy state is the
/// number of waiting jobs of each rank.
#[test]
fn ranks_in_a_full_room_wait_as_their_own_chain_says() {
    let center = center(1, &[1.0, 1.0], 1.0, Discipline::Priority);
    let rates = [0.5, 0.5];
    let waiting: Vec<(usize, usize)> = (0..=9)
        .flat_map(|first| (0..=9 - first).map(move |second| (first, second)))
        .collect();
    let place = |state| 1 + waiting.iter().position(|&other| other == state).unwrap();
    let mut moves = vec![(0, place((0, 0)), 1.0), (place((0, 0)), 0, 1.0)];
    for &(first, second) in &waiting {
        let from = place((first, second));
        if first + second < 9 {
            moves.push((from, place((first + 1, second)), rates[0]));
            moves.push((from, place((first, second + 1)), rates[1]));
        }
        if first > 0 {
            moves.push((from, place((first - 1, second)), 1.0));
        } else if second > 0 {
            moves.push((from, place((first, second - 1)), 1.0));
        }
    }
    let chances = dense(waiting.len() + 1, &moves);
    let full: f64 = waiting
        .iter()
        .filter(|state| state.0 + state.1 == 9)
        .map(|&state| chances[place(state)])
        .sum();
    let mean = |each: &dyn Fn(&(usize, usize)) -> usize| {
        waiting
            .iter()
            .map(|state| each(state) as f64 * chances[place(*state)])
            .sum::<f64>()
    };
    let visit = poisson(&center, &rates, 10);
    assert!(visit.exact);
    near(visit.loss, full, 1e-7);
    let kept = 0.5 * (1.0 - full);
    near(
        visit.jobs[0] / kept,
        1.0 + mean(&|state| state.0) / kept,
        1e-7,
    );
    near(
        visit.jobs[1] / kept,
        1.0 + mean(&|state| state.1) / kept,
        1e-7,
    );
    assert!(visit.jobs[1] > 2.0 * visit.jobs[0]);
}

/// Expected loss and response time come from simulation. If the capacity equals the number of servers, the variation
/// has no effect (Erlang's loss formula).
#[test]
fn variation_fills_a_bounded_station() {
    let visit = poisson(&center(2, &[1.0], 4.0, Discipline::Fcfs), &[1.5], 10);
    assert!(visit.exact);
    assert!((visit.loss - 0.059).abs() < 0.001, "{}", visit.loss);
    near(visit.jobs[0] / (1.5 * (1.0 - visit.loss)), 2.253, 0.01);
    for scv in [0.0, 0.7, 4.0] {
        let loss = poisson(&center(2, &[1.0], scv, Discipline::Fcfs), &[1.5], 2).loss;
        assert!((loss - crate::special::erlang_b(2, 1.5)).abs() < 1e-12);
    }
}

#[test]
fn large_rooms_are_answered_roughly() {
    let center = center(64, &[1.0, 3.0], 4.0, Discipline::Fcfs);
    let visit = poisson(&center, &[16.0, 12.0], 200);
    assert!(!visit.exact && visit.formula == MERGED);
    assert!(visit.jobs.iter().sum::<f64>() >= 52.0 * (1.0 - visit.loss) - 1e-9);
}

/// A chain with the phases of all service times would be too large here, so exponential service times are used.
#[test]
fn shared_servers_with_bursts_are_solved_with_exponential_times() {
    let center = center(2, &[1.0, 1.0], 4.0, Discipline::Ps);
    let bursts = gaps(Distribution::Hyperexponential, 4.0);
    let visit = solve(&center, &[0.8, 0.8], &[bursts, bursts], 3.0, 60);
    assert!(!visit.exact && visit.formula == "Markov chain of phases");
    assert!(visit.loss > poisson(&center, &[0.8, 0.8], 60).loss);
}

/// Equal jobs that arrive regularly never wait below saturation. With slightly varying arrivals, the result is
/// extrapolated.
#[test]
fn constant_times_in_a_shared_room() {
    let center = center(1, &[1.0], 0.0, Discipline::Ps);
    let visit = solve(
        &center,
        &[0.6],
        &[gaps(Distribution::Deterministic, 0.0)],
        0.0,
        3,
    );
    assert!(visit.exact && visit.loss == 0.0);
    near(visit.jobs[0], 0.6, 1e-12);
    let visit = solve(&center, &[0.6], &[gaps(Distribution::Gamma, 0.25)], 0.25, 3);
    assert!(!visit.exact && visit.formula == EXTRAPOLATED);
}

/// Independently written chains with Erlang service times of 32 and 64 phases lose 3.594 % and 3.517 % of the jobs.
/// Linear extrapolation to constant times gives 3.44 %, and 3.484 jobs on average.
#[test]
fn constant_times_at_two_servers_are_extrapolated() {
    let visit = poisson(&center(2, &[1.0], 0.0, Discipline::Fcfs), &[1.8], 8);
    assert!(!visit.exact && visit.formula == "Markov chain of phases");
    near(visit.loss, 0.0344, 0.04);
    near(visit.jobs[0], 3.484, 0.004);
}

/// A second rank that hardly ever arrives leaves the first rank alone: M/G/1/K. Its phases of service remain after an
/// interruption.
#[test]
fn a_rank_that_interrupts_an_empty_rank_is_alone() {
    for scv in [0.25, 4.0] {
        let alone = poisson(&center(1, &[1.0], scv, Discipline::Fcfs), &[0.8], 6);
        let mut ranked = center(1, &[1.0, 3.0], scv, Discipline::Priority);
        ranked.preemptive = true;
        for rates in [[0.8, 1e-9], [1e-9, 0.8 / 3.0]] {
            let visit = poisson(&ranked, &rates, 6);
            assert!(visit.exact);
            let own = usize::from(rates[0] < rates[1]);
            near(visit.losses[own], alone.losses[0], 1e-6);
            near(visit.jobs[own], alone.jobs[0], 1e-6);
        }
    }
}

/// A room of 14 jobs that loses hardly any is M/G/1 with interruption (Jaiswal, *Priority Queues*, 1968), with Erlang
/// service times.
#[test]
fn interrupting_ranks_in_a_large_room_are_those_without_a_limit() {
    let mut ranked = center(1, &[1.0, 1.0], 0.25, Discipline::Priority);
    ranked.preemptive = true;
    let visit = poisson(&ranked, &[0.15, 0.1], 14);
    assert!(visit.exact && visit.loss < 1e-7, "{visit:?}");
    // R_1 = S + λ_1 E[S²] / 2 / (1 − ρ_1), R_2 = S / (1 − ρ_1) + (λ_1 + λ_2) E[S²] / 2 / ((1 − ρ_1) (1 − ρ)).
    near(visit.jobs[0] / 0.15, 1.0 + 0.15 * 1.25 / 2.0 / 0.85, 1e-6);
    near(
        visit.jobs[1] / 0.1,
        1.0 / 0.85 + 0.25 * 1.25 / 2.0 / (0.85 * 0.75),
        1e-6,
    );
}

/// Two numbers of phases are extrapolated to constant times. The jobs are never fewer than those in service.
#[test]
fn an_extrapolation_has_no_negative_wait() {
    let mut ranked = center(1, &[1.0, 1.0], 0.0, Discipline::Priority);
    ranked.preemptive = true;
    let arrivals = [
        gaps(Distribution::Gamma, 0.5),
        gaps(Distribution::Exponential, 1.0),
    ];
    let rates = [0.364, 0.836];
    let visit = solve(&ranked, &rates, &arrivals, 1.0, 21);
    for (class, rate) in rates.iter().enumerate() {
        assert!(visit.jobs[class] >= rate * (1.0 - visit.losses[class]));
    }
}
