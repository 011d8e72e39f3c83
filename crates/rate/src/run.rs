//! Measures the rates of all kernels: in each round, every kernel runs on one CPU and on all CPUs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::conditions::Watch;
use crate::kernel::{Failed, Kernel, Timing};
use crate::{ciphers, disk, files, memory, network, order_entry, tls, web};

/// Settings of the measurement of a machine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder for the files of the kernels, which the caller creates and removes. It is empty before and after the
    /// measurement.
    pub folder: PathBuf,
    /// Path of the program that contains the subcommand `null-server`.
    pub engine: PathBuf,
    /// Number of rounds. Every kernel is measured in each round.
    pub rounds: usize,
    /// Length of a turn (one measured execution of a kernel) without its warm-up. [s]
    pub turn_s: f64,
    /// Names of the kernels to measure. If the list is empty, all kernels are measured.
    pub kernels: Vec<String>,
}

/// Returns the CPUs that this process may use.
///
/// # Errors
/// If the system call fails.
pub fn allowed_cpus() -> Result<Vec<usize>, Failed> {
    let set = sched_getaffinity(Pid::from_raw(0)).map_err(|error| error.to_string())?;
    let cpus = (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false));
    Ok(cpus.collect())
}

/// Returns all kernels, in the order in which they run in a round.
#[must_use]
pub fn kernels(folder: &Path, engine: &Path) -> Vec<Box<dyn Kernel>> {
    let memory = memory::working_set(last_cache_bytes(), available_bytes());
    let web = web::Web::new(engine.to_owned(), folder.to_owned());
    let threaded = order_entry::kernels(folder)
        .into_iter()
        .chain([tls::kernel()])
        .chain(ciphers::kernels())
        .chain(files::kernels(folder))
        .chain(network::kernels())
        .chain(memory::kernels(memory))
        .chain(disk::kernels(folder, disk::FILE_BYTES));
    let boxed = threaded.map(|kernel| Box::new(kernel) as Box<dyn Kernel>);
    boxed.chain([Box::new(web) as Box<dyn Kernel>]).collect()
}

/// Returns the size of the last-level cache of the first CPU; 32 MiB if the system reports none. [B]
fn last_cache_bytes() -> u64 {
    let folder = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let size = |number: usize| {
        let text = std::fs::read_to_string(folder.join(format!("index{number}/size"))).ok()?;
        text.trim().strip_suffix('K')?.parse::<u64>().ok()
    };
    (0..8).filter_map(size).max().unwrap_or(32 << 10) << 10
}

/// Returns the memory that is available to programs; 1 GiB if the system does not report it. [B]
fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(1 << 20) << 10
}

/// Runs the measurement. Writes one line of JSON at the beginning, and one for each turn (one measured execution of a
/// kernel).
///
/// A kernel that fails is reported once and not run again; the other kernels continue.
///
/// # Errors
/// If the lines cannot be written, or the system does not report its CPUs.
pub fn run(settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    let cpus = allowed_cpus().map_err(io::Error::other)?;
    let mut kernels = kernels(&settings.folder, &settings.engine);
    if !settings.kernels.is_empty() {
        kernels.retain(|kernel| settings.kernels.iter().any(|name| name == kernel.name()));
    }
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
    let memory = memory::working_set(last_cache_bytes(), available_bytes());
    write_line(
        out,
        &json!({"event": "begin", "version": env!("CARGO_PKG_VERSION"), "cpus": cpus, "rounds": settings.rounds,
                "turn_s": settings.turn_s, "kernels": names, "last_cache_bytes": last_cache_bytes(),
                "memory_bytes": memory}),
    )?;
    let timing = Timing::of_turn(settings.turn_s);
    for round in 0..settings.rounds {
        let mut failed = Vec::new();
        for (place, kernel) in kernels.iter_mut().enumerate() {
            // The last CPU is used if a kernel runs on one CPU, since the first CPU handles most interrupts.
            let last = &cpus[cpus.len() - 1..];
            for (mode, cpus) in [("single", last), ("all", &cpus[..])] {
                let line = turn(&mut **kernel, cpus, &timing);
                let wrong = line.get("failed").is_some();
                let mut line = line;
                line["round"] = json!(round);
                line["mode"] = json!(mode);
                write_line(out, &line)?;
                if wrong {
                    failed.push(place);
                    break;
                }
            }
        }
        for place in failed.into_iter().rev() {
            kernels.remove(place);
        }
    }
    write_line(out, &json!({"event": "end"}))
}

fn turn(kernel: &mut dyn Kernel, cpus: &[usize], timing: &Timing) -> Value {
    let watch = Watch::begin();
    let done = kernel.turn(cpus, timing);
    let helpers_s = done.as_ref().map_or(0.0, |turn| turn.helpers_cpu_s);
    let conditions = watch.end(helpers_s);
    match done {
        Ok(turn) => json!({"event": "turn", "kernel": kernel.name(), "threads": cpus.len(),
                           "slices": turn.slices, "conditions": conditions}),
        Err(failed) => json!({"event": "turn", "kernel": kernel.name(), "failed": failed}),
    }
}

fn write_line(out: &mut dyn Write, line: &Value) -> io::Result<()> {
    writeln!(out, "{line}")?;
    out.flush()
}

/// A folder that is deleted with its content when the value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder in the folder for temporary files.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(name: &str) -> io::Result<Self> {
        Self::within(&std::env::temp_dir(), name)
    }

    /// Creates a folder in another folder.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn within(parent: &Path, name: &str) -> io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(format!(".towtank-rate-{name}-{process}-{number}"));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(names: &[&str], rounds: usize) -> Vec<Value> {
        let folder = Folder::new("run").expect("a folder");
        let settings = Settings {
            folder: folder.path().to_owned(),
            engine: "/bin/false".into(),
            rounds,
            turn_s: 0.002,
            kernels: names.iter().map(|&name| name.to_owned()).collect(),
        };
        let mut out = Vec::new();
        run(&settings, &mut out).expect("a run");
        let text = String::from_utf8(out).expect("text");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    #[test]
    fn kernels_take_turns_in_each_round_on_one_cpu_and_on_all() {
        let lines = lines(&["sha_256_16k", "tls_handshake"], 2);
        let turns: Vec<String> = lines[1..lines.len() - 1]
            .iter()
            .map(|line| format!("{} {} {}", line["round"], line["kernel"], line["mode"]))
            .collect();
        let expected = ["0", "1"].into_iter().flat_map(|round| {
            ["tls_handshake", "sha_256_16k"]
                .into_iter()
                .flat_map(move |kernel| {
                    ["single", "all"].map(move |mode| format!("{round} \"{kernel}\" \"{mode}\""))
                })
        });
        assert_eq!(turns, expected.collect::<Vec<_>>());
        assert_eq!(lines[0]["event"], "begin");
        assert_eq!(lines[lines.len() - 1], json!({"event": "end"}));
        assert!(lines[1]["slices"][0].as_f64().expect("a rate") > 0.0);
        assert!(lines[1]["conditions"]["own_s"].as_f64().is_some());
    }

    #[test]
    fn a_kernel_that_fails_is_told_once_and_the_others_go_on() {
        let lines = lines(&["web_serving", "loopback_1b"], 2);
        let failed: Vec<&Value> = lines
            .iter()
            .filter(|line| line.get("failed").is_some())
            .collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0]["kernel"], "web_serving");
        let other = lines.iter().filter(|line| line["kernel"] == "loopback_1b");
        assert_eq!(other.count(), 4);
    }

    #[test]
    fn every_kernel_has_a_name_of_its_own() {
        let kernels = kernels(Path::new("/nowhere"), Path::new("/nowhere"));
        let mut names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 20);
    }
}
