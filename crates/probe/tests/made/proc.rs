//! Writes generated files of `/proc`, and takes samples from them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use towtank_probe::control::Command;
use towtank_probe::{GroupRoot, Options, Roots, Sampler};

/// Counters of one process. CPU times are in clock ticks of 10 ms.
#[derive(Clone, Copy)]
pub struct Made {
    pub pid: u32,
    pub parent: u32,
    pub session: u32,
    pub start: u64,
    /// User time, system time, minor and major page faults of the process.
    pub own: [u64; 4],
    /// User time, system time, minor and major page faults of the children for which the process waited.
    pub children: [u64; 4],
    /// Address of code, stack, heap and arguments, the same for all four.
    pub image: u64,
    /// Bytes read, bytes written, number of read calls, and number of write calls.
    pub io: [u64; 4],
    pub pages: u64,
    pub user: u64,
    pub tasks_limit: u64,
    /// CPU time [ns], wait for a CPU [ns] and number of time slices of the only thread of the process.
    pub ran: [u64; 3],
    pub switches: [u64; 2],
}

impl Made {
    pub const fn new(pid: u32, parent: u32, start: u64) -> Self {
        Self {
            pid,
            parent,
            session: 1,
            start,
            own: [0; 4],
            children: [0; 4],
            image: 0,
            io: [0; 4],
            pages: 10,
            user: 1000,
            tasks_limit: 100,
            ran: [0; 3],
            switches: [0; 2],
        }
    }
}

/// A folder with generated files of `/proc`, which is deleted when the value is dropped.
pub struct Proc(pub PathBuf);

impl Drop for Proc {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Proc {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("towtank-made-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("sys/kernel")).expect("a folder");
        let proc = Self(path);
        proc.write("sys/kernel/randomize_va_space", "2\n");
        proc.host(1, 0);
        proc
    }

    pub fn write(&self, name: &str, content: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    /// Sets the number of tasks of the host and the process id that was assigned last.
    pub fn host(&self, tasks: u64, last: u32) {
        self.write("loadavg", &format!("0.00 0.00 0.00 1/{tasks} {last}\n"));
    }

    /// Writes the files of a process, and returns the process.
    pub fn put(&self, made: Made) -> Made {
        let Made {
            pid,
            parent,
            session,
            start,
            image,
            own,
            children,
            ..
        } = made;
        let file = |name: &str, content: String| self.write(&format!("{pid}/{name}"), &content);
        let addresses = format!(
            "0 0 0 {image} 0 {image} {} {image} {image}",
            ["0"; 18].join(" ")
        );
        file(
            "stat",
            format!(
                "{pid} (made) S {parent} 1 {session} 0 -1 0 {} {} {} {} {} {} {} {} 20 0 1 0 {start} {addresses}\n",
                own[2], children[2], own[3], children[3], own[0], own[1], children[0], children[1]
            ),
        );
        file("statm", format!("99 {} 0 0 0 0 0\n", made.pages));
        let [read, written, reads, writes] = made.io;
        file(
            "io",
            format!(
                "syscr: {reads}\nsyscw: {writes}\nread_bytes: {read}\nwrite_bytes: {written}\n"
            ),
        );
        file(
            "limits",
            format!(
                "Max processes             {}  {0}  processes\nMax open files  64  64  files\n",
                made.tasks_limit
            ),
        );
        file(
            "status",
            format!("Uid:\t{}\t0\t0\t0\nThreads:\t7\nCapEff:\t0\n", made.user),
        );
        file("comm", "made\n".to_owned());
        fs::create_dir_all(self.0.join(format!("{pid}/fd"))).expect("a folder");
        let [cpu, wait, slices] = made.ran;
        file(
            &format!("task/{pid}/schedstat"),
            format!("{cpu} {wait} {slices}\n"),
        );
        file(&format!("task/{pid}/comm"), "made\n".to_owned());
        let [willing, forced] = made.switches;
        file(
            &format!("task/{pid}/status"),
            format!("voluntary_ctxt_switches:\t{willing}\nnonvoluntary_ctxt_switches:\t{forced}\n"),
        );
        made
    }

    /// Ends a process and removes it from the list of processes.
    pub fn end(&self, made: Made) {
        // A sampler keeps this file open, and treats an empty file as the end of the process.
        self.write(&format!("{}/stat", made.pid), "");
        fs::remove_dir_all(self.0.join(made.pid.to_string())).expect("a folder");
    }

    pub fn sampler(&self, groups: &[(&str, Made)], observer: Option<u32>) -> Sampler {
        let root = |(name, made): &(&str, Made)| GroupRoot {
            name: (*name).into(),
            pid: made.pid,
        };
        Sampler::new(&Options {
            groups: groups.iter().map(root).collect(),
            observer,
            roots: Roots {
                proc: self.0.clone(),
                sys: self.0.join("sys"),
            },
            ..Options::default()
        })
    }
}

pub fn sample(sampler: &mut Sampler) -> Value {
    serde_json::from_str(sampler.sample(0)).expect("JSON")
}

pub fn group(sampler: &mut Sampler) -> Value {
    sample(sampler)["groups"]["tree"].take()
}

/// Returns user time and system time [ms], page faults, major page faults, bytes read and written, and numbers of read
/// and write operations.
pub fn totals(group: &Value) -> [u64; 8] {
    let ms = |key: &str| (group[key].as_f64().expect(key) * 1e3).round() as u64;
    let count = |key: &str| group[key].as_u64().expect(key);
    [
        ms("cpu_user_s_total"),
        ms("cpu_system_s_total"),
        count("page_faults_total"),
        count("major_page_faults_total"),
        count("read_bytes_total"),
        count("write_bytes_total"),
        count("read_operations_total"),
        count("write_operations_total"),
    ]
}

pub fn replace(sampler: &mut Sampler, root: Made) {
    let root = GroupRoot {
        name: "tree".into(),
        pid: root.pid,
    };
    sampler.follow(&Command::Group(root));
}
