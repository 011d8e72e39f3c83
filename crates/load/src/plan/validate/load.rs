//! Checks the load of a plan and its stages.

use crate::plan::{ClosedStage, Load, OpenStage, Phase, Rate};

use super::Checker;

/// Limit on numbers of users and waiting arrivals, since the engine stores their indices in 32 bits.
const USERS_CEILING: u32 = 1 << 28;

/// Limit on the arrival rate: the highest rate at which one machine can generate random arrival times. [1/s]
const RATE_CEILING: f64 = 1e8;

impl Checker<'_> {
    pub(super) fn load(&mut self) {
        let (Load::Closed { users_at_most, .. } | Load::Open { users_at_most, .. }) =
            &self.plan.load;
        self.users_at_most(*users_at_most);
        match &self.plan.load {
            Load::Closed { stages, .. } => self.closed_stages("load.stages", stages),
            Load::Open { stages, .. } => self.open_stages("load.stages", stages),
        }
        let needed: u64 = self
            .plan
            .load
            .users_of_groups()
            .into_iter()
            .map(u64::from)
            .sum();
        self.require(
            needed <= u64::from(*users_at_most),
            "load.users_at_most",
            || format!("must be at least {needed}, the sum of the largest numbers of users of all groups, got {users_at_most}"),
        );
    }

    pub(super) fn closed_stages(&mut self, place: &str, stages: &[ClosedStage]) {
        self.some_stages(place, stages.len());
        for (index, stage) in stages.iter().enumerate() {
            self.closed_stage(&format!("{place}[{index}]"), stage);
        }
    }

    pub(super) fn open_stages(&mut self, place: &str, stages: &[OpenStage]) {
        self.some_stages(place, stages.len());
        for (index, stage) in stages.iter().enumerate() {
            self.open_stage(&format!("{place}[{index}]"), stage);
        }
    }

    fn some_stages(&mut self, place: &str, count: usize) {
        self.require(count > 0, place, || {
            "must have at least one entry".to_owned()
        });
    }

    fn users_at_most(&mut self, users: u32) {
        self.require(
            (1..=USERS_CEILING).contains(&users),
            "load.users_at_most",
            || format!("must be in [1, {USERS_CEILING}], got {users}"),
        );
    }

    fn closed_stage(&mut self, place: &str, stage: &ClosedStage) {
        self.stage(place, stage.duration_s, stage.phase);
        let (Load::Closed { users_at_most, .. } | Load::Open { users_at_most, .. }) =
            self.plan.load;
        let given = [stage.users.is_some(), stage.users_by_group.is_some()];
        self.form(place, "`users` or `users_by_group`", &given, given[1]);
        if let Some(users) = stage.users {
            self.require(users <= users_at_most, &format!("{place}.users"), || {
                format!("must be at most {users_at_most} (`users_at_most`), got {users}")
            });
        }
        if let Some(users) = &stage.users_by_group {
            let place = format!("{place}.users_by_group");
            self.one_of_each_group(&place, users.len());
            // If users are given by group, each group has a fixed set of user numbers from the start of the run. Stages
            // that are appended later must not need more users of any group than its set contains.
            let most = self.plan.load.users_of_groups();
            for (group, (users, most)) in users.iter().zip(most).enumerate() {
                self.require(*users <= most, &format!("{place}[{group}]"), || {
                    format!("must be at most {most}, the largest number of users of the group in the plan, got {users}")
                });
            }
        }
    }

    fn open_stage(&mut self, place: &str, stage: &OpenStage) {
        self.stage(place, stage.duration_s, stage.phase);
        let given = [
            stage.rate.is_some(),
            stage.rates.is_some(),
            stage.rates_by_group.is_some(),
        ];
        self.form(
            place,
            "one of `rate`, `rates` and `rates_by_group`",
            &given,
            given[2],
        );
        if let Some(rates) = &stage.rates_by_group {
            self.one_of_each_group(&format!("{place}.rates_by_group"), rates.len());
        }
        let key = match given {
            [true, ..] => "rate",
            [_, true, _] => "rates",
            _ => "rates_by_group",
        };
        for (group, rate) in stage.amounts().iter().enumerate() {
            let place = match key {
                "rates_by_group" => format!("{place}.{key}[{group}]"),
                _ => format!("{place}.{key}"),
            };
            self.rate(&place, rate);
        }
    }

    /// Checks that a stage states its users or arrivals in exactly one form. If one stage states them by group, all
    /// stages must.
    fn form(&mut self, place: &str, forms: &str, given: &[bool], by_group: bool) {
        let count = given.iter().filter(|given| **given).count();
        self.require(count == 1, place, || {
            format!("must have {forms}, got {count} of them")
        });
        let all_by_group = self.plan.load.is_by_group();
        self.require(count != 1 || by_group == all_by_group, place, || {
            "must be stated by group in all stages or in none".to_owned()
        });
    }

    fn one_of_each_group(&mut self, place: &str, count: usize) {
        let groups = self.plan.groups.len();
        self.require(count == groups, place, || {
            format!("must have one entry for each of {groups} groups, got {count}")
        });
    }

    fn rate(&mut self, place: &str, rate: &Rate) {
        let in_range = |rate: f64| (0.0..=RATE_CEILING).contains(&rate);
        match rate {
            Rate::Plain(rate) => self.require(in_range(*rate), place, || {
                format!("must be in [0, 1e8] 1/s, got {rate}")
            }),
            Rate::Moving(knots) => {
                let starts = knots.first().is_some_and(|(at_s, _)| *at_s == 0.0);
                self.require(starts, place, || "must begin at time 0".to_owned());
                let rising = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[1].0.is_finite();
                self.require(knots.windows(2).all(rising), place, || {
                    "must have increasing times".to_owned()
                });
                if let Some((_, rate)) = knots.iter().find(|(_, rate)| !in_range(*rate)) {
                    self.fault(place, format!("must be in [0, 1e8] 1/s, got {rate}"));
                }
            }
        }
    }

    fn stage(&mut self, place: &str, duration_s: f64, phase: Phase) {
        if phase == Phase::Steady {
            self.positive_seconds(&format!("{place}.duration_s"), duration_s);
        } else {
            self.seconds(&format!("{place}.duration_s"), duration_s);
        }
    }
}
