//! Tests the sampler with the running kernel. For example, the CPU time of a process tree is compared with the result
//! of `wait4`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;
use towtank_probe::control::Command as Order;
use towtank_probe::{GroupRoot, Options, Sampler};

/// Tolerance of CPU times: user and system time of each process are truncated to ticks, and usage after the last sample
/// is missing. [s]
const FEW_TICKS_S: f64 = 0.06;

/// A shell that executes commands line by line and responds to each command.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Shell {
    fn new() -> Self {
        let script = "burn() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }\n\
                      while read -r line; do eval \"$line\"; echo done; done";
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            input,
            output,
        }
    }

    fn execute(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("the shell listens");
        let mut answer = String::new();
        self.output
            .read_line(&mut answer)
            .expect("the shell answers");
        assert_eq!(answer, "done\n");
    }

    /// Ends the shell. Returns the CPU time of the shell and of all processes for which it waited. [s]
    fn end(self) -> f64 {
        let Self {
            child,
            input,
            output,
        } = self;
        drop((input, output));
        let mut status = 0;
        // Safety: a `rusage` of zeros is valid; both pointers are valid for writing; the child belongs to this process
        // and was not reaped.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            let pid = libc::pid_t::try_from(child.id()).expect("a process number");
            assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}

fn group(sampler: &mut Sampler) -> Value {
    let sample: Value = serde_json::from_str(sampler.sample(0)).expect("JSON");
    sample["groups"]["tree"].clone()
}

fn cpu_s(group: &Value) -> f64 {
    ["cpu_user_s_total", "cpu_system_s_total"]
        .iter()
        .map(|key| group[key].as_f64().expect("a number"))
        .sum()
}

fn watch(pid: u32) -> Sampler {
    let groups = vec![GroupRoot {
        name: "tree".into(),
        pid,
    }];
    Sampler::new(&Options {
        groups,
        ..Options::default()
    })
}

#[test]
fn children_seen_and_unseen_are_counted_once() {
    let mut shell = Shell::new();
    let mut sampler = watch(shell.child.id());
    assert_eq!(group(&mut sampler)["processes"], 1);
    // Two processes use CPU time: the shell itself, and a child that starts and ends between two samples.
    shell.execute("burn 100000; (burn 200000)");
    let first = group(&mut sampler);
    assert_eq!(first["processes"], 1);
    // This child is sampled while it runs, and reaped after the sample.
    shell.execute("(burn 200000; exec sleep 1000) & child=$!");
    let mut living = group(&mut sampler);
    assert_eq!(living["alive"], true);
    while living["processes"] == 1 {
        living = group(&mut sampler);
    }
    assert_eq!(living["processes"], 2);
    shell.execute("kill $child; wait $child");
    let last = group(&mut sampler);
    assert_eq!(last["processes"], 1);
    assert!(cpu_s(&first) <= cpu_s(&living) && cpu_s(&living) <= cpu_s(&last));
    assert!(last["page_faults_total"].as_u64() > living["page_faults_total"].as_u64());
    let used = shell.end();
    let seen = cpu_s(&last);
    assert!(used > 0.1, "the tree must have worked: {used} s");
    assert!(
        (seen - used).abs() < FEW_TICKS_S,
        "sampled {seen} s, wait4 reports {used} s"
    );
}

#[test]
fn a_root_that_ended_is_not_alive_and_keeps_its_totals() {
    let mut shell = Shell::new();
    let mut sampler = watch(shell.child.id());
    shell.execute("burn 200000");
    let before = group(&mut sampler);
    shell.end();
    let after = group(&mut sampler);
    assert_eq!(
        (&before["alive"], &after["alive"]),
        (&Value::Bool(true), &Value::Bool(false))
    );
    assert_eq!(after["processes"], 0);
    assert!((cpu_s(&before) - cpu_s(&after)).abs() < f64::EPSILON);
    assert_eq!(before["root_start_ticks"], after["root_start_ticks"]);
}

#[test]
fn totals_go_on_when_a_service_is_started_again() {
    let mut shell = Shell::new();
    let mut sampler = watch(shell.child.id());
    shell.execute("burn 200000");
    let before = group(&mut sampler);
    shell.end();
    let mut again = Shell::new();
    let root = GroupRoot {
        name: "tree".into(),
        pid: again.child.id(),
    };
    sampler.follow(&Order::Group(root));
    again.execute("burn 200000");
    let after = group(&mut sampler);
    assert_eq!(after["alive"], true);
    assert!(after["root_start_ticks"].as_u64() >= before["root_start_ticks"].as_u64());
    assert!(cpu_s(&after) > cpu_s(&before));
    sampler.follow(&Order::Drop("tree".into()));
    assert_eq!(group(&mut sampler), Value::Null);
    again.end();
}

#[test]
fn orphans_stay_with_the_session_they_were_born_in() {
    let mut child = Command::new("setsid")
        .args([
            "/bin/sh",
            "-c",
            "(sh -c 'exec sleep 1000' & echo $!) ; read -r line",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("setsid of util-linux");
    let mut orphan = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut orphan)
        .expect("its number");
    let mut sampler = watch(child.id());
    let mut sample = group(&mut sampler);
    while sample["processes"] != 2 {
        sample = group(&mut sampler);
    }
    drop(child.stdin.take());
    child.wait().expect("the shell ends with its input");
    let after = group(&mut sampler);
    let killed = Command::new("kill")
        .arg(orphan.trim())
        .status()
        .expect("kill");
    assert_eq!(
        (&after["processes"], &after["alive"]),
        (&Value::from(1), &Value::Bool(false))
    );
    assert!(killed.success());
}

#[test]
fn a_worker_that_was_orphaned_before_the_first_sample_counts() {
    let mut shell = Shell::new();
    // The intermediate shell ends immediately. The worker then has another parent and is in the session of this test,
    // so only its memory layout shows that it belongs to the group.
    shell.execute("worker=$( ( (while :; do :; done) >/dev/null & echo $! ) )");
    let mut sampler = watch(shell.child.id());
    let first = group(&mut sampler);
    shell.execute("burn 200000");
    let second = group(&mut sampler);
    shell.execute("kill $worker");
    shell.end();
    assert_eq!(first["processes"], 2);
    assert!(cpu_s(&second) > cpu_s(&first));
}

#[test]
fn a_group_whose_root_launched_and_left_goes_on() {
    let mut shell = Shell::new();
    let mut sampler = watch(shell.child.id());
    group(&mut sampler);
    shell.execute("worker=$( ( (while :; do :; done) >/dev/null & echo $! ) )");
    assert_eq!(group(&mut sampler)["processes"], 2);
    shell.execute("printf $worker > /proc/$$/comm");
    let name = std::fs::read_to_string(format!("/proc/{}/comm", shell.child.id()));
    let worker = name.expect("the name that the shell gave itself");
    shell.end();
    let left = group(&mut sampler);
    let killed = Command::new("kill")
        .arg(worker.trim())
        .status()
        .expect("kill");
    assert!(killed.success());
    assert_eq!(
        (&left["processes"], &left["alive"]),
        (&Value::from(1), &Value::Bool(false))
    );
}

#[test]
fn shared_pages_count_once() {
    // The shell has no memory that it shares with others, so the script maps memory that several processes share.
    let script = "import mmap, os, sys\n\
                  shared = mmap.mmap(-1, 64 << 20)\n\
                  shared.write(b'x' * (64 << 20))\n\
                  children = []\n\
                  for _ in range(3):\n\
                  \x20   child = os.fork()\n\
                  \x20   if not child:\n\
                  \x20       sum(shared[::4096]); os.write(1, b'.'); sys.stdin.read(); os._exit(0)\n\
                  \x20   children.append(child)\n\
                  sys.stdin.read()\n\
                  [os.waitpid(child, 0) for child in children]\n";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut dots = [0; 3];
    let mut output = child.stdout.take().expect("piped");
    std::io::Read::read_exact(&mut output, &mut dots).expect("three children");
    let mut sampler = watch(child.id());
    let seen = group(&mut sampler);
    drop(child.stdin.take());
    child.wait().expect("it ends with its input");
    let mebibytes = |key: &str| seen[key].as_u64().expect("a number") >> 20;
    assert_eq!(seen["processes"], 4);
    assert!(mebibytes("resident_sets_bytes") >= 4 * 64);
    assert!((64..128).contains(&mebibytes("memory_bytes")), "{seen}");
    assert!(
        (64..128).contains(&mebibytes("memory_anonymous_bytes")),
        "{seen}"
    );
}
