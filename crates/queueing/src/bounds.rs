//! Bounds on throughput and response time that do not require a solution.
//!
//! Asymptotic bounds (Muntz and Wong 1974; Denning and Buzen 1978), balanced job bounds (Zahorjan, Sevcik, Eager and
//! Galler, Comm. ACM 25(2), 1982), proportional bounds (Hsieh and Lam 1987) and geometric bounds (Casale, Muntz and
//! Serazzi, IEEE Trans. Computers 57(6), 2008). The last three hold for one class at single servers of product form.

use serde::Serialize;

/// Range between a lower and an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Lower bound.
    pub lower: f64,
    /// Upper bound; `None` if no upper bound is known.
    pub upper: Option<f64>,
}

/// A single closed class at single servers; all delays are part of the think time Z.
#[derive(Clone, Debug)]
pub struct Single {
    /// Number of users N, at least 1. [1]
    pub users: f64,
    /// Think time plus the times of all visits to delays. [s]
    pub think_time: f64,
    /// Service demand of a transaction at each server, > 0. [s]
    pub demand: Vec<f64>,
}

impl Single {
    fn total(&self) -> f64 {
        self.demand.iter().sum()
    }

    fn largest(&self) -> f64 {
        self.demand.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the asymptotic bounds on the throughput X: N / (Z + N D) <= X <= min(1 / D_max, N / (D + Z)). The lower
    /// bound assumes that an arriving job finds at most N − 1 other jobs.
    ///
    /// N is the number of users, Z the think time, D the sum of the demands and D_max the largest demand.
    #[must_use]
    pub fn asymptotic(&self) -> [f64; 2] {
        let (users, total, largest) = (self.users, self.total(), self.largest());
        let alone = total + self.think_time;
        [
            users / (alone + (users - 1.0) * total),
            (1.0 / largest).min(users / alone),
        ]
    }

    /// Returns the balanced job bounds on the throughput X: N / (D + Z + (N−1) D_max / (1 + Z/(N D))) <= X <=
    /// min(1/D_max, N / (D + Z + (N−1) D_avg / (1 + Z/D))).
    ///
    /// N is the number of users, Z the think time, and D, D_max and D_avg are the sum, maximum and mean of the demands.
    #[must_use]
    pub fn balanced_job(&self) -> [f64; 2] {
        let (users, total, largest) = (self.users, self.total(), self.largest());
        let (think, average) = (self.think_time, total / self.demand.len() as f64);
        let lower =
            users / (total + think + (users - 1.0) * largest / (1.0 + think / (users * total)));
        let upper = users / (total + think + (users - 1.0) * average / (1.0 + think / total));
        [lower, upper.min(1.0 / largest)]
    }

    /// Returns the proportional bounds on the throughput X: N / (D + Z + (N−1−Z X⁻) ΣD^N/ΣD^(N−1)) <= X <= min(1/D_max,
    /// N / (D + Z + (N−1−Z X⁺) ΣD²/ΣD)).
    ///
    /// X⁻ and X⁺ are lower and upper bounds of the throughput with N − 1 users, and ΣD^k is the sum of the k-th powers
    /// of the demands.
    #[must_use]
    pub fn proportional(&self) -> [f64; 2] {
        let (users, total, largest) = (self.users, self.total(), self.largest());
        let (least, most) = self.coarse(users - 1.0);
        let powers = |power: f64| {
            self.demand
                .iter()
                .map(|need| (need / largest).powf(power))
                .sum::<f64>()
        };
        let alone = total + self.think_time;
        let slow = largest * powers(users) / powers(users - 1.0);
        let fast = largest * powers(2.0) / powers(1.0);
        let lower = users / (alone + (users - 1.0 - self.think_time * least).max(0.0) * slow);
        let upper = users / (alone + (users - 1.0 - self.think_time * most).max(0.0) * fast);
        [lower, upper.min(1.0 / largest)]
    }

    /// Returns the geometric bounds of Casale et al. on the throughput X(N). The mean queues of all servers but the
    /// slowest lie between geometric sums, and X(N − 1) lies between X(N) (N − 1) / N and X(N). This yields a quadratic
    /// equation for X(N).
    #[must_use]
    pub fn geometric(&self) -> [f64; 2] {
        let (users, total, largest) = (self.users, self.total(), self.largest());
        let alone = total + self.think_time;
        let less = users - 1.0;
        let (_, most) = self.coarse(less);
        let bound = |ratio: &dyn Fn(f64) -> f64, thinking: f64| {
            let smaller = self
                .demand
                .iter()
                .filter(|&&need| need < largest * (1.0 - 1e-12));
            let rest: f64 = smaller
                .map(|&need| (largest - need) * geometric_sum(ratio(need), less))
                .sum();
            let linear = alone + largest * less - rest;
            let root = linear * linear - 4.0 * self.think_time * largest * thinking;
            (linear > 0.0 && root >= 0.0).then(|| 2.0 * users / (linear + root.sqrt()))
        };
        let lower = bound(&|need| need * less / (alone + largest * less), less);
        let upper = bound(&|need| need * most, users);
        let limit = (1.0 / largest).min(users / alone);
        [
            lower.unwrap_or(0.0),
            upper.map_or(limit, |value| value.min(limit)),
        ]
    }

    /// Returns simple lower and upper bounds of the throughput with `users` users.
    fn coarse(&self, users: f64) -> (f64, f64) {
        let alone = self.total() + self.think_time;
        let largest = self.largest();
        (
            users / (alone + largest * (users - 1.0).max(0.0)),
            (users / alone).min(1.0 / largest),
        )
    }
}

/// Returns the geometric sum y + y² + ... + y^N for the ratio y and N terms.
fn geometric_sum(ratio: f64, terms: f64) -> f64 {
    if (1.0 - ratio).abs() < 1e-12 {
        terms
    } else {
        (ratio - ratio.powf(terms + 1.0)) / (1.0 - ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five or ten users with a think time of 1 s and demands of 0.2 and 0.3 s. The slowest server does 1/0.3 s.
    #[test]
    fn asymptotic_bounds_are_those_of_the_formula() {
        let at = |users: f64| Single {
            users,
            think_time: 1.0,
            demand: vec![0.2, 0.3],
        };
        let near = |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 1e-12);
        for (users, lower, upper) in [(2.0, 2.0 / 2.0, 2.0 / 1.5), (10.0, 10.0 / 6.0, 1.0 / 0.3)] {
            let found = at(users).asymptotic();
            near(found[0], lower);
            near(found[1], upper);
        }
    }

    /// The exact throughput comes from mean value analysis. With one user, all bounds but the lower geometric bounds are
    /// exact.
    #[test]
    fn every_bound_holds_for_the_exact_throughput() {
        for demand in [vec![0.2, 0.3], vec![0.5, 0.05, 0.05], vec![0.1; 4]] {
            for (users, think_time) in [(1, 0.0), (1, 2.0), (2, 0.0), (3, 0.7), (8, 2.0), (30, 5.0)]
            {
                let closed = crate::mva::Closed {
                    users: vec![users],
                    think_time: vec![think_time],
                    demand: vec![demand.clone()],
                };
                let exact = crate::mva::solve(&closed).throughput[0];
                let single = Single {
                    users: users as f64,
                    think_time,
                    demand: demand.clone(),
                };
                for [lower, upper] in [
                    single.asymptotic(),
                    single.balanced_job(),
                    single.proportional(),
                    single.geometric(),
                ] {
                    assert!(
                        lower <= exact * (1.0 + 1e-12) && exact <= upper * (1.0 + 1e-12),
                        "{lower} <= {exact} <= {upper}: {single:?}"
                    );
                    if users == 1 {
                        assert!((lower / exact - 1.0).abs() < 1e-9, "{single:?}");
                        assert!((upper / exact - 1.0).abs() < 1e-9, "{single:?}");
                    }
                }
            }
        }
    }

    /// Expected bounds come from tables IV and V of Casale, Muntz and Serazzi (2008), for demands of 0.1, 0.1, 0.09 and
    /// 0.08 s.
    #[test]
    fn bounds_are_those_of_the_published_tables() {
        let at = |users: f64, think_time: f64| Single {
            users,
            think_time,
            demand: vec![0.1, 0.1, 0.09, 0.08],
        };
        let near =
            |found: f64, printed: f64| assert!((found - printed).abs() < 1e-4, "{found} {printed}");
        let proportional = [
            (2.0, 4.3174, 4.3174),
            (5.0, 6.66, 6.7297),
            (10.0, 8.0219, 8.27),
            (20.0, 8.8672, 9.3387),
            (80.0, 9.6736, 10.0),
        ];
        for (users, lower, upper) in proportional {
            let found = at(users, 0.0).proportional();
            near(found[0], lower);
            near(found[1], upper);
        }
        for (users, idle, thinking) in [
            (2.0, 4.304, 1.4319),
            (5.0, 6.6859, 3.3432),
            (10.0, 8.1521, 5.7569),
            (20.0, 9.0947, 8.0856),
            (80.0, 9.8233, 9.7147),
        ] {
            near(at(users, 0.0).geometric()[0], idle);
            near(at(users, 1.0).geometric()[0], thinking);
        }
    }
}
