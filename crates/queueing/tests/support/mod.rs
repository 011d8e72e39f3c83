//! Functions that create small models and compare estimates with exact values.
// Each test program uses only a part of this module.
#![allow(dead_code)]

use serde_json::{Value, json};
use towtank_queueing::model::Model;
use towtank_queueing::simulate::answer::Answer;
use towtank_queueing::simulate::{Settings, simulate};

pub fn model(value: Value) -> Model {
    serde_json::from_value(value).expect("the model is right")
}

/// Creates a model with one open class `jobs` at one station `s`.
pub fn single(rate: f64, station: Value) -> Value {
    let mut station = station;
    station["name"] = json!("s");
    json!({"classes": [{"name": "jobs", "arrival_rate_per_s": rate}], "stations": [station]})
}

pub fn service(time: f64) -> Value {
    json!([{"class": "jobs", "service_time_s": time}])
}

pub fn fixed(events: u64) -> Settings {
    Settings {
        precision: 1e-12,
        events_at_most: events,
        ..Settings::default()
    }
}

pub fn run(value: Value, events: u64) -> Answer {
    let outcome = simulate(&[model(value)], &fixed(events)).expect("the model is right");
    outcome
        .answers
        .into_iter()
        .next()
        .expect("there is one answer")
}

/// Returns `true` if a value lies in a 95 % interval that is stretched to 2.2 times its width, plus 0.01 % for
/// histogram buckets. With ten replications, fewer than one value in a thousand lies outside by chance.
pub fn covers(ends: [f64; 2], exact: f64) -> bool {
    let (middle, half) = (f64::midpoint(ends[0], ends[1]), 0.5 * (ends[1] - ends[0]));
    (middle - exact).abs() <= 2.2 * half + 1e-4 * exact.abs()
}

#[track_caller]
pub fn check(answer: &Answer, class: &str, figure: &str, exact: f64, within: f64) {
    let ends = answer.classes[class].confidence_interval[figure];
    assert!(
        covers(ends, exact),
        "{class}.{figure}: {ends:?} must cover {exact}"
    );
    let middle = f64::midpoint(ends[0], ends[1]);
    assert!(
        (middle / exact - 1.0).abs() < within,
        "{class}.{figure}: {middle} must be near {exact}"
    );
}
