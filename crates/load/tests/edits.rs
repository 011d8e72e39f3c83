//! Tests of edits, which change the stages during a load. Events before an edit remain, later events follow the new
//! stages, and all threads see the same stages.

mod support;

use serde_json::{Value, json};
use towtank_load::plan::{Plan, read_stages, read_text};
use towtank_load::rng::{Random, Stream};
use towtank_load::schedule::{Arrival, Arrivals, Change, Edit, Stages, UserChange, UserChanges};

const SECOND: u64 = 1_000_000_000;

fn plan(load: &Value) -> Plan {
    let mut plan = support::plan_of("127.0.0.1:1".parse().expect("an address"), &json!([]));
    plan["out"] = json!("x");
    plan["load"] = load.clone();
    read_text(&plan.to_string()).expect("a plan")
}

fn closed(stages: &[Value]) -> Plan {
    plan(&json!({"kind": "closed", "users_at_most": 100, "stages": stages}))
}

fn open(arrivals: &str, stages: &[Value]) -> Plan {
    plan(
        &json!({"kind": "open", "arrivals": arrivals, "users_at_most": 100, "backlog_at_most": 10, "stages": stages}),
    )
}

fn stage(phase: &str, duration_s: f64, key: &str, amount: f64) -> Value {
    let mut stage =
        json!({"name": phase, "phase": phase, "duration_s": duration_s, "until": "command"});
    stage[key] = if key == "users" {
        json!(amount as u32)
    } else {
        json!(amount)
    };
    stage
}

fn next(at_ns: u64, stage: usize) -> Edit {
    let change = Change::Next(stage);
    Edit { at_ns, change }
}

fn append(at_ns: u64, plan: &Plan, stages: &[Value]) -> Edit {
    let change = Change::Append(read_stages(plan, stages.to_vec()).expect("stages"));
    Edit { at_ns, change }
}

/// Progress of a thread through its events at the time of an edit.
#[derive(Clone, Copy)]
enum Pace {
    /// The thread has processed all events before the edit, and has already computed the next event.
    Eager,
    /// The thread is delayed and has not processed any event before the edit.
    Late,
}

/// Returns the starts and departures of the users of thread `worker` out of `workers`, computed as in a load thread.
fn user_changes_of(
    plan: &Plan,
    edits: &[Edit],
    (worker, workers): (u32, u32),
    pace: Pace,
) -> Vec<UserChange> {
    let mut stages = Stages::new(plan);
    let mut user_changes = UserChanges::new(&stages);
    let mut taken = Vec::new();
    let mut take = |user_changes: &mut UserChanges, until_ns: u64| {
        loop {
            while user_changes
                .next_if(|change| change.user % workers != worker)
                .is_some()
            {}
            match user_changes.next_if(|change| change.at_ns < until_ns) {
                Some(change) => taken.push(change),
                None => return,
            }
        }
    };
    for edit in edits {
        if matches!(pace, Pace::Eager) {
            take(&mut user_changes, edit.at_ns);
        }
        stages.apply(edit);
        user_changes.follow(&stages, edit.at_ns);
    }
    take(&mut user_changes, u64::MAX);
    taken
}

/// Returns the arrivals of thread `worker` out of `workers`, computed as in a load thread.
fn arrivals_of(
    plan: &Plan,
    edits: &[Edit],
    (worker, workers): (u64, u64),
    pace: Pace,
) -> Vec<Arrival> {
    let mut stages = Stages::new(plan);
    let mut arrivals = Arrivals::new(plan, &stages);
    let mut taken = Vec::new();
    let mut take = |arrivals: &mut Arrivals, until_ns: u64| {
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
    for edit in edits {
        if matches!(pace, Pace::Eager) {
            take(&mut arrivals, edit.at_ns);
        }
        stages.apply(edit);
        arrivals.follow(&stages);
    }
    take(&mut arrivals, u64::MAX);
    taken
}

/// Returns the starts and departures of all users. First checks that three threads together compute the same list,
/// however far each thread is at the times of the edits.
fn user_changes(plan: &Plan, edits: &[Edit]) -> Vec<UserChange> {
    let alone = user_changes_of(plan, edits, (0, 1), Pace::Late);
    for pace in [Pace::Eager, Pace::Late] {
        assert_eq!(user_changes_of(plan, edits, (0, 1), pace), alone);
        let mut all: Vec<UserChange> = (0..3)
            .flat_map(|worker| user_changes_of(plan, edits, (worker, 3), pace))
            .collect();
        all.sort_by_key(|change| change.at_ns);
        let mut expected = alone.clone();
        // Users that start or leave at the same time may belong to different threads, whose order is not fixed. Sorting
        // by user makes the lists comparable.
        let key = |change: &UserChange| (change.at_ns, change.user, change.starts);
        all.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(all, expected);
    }
    alone
}

/// Returns all arrivals. First checks that three threads together compute the same list, however far each thread is at
/// the times of the edits.
fn arrivals(plan: &Plan, edits: &[Edit]) -> Vec<Arrival> {
    let alone = arrivals_of(plan, edits, (0, 1), Pace::Late);
    for pace in [Pace::Eager, Pace::Late] {
        assert_eq!(arrivals_of(plan, edits, (0, 1), pace), alone);
        let mut all: Vec<Arrival> = (0..3)
            .flat_map(|worker| arrivals_of(plan, edits, (worker, 3), pace))
            .collect();
        all.sort_by_key(|arrival| arrival.index);
        assert_eq!(all, alone);
    }
    alone
}

fn times(stages: &Stages) -> Vec<(f64, f64)> {
    let stages = stages.listed();
    stages
        .iter()
        .map(|stage| (stage.start_s, stage.end_s))
        .collect()
}

#[test]
fn a_ramp_that_is_cut_short_leaves_the_users_it_reached() {
    let plan = closed(&[
        stage("ramp_up", 10.0, "users", 10.0),
        stage("settle", 100.0, "users", 4.0),
        stage("ramp_down", 2.0, "users", 2.0),
    ]);
    let edits = [next(3_500_000_000, 0), next(5 * SECOND, 1)];
    // Users 0 to 3 start at 0, 1, 2 and 3 s. The settle stage begins at 3.5 s with these 4 users, so no user
    // starts or leaves in it.
    let found: Vec<_> = user_changes(&plan, &edits)
        .iter()
        .map(|change| (change.at_ns, change.user, change.starts))
        .collect();
    let expected = [
        (0, 0, true),
        (SECOND, 1, true),
        (2 * SECOND, 2, true),
        (3 * SECOND, 3, true),
        (5 * SECOND, 3, false),
        (6 * SECOND, 2, false),
    ];
    assert_eq!(found, expected);
    let mut stages = Stages::new(&plan);
    for edit in &edits {
        stages.apply(edit);
    }
    assert_eq!(
        times(&stages),
        [(0.0, 3.5), (3.5, 5.0), (5.0, 7.0), (7.0, 7.0)]
    );
    assert_eq!(stages.listed()[0].users, Some(4));
}

#[test]
fn what_is_due_at_the_instant_of_an_edit_belongs_to_the_next_stage() {
    let plan = closed(&[
        stage("ramp_up", 10.0, "users", 10.0),
        stage("steady", 1.0, "users", 3.0),
    ]);
    // The fourth user would start at exactly 3 s, the time of the edit. From then on only 3 users are required, so this
    // user does not start.
    assert_eq!(user_changes(&plan, &[next(3 * SECOND, 0)]).len(), 3);
}

#[test]
fn a_ramp_down_that_is_cut_short_keeps_the_others() {
    let plan = closed(&[
        stage("ramp_up", 0.0, "users", 10.0),
        stage("ramp_down", 10.0, "users", 0.0),
        stage("ramp_up", 1.0, "users", 9.0),
    ]);
    let found = user_changes(&plan, &[next(2_001_000_000, 1)]);
    // Users 9, 8 and 7 leave at 0, 1 and 2 s. The next stage requires 9 users, so users 7 and 8 start again.
    let tail: Vec<_> = found[10..]
        .iter()
        .map(|change| (change.at_ns, change.user, change.starts))
        .collect();
    let expected = [
        (0, 9, false),
        (SECOND, 8, false),
        (2 * SECOND, 7, false),
        (2_001_000_000, 7, true),
        (2_501_000_000, 8, true),
    ];
    assert_eq!(tail, expected);
}

#[test]
fn appended_stages_go_on_from_the_last_one() {
    let plan = closed(&[stage("ramp_up", 2.0, "users", 2.0)]);
    let more = [
        stage("ramp_up", 2.0, "users", 4.0),
        stage("steady", 5.0, "users", 4.0),
    ];
    let found: Vec<_> = user_changes(&plan, &[append(SECOND, &plan, &more)])
        .iter()
        .map(|change| (change.at_ns / SECOND, change.user))
        .collect();
    assert_eq!(found, [(0, 0), (1, 1), (2, 2), (3, 3)]);
}

#[test]
fn the_unit_process_goes_on_over_an_edit() {
    let stages = [
        stage("steady", 100.0, "rate", 20.0),
        stage("steady", 50.0, "rate", 5.0),
    ];
    for kind in ["poisson", "constant"] {
        let plan = open(kind, &stages);
        let (before, after) = (
            arrivals(&plan, &[]),
            arrivals(&plan, &[next(30 * SECOND, 0)]),
        );
        assert_eq!(before[0], after[0]);
        for (unedited, edited) in before.iter().zip(&after) {
            assert_eq!(
                (unedited.index, unedited.group, unedited.transaction),
                (edited.index, edited.group, edited.transaction)
            );
            if unedited.at_ns < 30 * SECOND {
                assert_eq!(unedited, edited);
            } else if unedited.at_ns < 60 * SECOND {
                // The edit changes the rate from 20/s to 5/s. An arrival that was due at a time t after the edit
                // becomes due at 4 t after the edit, up to rounding.
                let expected = 30 * SECOND + 4 * (unedited.at_ns - 30 * SECOND);
                assert!(
                    edited.at_ns.abs_diff(expected) <= 4,
                    "{unedited:?} {edited:?}"
                );
            }
        }
        for pair in after.windows(2) {
            assert_eq!(pair[1].gap_ns, pair[1].at_ns - pair[0].at_ns);
        }
        assert!(after.last().expect("arrivals").at_ns < 80 * SECOND);
    }
}

#[test]
fn a_rate_that_is_cut_short_goes_on_from_where_it_was() {
    // The rate is 10 t /s until the edit at 4 s, and then falls from 40/s to 0 within 4 s. Before and after the edit,
    // `40 * 4 / 2 = 80` arrivals are due.
    let plan = open(
        "constant",
        &[
            stage("ramp_up", 10.0, "rate", 100.0),
            stage("ramp_down", 4.0, "rate", 0.0),
        ],
    );
    let found = arrivals(&plan, &[next(4 * SECOND, 0)]);
    assert_eq!(found.len(), 160);
    assert_eq!(found[80].at_ns, 4 * SECOND);
    let mut stages = Stages::new(&plan);
    stages.apply(&next(4 * SECOND, 0));
    assert_eq!(stages.listed()[0].rate, Some(40.0));
}

#[test]
fn a_plan_of_an_earlier_version_ends_its_stages_by_command() {
    let mut earlier = stage("steady", 1.0, "users", 4.0);
    earlier["until"] = json!("told");
    let plan = closed(&[earlier]);
    assert_eq!(Stages::new(&plan).check(&next(SECOND / 2, 0), 0), Ok(()));
}

#[test]
fn an_edit_that_does_not_fit_is_refused_with_its_reason() {
    let mut fixed = stage("steady", 1.0, "users", 4.0);
    fixed.as_object_mut().expect("a stage").remove("until");
    let plan = closed(&[stage("ramp_up", 1.0, "users", 4.0), fixed]);
    let stages = Stages::new(&plan);
    let half = SECOND / 2;
    let why = |edit: &Edit, now_ns| stages.check(edit, now_ns).expect_err("refused").0;
    assert_eq!(stages.check(&next(half, 0), 0), Ok(()));
    assert_eq!(why(&next(half, 2), 0), "no stage 2: there are 2 stages");
    assert_eq!(
        why(&next(half, 1), 0),
        "stage 1 is not the current stage, stage 0 is"
    );
    assert_eq!(
        why(&next(SECOND, 0), half),
        "stage 0 is about to end anyway"
    );
    assert_eq!(
        why(&next(3 * half, 1), SECOND),
        "stage 1 cannot be ended, since it has no until: command"
    );
    let more = [stage("steady", 1.0, "users", 4.0)];
    assert_eq!(
        stages.check(&append(2 * SECOND - 1, &plan, &more), SECOND),
        Ok(())
    );
    assert_eq!(
        why(&append(2 * SECOND, &plan, &more), SECOND),
        "the drain is about to begin"
    );
    assert_eq!(
        why(&append(3 * SECOND, &plan, &more), 2 * SECOND),
        "the drain has begun"
    );
}

#[test]
fn any_edits_leave_the_past_as_it_was_in_every_thread() {
    let mut random = Random::for_stream(3, 0, Stream::User);
    let mut number = |below: u64| (random.unit() * below as f64) as u64;
    for round in 0..40 {
        let is_closed = round % 2 == 0;
        let key = if is_closed { "users" } else { "rate" };
        let mut random_stage = || {
            let phase = ["ramp_up", "settle", "steady", "ramp_down"][number(4) as usize];
            let duration_s = 1.0 + number(50) as f64 / 10.0;
            stage(phase, duration_s, key, number(60) as f64)
        };
        let stages: Vec<Value> = (0..4).map(|_| random_stage()).collect();
        let more = [random_stage(), random_stage()];
        let plan = if is_closed {
            closed(&stages)
        } else {
            open("poisson", &stages)
        };
        let mut stages = Stages::new(&plan);
        let mut edits: Vec<Edit> = Vec::new();
        let mut now_ns = 0;
        for _ in 0..4 {
            now_ns += number(2_500) * 1_000_000;
            let edit = match stages.stage_at(now_ns) {
                Some(stage) if number(2) == 0 => next(now_ns + 50_000_000, stage),
                Some(_) => append(now_ns + 50_000_000, &plan, &more),
                None => break,
            };
            if stages.check(&edit, now_ns).is_ok() {
                stages.apply(&edit);
                edits.push(edit);
            }
        }
        for count in 1..=edits.len() {
            let (before, after) = (&edits[..count - 1], &edits[..count]);
            let at_ns = edits[count - 1].at_ns;
            let past = |all: Vec<u64>| -> Vec<u64> {
                all.into_iter().filter(|time| *time < at_ns).collect()
            };
            if is_closed {
                let at = |edits: &[Edit]| {
                    user_changes(&plan, edits)
                        .iter()
                        .map(|change| change.at_ns)
                        .collect()
                };
                assert_eq!(past(at(before)), past(at(after)));
            } else {
                let at = |edits: &[Edit]| {
                    arrivals(&plan, edits)
                        .iter()
                        .map(|arrival| arrival.at_ns)
                        .collect()
                };
                assert_eq!(past(at(before)), past(at(after)));
            }
        }
    }
}
