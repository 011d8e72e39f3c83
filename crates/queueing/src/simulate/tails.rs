//! Precision of the second moment of the simulated service times, on which mean waits depend.
//!
//! The mean wait of Poisson arrivals at one server is λ E[S²] / (2 (1 - ρ)) (Pollaczek and Khinchine), with arrival
//! rate λ, service time S and utilization ρ. The relative error of the mean wait is therefore at least the relative
//! error of the second moment. With heavy tails the second moment depends on few long times, which are missing in most
//! runs. Replications without these times agree with each other, but all are wrong. The error is therefore computed
//! from the known fourth moment of the distribution.

use super::answer::Over;
use super::estimate::student_t;
use super::layout::{Count, Layout};
use super::plan::{Kind, StationPlan};

/// Smallest number of degrees of freedom for which Student's t is practically normal.
const MANY: usize = 1000;

/// Lower bound on the relative half-width of the interval of a class's mean response time.
pub(super) struct Least<'a> {
    pub class: &'a str,
    pub station: &'a str,
    /// Share of the class's response time that consists of waiting at the station.
    pub waiting_share: f64,
    /// Lower bound on the relative half-width; infinite without a fourth moment, 0 if no job waits.
    pub width: f64,
}

impl Over<'_> {
    /// Returns the largest finite lower bound over open classes at stations that serve jobs in order of arrival or
    /// rank; `None` if there is none.
    pub(super) fn tails(&self) -> Option<Least<'_>> {
        let known = self.all_tails().filter(|least| least.width.is_finite());
        known.max_by(|a, b| a.width.total_cmp(&b.width))
    }

    /// Returns the class with the largest share of waiting in its response time, at stations whose service times have
    /// no fourth moment. `None` if this share is at most `share`.
    pub(super) fn endless_tail(&self, share: f64) -> Option<Least<'_>> {
        let endless = (self.all_tails())
            .filter(|least| least.width.is_infinite() && least.waiting_share > share);
        endless.max_by(|a, b| a.waiting_share.total_cmp(&b.waiting_share))
    }

    fn all_tails(&self) -> impl Iterator<Item = Least<'_>> {
        let stations = self.plan.stations.iter().enumerate();
        let all = stations.filter(|(_, station)| self.rests_on_moments(station));
        all.flat_map(move |(at, station)| {
            let error = self.moment_error(at, station);
            let open = (self.plan.classes.iter().enumerate())
                .filter(move |(class, _)| station.services[*class].is_some());
            open.map(move |(class, class_plan)| {
                let waiting_share = self.waiting_share(at, class);
                Least {
                    class: &class_plan.name,
                    station: &station.name,
                    waiting_share,
                    width: if waiting_share > 0.0 {
                        waiting_share * error
                    } else {
                        0.0
                    },
                }
            })
        })
    }

    /// Returns `true` if the mean wait at the station depends on the second moment: all jobs belong to open classes,
    /// wait in order and are never dropped.
    fn rests_on_moments(&self, station: &StationPlan) -> bool {
        let services = station.services.iter().zip(&self.plan.classes);
        station.kind == Kind::Servers
            && station.takes_all
            && services.clone().any(|(service, _)| service.is_some())
            && services
                .into_iter()
                .all(|(service, class)| service.is_none() || class.arrivals.is_some())
    }

    fn sum(&self, index: usize) -> f64 {
        self.samples.iter().map(|sample| sample.total(index)).sum()
    }

    /// Returns the relative half-width of the confidence interval for the second moment of all service times that were
    /// simulated at a station.
    fn moment_error(&self, at: usize, station: &StationPlan) -> f64 {
        let layout = self.samples[0].layout;
        let services = station.services.iter().enumerate();
        let drawn = services.filter_map(|(class, service)| {
            let moments = service.as_ref()?.times.moments();
            Some((self.sum(layout.work(at, class)) / moments[0], moments))
        });
        student_t(0.5 + 0.5 * self.confidence, MANY) * standard_error(drawn)
    }

    /// Returns the share of the response time of a class that consists of waiting at a station.
    fn waiting_share(&self, at: usize, class: usize) -> f64 {
        let layout = self.samples[0].layout;
        let waits = self.sum(layout.sojourn(at, class)) - self.sum(layout.work(at, class));
        let response = self.sum(Layout::class(class, Count::ResponseTime));
        if waits > 0.0 && response > 0.0 {
            waits / response
        } else {
            0.0
        }
    }
}

/// Returns the relative standard error of the second moment of random times from several distributions. For each
/// distribution, `drawn` contains the number of its times, and its first, second and fourth moments.
fn standard_error(drawn: impl Iterator<Item = (f64, [f64; 3])>) -> f64 {
    let (mut second, mut error) = (0.0, 0.0);
    for (count, [_, square, fourth]) in drawn.filter(|(count, _)| *count > 0.0) {
        second += count * square;
        error += count * (fourth - square * square);
    }
    error.max(0.0).sqrt() / second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_second_moment_is_that_of_the_squares() {
        let of = |drawn: &[(f64, [f64; 3])]| standard_error(drawn.iter().copied());
        // The ratio E[S⁴] / E[S²]² is 6 for exponential times and 1 for constant times.
        let (exponential, constant) = ([1.0, 2.0, 24.0], [3.0, 9.0, 81.0]);
        assert!((of(&[(2000.0, exponential)]) - 0.05).abs() < 1e-12);
        assert!(of(&[(2000.0, constant)]).abs() < 1e-12);
        // The expected sum of the squared times is 2,000 · 2 + 500 · 9, with a variance of 2,000 · 20.
        let mixed = [
            (2000.0, exponential),
            (500.0, constant),
            (f64::NAN, [0.0, 0.0, 0.0]),
            (0.0, [1.0, 4.0, f64::INFINITY]),
        ];
        assert!((of(&mixed) - 40_000.0_f64.sqrt() / 8500.0).abs() < 1e-12);
        assert!(of(&[(1.0, [1.0, 4.0, f64::INFINITY])]).is_infinite());
    }
}
