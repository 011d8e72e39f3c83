//! Speed of a station, which may depend on the number of jobs present.

/// Speed of a station as a function of the number n of jobs present.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// A delay: every job has its own server, so the speed is n.
    Delay,
    /// This number of equal servers: with n jobs, the speed is the number of busy servers, `min(n, servers)`.
    Servers(u32),
    /// A table: the n-th entry is the speed with n jobs. The last entry also applies to all larger numbers of jobs.
    Rates(Vec<f64>),
}

impl Speed {
    /// Returns the speed with `jobs` jobs present, as a multiple of the speed of one server. [1]
    #[must_use]
    pub fn at(&self, jobs: u64) -> f64 {
        match self {
            Self::Delay => jobs as f64,
            Self::Servers(servers) => jobs.min(u64::from(*servers)) as f64,
            Self::Rates(rates) if jobs == 0 => 0.0 * rates[0],
            Self::Rates(rates) => rates[(jobs as usize).min(rates.len()) - 1],
        }
    }

    /// Returns the speed with a very large number of jobs, that is, the last entry of a table; infinite for a delay.
    /// [1]
    #[must_use]
    pub fn limit(&self) -> f64 {
        match self {
            Self::Delay => f64::INFINITY,
            Self::Servers(servers) => f64::from(*servers),
            Self::Rates(rates) => *rates.last().unwrap_or(&1.0),
        }
    }

    /// Returns the highest speed for any number of jobs; infinite for a delay. [1]
    #[must_use]
    pub fn highest(&self) -> f64 {
        match self {
            Self::Rates(rates) => rates.iter().copied().fold(0.0, f64::max),
            _ => self.limit(),
        }
    }

    /// Returns `true` if the station is one server of constant speed.
    #[must_use]
    pub fn is_single(&self) -> bool {
        match self {
            Self::Servers(servers) => *servers == 1,
            Self::Rates(rates) => rates.iter().all(|&rate| (rate - 1.0).abs() < f64::EPSILON),
            Self::Delay => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_follows_the_number_of_jobs() {
        let speeds = |speed: &Speed| [0, 1, 2, 3, 9].map(|jobs| speed.at(jobs));
        assert_eq!(speeds(&Speed::Delay), [0.0, 1.0, 2.0, 3.0, 9.0]);
        assert_eq!(speeds(&Speed::Servers(2)), [0.0, 1.0, 2.0, 2.0, 2.0]);
        let table = Speed::Rates(vec![1.0, 4.0, 3.0]);
        assert_eq!(speeds(&table), [0.0, 1.0, 4.0, 3.0, 3.0]);
        assert_eq!((table.limit(), table.highest()), (3.0, 4.0));
        let servers = Speed::Servers(5);
        assert_eq!((servers.limit(), servers.highest()), (5.0, 5.0));
    }

    #[test]
    fn a_single_server_has_the_speed_1_with_any_number_of_jobs() {
        assert!(Speed::Servers(1).is_single() && Speed::Rates(vec![1.0, 1.0]).is_single());
        for other in [
            Speed::Delay,
            Speed::Servers(2),
            Speed::Rates(vec![1.0, 2.0]),
        ] {
            assert!(!other.is_single(), "{other:?}");
        }
    }
}
