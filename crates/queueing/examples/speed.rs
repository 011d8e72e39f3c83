//! Measures how many events the simulator processes per second of CPU time on one thread. Usage: `speed [EVENTS]`.

use towtank_queueing::model::Model;
use towtank_queueing::simulate::{Settings, simulate};

fn main() {
    let events = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000_000);
    let stations: Vec<String> = (0..10)
        .map(|at| {
            format!(
                r#"{{"name": "s{at}", "services": [{{"class": "jobs", "service_time_s": {}}}]}}"#,
                0.001 * f64::from(at + 1)
            )
        })
        .collect();
    let closed = format!(
        r#"{{"classes": [{{"name": "jobs", "users": 1000, "think_time_s": 8.0}}], "stations": [{}]}}"#,
        stations.join(", ")
    );
    let single = r#"{"classes": [{"name": "jobs", "arrival_rate_per_s": 0.8}],
        "stations": [{"name": "s", "services": [{"class": "jobs", "service_time_s": 1.0}]}]}"#;
    for (name, text) in [("M/M/1", single), ("10 stations, 1,000 users", &closed)] {
        let model: Model = serde_json::from_str(text).expect("the model is right");
        let settings = Settings {
            precision: 1e-9,
            replications: 2,
            events_at_most: events,
            threads: Some(1),
            ..Settings::default()
        };
        let begin = processor_time_s();
        let outcome = simulate(&[model], &settings).expect("the model is right");
        let count = outcome.answers[0].simulation.events as f64;
        println!(
            "{name}: {:.1} M events/s",
            count / (processor_time_s() - begin) / 1e6
        );
    }
}

/// Returns the CPU time of this process, which hardly depends on other load on the machine. [s]
fn processor_time_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux keeps it");
    text.split(' ')
        .next()
        .and_then(|first| first.parse::<f64>().ok())
        .expect("a number of nanoseconds")
        * 1e-9
}
