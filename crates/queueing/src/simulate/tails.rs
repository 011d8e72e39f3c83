//! Precision of the second moment of the service times drawn, on which waits rest.
//!
//! The mean wait of Poisson arrivals at one server is λ E[S²] / (2 (1 - ρ)) (Pollaczek and Khinchine), so that its
//! error is at least that of the second moment of the times drawn. With heavy tails the second moment rests on few long
//! times, which most runs have not met often enough: replications without them agree with each other and are wrong
//! together. The fourth moment of the distribution, which is known, bounds the error.

use super::answer::Over;
use super::estimate::student_t;
use super::layout::{Count, Layout};
use super::plan::{Kind, StationPlan};

/// Degrees of freedom of a quantile that is as good as normal.
const MANY: usize = 1000;

/// The least relative half-width that the mean response time of a class can have.
pub(super) struct Least<'a> {
    pub class: &'a str,
    pub station: &'a str,
    /// Share of its response time that it waits there.
    pub waiting_share: f64,
    /// Infinite without a fourth moment; 0 if nobody waits.
    pub width: f64,
}

impl Over<'_> {
    /// The widest of these that has an end, of open classes at stations that serve in turn; nothing if there are none.
    pub(super) fn tails(&self) -> Option<Least<'_>> {
        let known = self.all_tails().filter(|least| least.width.is_finite());
        known.max_by(|a, b| a.width.total_cmp(&b.width))
    }

    /// The class that waits longest at a station whose times have no fourth moment, beside its response time and by more
    /// than a share of it.
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

    /// Returns `true` if all jobs that are served there come from outside, wait in turn and are never lost.
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

    /// Relative half-width of the second moment of all service times drawn at a station.
    fn moment_error(&self, at: usize, station: &StationPlan) -> f64 {
        let layout = self.samples[0].layout;
        let services = station.services.iter().enumerate();
        let drawn = services.filter_map(|(class, service)| {
            let moments = service.as_ref()?.times.moments();
            Some((self.sum(layout.work(at, class)) / moments[0], moments))
        });
        student_t(0.5 + 0.5 * self.confidence, MANY) * standard_error(drawn)
    }

    /// Share of the response time of a class that it waits at a station.
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

/// Relative standard error of the second moment of these numbers of times of kinds with these first, second and fourth
/// moments.
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
        // Exponential: E S⁴ / (E S²)² = 6; constant: 1.
        let (exponential, constant) = ([1.0, 2.0, 24.0], [3.0, 9.0, 81.0]);
        assert!((of(&[(2000.0, exponential)]) - 0.05).abs() < 1e-12);
        assert!(of(&[(2000.0, constant)]).abs() < 1e-12);
        // Squares of 2,000 · 2 and 500 · 9 with a variance of 2,000 · 20; one of which nothing was drawn does not count.
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
