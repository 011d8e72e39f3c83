//! Tests the guard with real processes. Each test starts `sleep` with a unique number of seconds, which marks the
//! processes of the test. When a test ends, even if it fails, all processes with its mark are killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;

const ENGINE: &str = env!("CARGO_BIN_EXE_towtank-engine");
/// Time limit of a wait, long enough for a busy machine. Only a test that fails waits this long.
const AT_LATEST: Duration = Duration::from_secs(60);

/// The number of seconds that marks the processes of one test.
struct Mark(String);

impl Mark {
    fn new(test: u32) -> Self {
        Self(format!("9{test:02}{:07}", std::process::id()))
    }

    /// Returns the processes that have the mark in their arguments and have not ended.
    fn processes(&self) -> Vec<Pid> {
        let pids = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments
                .windows(self.0.len())
                .any(|window| window == self.0.as_bytes())
        })
        .map(Pid::from_raw)
        .collect()
    }

    /// Returns the number of `sleep` processes with the mark. The guard and the shells, whose arguments contain the
    /// mark as part of a script, are not counted.
    fn sleeping(&self) -> usize {
        let is_sleep =
            |pid: &Pid| fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"sleep\n");
        self.processes().iter().filter(|pid| is_sleep(pid)).count()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        for pid in self.processes() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < AT_LATEST, "waited in vain: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Starts a guard whose standard input is a pipe that the test keeps open.
fn guarded(options: &[&str], command: &[&str]) -> Child {
    let mut prepared = Command::new(ENGINE);
    prepared.arg("guard").args(options).arg("--").args(command);
    prepared
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the guard starts")
}

/// Runs a guard to its end. The standard input of the guard stays open until then.
fn run(options: &[&str], command: &[&str]) -> Output {
    let mut guard = guarded(options, command);
    let stdin = guard.stdin.take();
    let output = guard.wait_with_output().expect("the guard ends");
    drop(stdin);
    output
}

fn first_line(guard: &mut Child) -> (String, BufReader<ChildStdout>) {
    let mut reader = BufReader::new(guard.stdout.take().expect("piped"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    (line.trim_end().to_owned(), reader)
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

#[test]
fn the_status_of_the_command_is_passed_on() {
    assert_eq!(run(&[], &["sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(run(&[], &["true"]).status.code(), Some(0));
    assert_eq!(
        run(&[], &["sh", "-c", "kill -9 $$"]).status.code(),
        Some(137)
    );
}

#[test]
fn a_command_that_cannot_be_started_is_named() {
    let missing = run(&[], &["/nowhere/to/be-found"]);
    assert_eq!(missing.status.code(), Some(127));
    let message = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(
        message.contains("cannot start /nowhere/to/be-found: No such file"),
        "{message}"
    );
    let no_program = run(&[], &["/etc/passwd"]);
    assert_eq!(no_program.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&no_program.stderr).contains("Permission denied"));
}

#[test]
fn wrong_options_are_all_told() {
    let output = run(&["--grace", "soon", "--cpus", "none"], &[]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["--grace must", "--cpus must", "a command must", "usage:"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn the_command_has_no_input_and_a_session_of_its_own() {
    let output = run(&[], &["sh", "-c", "cat; cut -d' ' -f1,6 /proc/$$/stat"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (pid, session) = text
        .trim()
        .split_once(' ')
        .expect("two numbers and nothing from cat");
    assert_eq!(pid, session);
}

#[test]
fn the_command_is_pinned() {
    let output = run(
        &["--cpus", "0"],
        &["grep", "Cpus_allowed_list", "/proc/self/status"],
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout)
            .split_whitespace()
            .last(),
        Some("0")
    );
    assert_eq!(run(&["--cpus", "1023"], &["true"]).status.code(), Some(2));
}

#[test]
fn the_end_of_input_ends_the_tree() {
    let mark = Mark::new(1);
    let mut guard = guarded(
        &[],
        &["sh", "-c", &format!("sleep {0} & sleep {0} & wait", mark.0)],
    );
    wait_until("both sleep", || mark.sleeping() == 2);
    drop(guard.stdin.take());
    assert_eq!(guard.wait().expect("the guard ends").code(), Some(143));
    assert_eq!(mark.processes(), []);
}

#[test]
fn input_other_than_its_end_is_passed_over() {
    use std::io::Write as _;
    let mut guard = guarded(
        &[],
        &[
            "sh",
            "-c",
            "trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done",
        ],
    );
    let (_, _reader) = first_line(&mut guard);
    let mut stdin = guard.stdin.take().expect("piped");
    stdin.write_all(&[b'x'; 10_000]).expect("the guard reads");
    stdin.write_all(b"more").expect("the guard is there");
    drop(stdin);
    assert_eq!(guard.wait().expect("the guard ends").code(), Some(5));
}

#[test]
fn what_detaches_and_ignores_sigterm_is_killed() {
    let mark = Mark::new(2);
    let script = format!(
        "trap '' TERM; (setsid sh -c 'sleep {0} & sleep {0} & wait' &); (setsid sleep {0} &); sleep {0}",
        mark.0
    );
    let mut guard = guarded(&["--grace", "0.2"], &["sh", "-c", &script]);
    wait_until("four sleep", || mark.sleeping() == 4);
    drop(guard.stdin.take());
    assert_eq!(guard.wait().expect("the guard ends").code(), Some(137));
    assert_eq!(mark.processes(), []);
}

#[test]
fn stopped_processes_end_too() {
    let mark = Mark::new(3);
    let mut guard = guarded(&[], &["sleep", &mark.0]);
    wait_until("it sleeps", || mark.sleeping() == 1);
    let sleeper = *mark
        .processes()
        .iter()
        .find(|pid| **pid != pid_of(&guard))
        .expect("the sleeper");
    kill(sleeper, Signal::SIGSTOP).expect("it is there");
    drop(guard.stdin.take());
    assert_eq!(guard.wait().expect("the guard ends").code(), Some(143));
}

#[test]
fn a_command_that_exits_leaves_nothing_behind() {
    let mark = Mark::new(4);
    let script = format!("(setsid sleep {0} &); sleep {0} & exit 3", mark.0);
    assert_eq!(run(&[], &["sh", "-c", &script]).status.code(), Some(3));
    assert_eq!(mark.processes(), []);
}

#[test]
fn children_that_come_during_the_grace_time_are_ended_too() {
    let mark = Mark::new(5);
    let script = format!(
        "trap 'setsid sleep {0} & exit 0' TERM; echo ready; while :; do sleep 0.02; done",
        mark.0
    );
    let mut guard = guarded(&[], &["sh", "-c", &script]);
    let (_, _reader) = first_line(&mut guard);
    drop(guard.stdin.take());
    assert_eq!(guard.wait().expect("the guard ends").code(), Some(0));
    assert_eq!(mark.processes(), []);
}

#[test]
fn nothing_outlives_a_parent_that_is_killed() {
    for (test, option) in [(6, "--stdin-watch"), (7, "--no-stdin-watch")] {
        let mark = Mark::new(test);
        // The standard input of the guard is a pipe that the test keeps open. Therefore only the death of the parent
        // can end the guard.
        let script = format!(
            "{ENGINE} guard {option} -- sh -c '(setsid sleep {0} &); sleep {0}' <&3 & wait",
            mark.0
        );
        let mut parent = Command::new("sh")
            .args(["-c", &format!("exec 3<&0; {script}")])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let stdin = parent.stdin.take();
        wait_until("both sleep", || mark.sleeping() == 2);
        parent.kill().expect("the parent is there");
        parent.wait().expect("the parent ends");
        wait_until("nothing is left", || mark.processes().is_empty());
        drop(stdin);
    }
}

#[test]
fn the_command_dies_with_a_guard_that_is_killed() {
    let mark = Mark::new(8);
    let mut guard = guarded(&[], &["sleep", &mark.0]);
    wait_until("it sleeps", || mark.sleeping() == 1);
    guard.kill().expect("the guard is there");
    guard.wait().expect("the guard ends");
    wait_until("nothing is left", || mark.processes().is_empty());
}

#[test]
fn signals_are_passed_on() {
    // Background jobs ignore SIGINT, and a shell cannot trap a signal that was ignored when the shell started.
    // Therefore the default is restored. SAFETY: this test installs no handler for the signal.
    unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }.expect("SIGINT has a default");
    for (sent, name, status) in [(Signal::SIGTERM, "TERM", 42), (Signal::SIGINT, "INT", 43)] {
        let script =
            format!("trap 'exit {status}' {name}; echo ready; while :; do sleep 0.02; done");
        let mut guard = guarded(&[], &["sh", "-c", &script]);
        let (_, _reader) = first_line(&mut guard);
        // Waiting for a child closes the pipe to its standard input, which would end the guard. Therefore the test
        // takes the pipe and keeps it open.
        let _stdin = guard.stdin.take();
        kill(pid_of(&guard), sent).expect("the guard is there");
        assert_eq!(guard.wait().expect("the guard ends").code(), Some(status));
    }
}

#[test]
fn orphans_are_reaped_while_the_command_runs() {
    let mut guard = guarded(
        &[],
        &[
            "sh",
            "-c",
            "for i in 1 2 3 4 5; do (true & true &); done; echo ready; sleep 1000 & wait",
        ],
    );
    let (_, mut reader) = first_line(&mut guard);
    let guard_pid = pid_of(&guard).to_string();
    wait_until("no zombie is below the guard", || {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        stats
            .filter_map(|stat| stat.rsplit_once(") ").map(|(_, fields)| fields.to_owned()))
            .all(|fields| {
                let mut fields = fields.split(' ');
                let (condition, parent) = (fields.next(), fields.next());
                !(condition == Some("Z") && parent == Some(&guard_pid))
            })
    });
    drop(guard.stdin.take());
    guard.wait().expect("the guard ends");
    reader
        .read_to_string(&mut String::new())
        .expect("the pipe is closed by all");
}
