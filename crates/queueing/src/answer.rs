//! The answer of a solver as data, with checks of operational laws.

use std::ops::Index;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::bounds::Range;
use crate::stated::Within;

/// A list of pairs of name and value, in the order of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<T> Named<T> {
    /// Returns the value with the given name, if it exists.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }
}

impl<T> Index<&str> for Named<T> {
    type Output = T;

    fn index(&self, name: &str) -> &T {
        self.get(name).expect("an entry of that name")
    }
}

/// Mean values of a model in steady state.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Kind and version of the data format of the answer.
    pub schema: &'static str,
    /// Results by class.
    pub classes: Named<ClassAnswer>,
    /// Results by station.
    pub stations: Named<StationAnswer>,
    /// Results by pool.
    pub pools: Named<PoolAnswer>,
    /// Name of the solution method.
    pub method: String,
    /// `true` if the solution method is exact for this model.
    pub exact: bool,
    /// Largest relative deviation of a mean response time from its value within its range in `within`; `None` for exact
    /// answers. [ratio]
    pub approximate_within: Option<f64>,
    /// Ranges that hold the true values of an approximate answer; `None` for exact answers.
    pub within: Option<Within>,
    /// Bounds of throughput and response time, by class. They do not depend on the solution method.
    pub bounds: Named<ClassBounds>,
    /// Residuals of the operational laws, which every answer must satisfy.
    pub checks: Checks,
    /// Warnings for the reader of the answer, such as a violated law.
    pub warnings: Vec<String>,
}

/// Results of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassAnswer {
    /// Rate of completed transactions of the class. [1/s]
    pub throughput_per_s: f64,
    /// Mean time from the arrival to the end of a transaction, including waits for pools. [s]
    pub response_time_s: f64,
    /// Mean number of transactions of the class in the system; thinking users are not counted. [1]
    pub users_in_system: f64,
    /// Rate of transactions that are dropped because a station is full. [1/s]
    pub dropped_per_s: f64,
}

/// Results of a station, over all classes unless stated otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct StationAnswer {
    /// Share of the servers that are busy, in [0, 1]. For a table of speeds: mean speed relative to the highest speed.
    /// For a delay, which has any number of servers: 0.
    pub utilization: f64,
    /// Mean number of jobs at the station, including those in service. [1]
    pub queue_length: f64,
    /// Rate of visits that the station serves, including cache hits. [1/s]
    pub throughput_per_s: f64,
    /// Share of visits that are dropped because the station is full; 0 if the station has no limit on its jobs.
    pub loss_probability: f64,
    /// Share of visits that are served from the cache of the station; 0 without a cache.
    pub hit_ratio: f64,
    /// Time of all visits to the station per completed transaction, by class. It includes the visits of transactions that
    /// a later station drops. [s]
    pub residence_time_s: Named<f64>,
    /// Share of the servers of the station that each class keeps busy, by class.
    pub utilization_by_class: Named<f64>,
}

/// Results of a pool.
#[derive(Clone, Debug, Serialize)]
pub struct PoolAnswer {
    /// Share of the units of the pool that are held, in [0, 1].
    pub utilization: f64,
    /// Mean number of units of the pool that are held. [1]
    pub held: f64,
    /// Mean number of jobs that wait for a unit of the pool. [1]
    pub waiting: f64,
    /// Time that a transaction waits for a unit of the pool, by class. [s]
    pub waiting_time_s: Named<f64>,
}

/// Bounds of the throughput and response time of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassBounds {
    /// Tightest bounds on the throughput over all methods. [1/s]
    pub throughput_per_s: Range,
    /// Tightest bounds on the response time over all methods. [s]
    pub response_time_s: Range,
    /// Number of users at which the asymptotes of the throughput intersect, N* = (D + Z) / D_max, with total demand D,
    /// think time Z and largest demand D_max. Closed classes only. [1]
    pub knee_users: Option<f64>,
    /// Name of the station with the highest demand per server.
    pub bottleneck: String,
    /// Lower and upper bound of the throughput, by method. [1/s]
    pub by_method: Named<[f64; 2]>,
}

/// Largest relative residual of each operational law over all classes and stations of the answer.
#[derive(Clone, Debug, Serialize)]
pub struct Checks {
    /// Residual of Little's law, queue length = throughput x residence time, over all stations.
    pub little: f64,
    /// Residual of utilization = throughput x demand / servers, over all stations.
    pub utilization_law: f64,
    /// Residual of users = throughput x (response time + think time), over all closed classes.
    pub population: f64,
    /// Residual of visits served = visits of a transaction x throughput, over all stations.
    pub forced_flow: f64,
    /// `true` if the throughputs and response times lie within their bounds.
    pub within_bounds: bool,
}

impl Checks {
    /// Largest residual at which a law counts as satisfied. The largest residual in the tests is 4e-13, for a sum of
    /// 20,000 terms.
    const ROUNDING: f64 = 1e-9;

    /// Returns a warning for each operational law that the answer violates, and a warning if the answer lies outside of
    /// its bounds.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let laws = [
            ("Little's law", self.little),
            ("the utilization law", self.utilization_law),
            ("the population law of closed classes", self.population),
            ("the forced flow law", self.forced_flow),
        ];
        let mut warnings: Vec<String> = laws
            .iter()
            .filter(|(_, residual)| residual.is_nan() || *residual > Self::ROUNDING)
            .map(|(law, residual)| {
                format!(
                    "the answer violates {law} (residual {residual:.1e}): do not use it, simulate the model instead"
                )
            })
            .collect();
        if !self.within_bounds {
            warnings.push(
                "the answer lies outside of its bounds: do not use it, simulate the model instead"
                    .into(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_contradicts_itself_is_told_with_what() {
        let sound = Checks {
            little: 1e-16,
            utilization_law: 0.0,
            population: 4e-13,
            forced_flow: 0.0,
            within_bounds: true,
        };
        assert!(sound.warnings().is_empty());
        let broken = Checks {
            population: 0.02,
            little: f64::NAN,
            within_bounds: false,
            ..sound
        };
        let warnings = broken.warnings();
        assert_eq!(warnings.len(), 3);
        assert!(warnings[0].contains("Little's law"));
        assert!(warnings[1].contains("population law of closed classes (residual 2.0e-2)"));
        assert!(warnings[2].contains("outside of its bounds"));
    }
}
