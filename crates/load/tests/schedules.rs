//! Checks that starts of users and arrivals depend only on the plan and the seed, and are exact to the nanosecond.

mod support;

use serde_json::{Value, json};
use towtank_load::plan::{Plan, read_text};
use towtank_load::schedule::{Arrivals, Stages, UserChange, UserChanges, assign_groups};

const SECOND: u64 = 1_000_000_000;

fn plan(load: &Value) -> Plan {
    let mut plan = support::plan_of("127.0.0.1:1".parse().expect("an address"), &json!([]));
    plan["out"] = json!("x");
    plan["load"] = load.clone();
    read_text(&plan.to_string()).expect("a plan")
}

fn closed_stage(phase: &str, duration_s: f64, users: u32) -> Value {
    json!({"name": phase, "phase": phase, "level": 0, "duration_s": duration_s, "users": users})
}

fn user_changes(stages: &[Value]) -> Vec<UserChange> {
    let load = json!({"kind": "closed", "users_at_most": 100, "stages": stages});
    UserChanges::new(&Stages::new(&plan(&load))).collect()
}

fn rated(phase: &str, duration_s: f64, rate: f64) -> Value {
    json!({"name": phase, "phase": phase, "level": 0, "duration_s": duration_s, "rate": rate})
}

fn arrivals(kind: &str, stages: &[Value]) -> Vec<u64> {
    let load = json!({"kind": "open", "arrivals": kind, "users_at_most": 10, "backlog_at_most": 10, "stages": stages});
    let plan = plan(&load);
    Arrivals::new(&plan, &Stages::new(&plan))
        .map(|arrival| arrival.at_ns)
        .collect()
}

#[test]
fn users_start_one_by_one_at_exact_instants() {
    let user_changes = user_changes(&[
        closed_stage("ramp_up", 4.0, 4),
        closed_stage("steady", 10.0, 4),
        closed_stage("ramp_up", 1.0, 6),
        closed_stage("ramp_down", 3.0, 0),
    ]);
    let starts = |at_ns, user| UserChange {
        at_ns,
        user,
        starts: true,
    };
    let leaves = |at_ns, user| UserChange {
        at_ns,
        user,
        starts: false,
    };
    let half = SECOND / 2;
    let expected = [
        starts(0, 0),
        starts(SECOND, 1),
        starts(2 * SECOND, 2),
        starts(3 * SECOND, 3),
        starts(14 * SECOND, 4),
        starts(14 * SECOND + half, 5),
        leaves(15 * SECOND, 5),
        leaves(15 * SECOND + half, 4),
        leaves(16 * SECOND, 3),
        leaves(16 * SECOND + half, 2),
        leaves(17 * SECOND, 1),
        leaves(17 * SECOND + half, 0),
    ];
    assert_eq!(user_changes, expected);
}

#[test]
fn a_ramp_without_length_moves_all_users_at_once() {
    let user_changes = user_changes(&[
        closed_stage("ramp_up", 0.0, 3),
        closed_stage("steady", 1.0, 3),
    ]);
    assert!(
        user_changes.len() == 3
            && user_changes
                .iter()
                .all(|change| change.at_ns == 0 && change.starts)
    );
}

#[test]
fn the_drain_stands_behind_the_stages() {
    let load =
        json!({"kind": "closed", "users_at_most": 5, "stages": [closed_stage("steady", 2.5, 5)]});
    let stages = Stages::new(&plan(&load)).listed();
    let names: Vec<_> = stages
        .iter()
        .map(|stage| (stage.name.as_str(), stage.start_s, stage.end_s))
        .collect();
    assert_eq!(names, [("steady", 0.0, 2.5), ("drain", 2.5, 2.5)]);
}

#[test]
fn constant_arrivals_are_evenly_spaced_over_stages() {
    let at = arrivals(
        "constant",
        &[rated("steady", 1.0, 4.0), rated("steady", 1.0, 2.0)],
    );
    let quarter = SECOND / 4;
    let expected = [
        0,
        quarter,
        2 * quarter,
        3 * quarter,
        SECOND,
        SECOND + 2 * quarter,
    ];
    assert_eq!(at, expected);
}

#[test]
fn gaps_are_those_between_intended_starts() {
    let load = json!({"kind": "open", "arrivals": "poisson", "users_at_most": 10, "backlog_at_most": 10,
                      "stages": [rated("ramp_up", 1.0, 50.0), rated("steady", 2.0, 50.0)]});
    let mut before_ns = 0;
    let mut seen = 0;
    let plan = plan(&load);
    for arrival in Arrivals::new(&plan, &Stages::new(&plan)) {
        assert_eq!(arrival.gap_ns, arrival.at_ns - before_ns);
        before_ns = arrival.at_ns;
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn a_ramp_moves_the_rate_linearly() {
    // The rate rises from 0 to 16/s in 2 s, so its integral up to t is 4 t². Arrival k is due when the integral reaches
    // k, at t = sqrt(k) / 2.
    let at = arrivals("constant", &[rated("ramp_up", 2.0, 16.0)]);
    assert_eq!(at.len(), 16);
    for (index, at_ns) in at.iter().enumerate() {
        let expected = (index as f64).sqrt() / 2.0 * 1e9;
        assert!((*at_ns as f64 - expected).abs() <= 1.0, "{index} {at_ns}");
    }
    // In the ramp down, the integral of the rate up to t is 16 - 4 (2 - t)². Arrival k is due when the integral reaches
    // k.
    let at = arrivals(
        "constant",
        &[rated("settle", 0.0, 16.0), rated("ramp_down", 2.0, 0.0)],
    );
    assert_eq!(at.len(), 16);
    for (index, at_ns) in at.iter().enumerate() {
        let expected = (2.0 - ((16.0 - index as f64) / 4.0).sqrt()) * 1e9;
        assert!((*at_ns as f64 - expected).abs() <= 1.0, "{index} {at_ns}");
    }
}

#[test]
fn a_rate_of_zero_has_no_arrivals() {
    assert!(arrivals("poisson", &[rated("steady", 5.0, 0.0)]).is_empty());
    assert_eq!(
        arrivals(
            "constant",
            &[rated("steady", 5.0, 0.0), rated("steady", 1.0, 1.0)]
        ),
        [5 * SECOND]
    );
}

#[test]
fn poisson_arrivals_have_exponential_gaps_and_repeat_with_the_seed() {
    let stages = [rated("steady", 1000.0, 50.0)];
    let at = arrivals("poisson", &stages);
    assert_eq!(at, arrivals("poisson", &stages));
    let gaps: Vec<f64> = at
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 / 1e9)
        .collect();
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
    // 50,000 arrivals are expected (50/s in 1,000 s). The tolerance, 1,118, is five standard deviations of a Poisson
    // count.
    assert!((count - 50_000.0).abs() < 1_118.0, "{count}");
    // The coefficient of variation of an exponential distribution is 1. Its estimate from the gaps has a standard error
    // of about 1 / sqrt(count) = 0.0045. The tolerance is five standard errors.
    assert!(
        (variance.sqrt() / mean - 1.0).abs() < 0.0225,
        "{mean} {variance}"
    );
}

#[test]
fn groups_get_their_shares_of_any_first_users() {
    let shares = [0.5, 0.3, 0.2];
    let groups = assign_groups(&shares, 1000);
    let mut counts = [0_u32; 3];
    for (number, group) in groups.iter().enumerate() {
        counts[usize::from(*group)] += 1;
        for (count, share) in counts.iter().zip(shares) {
            assert!(
                (f64::from(*count) - share * (number + 1) as f64).abs() < 1.0,
                "{number} {counts:?}"
            );
        }
    }
    assert_eq!(counts, [500, 300, 200]);
}
