//! Solves randomly damaged models. Each is solved, refused with its faults, or rejected as input; none crashes the
//! program.

use towtank_damaging::{Damaging, rounds};
use towtank_queueing::model::Model;
use towtank_queueing::solve::{Method, solve};

const MODELS: [&str; 4] = [
    r#"{"classes": [{"name": "a", "users": 25, "think_time_s": 1.5}, {"name": "b", "users": 5}],
        "stations": [{"name": "s", "servers": 2, "discipline": "fcfs", "services":
            [{"class": "a", "service_time_s": 0.03, "variation": {"scv": 0.5}},
             {"class": "b", "service_time_s": 0.05, "visits": 2}]},
            {"name": "d", "discipline": "delay", "services": [{"class": "a", "service_time_s": 0.1}]}]}"#,
    r#"{"classes": [{"name": "jobs", "arrival_rate_per_s": 5.0, "priority": 1}],
        "stations": [{"name": "s", "servers": 4, "discipline": "priority", "services":
            [{"class": "jobs", "service_time_s": 0.1}]}]}"#,
    r#"{"classes": [{"name": "jobs", "arrival_rate_per_s": 50}],
        "stations": [{"name": "s", "discipline": "ps", "capacity": 5, "services":
            [{"class": "jobs", "service_time_s": 0.01}]}]}"#,
    r#"{"classes": [{"name": "u", "users": 3}], "pools": [{"name": "p", "size": 2, "stations": ["s"]}],
        "stations": [{"name": "s", "discipline": "ps", "services": [{"class": "u", "service_time_s": 1e-3}]}]}"#,
];

/// Returns `true` if the model is small enough to be solved in this test. A damaged model may contain numbers with
/// which a solution takes an hour.
fn is_small(model: &Model) -> bool {
    let text = format!("{model:?}");
    let digits = |most: usize| {
        text.split(|letter: char| !letter.is_ascii_digit())
            .all(|number| number.len() <= most)
    };
    digits(3) && model.classes.len() <= 3 && model.stations.len() <= 4
}

#[test]
fn models_of_any_form_are_solved_or_refused() {
    let mut damaging = Damaging::new();
    let (mut solved, mut refused, mut none) = (0_usize, 0_usize, 0_usize);
    for round in rounds(5_000) {
        let mut bytes = if round % 2 == 0 {
            damaging.one_of(&MODELS, 3)
        } else {
            MODELS[damaging.below(MODELS.len())].as_bytes().to_vec()
        };
        for _ in 0..=damaging.below(3) {
            damaging.another_number(&mut bytes);
        }
        let Ok(model) = serde_json::from_slice::<Model>(&bytes) else {
            none += 1;
            continue;
        };
        if !model.check().is_empty() || !is_small(&model) {
            refused += 1;
            continue;
        }
        match solve(&model, Method::Auto) {
            Ok(answer) => {
                assert!(
                    (answer.stations.0.iter()).all(|(_, station)| station.utilization.is_finite()),
                    "{}",
                    String::from_utf8_lossy(&bytes)
                );
                solved += 1;
            }
            Err(faults) => {
                assert!(!faults.is_empty());
                refused += 1;
            }
        }
    }
    assert!(
        solved > 100 && refused > 10 && none > 1_000,
        "{solved} solved, {refused} refused, {none} no models"
    );
}
