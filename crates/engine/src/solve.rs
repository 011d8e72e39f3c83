//! `towtank-engine solve [FILE] [--method NAME | --check]`: solves a model, or each model of a list.
//!
//! The input is JSON, from the file or from standard input: a model, or a list of models. The output is JSON:
//! `{"answer": ...}` or `{"faults": [...]}` for a model, and a list of such objects for a list of models. With
//! `--check`, models are not solved; the output is `{"faults": [...]}`, an empty list for a correct model. The exit
//! status is 2 if any model has faults.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use towtank_queueing::answer::Answer;
use towtank_queueing::model::Fault;
use towtank_queueing::solve::{Method, solve};

use crate::models::{self, WRONG};

const USAGE: &str = "[FILE] [--method auto|exact|bard-schweitzer|linearizer | --check]";

/// Task of the program, the same for each model.
#[derive(Clone, Copy)]
enum Task {
    /// Report the faults of the model without solving it.
    Check,
    Solve(Method),
}

/// Runs the subcommand `solve` with these arguments and returns the exit status.
pub fn run(arguments: &[String]) -> ExitCode {
    let mut task = Task::Solve(Method::Auto);
    let path = models::options(arguments, &["--check"], |option, value| {
        task = named(option, value)?;
        Ok(())
    });
    let input = match path.and_then(|path| models::read(path.as_deref())) {
        Ok(input) => input,
        Err(message) => return models::refuse("solve", &message, USAGE),
    };
    let (output, right) = match input {
        Value::Array(models) => {
            let outcomes = in_parallel(&models, task);
            let right = outcomes
                .iter()
                .all(|outcome| matches!(outcome, Outcome::Answer(_)));
            (serde_json::to_string(&outcomes), right)
        }
        model => {
            let outcome = one(model, task);
            (
                serde_json::to_string(&outcome),
                matches!(outcome, Outcome::Answer(_)),
            )
        }
    };
    // JSON has no infinity and no NaN. They become null, so the output is always valid JSON.
    println!("{}", output.expect("answers have text as keys"));
    ExitCode::from(if right { 0 } else { WRONG })
}

/// Result of the task for one model.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Answer(Box<Answer>),
    Faults(Vec<Fault>),
}

fn named(option: &str, value: &str) -> Result<Task, String> {
    match option {
        "--check" => Ok(Task::Check),
        "--method" => Method::named(value)
            .map(Task::Solve)
            .ok_or_else(|| format!("{value} is not a method")),
        _ => Err(format!("{option} is not an option")),
    }
}

/// Performs the task for each model of a list, in chunks on all CPUs. The results are in the order of the models.
fn in_parallel(models: &[Value], task: Task) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let chunk = models.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (models.chunks(chunk))
            .map(|part| {
                scope.spawn(move || {
                    part.iter()
                        .map(|model| one(model.clone(), task))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("solving does not panic"))
            .collect()
    })
}

fn one(input: Value, task: Task) -> Outcome {
    let solved = models::model(input).and_then(|model| match task {
        Task::Check => Err(model.check()),
        Task::Solve(method) => solve(&model, method),
    });
    match solved {
        Ok(answer) => Outcome::Answer(Box::new(answer)),
        Err(faults) => Outcome::Faults(faults),
    }
}
