//! `towtank-engine solve [FILE] [--method NAME | --check]`: solves a model, or each of a list of models.
//!
//! The input is JSON, from the file or from standard input: a model, or a list of models. The answer is JSON on standard
//! output: `{"answer": ...}` or `{"faults": [...]}`, for a list one of these for each. With `--check` nothing is solved, and the
//! faults may be none. Exit status 2 where there is one without an answer.

use std::io::Read;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use towtank_queueing::answer::Answer;
use towtank_queueing::model::{Fault, Model};
use towtank_queueing::solve::{Method, solve};

/// The model or the command line is wrong.
const WRONG: u8 = 2;

/// What to do with each model.
#[derive(Clone, Copy)]
enum Task {
    /// Only tell its faults.
    Check,
    Solve(Method),
}

/// Runs the subcommand.
pub fn run(arguments: &[String]) -> ExitCode {
    let read = parse(arguments).and_then(|(task, path)| Ok((task, read(path.as_deref())?)));
    let (task, input) = match read {
        Ok(read) => read,
        Err(message) => {
            eprintln!("towtank-engine solve: {message}");
            eprintln!(
                "usage: towtank-engine solve [FILE] [--method auto|exact|bard-schweitzer|linearizer | --check]"
            );
            return ExitCode::from(WRONG);
        }
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
    // Numbers that are not finite become null: an answer always is JSON.
    println!("{}", output.expect("answers have text as keys"));
    ExitCode::from(if right { 0 } else { WRONG })
}

/// What came of one model.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Answer(Box<Answer>),
    Faults(Vec<Fault>),
}

fn parse(arguments: &[String]) -> Result<(Task, Option<String>), String> {
    let (mut task, mut path) = (Task::Solve(Method::Auto), None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--method" => {
                let name = rest.next().ok_or("--method needs a name")?;
                task = Task::Solve(
                    Method::named(name).ok_or_else(|| format!("{name} is not a method"))?,
                );
            }
            "--check" => task = Task::Check,
            option if option.starts_with("--") => return Err(format!("{option} is not an option")),
            _ if path.is_some() => return Err("only one file can be solved".to_owned()),
            file => path = Some(file.to_owned()),
        }
    }
    Ok((task, path))
}

fn read(path: Option<&str>) -> Result<Value, String> {
    let text = if let Some(path) = path {
        std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?
    } else {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        text
    };
    serde_json::from_str(&text).map_err(|error| format!("the model must be JSON, got: {error}"))
}

/// Solves a list on all CPUs, in chunks; the order of the answers is that of the models.
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
    let model: Model = match serde_json::from_value(input) {
        Ok(model) => model,
        Err(error) => {
            return Outcome::Faults(vec![Fault::new(
                &[],
                format!("must be a model, got: {error}"),
            )]);
        }
    };
    let solved = match task {
        Task::Check => Err(model.check()),
        Task::Solve(method) => solve(&model, method),
    };
    match solved {
        Ok(answer) => Outcome::Answer(Box::new(answer)),
        Err(faults) => Outcome::Faults(faults),
    }
}
