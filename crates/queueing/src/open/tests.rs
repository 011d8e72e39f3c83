use super::*;
use crate::network::Back;

fn all_at_once(center: &Center, rates: &[f64], arrival_scv: f64) -> Visit {
    solve(center, rates, arrival_scv, &vec![arrival_scv; rates.len()])
}

fn center(speed: Speed, service_time: &[f64], discipline: Discipline) -> Center {
    let classes = service_time.len();
    Center {
        name: "one".into(),
        discipline,
        speed,
        capacity: None,
        preemptive: false,
        visits: vec![1.0; classes],
        in_row: vec![1.0; classes],
        back: vec![Back::Never; classes],
        row_factor: vec![1.0; classes],
        service_time: service_time.to_vec(),
        demand: service_time.to_vec(),
        scv: vec![1.0; classes],
        form: Vec::new(),
        rank: (1..).take(classes).collect(),
    }
}

/// Conservation of work in M/G/1 without interruption (Kleinrock 1965): the sum of utilization times wait over all
/// ranks, Σ ρ_r W_r, is the same as with first come, first served.
#[test]
fn ranks_conserve_work() {
    let rates = [0.3, 0.2, 0.1];
    let waits = |discipline| {
        let center = center(Speed::Servers(1), &[0.5, 1.0, 2.5], discipline);
        let visit = all_at_once(&center, &rates, 1.0);
        let wait = |class: usize| visit.jobs[class] / rates[class] - center.service_time[class];
        (0..3)
            .map(|class| rates[class] * center.demand[class] * wait(class))
            .sum::<f64>()
    };
    assert!((waits(Discipline::Priority) - waits(Discipline::Fcfs)).abs() < 1e-13);
}

/// If all classes have the same exponential service time, ranks only change the order of service. The mean wait
/// over all classes is then that of M/M/m, C S / (m (1 − ρ)).
#[test]
fn ranks_of_many_servers_conserve_the_wait_of_erlang() {
    for servers in 1..=8 {
        let scale = f64::from(servers);
        let rates = [0.4 * scale, 0.3 * scale, 0.2 * scale];
        let center = center(Speed::Servers(servers), &[1.0; 3], Discipline::Priority);
        let visit = all_at_once(&center, &rates, 1.0);
        assert!(visit.exact);
        let total: f64 = visit.jobs.iter().sum();
        let load = 0.9 * scale;
        let erlang = load + erlang_c(servers, load) * load / (scale - load);
        assert!((total / erlang - 1.0).abs() < 1e-12, "{servers} servers");
    }
}

/// Two classes of rate 0.8 at two servers, S = 1 s, by Cobham: W_0 = C / m = 0.64 / 1.8, W_1 = W_0 / 0.6, W_2 = W_0
/// / (0.6 · 0.2). Erlang's C is ρ² 2 / (1 + ρ) = 0.7111 at ρ = 0.8.
#[test]
fn two_ranks_of_two_servers_wait_as_cobham_says() {
    let center = center(Speed::Servers(2), &[1.0, 1.0], Discipline::Priority);
    let visit = all_at_once(&center, &[0.8, 0.8], 1.0);
    let first = 0.64 / 1.8;
    assert!((visit.jobs[0] / 0.8 - (1.0 + first / 0.6)).abs() < 1e-12);
    assert!((visit.jobs[1] / 0.8 - (1.0 + first / 0.12)).abs() < 1e-12);
}

#[test]
fn variation_near_one_joins_the_exact_answer() {
    for speed in [
        Speed::Servers(1),
        Speed::Servers(2),
        Speed::Servers(8),
        Speed::Servers(64),
        Speed::Rates(vec![1.0, 2.0]),
        Speed::Rates(vec![0.5, 3.0, 2.0]),
    ] {
        let rate = 0.8 * speed.limit();
        let mut center = center(speed, &[1.0], Discipline::Fcfs);
        let exact = all_at_once(&center, &[rate], 1.0).jobs[0];
        for change in [-1e-9, 1e-9] {
            center.scv = vec![1.0 + change];
            let service = all_at_once(&center, &[rate], 1.0).jobs[0];
            center.scv = vec![1.0];
            let arrivals = all_at_once(&center, &[rate], 1.0 + change).jobs[0];
            assert!((service / exact - 1.0).abs() < 1e-6, "{center:?}");
            assert!((arrivals / exact - 1.0).abs() < 1e-6, "{center:?}");
        }
    }
}

/// Sixteen servers at a utilization of 0.9, service times with scv 2, by Allen and Cunneen: R = S + C S / (m (1 −
/// ρ)) (1 + 2) / 2 = 1.554 s.
#[test]
fn sixteen_servers_wait_a_sixteenth() {
    let mut center = center(Speed::Servers(16), &[1.0], Discipline::Fcfs);
    center.scv = vec![2.0];
    let response = all_at_once(&center, &[14.4], 1.0).jobs[0] / 14.4;
    let erlang = erlang_c(16, 14.4) / 1.6 * 1.5;
    assert!((response - 1.0 - erlang).abs() < 1e-12);
    assert!((response - 1.554).abs() < 5e-4);
}

/// Hyperexponential arrivals of scv 4 with balanced means at one exponential server, ρ = 0.8: σ = 0.907572 solves
/// the equation of GI/M/1, and R = S / (1 − σ) = 10.8192 s.
///
/// Regular arrivals at ρ = 1/2: σ = exp(−2 (1 − σ)) = 0.203188.
#[test]
fn the_variation_of_arrivals_makes_an_exponential_server_wait() {
    for discipline in [Discipline::Fcfs, Discipline::Ps, Discipline::LcfsPr] {
        let center = center(Speed::Servers(1), &[1.0], discipline);
        let bursts = all_at_once(&center, &[0.8], 4.0);
        assert!(!bursts.exact);
        assert!((bursts.jobs[0] / 0.8 - 10.819_192_77).abs() < 1e-6);
        let regular = all_at_once(&center, &[0.5], 0.0).jobs[0] / 0.5;
        assert!((regular - 1.0 / (1.0 - 0.203_187_87)).abs() < 1e-6);
    }
}

#[test]
fn regular_arrivals_of_equal_jobs_never_wait() {
    let mut center = center(Speed::Servers(2), &[1.0], Discipline::Fcfs);
    center.scv = vec![0.0];
    assert!((all_at_once(&center, &[1.9], 0.0).jobs[0] - 1.9).abs() < 1e-12);
}

/// Two ranks with the same exponential service time S: R_1 = S/(1−ρ_1), R_2 = S/((1−ρ_1)(1−ρ_1−ρ_2)).
#[test]
fn interrupting_ranks_of_one_service_time_have_a_closed_form() {
    for speed in [Speed::Servers(1), Speed::Rates(vec![1.0])] {
        let mut center = center(speed, &[1.0, 1.0], Discipline::Priority);
        center.preemptive = true;
        let visit = all_at_once(&center, &[0.4, 0.3], 1.0);
        assert!((visit.jobs[0] / 0.4 - 1.0 / 0.6).abs() < 1e-13);
        assert!((visit.jobs[1] / 0.3 - 1.0 / (0.6 * 0.3)).abs() < 1e-12);
    }
}

/// Equal jobs that arrive at equal intervals never wait, also at shared servers.
#[test]
fn regular_arrivals_of_equal_jobs_never_share() {
    for (discipline, servers) in [(Discipline::Ps, 1), (Discipline::Ps, 4)] {
        let mut center = center(Speed::Servers(servers), &[1.0], discipline);
        center.scv = vec![0.0];
        let load = 0.8 * f64::from(servers);
        assert!((all_at_once(&center, &[load], 0.0).jobs[0] - load).abs() < 1e-12);
    }
}

/// The best rank at one server, with interruption, is GI/M/1: hyperexponential arrivals of scv 4 at ρ = 0.8 respond in
/// 10.8192 s, whatever the worse rank does.
#[test]
fn the_best_rank_waits_for_its_own_arrivals() {
    let mut center = center(Speed::Servers(1), &[1.0, 1.0], Discipline::Priority);
    center.preemptive = true;
    let visit = solve(&center, &[0.8, 0.1], 1.0, &[4.0, 3.0]);
    assert!((visit.jobs[0] / 0.8 - 10.819_192_77).abs() < 1e-6);
    assert!(!visit.exact);
    // Regular arrivals of constant jobs at less than one server never wait.
    center.scv = vec![0.0, 1.0];
    let visit = solve(&center, &[0.8, 0.1], 1.0, &[0.0, 1.0]);
    assert!((visit.jobs[0] - 0.8).abs() < 1e-12);
}

/// Without interruption, the best rank waits for a residual service of the worse rank, which does not depend on its own
/// arrivals: with few of its own jobs, W_1 = ρ_2 S (1 + scv) / 2.
#[test]
fn arrivals_of_the_best_rank_do_not_change_the_wait_for_a_worse_rank() {
    let center = center(Speed::Servers(1), &[1.0, 1.0], Discipline::Priority);
    for scv in [0.25, 1.0, 4.0] {
        let visit = solve(&center, &[1e-6, 0.5], 1.0, &[scv, 1.0]);
        assert!((visit.jobs[0] / 1e-6 - 1.5).abs() < 1e-4, "{scv}");
    }
}

/// If all classes have the same exponential service time, interruption only changes the order of service. The jobs of
/// all classes together are then those of M/M/m.
#[test]
fn interrupting_ranks_of_many_servers_hold_the_jobs_of_erlang() {
    for servers in 2..=8 {
        let scale = f64::from(servers);
        let rates = [0.4 * scale, 0.3 * scale, 0.2 * scale];
        let mut center = center(Speed::Servers(servers), &[1.0; 3], Discipline::Priority);
        center.preemptive = true;
        let visit = all_at_once(&center, &rates, 1.0);
        assert!(visit.exact);
        let total: f64 = visit.jobs.iter().sum();
        let load = 0.9 * scale;
        let erlang = load + erlang_c(servers, load) * load / (scale - load);
        assert!((total / erlang - 1.0).abs() < 1e-12, "{servers} servers");
    }
}

/// The best rank at several servers, with interruption, waits as if it were alone, by Allen and Cunneen:
/// W = C S / (m (1 − ρ)) (1 + scv) / 2. At two servers and a load of 1, Erlang's C is 1/3, so W = 2/3 S for scv 3.
#[test]
fn the_best_interrupting_rank_of_several_servers_waits_as_alone() {
    let mut center = center(Speed::Servers(2), &[1.0, 4.0], Discipline::Priority);
    center.preemptive = true;
    for (scv, wait) in [(0.0, 1.0 / 6.0), (1.0, 1.0 / 3.0), (3.0, 2.0 / 3.0)] {
        center.scv = vec![scv, 2.0];
        let visit = all_at_once(&center, &[1.0, 0.1], 1.0);
        assert!((visit.jobs[0] - 1.0 - wait).abs() < 1e-12, "scv {scv}");
        assert!(!visit.exact);
    }
}

/// Krämer and Langenbach-Belz, ρ = 1/2, arrivals of scv 1/4: relative to exponential service, the wait with service of
/// scv 1/2 is (1/4 + 1/2) / (1/4 + 1) exp(−2 (1 − ρ) (3/4)² / (3 ρ) (1 / (3/4) − 1 / (5/4))) = 0.6 exp(−0.2).
#[test]
fn service_that_varies_little_waits_less_after_even_arrivals() {
    let mut center = center(Speed::Servers(1), &[1.0], Discipline::Fcfs);
    let wait = |center: &Center| all_at_once(center, &[0.5], 0.25).jobs[0] / 0.5 - 1.0;
    let exponential = wait(&center);
    center.scv = vec![0.5];
    assert!((wait(&center) / exponential - 0.6 * (-0.2_f64).exp()).abs() < 1e-12);
}
