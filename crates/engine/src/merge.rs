//! `towtank-engine merge --width NS FILE...` and `towtank-engine merge --from NS --until NS FILE...`: writes the lines
//! of segment files to standard output, in the order of the files. The first form merges intervals into longer ones; the
//! second form leaves out the intervals outside a time span of the run.

use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use towtank_load::recorder::merging::{merge, within};

/// Exit status if the command line is invalid.
const WRONG: u8 = 2;
const USAGE: &str = "usage: towtank-engine merge (--width NS | --from NS --until NS) FILE...";
/// Largest number of files that are in memory at the same time.
const THREADS_AT_MOST: usize = 8;

enum Task {
    Merge { width_ns: u64 },
    Within { from_ns: u64, until_ns: u64 },
}

/// Runs the subcommand `merge` with these arguments and returns the exit status.
pub fn run(arguments: &[String]) -> ExitCode {
    let Some((task, files)) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(WRONG);
    };
    match write_all(&task, files) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("towtank-engine merge: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<(Task, &[String])> {
    match arguments {
        [option, width, files @ ..] if option == "--width" => {
            let width_ns = width.parse().ok().filter(|width| *width > 0)?;
            Some((Task::Merge { width_ns }, files))
        }
        [from_option, from, until_option, until, files @ ..]
            if from_option == "--from" && until_option == "--until" =>
        {
            let (from_ns, until_ns) = (from.parse().ok()?, until.parse().ok()?);
            Some((Task::Within { from_ns, until_ns }, files))
        }
        _ => None,
    }
}

/// Works on several files at a time, and writes the results in the order of the files.
fn write_all(task: &Task, files: &[String]) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut out = io::stdout().lock();
    thread::scope(|scope| {
        for _ in 0..threads.min(THREADS_AT_MOST) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(number) else {
                        return;
                    };
                    if sender.send((number, text_of(task, file))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut ended: Vec<Option<io::Result<Vec<u8>>>> = files.iter().map(|_| None).collect();
        let mut written = 0;
        for (number, text) in receiver {
            ended[number] = Some(text);
            while let Some(text) = ended.get_mut(written).and_then(Option::take) {
                out.write_all(&text?)?;
                written += 1;
            }
        }
        Ok(())
    })
}

fn text_of(task: &Task, file: &String) -> io::Result<Vec<u8>> {
    let segment =
        fs::read(file).map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))?;
    let mut out = Vec::new();
    match task {
        Task::Merge { width_ns } => merge(&segment, *width_ns, &mut out),
        Task::Within { from_ns, until_ns } => within(&segment, *from_ns, *until_ns, &mut out),
    }
    Ok(out)
}
