//! A kernel for web serving: the null server and the load engine. They use separate CPUs if there is more than one CPU.
//!
//! The result is the number of requests per second of CPU time of server and load engine together, so that waiting
//! does not count. With more than one CPU, this number is multiplied by the number of CPUs: the result is the
//! throughput with all CPUs busy.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde_json::{Value, json};
use towtank_load::plan;
use towtank_load::run::{Control, Prepared, Switches};
use towtank_load::sys;

use crate::kernel::{Failed, Kernel, Timing, Turn};

/// Length of the body of a response. [bytes]
const BODY: usize = 1024;
/// Number of users of each thread of the load engine.
const USERS: usize = 16;
/// Minimum duration of a load. In a shorter load, the start and the end would distort the rate. [s]
const SHORTEST_S: f64 = 0.1;
/// Number of loads without any response after which the measurement fails.
const LOADS_AT_MOST: usize = 20;

/// The web serving kernel: the null server under load from the load engine.
#[derive(Debug)]
pub struct Web {
    /// Path of the program that contains the subcommand `null-server`.
    engine: PathBuf,
    folder: PathBuf,
}

impl Web {
    /// Creates the kernel. The program `engine` serves as the null server, and the load engine writes its results to
    /// `folder`.
    #[must_use]
    pub fn new(engine: PathBuf, folder: PathBuf) -> Self {
        Self { engine, folder }
    }

    /// Runs one load against the server. Returns the number of successful requests, and the CPU time of the load engine
    /// [s].
    fn drive(&self, address: &str, cpus: &[usize], seconds: f64) -> Result<(f64, f64), Failed> {
        let results = self.folder.join("web");
        clear(&results)?;
        let text = plan(&results, address, cpus, seconds).to_string();
        let failed = |faults: Vec<plan::Fault>| {
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            texts.join("; ")
        };
        let prepared = plan::read_text(&text)
            .and_then(Prepared::new)
            .map_err(failed)?;
        let mut control = Control::new(Switches::default(), None).map_err(|e| e.to_string())?;
        let before = own_s();
        let outcome = prepared
            .run(&mut control)
            .map_err(|failed| format!("the load engine failed: {failed:?}"))?;
        let spent = own_s() - before;
        let totals = outcome.totals;
        if totals.failed_in_all() > 0 {
            let (failed, ok) = (totals.failed_in_all(), totals.ok);
            return Err(format!("{failed} requests failed, {ok} requests succeeded"));
        }
        Ok((totals.ok as f64, spent))
    }

    fn work(&self, cpus: &[usize], timing: &Timing) -> Result<Turn, Failed> {
        let (load, serve) = sides(cpus);
        let server = Server::start(&self.engine, serve)?;
        let begun = server.cpu_s()?;
        self.drive(
            &server.address,
            load,
            timing.warm_up.as_secs_f64().max(0.02),
        )?;
        let each = timing.slice.max(Duration::from_secs_f64(SHORTEST_S));
        let end = Instant::now() + timing.turn;
        let (mut slices, mut loads) = (Vec::new(), 0);
        while slices.is_empty() || Instant::now() < end {
            loads += 1;
            if slices.is_empty() && loads > LOADS_AT_MOST {
                return Err("the server sent no response".to_owned());
            }
            let before = server.cpu_s()?;
            let (requests, own_s) = self.drive(&server.address, load, each.as_secs_f64())?;
            let spent_s = own_s + server.cpu_s()? - before;
            // On a very busy machine a load may end before its first response. Such a load gives no rate.
            if requests > 0.0 {
                slices.push(requests / spent_s * cpus.len() as f64);
            }
        }
        let helpers_cpu_s = server.cpu_s()? - begun;
        Ok(Turn {
            slices,
            helpers_cpu_s,
        })
    }
}

impl Kernel for Web {
    fn name(&self) -> &'static str {
        "web_serving"
    }

    fn turn(&mut self, cpus: &[usize], timing: &Timing) -> Result<Turn, Failed> {
        // The load engine pins the thread in which it runs to a CPU. It runs in a separate thread, so that the calling
        // thread is not pinned.
        std::thread::scope(|scope| {
            scope
                .spawn(|| self.work(cpus, timing))
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        })
    }
}

/// Deletes the results of earlier loads, since the load engine does not overwrite them.
fn clear(results: &Path) -> Result<(), Failed> {
    match std::fs::remove_dir_all(results) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", results.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the CPUs of the load engine and the CPUs of the server. A single CPU is used by both.
fn sides(cpus: &[usize]) -> (&[usize], &[usize]) {
    if cpus.len() == 1 {
        return (cpus, cpus);
    }
    cpus.split_at(cpus.len().div_ceil(2))
}

fn own_s() -> f64 {
    let usage = sys::usage();
    usage.user_s + usage.system_s
}

fn plan(out: &Path, address: &str, cpus: &[usize], seconds: f64) -> Value {
    let users = USERS * cpus.len();
    let stage = |name: &str, phase: &str, seconds: f64| json!({"name": name, "phase": phase, "level": 0, "duration_s": seconds, "users": users});
    let request = json!({"op": "request", "step": 0, "target": 0, "method": "GET", "path": ["/"]});
    json!({
        "schema": "towtank/plan/1", "run": "rate", "seed": 1, "out": out,
        "threads": cpus.len(), "cpus": cpus,
        "targets": [{"name": "server", "scheme": "http", "addresses": [address],
                     "balance": "round_robin", "host": "rate.test"}],
        "connections": {"mode": "per_user"},
        "timeouts": {"connect_s": 5.0, "response_s": 5.0, "drain_s": 5.0},
        "pools": [], "variables": [], "lists": [],
        "steps": [{"name": "get", "transaction": "get"}], "pages": [],
        "transactions": [{"name": "get", "ops": [request]}],
        "groups": [{"name": "users", "share": 1.0, "once": [], "think": {"dist": "fixed", "mean_s": 0.0},
                    "pacing": null, "mix": [{"transaction": 0, "weight": 1.0}], "exit": []}],
        "load": {"kind": "closed", "users_at_most": users,
                 "stages": [stage("up", "ramp_up", 0.0), stage("hold", "steady", seconds)]},
    })
}

/// A null server in a separate process. The server stops when the value is dropped or when this process ends.
struct Server {
    child: Child,
    address: String,
    clock: ClockId,
}

impl Server {
    fn start(engine: &Path, cpus: &[usize]) -> Result<Self, Failed> {
        let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let mut child = Command::new(engine)
            .args(["null-server", "--until-stdin-closes", "--body"])
            .args([&BODY.to_string(), "--threads", &cpus.len().to_string()])
            .args(["--cpus", &list.join(",")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server cannot be started: {error}"))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            // The server prints its address in this line. The line is empty if the server could not listen.
            let _ = BufReader::new(output).read_line(&mut line);
        }
        let address = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let clock = clock_getcpuclockid(Pid::from_raw(child.id() as i32));
        match (address, clock) {
            (Some(address), Ok(clock)) => Ok(Self {
                child,
                address,
                clock,
            }),
            (None, _) => {
                end(&mut child);
                Err(format!(
                    "the server must print its address, got {:?}",
                    line.trim()
                ))
            }
            (_, Err(error)) => {
                end(&mut child);
                Err(format!(
                    "the CPU time of the server cannot be read: {error}"
                ))
            }
        }
    }

    /// Returns the CPU time that the process of the server has used so far. [s]
    fn cpu_s(&self) -> Result<f64, Failed> {
        let time = clock_gettime(self.clock)
            .map_err(|error| format!("the CPU time of the server cannot be read: {error}"))?;
        Ok(Duration::from(time).as_secs_f64())
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sides_have_cpus_of_their_own_where_there_are_two() {
        assert_eq!(sides(&[4]), (&[4][..], &[4][..]));
        assert_eq!(sides(&[0, 1]), (&[0][..], &[1][..]));
        assert_eq!(sides(&[0, 1, 2]), (&[0, 1][..], &[2][..]));
    }

    #[test]
    fn the_plan_is_one_that_the_engine_takes() {
        let text = plan(Path::new("/nowhere"), "127.0.0.1:9", &[0], 0.5).to_string();
        let plan = plan::read_text(&text).expect("a plan");
        assert_eq!(plan.threads, 1);
    }

    #[test]
    fn a_program_that_does_not_serve_is_told() {
        let mut web = Web::new("/bin/true".into(), std::env::temp_dir());
        let failed = web.turn(&[0], &Timing::of_turn(0.01)).unwrap_err();
        assert!(failed.contains("must print its address"), "{failed}");
    }
}
