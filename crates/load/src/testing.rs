//! Helpers shared by several tests.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::plan::read_text;
use crate::recorder::Shape;
use crate::recorder::writer::{Header, Named, Stage};
use crate::schedule::Stages;

/// A small seeded generator (`SplitMix64`, Steele, Lea and Flood 2014), so that a failing case can be reproduced.
pub(crate) struct SplitMix {
    state: u64,
}

impl SplitMix {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random number in `[0, end)`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A folder that is deleted when the value is dropped.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("towtank-load-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder takes a folder");
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure to delete the folder is ignored, as it must not hide why the test failed.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Creates the stages of a closed load from the length [s], the number of users, and `until: command` of each stage.
pub(crate) fn stages(list: &[(f64, u32, bool)]) -> Stages {
    let stage = |&(duration_s, users, by_command): &(f64, u32, bool)| {
        let phase = if duration_s > 0.0 {
            "steady"
        } else {
            "ramp_up"
        };
        let mut stage = json!({"name": "hold", "phase": phase, "level": 0, "duration_s": duration_s, "users": users});
        if by_command {
            stage["until"] = json!("command");
        }
        stage
    };
    let plan = json!({
        "schema": "towtank/plan/1", "run": "test", "seed": 5, "out": "x", "threads": 1, "cpus": [],
        "targets": [{"name": "t", "scheme": "http", "addresses": ["127.0.0.1:1"],
                     "balance": "round_robin", "host": "test.example"}],
        "connections": {"mode": "per_user"},
        "timeouts": {"connect_s": 60.0, "response_s": 60.0, "drain_s": 60.0},
        "pools": [], "variables": [], "lists": [],
        "steps": [{"name": "one", "transaction": "t0"}], "pages": [],
        "transactions": [{"name": "t0", "ops": []}],
        "groups": [{"name": "g", "share": 1.0, "once": [], "think": {"dist": "fixed", "mean_s": 1.0},
                    "pacing": null, "mix": [{"transaction": 0, "weight": 1.0}], "exit": []}],
        "load": {"kind": "closed", "users_at_most": 100, "stages": list.iter().map(stage).collect::<Vec<_>>()},
    });
    Stages::new(&read_text(&plan.to_string()).expect("a plan"))
}

/// Numbers of steps, pages and other elements in the run of [`header`].
pub(crate) const SHAPE: Shape = Shape {
    steps: 2,
    pages: 1,
    transactions: 2,
    groups: 2,
    stages: 1,
    places: 0,
};

/// Creates the header line of a small run for tests.
pub(crate) fn header(worker: usize) -> Header {
    let named = |name: &str, transaction: &str| Named {
        name: name.into(),
        transaction: transaction.into(),
    };
    let stage = Stage {
        name: "steady".into(),
        phase: "steady".into(),
        level: 0,
        start_s: 0.0,
        end_s: 10.0,
        users: Some(60),
        rate: None,
        users_by_group: None,
        rates_by_group: None,
    };
    Header {
        run: "r001".into(),
        worker,
        workers: 4,
        monotonic_ns: 1,
        wall_ns: 2,
        stages: vec![stage],
        edits: 0,
        transactions: vec!["search".into(), "download".into()],
        pages: vec![named("result list", "search")],
        steps: vec![named("run query", "search"), named("get", "download")],
        groups: vec!["readers".into(), "authors".into()],
    }
}
