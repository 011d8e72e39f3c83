//! `towtank-engine probe`: measures at regular intervals how much of the host's resources the host and groups of
//! processes use.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use towtank_probe::{GroupRoot, Options, control, run};

const USAGE: &str = "\
usage: towtank-engine probe --out FILE|- [--interval SECONDS] [--group NAME=PID ...]
                            [--observer PID] [--until-stdin-closes] [--duration SECONDS]

Commands on standard input, one per line, change the sampled groups: `group NAME PID`, `drop NAME`.";

const SHORTEST_INTERVAL_S: f64 = 0.01;
const LONGEST_S: f64 = 1e9;

/// Runs the subcommand. The exit status is 0 if the probe ended as requested, 1 if its output cannot be written, and 2
/// for an invalid command line.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    if arguments
        .iter()
        .any(|argument| argument == "--help" || argument == "-h")
    {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let (options, out) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(faults) => {
            for fault in faults {
                eprintln!("towtank-engine probe: {fault}");
            }
            eprintln!("\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ended = open(&out).and_then(|mut stream| run(&options, &mut *stream));
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("towtank-engine probe: {out}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open(out: &str) -> io::Result<Box<dyn Write>> {
    if out == "-" {
        return Ok(Box::new(io::stdout()));
    }
    // New samples are appended to an existing file, so that recorded samples are never lost.
    Ok(Box::new(
        OpenOptions::new().create(true).append(true).open(out)?,
    ))
}

/// Parses the command line. Returns all faults of the command line together.
fn parse(arguments: &[String]) -> Result<(Options, String), Vec<String>> {
    let mut options = Options {
        has_pace: true,
        ..Options::default()
    };
    let mut out = None;
    let mut faults = Vec::new();
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        if name == "--until-stdin-closes" {
            options.until_stdin_closes = true;
            continue;
        }
        if !["--out", "--interval", "--group", "--duration", "--observer"].contains(&name.as_str())
        {
            faults.push(format!("there is no option `{name}`"));
            continue;
        }
        let Some(value) = rest.next() else {
            faults.push(format!("{name} must have a value"));
            break;
        };
        let taken = match name.as_str() {
            "--out" => {
                out = Some(value.clone());
                Ok(())
            }
            "--interval" => {
                seconds(name, value, SHORTEST_INTERVAL_S).map(|time| options.interval_ns = time)
            }
            "--duration" => seconds(name, value, 0.0).map(|time| options.duration_ns = Some(time)),
            "--observer" => {
                control::group("observer", value).map(|root| options.observer = Some(root.pid))
            }
            _ => group(value).map(|group| options.groups.push(group)),
        };
        faults.extend(taken.err());
    }
    if out.is_none() {
        faults.push("--out must name a file, or - for standard output".to_owned());
    }
    let mut names: Vec<&str> = options
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    names.sort_unstable();
    let twice = names.windows(2).filter(|pair| pair[0] == pair[1]);
    faults.extend(twice.map(|pair| format!("group {}: must be given once only", pair[0])));
    if faults.is_empty() {
        Ok((options, out.unwrap_or_default()))
    } else {
        Err(faults)
    }
}

fn seconds(name: &str, value: &str, least: f64) -> Result<u64, String> {
    match value.parse::<f64>() {
        Ok(seconds) if seconds >= least && seconds <= LONGEST_S => {
            Ok((seconds * 1e9).round() as u64)
        }
        _ => Err(format!(
            "{name} must be a number of seconds from {least}, got `{value}` instead"
        )),
    }
}

fn group(value: &str) -> Result<GroupRoot, String> {
    let (name, pid) = value
        .rsplit_once('=')
        .ok_or(format!("--group must be NAME=PID, got `{value}` instead"))?;
    control::group(name, pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn all_options_are_taken() {
        let line = "--out - --interval 0.5 --group content=12 --group a=b=13 --observer 7 --until-stdin-closes --duration 2";
        let (options, out) = parse(&words(line)).expect("a right command line");
        assert_eq!(
            (out.as_str(), options.interval_ns, options.duration_ns),
            ("-", 500_000_000, Some(2_000_000_000))
        );
        assert!(options.until_stdin_closes && options.observer == Some(7));
        assert_eq!(
            options.groups[1],
            GroupRoot {
                name: "a=b".into(),
                pid: 13
            }
        );
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let line = "--interval 0 --group x --group y=0 --group z=1 --group z=2 --fast --duration";
        let faults = parse(&words(line)).expect_err("a wrong command line");
        assert_eq!(faults.len(), 7, "{faults:?}");
    }
}
