//! `towtank-engine rate --folder FOLDER [--rounds N] [--turn SECONDS] [--kernels NAME,...] [--until-stdin-closes]`:
//! rates a machine by kernels (small benchmarks). For each turn, that is, each measured execution of a kernel, it
//! writes the result as one line of JSON.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use towtank_rate::run::{Settings, kernels, run};

/// Exit status if the command line is invalid.
const WRONG: u8 = 2;
const USAGE: &str = "usage: towtank-engine rate --folder FOLDER [--rounds N] [--turn SECONDS] [--kernels NAME,...] \
[--until-stdin-closes]";
/// Allowed length of a turn (one measured execution of a kernel). Results of shorter turns would be too inexact, and
/// longer turns are probably typing errors. [s]
const TURN_S: std::ops::RangeInclusive<f64> = 0.001..=60.0;
const ROUNDS: std::ops::RangeInclusive<usize> = 1..=1000;

/// Runs the subcommand `rate` with these arguments and returns the exit status.
pub fn main(arguments: &[String]) -> ExitCode {
    let (settings, until_stdin_closes) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(faults) => {
            for fault in faults {
                eprintln!("towtank-engine rate: {fault}");
            }
            eprintln!("{USAGE}");
            return ExitCode::from(WRONG);
        }
    };
    if until_stdin_closes {
        leave_when_input_ends();
    }
    match run(&settings, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("towtank-engine rate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Ends the program when standard input ends. No file is left behind, since the parent process removes the folder.
fn leave_when_input_ends() {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
}

fn parse(arguments: &[String]) -> Result<(Settings, bool), Vec<String>> {
    let mut settings = Settings {
        folder: PathBuf::new(),
        engine: std::env::current_exe().map_err(|error| vec![error.to_string()])?,
        rounds: 3,
        turn_s: 0.1,
        kernels: Vec::new(),
    };
    let (mut until_stdin_closes, mut faults) = (false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        if option == "--until-stdin-closes" {
            until_stdin_closes = true;
        } else if let Err(fault) = set(&mut settings, option, rest.next()) {
            faults.push(fault);
        }
    }
    if !settings.folder.is_dir() && faults.is_empty() {
        let folder = settings.folder.display();
        faults.push(format!(
            "--folder must be a folder that exists, got '{folder}' instead"
        ));
    }
    if faults.is_empty() {
        Ok((settings, until_stdin_closes))
    } else {
        Err(faults)
    }
}

fn set(settings: &mut Settings, option: &str, value: Option<&String>) -> Result<(), String> {
    let value = value.ok_or_else(|| format!("{option} needs a value"))?;
    let wrong = |what: String| format!("{option} must be {what}, got {value} instead");
    match option {
        "--folder" => settings.folder = PathBuf::from(value),
        "--rounds" => {
            let number = value.parse().ok().filter(|rounds| ROUNDS.contains(rounds));
            settings.rounds =
                number.ok_or_else(|| wrong(format!("a whole number in {ROUNDS:?}")))?;
        }
        "--turn" => {
            let seconds = value
                .parse()
                .ok()
                .filter(|seconds| TURN_S.contains(seconds));
            settings.turn_s =
                seconds.ok_or_else(|| wrong(format!("a number of seconds in {TURN_S:?}")))?;
        }
        "--kernels" => {
            settings.kernels = value.split(',').map(str::to_owned).collect();
            let known = kernels(&settings.folder, &settings.engine);
            let known: Vec<&str> = known.iter().map(|kernel| kernel.name()).collect();
            if let Some(name) = settings
                .kernels
                .iter()
                .find(|name| !known.contains(&name.as_str()))
            {
                return Err(format!(
                    "--kernels must be among {}, got {name} instead",
                    known.join(", ")
                ));
            }
        }
        _ => return Err(format!("{option} is not an option")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        parse(&arguments).expect_err("faults")
    }

    #[test]
    fn options_are_read() {
        let arguments = [
            "--folder",
            "/",
            "--rounds",
            "5",
            "--turn",
            "0.5",
            "--kernels",
            "sha_256_1k,memory_chase",
        ];
        let (settings, until) = parse(&arguments.map(str::to_owned)).expect("settings");
        assert_eq!((settings.rounds, until), (5, false));
        assert!((settings.turn_s - 0.5).abs() < 1e-12);
        assert_eq!(settings.kernels, ["sha_256_1k", "memory_chase"]);
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let faults = faults(&[
            "--rounds",
            "0",
            "--turn",
            "x",
            "--kernels",
            "sha_256",
            "--no",
            "1",
            "--folder",
        ]);
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert!(faults[2].contains("sha_256_1k"), "the known ones are named");
    }

    #[test]
    fn a_folder_is_needed() {
        assert!(faults(&[])[0].contains("a folder that exists"));
    }
}
