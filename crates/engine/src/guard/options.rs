//! Options on the command line of the guard.

use std::time::Duration;

use crate::cpus;

pub const USAGE: &str = "usage: towtank-engine guard [--grace SECONDS] [--cpus LIST] [--stdin-watch | --no-stdin-watch] -- COMMAND [ARGUMENTS]";

/// Time between `SIGTERM` and `SIGKILL`, long enough for a database to write its data to disk.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub grace: Duration,
    pub cpus: Option<Vec<usize>>,
    pub watch_stdin: bool,
    /// The program to run and its arguments. The program is always present.
    pub command: Vec<String>,
}

impl Options {
    /// Parses the arguments after `guard`. Returns all faults of the command line together.
    pub fn parse(arguments: &[String]) -> Result<Self, Vec<String>> {
        let mut options = Self {
            grace: GRACE,
            cpus: None,
            watch_stdin: true,
            command: Vec::new(),
        };
        let mut faults = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let fault = match argument.as_str() {
                "--" => {
                    options.command = rest.by_ref().cloned().collect();
                    None
                }
                "--stdin-watch" => {
                    options.watch_stdin = true;
                    None
                }
                "--no-stdin-watch" => {
                    options.watch_stdin = false;
                    None
                }
                "--grace" => options.read_grace(rest.next()).err(),
                "--cpus" => options.read_cpus(rest.next()).err(),
                other => Some(format!(
                    "{other}: no such option; the command comes after --"
                )),
            };
            faults.extend(fault);
        }
        if options.command.is_empty() {
            faults.push("a command must come after --".into());
        }
        if faults.is_empty() {
            Ok(options)
        } else {
            Err(faults)
        }
    }

    fn read_grace(&mut self, value: Option<&String>) -> Result<(), String> {
        let text = value.map_or("nothing", String::as_str);
        let seconds = text
            .parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        self.grace = seconds
            .filter(|grace| *grace <= Duration::from_secs(86_400))
            .ok_or(format!(
                "--grace must be a number in [0, 86400] [s]. Got {text} instead."
            ))?;
        Ok(())
    }

    fn read_cpus(&mut self, value: Option<&String>) -> Result<(), String> {
        let list = cpus::parse(value.map_or("", String::as_str))
            .map_err(|fault| format!("--cpus {fault}"))?;
        self.cpus = Some(list);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Vec<String>> {
        Options::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn all_options_are_read() {
        let options = parse("--grace 0.5 --cpus 0,2 --no-stdin-watch -- sleep --grace 3").unwrap();
        assert_eq!(options.grace, Duration::from_millis(500));
        assert_eq!(options.cpus, Some(vec![0, 2]));
        assert!(!options.watch_stdin);
        assert_eq!(options.command, ["sleep", "--grace", "3"]);
    }

    #[test]
    fn the_conductor_is_watched_unless_told_otherwise() {
        let options = parse("-- true").unwrap();
        assert!(options.watch_stdin && options.cpus.is_none() && options.grace == GRACE);
    }

    #[test]
    fn all_faults_are_told_at_once() {
        assert_eq!(parse("--grace -1 --cpus x --what").unwrap_err().len(), 4);
        for line in [
            "--grace",
            "--grace nan -- true",
            "--cpus",
            "sleep 3",
            "--",
            "",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
