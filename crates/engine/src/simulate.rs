//! `towtank-engine simulate [FILE] [options]`: simulates a model, or a list of models with common random numbers.
//!
//! The input is JSON, from the file or from standard input. The output is JSON: `{"answers": [...], "comparisons":
//! [...]}` or, with exit status 2, `{"faults": [...]}`. Each model after the first is compared with the first model.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use towtank_queueing::model::{Fault, Model};
use towtank_queueing::simulate::{Outcome, Refused, Settings, simulate};

use crate::models::{self, WRONG};

const USAGE: &str = "[FILE] [--precision RATIO] [--confidence RATIO] [--replications N] [--events N] [--time SECONDS] \
[--seed N] [--threads N] [--timing]";

/// Runs the subcommand `simulate` with these arguments and returns the exit status.
pub fn run(arguments: &[String]) -> ExitCode {
    let (mut settings, mut timing) = (Settings::default(), false);
    let path = models::options(arguments, &["--timing"], |option, value| {
        if option == "--timing" {
            timing = true;
            return Ok(());
        }
        set(&mut settings, option, value)
    });
    let input = match path.and_then(|path| models::read(path.as_deref())) {
        Ok(input) => input,
        Err(message) => return models::refuse("simulate", &message, USAGE),
    };
    let begin = Instant::now();
    let outcome = all(input).and_then(|models| simulate(&models, &settings));
    if let (true, Ok(outcome)) = (timing, &outcome) {
        let events: u64 = outcome
            .answers
            .iter()
            .map(|answer| answer.simulation.events)
            .sum();
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!("{}", json!({"events": events, "seconds": seconds}));
    }
    let right = outcome.is_ok();
    println!("{}", document(outcome));
    ExitCode::from(if right { 0 } else { WRONG })
}

fn document(outcome: Result<Outcome, Vec<Refused>>) -> Value {
    match outcome {
        Ok(outcome) => json!({"answers": outcome.answers, "comparisons": outcome.comparisons}),
        Err(faults) => json!({ "faults": faults }),
    }
}

fn all(input: Value) -> Result<Vec<Model>, Vec<Refused>> {
    let list = match input {
        Value::Array(models) => models,
        model => vec![model],
    };
    if list.is_empty() {
        let fault = Fault::new(&[], "must be at least one model, got none");
        return Err(vec![Refused { model: 0, fault }]);
    }
    let of = |model, faults: Vec<Fault>| {
        faults
            .into_iter()
            .map(move |fault| Refused { model, fault })
            .collect()
    };
    let read = list.into_iter().enumerate();
    read.map(|(place, document)| models::model(document).map_err(|faults| of(place, faults)))
        .collect()
}

fn set(settings: &mut Settings, option: &str, value: &str) -> Result<(), String> {
    let wrong = |what: &str| format!("{option} must be {what}, got {value} instead");
    let number = |what, right: fn(f64) -> bool| {
        value
            .parse()
            .ok()
            .filter(|&value| right(value))
            .ok_or_else(|| wrong(what))
    };
    let count = |least: u64| {
        let what = format!("a whole number of at least {least}");
        value
            .parse::<u64>()
            .ok()
            .filter(|&count| count >= least)
            .ok_or_else(|| wrong(&what))
    };
    match option {
        "--precision" => {
            settings.precision =
                number("a number above 0", |value| value > 0.0 && value.is_finite())?;
        }
        "--confidence" => {
            settings.confidence = number("a number above 0 and below 1", |value| {
                value > 0.0 && value < 1.0
            })?;
        }
        "--time" => {
            let seconds = number("a number above 0, at most a million", |value| {
                value > 0.0 && value <= 1e6
            })?;
            settings.time_at_most = Some(Duration::from_secs_f64(seconds));
        }
        "--replications" => settings.replications = count(2)?.min(10_000) as usize,
        "--events" => settings.events_at_most = count(1000)?,
        "--seed" => settings.seed = count(0)?,
        "--threads" => settings.threads = Some(count(1)? as usize),
        _ => return Err(format!("{option} is not an option")),
    }
    Ok(())
}
