//! Tests that sessions that compute in this process, such as SQLite, can wait for each other's locks. Each call has a
//! separate thread, so a waiting call does not block the call that holds the lock.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{Folder, NoSockets};
use towtank_drivers::{Call, Done, Executor, Operation, Orders, Server, Task};

const STATEMENTS: [&str; 2] = ["begin immediate", "commit"];
const BEGIN: u32 = 0;
const COMMIT: u32 = 1;
/// Time limit of a call, longer than any machine needs. [ns]
const TIMEOUT_NS: u64 = 20_000_000_000;

struct Bench {
    executor: Executor,
    rung: Receiver<()>,
    done: Vec<Done>,
}

impl Bench {
    fn new(database: &Path) -> Self {
        let tasks: Vec<Task> = (0..)
            .zip(STATEMENTS)
            .map(|(number, text)| Task {
                number,
                operation: Operation::Sql {
                    text: text.to_owned(),
                },
                keeps_rows: false,
                rows_bytes_at_most: 0,
                keeps_content: false,
            })
            .collect();
        let server: Server = serde_json::from_value(serde_json::json!({
            "kind": "sqlite",
            "path": database,
            "synchronous": "off",
        }))
        .expect("a server");
        let (waker, rung) = channel();
        // The receiver may already have been dropped when the last call of a test ends, so a failure to send is
        // ignored.
        let wake = move || {
            let _ = waker.send(());
        };
        let executor = Executor::new(
            vec![Some((server, Vec::new()))],
            tasks.into(),
            NoSockets,
            wake,
        );
        Self {
            executor,
            rung,
            done: Vec::new(),
        }
    }

    fn ask(&mut self, place: u32, task: u32) {
        let call = Call {
            generation: 1,
            task,
            location: 0,
            values: Vec::new(),
            left_ns: Arc::default(),
            timeout_ns: TIMEOUT_NS,
            is_single: false,
        };
        self.executor.order(0, place, Orders::Call(call));
    }

    /// Waits for the next result and returns it.
    fn next(&mut self) -> Done {
        while self.done.is_empty() {
            self.rung.recv().expect("a result");
            self.executor.take(&mut self.done);
        }
        self.done.remove(0)
    }

    fn well(&mut self, place: u32) {
        let done = self.next();
        assert_eq!(done.place, place);
        done.result.expect("an answer");
    }
}

#[test]
fn who_lets_go_of_a_lock_is_not_kept_waiting_by_who_waits_for_it() {
    let folder = Folder::new();
    let database = folder.0.join("empty");
    std::fs::write(&database, b"").expect("an empty database");
    for _ in 0..50 {
        let mut bench = Bench::new(&database);
        bench.ask(0, BEGIN);
        bench.well(0);
        // Both orders arrive before the idle thread of the first call can wake up, so a second thread is needed.
        std::thread::sleep(Duration::from_millis(1));
        bench.ask(1, BEGIN);
        bench.ask(0, COMMIT);
        bench.well(0);
        bench.well(1);
        bench.ask(1, COMMIT);
        bench.well(1);
    }
}
