//! Tests of arrival rates that follow a trace (a recorded rate over time), and of groups with separate users and
//! arrivals.

mod support;

use serde_json::{Value, json};
use towtank_load::plan::{Fault, Plan, read_stages, read_text};
use towtank_load::schedule::{Arrival, Arrivals, Change, Edit, Stages, UserChanges};

const SECOND: u64 = 1_000_000_000;

fn read(load: &Value) -> Result<Plan, Vec<Fault>> {
    let mut plan = support::plan_of("127.0.0.1:1".parse().expect("an address"), &json!([]));
    plan["out"] = json!("x");
    plan["load"] = load.clone();
    let group = |name: &str, share: f64| json!({"name": name, "share": share, "mix": [{"transaction": 0, "weight": 1.0}]});
    plan["groups"] = json!([group("readers", 0.75), group("batch", 0.25)]);
    read_text(&plan.to_string())
}

fn plan(load: &Value) -> Plan {
    read(load).expect("a plan")
}

fn open(arrivals: &str, stages: &Value) -> Value {
    json!({"kind": "open", "arrivals": arrivals, "users_at_most": 10, "backlog_at_most": 10, "stages": stages})
}

fn stage(phase: &str, duration_s: f64, key: &str, amount: &Value) -> Value {
    let mut stage =
        json!({"name": phase, "phase": phase, "duration_s": duration_s, "until": "command"});
    stage[key] = amount.clone();
    stage
}

fn arrivals(plan: &Plan) -> Vec<Arrival> {
    Arrivals::new(plan, &Stages::new(plan)).collect()
}

/// Returns the times of evenly spaced arrivals in a load of ten seconds. `knots` are pairs of a time and a rate.
fn traced(knots: &Value) -> Vec<u64> {
    let load = open("constant", &json!([stage("steady", 10.0, "rates", knots)]));
    let found = arrivals(&plan(&load));
    found.iter().map(|arrival| arrival.at_ns).collect()
}

#[test]
fn a_rate_moves_between_the_knots_and_holds_after_the_last() {
    // The rate rises from 0 to 8/s in 2 s. Its integral is 2 t², so arrivals 0 to 7 are due at sqrt(k / 2). The rate
    // stays at 8/s for a second, and is then 1.9/s.
    let at = traced(&json!([[0, 0], [2, 8], [3, 8], [3.000_001, 1.9]]));
    let expected: Vec<f64> = (0..8)
        .map(|k| f64::from(k).sqrt() / 2_f64.sqrt())
        .chain((0..8).map(|k| 2.0 + f64::from(k) / 8.0))
        .chain((0..14).map(|k| 3.0 + f64::from(k) / 1.9))
        .collect();
    assert_eq!(at.len(), expected.len());
    for (at_ns, expected_s) in at.iter().zip(expected) {
        // The rate falls from 8/s to 1.9/s within a microsecond. In this time 5e-6 arrivals are due, which shift later
        // arrivals.
        assert!((*at_ns as f64 / 1e9 - expected_s).abs() < 3e-6, "{at_ns}");
    }
}

#[test]
fn a_trace_that_is_constant_is_a_constant_rate() {
    let plain = open(
        "poisson",
        &json!([stage("steady", 50.0, "rate", &json!(20.0))]),
    );
    let knots = json!([[0, 20.0], [7.5, 20.0], [40, 20.0]]);
    let moving = open("poisson", &json!([stage("steady", 50.0, "rates", &knots)]));
    let (plain, moving) = (arrivals(&plan(&plain)), arrivals(&plan(&moving)));
    assert_eq!(plain.len(), moving.len());
    for (arrival, moved) in plain.iter().zip(&moving) {
        assert!(arrival.at_ns.abs_diff(moved.at_ns) <= 1_000);
        assert_eq!((arrival.index, arrival.group), (moved.index, moved.group));
    }
}

#[test]
fn knots_beyond_the_end_of_the_stage_do_not_count() {
    let at = traced(&json!([[0, 4], [100, 4]]));
    assert_eq!(at.len(), 40);
    assert_eq!(at[39], 39 * SECOND / 4);
}

#[test]
fn a_trace_that_is_cut_short_leaves_the_rate_that_it_reached() {
    // The rate is 2 t /s until the edit at 4 s, and then falls from 8/s to 0 within 4 s. Before and after the edit,
    // `8 * 4 / 2 = 16` arrivals are due.
    let knots = json!([[0, 0], [10, 20]]);
    let stages = json!([
        stage("steady", 10.0, "rates", &knots),
        stage("ramp_down", 4.0, "rate", &json!(0.0)),
    ]);
    let plan = plan(&open("constant", &stages));
    let mut stages = Stages::new(&plan);
    let mut arrivals = Arrivals::new(&plan, &stages);
    let edit = Edit {
        at_ns: 4 * SECOND,
        change: Change::Next(0),
    };
    stages.apply(&edit);
    arrivals.follow(&stages);
    assert_eq!(stages.listed()[0].rate, Some(8.0));
    let at: Vec<u64> = arrivals.map(|arrival| arrival.at_ns).collect();
    assert_eq!(at.len(), 32);
    assert_eq!(at[16], 4 * SECOND);
}

fn two_groups() -> Value {
    json!([
        stage(
            "steady",
            10.0,
            "rates_by_group",
            &json!([40.0, [[0, 0.0], [10, 4.0]]])
        ),
        stage("steady", 10.0, "rates_by_group", &json!([0.0, 2.0])),
    ])
}

#[test]
fn every_group_has_a_sequence_of_its_own() {
    let both = arrivals(&plan(&open("poisson", &two_groups())));
    assert!(both.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
    let of = |all: &[Arrival], group| -> Vec<Arrival> {
        all.iter()
            .filter(|arrival| arrival.group == group)
            .copied()
            .collect()
    };
    // A change of the rate of group 0 must not affect the arrivals of group 1.
    let mut others = two_groups();
    others[0]["rates_by_group"][0] = json!(5.0);
    let changed = arrivals(&plan(&open("poisson", &others)));
    assert_eq!(of(&both, 1), of(&changed, 1));
    assert_ne!(of(&both, 0), of(&changed, 0));
    for group in [0, 1] {
        let own = of(&both, group);
        let first = group as u64;
        assert!(
            own.iter()
                .map(|arrival| arrival.index)
                .eq(first..first + own.len() as u64)
        );
        let mut before_ns = 0;
        for arrival in own {
            assert_eq!(arrival.gap_ns, arrival.at_ns - before_ns);
            before_ns = arrival.at_ns;
        }
    }
    // 400 arrivals are expected in the first group, and 20 + 20 in the second group. The tolerances, 100 and 32, are
    // five standard deviations of Poisson counts.
    let counts = [of(&both, 0).len(), of(&both, 1).len()];
    assert!(
        counts[0].abs_diff(400) < 100 && counts[1].abs_diff(40) < 32,
        "{counts:?}"
    );
}

#[test]
fn threads_share_the_arrivals_of_groups_also_over_an_edit() {
    let plan = plan(&open("poisson", &two_groups()));
    let edit = Edit {
        at_ns: 6 * SECOND,
        change: Change::Next(0),
    };
    let of_thread = |worker: u64, workers: u64| {
        let mut stages = Stages::new(&plan);
        let mut arrivals = Arrivals::new(&plan, &stages);
        let mut taken = Vec::new();
        let mut take = |arrivals: &mut Arrivals, until_ns| {
            loop {
                while arrivals
                    .next_if(|arrival| arrival.index % workers != worker)
                    .is_some()
                {}
                match arrivals.next_if(|arrival| arrival.at_ns < until_ns) {
                    Some(arrival) => taken.push(arrival),
                    None => return,
                }
            }
        };
        take(&mut arrivals, edit.at_ns);
        stages.apply(&edit);
        arrivals.follow(&stages);
        take(&mut arrivals, u64::MAX);
        taken
    };
    let key = |arrival: &Arrival| (arrival.at_ns, arrival.group, arrival.index);
    let mut alone = of_thread(0, 1);
    let mut shared: Vec<Arrival> = (0..3).flat_map(|worker| of_thread(worker, 3)).collect();
    alone.sort_by_key(key);
    shared.sort_by_key(key);
    assert_eq!(alone, shared);
    assert!(alone.last().expect("arrivals").at_ns < 16 * SECOND);
}

fn closed(stages: &Value) -> Value {
    json!({"kind": "closed", "users_at_most": 10, "stages": stages})
}

#[test]
fn every_group_moves_by_itself_with_users_of_its_own() {
    let stages = json!([
        stage("ramp_up", 4.0, "users_by_group", &json!([4, 1])),
        stage("ramp_down", 2.0, "users_by_group", &json!([2, 3])),
    ]);
    let plan = plan(&closed(&stages));
    let stages = Stages::new(&plan);
    let found: Vec<_> = UserChanges::new(&stages)
        .map(|change| (change.at_ns / SECOND, change.user, change.starts))
        .collect();
    // Users 0 to 3 belong to the first group (readers), users 4 to 6 to the second group (batch).
    let expected = [
        (0, 0, true),
        (0, 4, true),
        (1, 1, true),
        (2, 2, true),
        (3, 3, true),
        (4, 3, false),
        (4, 5, true),
        (5, 2, false),
        (5, 6, true),
    ];
    assert_eq!(found, expected);
    let listed = stages.listed();
    assert_eq!((listed[0].users, listed[1].users), (Some(5), Some(5)));
    assert_eq!(listed[1].users_by_group, Some(vec![2, 3]));
}

#[test]
fn a_ramp_of_groups_that_is_cut_short_leaves_what_each_reached() {
    let stages = json!([
        stage("ramp_up", 8.0, "users_by_group", &json!([8, 2])),
        stage("ramp_up", 1.0, "users_by_group", &json!([8, 2])),
    ]);
    let plan = plan(&closed(&stages));
    let mut stages = Stages::new(&plan);
    let mut user_changes = UserChanges::new(&stages);
    // As in a load thread, the changes of users that belong to other threads are skipped.
    while user_changes.next_if(|change| change.user != 7).is_some() {}
    let edit = Edit {
        at_ns: 4 * SECOND,
        change: Change::Next(0),
    };
    stages.apply(&edit);
    user_changes.follow(&stages, edit.at_ns);
    assert_eq!(stages.listed()[0].users_by_group, Some(vec![4, 1]));
    let found: Vec<_> = user_changes
        .map(|change| (change.at_ns, change.user))
        .collect();
    let quarter = SECOND / 4;
    let start = 4 * SECOND;
    let expected = [
        (start, 4),
        (start, 9),
        (start + quarter, 5),
        (start + 2 * quarter, 6),
        (start + 3 * quarter, 7),
    ];
    assert_eq!(found, expected);
}

fn faults(load: &Value) -> Vec<String> {
    let faults = read(load).expect_err("faults");
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn stages_that_are_wrong_are_told_with_their_place() {
    let only = |stage: Value| json!([stage]);
    let cases = [
        (
            open(
                "poisson",
                &only(stage("steady", 1.0, "rates", &json!([[1, 2]]))),
            ),
            "load.stages[0].rates: must begin at time 0",
        ),
        (
            open(
                "poisson",
                &only(stage("steady", 1.0, "rates", &json!([[0, 2], [0, 3]]))),
            ),
            "load.stages[0].rates: must have increasing times",
        ),
        (
            open(
                "poisson",
                &only(stage("steady", 1.0, "rates", &json!([[0, -2]]))),
            ),
            "load.stages[0].rates: must be in [0, 1e8] 1/s, got -2",
        ),
        (
            open(
                "poisson",
                &only(stage("steady", 1.0, "rates_by_group", &json!([1, 2, 3]))),
            ),
            "load.stages[0].rates_by_group: must have one entry for each of 2 groups, got 3",
        ),
        (
            open("poisson", &only(stage("steady", 1.0, "level", &json!(0)))),
            "load.stages[0]: must have one of `rate`, `rates` and `rates_by_group`, got 0 of them",
        ),
        (
            closed(&only(stage(
                "steady",
                1.0,
                "users_by_group",
                &json!([8, 3]),
            ))),
            "load.users_at_most: must be at least 11, the sum of the largest numbers of users of all groups, got 10",
        ),
        (
            closed(&json!([
                stage("steady", 1.0, "users_by_group", &json!([1, 1])),
                stage("steady", 1.0, "users", &json!(2)),
            ])),
            "load.stages[1]: must be stated by group in all stages or in none",
        ),
    ];
    for (load, expected) in cases {
        assert_eq!(faults(&load), [expected]);
    }
}

#[test]
fn appended_stages_keep_to_the_users_of_each_group() {
    let stages = json!([stage("steady", 1.0, "users_by_group", &json!([4, 1]))]);
    let plan = plan(&closed(&stages));
    let more = |users: Value| vec![stage("steady", 1.0, "users_by_group", &users)];
    assert!(read_stages(&plan, more(json!([4, 0]))).is_ok());
    let faults = read_stages(&plan, more(json!([0, 2]))).expect_err("a fault");
    assert_eq!(
        faults[0].to_string(),
        "stages[0].users_by_group[1]: must be at most 1, the largest number of users of the group in the plan, got 2"
    );
}
