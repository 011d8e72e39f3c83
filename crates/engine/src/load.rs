//! `towtank-engine load PLAN [--live] [--until-stdin-closes | --control]`: generates the load of a plan.
//! `towtank-engine load --check`: checks plans from standard input without running them.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use towtank_load::plan::{self, Fault};
use towtank_load::run::{Control, Prepared, RunFailed, Switches};
use towtank_load::sys::Signals;

/// Exit status of the program if the plan or the command line is invalid.
const WRONG: u8 = 2;
/// Exit status if the engine itself failed: `EX_SOFTWARE` of sysexits.h.
const INTERNAL: u8 = 70;
/// Exit status if results cannot be written: `EX_IOERR` of sysexits.h.
const DISK: u8 = 74;

/// Runs the subcommand `load` with these arguments and returns the exit status.
pub fn run(arguments: &[String]) -> ExitCode {
    if arguments == ["--check"] {
        return check(std::io::stdin().lock(), std::io::stdout().lock());
    }
    let (path, switches) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(message) => {
            eprintln!("towtank-engine load: {message}");
            eprintln!(
                "usage: towtank-engine load PLAN [--live] [--until-stdin-closes | --control] | --check"
            );
            return ExitCode::from(WRONG);
        }
    };
    let prepared = match plan::read(&path).and_then(Prepared::new) {
        Ok(prepared) => prepared,
        Err(faults) => return tell_faults(&path, &faults),
    };
    // This call comes before any thread is started, so that the signals are blocked in all threads.
    let control = Signals::block().and_then(|signals| Control::new(switches, Some(signals)));
    let result = match control {
        Ok(mut control) => prepared.run(&mut control),
        Err(error) => Err(RunFailed::Internal(error.to_string())),
    };
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(RunFailed::Disk(message)) => {
            eprintln!("towtank-engine load: the results cannot be written: {message}");
            ExitCode::from(DISK)
        }
        Err(RunFailed::Internal(message)) => {
            eprintln!("towtank-engine load: {message}");
            ExitCode::from(INTERNAL)
        }
    }
}

/// Reads one plan from each line of the input. For each plan, writes a line with the faults: `{"faults": [{"place",
/// "message"}]}`.
fn check(plans: impl BufRead, mut out: impl Write) -> ExitCode {
    for line in plans.lines() {
        let written = line.and_then(|text| {
            let faults = plan::read_text(&text).and_then(Prepared::new).err();
            let faults: Vec<_> = faults
                .unwrap_or_default()
                .iter()
                .map(|fault| json!({"place": fault.place, "message": fault.message}))
                .collect();
            writeln!(out, "{}", json!({"faults": faults}))
        });
        if let Err(error) = written {
            eprintln!("towtank-engine load: {error}");
            return ExitCode::from(DISK);
        }
    }
    ExitCode::SUCCESS
}

fn parse(arguments: &[String]) -> Result<(PathBuf, Switches), String> {
    let mut path = None;
    let mut switches = Switches::default();
    for argument in arguments {
        match argument.as_str() {
            "--live" => switches.live = true,
            "--until-stdin-closes" => switches.until_stdin_closes = true,
            "--control" => switches.control = true,
            option if option.starts_with("--") => return Err(format!("{option} is not an option")),
            _ if path.is_some() => return Err("only one plan can be run".to_owned()),
            plan => path = Some(PathBuf::from(plan)),
        }
    }
    path.map(|path| (path, switches))
        .ok_or_else(|| "the path of a plan must be given".to_owned())
}

fn tell_faults(path: &Path, faults: &[Fault]) -> ExitCode {
    for fault in faults {
        eprintln!("{}: {fault}", path.display());
    }
    ExitCode::from(WRONG)
}
