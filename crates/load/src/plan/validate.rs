//! Checks the values in a plan, such as ranges, indices and sums. Types are already checked. Reports all faults and
//! changes nothing.

mod connections;
mod load;
mod ops;

use super::read::Fault;
use super::{GivenCookie, Order, Pause, Plan, Pool, StageList};
use ops::{Place, check_ops};

/// Longest time that the result format can represent. [s]
const LONGEST_S: f64 = 1e7;

pub(super) fn validate(plan: &Plan) -> Vec<Fault> {
    let mut checker = Checker {
        plan,
        faults: Vec::new(),
    };
    checker.top();
    checker.connections();
    for (index, target) in plan.targets.iter().enumerate() {
        checker.target(&format!("targets[{index}]"), target);
    }
    for (index, pool) in plan.pools.iter().enumerate() {
        checker.pool(&format!("pools[{index}]"), pool);
    }
    for (index, transaction) in plan.transactions.iter().enumerate() {
        check_ops(
            &mut checker,
            &format!("transactions[{index}].ops"),
            &transaction.ops,
            Place::Transaction,
        );
    }
    checker.groups();
    checker.load();
    checker.faults
}

/// Checks stages that are appended to the load of a valid plan.
pub(super) fn validate_stages(plan: &Plan, stages: &StageList) -> Vec<Fault> {
    let mut checker = Checker {
        plan,
        faults: Vec::new(),
    };
    match stages {
        StageList::Closed(stages) => checker.closed_stages("stages", stages),
        StageList::Open(stages) => checker.open_stages("stages", stages),
    }
    checker.faults
}

pub(super) struct Checker<'a> {
    pub(super) plan: &'a Plan,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    pub(super) fn fault(&mut self, place: &str, message: impl Into<String>) {
        self.faults.push(Fault {
            place: place.to_owned(),
            message: message.into(),
        });
    }

    pub(super) fn require(&mut self, good: bool, place: &str, message: impl FnOnce() -> String) {
        if !good {
            self.fault(place, message());
        }
    }

    pub(super) fn index(&mut self, place: &str, what: &str, index: usize, length: usize) {
        self.require(index < length, place, || {
            format!("must be the index of one of {length} {what}, got {index}")
        });
    }

    pub(super) fn seconds(&mut self, place: &str, seconds: f64) {
        self.require((0.0..=LONGEST_S).contains(&seconds), place, || {
            format!("must be seconds in [0, {LONGEST_S}], got {seconds}")
        });
    }

    fn positive_seconds(&mut self, place: &str, seconds: f64) {
        self.require(seconds > 0.0 && seconds <= LONGEST_S, place, || {
            format!("must be seconds in (0, {LONGEST_S}], got {seconds}")
        });
    }

    fn top(&mut self) {
        let plan = self.plan;
        self.require((1..=1024).contains(&plan.threads), "threads", || {
            format!("must be in [1, 1024], got {}", plan.threads)
        });
        self.require(!plan.out.is_empty(), "out", || {
            "must name a folder".to_owned()
        });
        self.require(plan.cpus.iter().all(|cpu| *cpu < 1024), "cpus", || {
            "must be below 1024".to_owned()
        });
        self.require(!plan.targets.is_empty(), "targets", || {
            "must have at least one entry".to_owned()
        });
        self.require(!plan.groups.is_empty(), "groups", || {
            "must have at least one entry".to_owned()
        });
        self.positive_seconds("timeouts.connect_s", plan.timeouts.connect_s);
        self.positive_seconds("timeouts.response_s", plan.timeouts.response_s);
        self.seconds("timeouts.drain_s", plan.timeouts.drain_s);
        self.require(plan.limits.header_bytes > 0, "limits.header_bytes", || {
            "must be above 0".to_owned()
        });
        self.require(plan.limits.body_bytes > 0, "limits.body_bytes", || {
            "must be above 0".to_owned()
        });
    }

    fn pool(&mut self, place: &str, pool: &Pool) {
        self.require(pool.rows.is_some() != pool.csv.is_some(), place, || {
            "must have either `rows` or `csv`".to_owned()
        });
        if let Some(rows) = &pool.rows {
            self.require(!rows.is_empty(), &format!("{place}.rows"), || {
                "must have at least one row".to_owned()
            });
            for (index, row) in rows.iter().enumerate() {
                self.require(
                    row.len() == pool.columns.len(),
                    &format!("{place}.rows[{index}]"),
                    || {
                        format!(
                            "must have {} fields, one for each column, got {}",
                            pool.columns.len(),
                            row.len()
                        )
                    },
                );
            }
        }
        let weighted = pool.weights.is_some() || pool.weight_column.is_some();
        self.require(weighted == (pool.order == Order::Weighted), place, || {
            "must have `weights` or `weight_column` with order `weighted`, and neither with another order".to_owned()
        });
        if let (Some(weights), Some(rows)) = (&pool.weights, &pool.rows) {
            self.require(
                weights.len() == rows.len(),
                &format!("{place}.weights"),
                || {
                    format!(
                        "must have one weight for each of {} rows, got {}",
                        rows.len(),
                        weights.len()
                    )
                },
            );
        }
        if let Some(weights) = &pool.weights {
            self.weights(&format!("{place}.weights"), weights.iter().copied());
        }
    }

    fn weights(&mut self, place: &str, weights: impl Iterator<Item = f64> + Clone) {
        let good = weights
            .clone()
            .all(|weight| weight.is_finite() && weight >= 0.0)
            && weights.sum::<f64>() > 0.0;
        self.require(good, place, || {
            "must be weights >= 0 with a sum above 0".to_owned()
        });
    }

    fn groups(&mut self) {
        let plan = self.plan;
        let total: f64 = plan.groups.iter().map(|group| group.share).sum();
        let good = plan.groups.iter().all(|group| group.share > 0.0) && (total - 1.0).abs() < 1e-6;
        self.require(good || plan.groups.is_empty(), "groups", || {
            format!("must have shares above 0 that add to 1, got {total}")
        });
        for (number, group) in plan.groups.iter().enumerate() {
            let place = format!("groups[{number}]");
            check_ops(self, &format!("{place}.once"), &group.once, Place::Group);
            check_ops(self, &format!("{place}.exit"), &group.exit, Place::Group);
            for (key, pause) in [("think", &group.think), ("pacing", &group.pacing)] {
                if let Some(pause) = pause {
                    self.pause(&format!("{place}.{key}"), pause);
                }
            }
            self.weights(
                &format!("{place}.mix"),
                group.mix.iter().map(|entry| entry.weight),
            );
            for (index, entry) in group.mix.iter().enumerate() {
                let transactions = plan.transactions.len();
                self.index(
                    &format!("{place}.mix[{index}].transaction"),
                    "transactions",
                    entry.transaction,
                    transactions,
                );
            }
            self.cookies(&format!("{place}.cookies.given"), &group.cookies.given);
        }
    }

    fn cookies(&mut self, place: &str, given: &[GivenCookie]) {
        let most = crate::cookies::MOST;
        self.require(given.len() <= most, place, || {
            format!("must be at most {most} cookies, got {}", given.len())
        });
        for (index, cookie) in given.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let targets = self.plan.targets.len();
            self.index(
                &format!("{place}.target"),
                "targets",
                cookie.target,
                targets,
            );
            self.require(cookie.path.starts_with('/'), &place, || {
                format!("must have a path that begins with /, got {:?}", cookie.path)
            });
            let sendable = |text: &str| is_header_value(text.as_bytes()) && !text.contains(';');
            let named = !cookie.name.is_empty() && !cookie.name.contains('=');
            let good = named && sendable(&cookie.name) && sendable(&cookie.value);
            self.require(good, &place, || {
                "must have a name without `=`, and a value without `;` and line break".to_owned()
            });
        }
    }

    pub(super) fn pause(&mut self, place: &str, pause: &Pause) {
        match *pause {
            Pause::Fixed { mean_s } | Pause::Exponential { mean_s } => {
                self.seconds(&format!("{place}.mean_s"), mean_s);
            }
            Pause::Uniform { min_s, max_s } => self.interval(place, min_s, max_s),
            Pause::Normal {
                mean_s,
                sd_s,
                min_s,
                max_s,
            } => {
                self.interval(place, min_s, max_s);
                self.seconds(&format!("{place}.sd_s"), sd_s);
                // Rejection would take too long if only a small part of the distribution lay within the limits.
                // Therefore the interval between the limits must reach within three standard deviations of the mean,
                // and be at least a hundredth of a standard deviation wide.
                let reachable = min_s <= mean_s + 3.0 * sd_s && max_s >= mean_s - 3.0 * sd_s;
                let wide = max_s - min_s >= sd_s / 100.0;
                self.require(reachable && wide, place, || {
                    "must have an interval from min_s to max_s that begins or ends within three sd_s of mean_s and is at least sd_s / 100 wide".to_owned()
                });
            }
        }
    }

    fn interval(&mut self, place: &str, min_s: f64, max_s: f64) {
        self.seconds(&format!("{place}.min_s"), min_s);
        self.seconds(&format!("{place}.max_s"), max_s);
        self.require(min_s <= max_s, place, || {
            format!("must have min_s <= max_s, got {min_s} and {max_s}")
        });
    }
}

/// Returns `true` if the bytes are a valid header value.
pub(super) fn is_header_value(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}
