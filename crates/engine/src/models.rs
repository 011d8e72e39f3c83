//! Parsing of the command line and of JSON models, for `solve` and `simulate`.

use std::io::Read;
use std::process::ExitCode;

use serde_json::Value;
use towtank_queueing::model::{Fault, Model};

/// Exit status of the program if the model or the command line is invalid.
pub const WRONG: u8 = 2;

/// Parses the options of a command line and passes each option to `set`. Options in `flags` have no value; for them,
/// `set` gets an empty text.
///
/// # Errors
///
/// A description of the first fault: a missing value of an option, an option that `set` refuses, or a second file.
pub fn options(
    arguments: &[String],
    flags: &[&str],
    mut set: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<Option<String>, String> {
    let mut path = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if flags.contains(&argument.as_str()) {
            set(argument, "")?;
        } else if argument.starts_with("--") {
            let value = rest.next().map_or("", String::as_str);
            if value.is_empty() {
                return Err(format!("{argument} needs a value, or is not an option"));
            }
            set(argument, value)?;
        } else if path.replace(argument.clone()).is_some() {
            return Err("only one file can be read".to_owned());
        }
    }
    Ok(path)
}

/// Reads JSON from a file, or from standard input if no file is given.
///
/// # Errors
///
/// If the input cannot be read or is not JSON.
pub fn read(path: Option<&str>) -> Result<Value, String> {
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

/// Converts JSON to a model.
///
/// # Errors
///
/// If the JSON is not a model.
pub fn model(input: Value) -> Result<Model, Vec<Fault>> {
    serde_json::from_value(input)
        .map_err(|error| vec![Fault::new(&[], format!("must be a model, got: {error}"))])
}

/// Prints the fault of a command line, followed by the usage of the command.
pub fn refuse(command: &str, message: &str, usage: &str) -> ExitCode {
    eprintln!("towtank-engine {command}: {message}\nusage: towtank-engine {command} {usage}");
    ExitCode::from(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path of the input file, if any, and the options as pairs of name and value.
    type ParsedOptions = (Option<String>, Vec<(String, String)>);

    fn given(words: &[&str]) -> Result<ParsedOptions, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut seen = Vec::new();
        let path = options(&words, &["--flag"], |option, value| {
            seen.push((option.to_owned(), value.to_owned()));
            Ok(())
        })?;
        Ok((path, seen))
    }

    #[test]
    fn options_stand_before_and_after_the_file() {
        let (path, seen) = given(&["--flag", "model.json", "--seed", "7"]).unwrap();
        assert_eq!(path.as_deref(), Some("model.json"));
        let seen: Vec<(&str, &str)> = seen.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(seen, [("--flag", ""), ("--seed", "7")]);
    }

    #[test]
    fn what_lacks_its_value_and_a_second_file_are_refused() {
        assert!(given(&["--seed"]).unwrap_err().contains("needs a value"));
        assert!(given(&["a", "b"]).unwrap_err().contains("one file"));
    }
}
