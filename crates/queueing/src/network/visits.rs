//! Several visits of a transaction to a station in a row, without another station between them.
//!
//! A job that comes back goes to the end of the queue, and finds the queue that it left behind. One service time stands
//! for those of V visits in a row: its squared coefficient of variation is 1 + (c − 1) f for the c of a visit. At one
//! server of utilization ρ with Poisson arrivals of one class, the mean number of jobs is then exact with
//!
//! - f = (1 + ρ) / (V + ρ) for the same number of visits of each transaction. This solves the equations of mean waits of
//!   B. Simon, *Priority queues with feedback*, Journal of the ACM 31(1), 1984, for equal service times.
//! - f = 1 / V for a visit that is the last with probability 1 / V: all visits at once leave the same number of jobs
//!   (Takács, Bell System Technical Journal 42(2), 1963).
//!
//! With several classes the mean numbers at one server are exact by [`crate::open`], for Poisson arrivals. With several
//! servers or ranks, and behind other stations, the factor is an approximation.

use super::{Center, Load, Network};
use crate::model::{Distribution, Model, Station};
use crate::shape::Shape;

/// Differences of numbers of visits that are due to rounding. [1]
const ROUNDING: f64 = 1e-9;
/// Least squared coefficient of variation of times between arrivals that vary. [1]
const LEAST: f64 = 1e-3;
/// Largest number of visits of all classes together for which mean waits are computed exactly, which takes some 20 ms.
const STAGES_AT_MOST: usize = 300;
/// Share of jobs below which further visits at once are left out. [ratio]
const NO_SHARE: f64 = 1e-12;

/// Place from which a job may come back to a station, by the route of its class. The number of its visits is then random.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Back {
    /// Without a route, or if the route does not lead to the station again.
    Never,
    /// From the station itself.
    AtOnce,
    /// From other stations, where it spends time.
    FromElsewhere,
}

impl Back {
    pub(super) fn of(model: &Model, class: &str, station: &str) -> Self {
        let Some(route) = model.routing.iter().find(|route| route.class == class) else {
            return Self::Never;
        };
        let after = |name: &str| {
            let next = route.next.get(name).into_iter().flatten();
            next.filter(|(_, chance)| **chance > 0.0)
                .map(|(name, _)| name.as_str())
        };
        let mut open: Vec<&str> = after(station).filter(|&name| name != station).collect();
        let mut seen = Vec::new();
        while let Some(name) = open.pop() {
            if name == station {
                return Self::FromElsewhere;
            }
            if !seen.contains(&name) {
                seen.push(name);
                open.extend(after(name));
            }
        }
        if after(station).any(|name| name == station) {
            Self::AtOnce
        } else {
            Self::Never
        }
    }
}

impl Center {
    /// Returns the shape of the distribution of the service time of a class.
    #[must_use]
    pub fn shape(&self, class: usize) -> Shape {
        let known = self.in_row[class] <= 1.0 || is_near(self.scv[class], 1.0);
        Shape {
            form: self.form_of_visit(class).filter(|_| known),
            scv: self.scv[class],
        }
    }

    fn form_of_visit(&self, class: usize) -> Option<Distribution> {
        self.form.get(class).copied().flatten()
    }

    /// Returns `true` if all visits of a transaction together take the same time in each transaction. A route with
    /// a loop makes their number random.
    #[must_use]
    pub fn is_constant(&self, class: usize) -> bool {
        let visits = self.visits[class];
        self.has_constant_visits(class)
            && self.back[class] == Back::Never
            && (visits - visits.round()).abs() < 1e-9
            && is_near(visits.max(1.0), self.in_row[class])
    }

    /// Returns `true` if all visits of a class take the same time, whatever their number.
    #[must_use]
    pub fn has_constant_visits(&self, class: usize) -> bool {
        match self.form_of_visit(class) {
            Some(form) => form == Distribution::Deterministic,
            None => self.scv_of_visit(class).abs() < ROUNDING,
        }
    }

    /// Returns `true` if jobs leave the station as a Poisson process if they come as such.
    #[must_use]
    pub fn has_poisson_departures(&self) -> bool {
        !self.is_queue() || self.is_product_form() && self.capacity.is_none()
    }

    /// Returns the mean number of times that a transaction comes to the station from elsewhere. [1]
    #[must_use]
    pub fn entries(&self, class: usize) -> f64 {
        self.visits[class] / self.in_row[class]
    }

    /// Returns a copy of the station where one visit stands for all visits in a row.
    #[must_use]
    pub fn with_single_visits(&self) -> Self {
        let classes = 0..self.visits.len();
        Self {
            visits: classes.clone().map(|class| self.entries(class)).collect(),
            service_time: (classes.clone())
                .map(|class| self.service_time[class] * self.in_row[class])
                .collect(),
            form: classes.map(|class| self.shape(class).form).collect(),
            in_row: vec![1.0; self.visits.len()],
            back: vec![Back::Never; self.visits.len()],
            row_factor: vec![1.0; self.visits.len()],
            ..self.clone()
        }
    }

    /// Returns `true` if a class visits the station several times in a row.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.visitors().any(|class| self.in_row[class] > 1.0)
    }

    /// Returns the squared coefficient of variation of the sum of the service times of the visits in a row. [1]
    #[must_use]
    pub fn scv_of_row(&self, class: usize) -> f64 {
        let (count, factor) = (self.in_row[class], self.row_factor[class]);
        let of_visit = self.scv_of_visit(class);
        if (count * factor - 1.0).abs() < ROUNDING {
            1.0 + (of_visit - 1.0) / count
        } else {
            of_visit / count
        }
    }

    /// Returns the squared coefficient of variation that stands for that of the times between arrivals of a class. With
    /// the same number V of visits of each transaction, jobs are served almost in parallel, and its difference from 1
    /// counts V f times.
    #[must_use]
    pub fn arrival_scv(&self, class: usize, scv: f64) -> f64 {
        let times = self.in_row[class] * self.row_factor[class];
        if scv == 0.0 {
            0.0
        } else {
            (1.0 + (scv - 1.0) * times).max(LEAST)
        }
    }

    /// Returns `true` if no class visits the station more than once.
    #[must_use]
    pub fn is_visited_once(&self) -> bool {
        self.visitors().all(|class| {
            self.visits[class] <= 1.0
                && self.in_row[class] <= 1.0
                && self.back[class] == Back::Never
        })
    }

    /// Returns `true` if the mean waits before all visits in a row are known exactly at one server with Poisson arrivals: by
    /// the factor of this module for the only class of the station, or by the equations of [`crate::open`] for several.
    #[must_use]
    pub fn has_known_rows(&self) -> bool {
        self.has_equal_rows() || self.rows().is_some()
    }

    /// Returns `true` if only one class visits the station, always the same number of times in a row or at random with the
    /// same chance of a further visit.
    #[must_use]
    pub fn has_equal_rows(&self) -> bool {
        let mut visitors = self.visitors();
        let (Some(class), None) = (visitors.next(), visitors.next()) else {
            return false;
        };
        let count = self.in_row[class];
        match self.back[class] {
            Back::AtOnce => true,
            Back::Never => {
                (self.entries(class) - 1.0).abs() < ROUNDING
                    && (count - count.round()).abs() < ROUNDING
            }
            Back::FromElsewhere => false,
        }
    }

    /// Returns, by class, the shares of the jobs that come from elsewhere which make at least 1, 2, ... visits in a row.
    /// Returns `None` if they are not known: if a job may come back from elsewhere, or if a cache serves some of its
    /// visits. Also returns `None` if the visits of all classes together are more than [`STAGES_AT_MOST`].
    #[must_use]
    pub fn rows(&self) -> Option<Vec<Vec<f64>>> {
        let rows: Option<Vec<Vec<f64>>> = (0..self.visits.len())
            .map(|class| match self.demand[class] {
                0.0 => Some(Vec::new()),
                _ => self.row(class),
            })
            .collect();
        rows.filter(|rows| rows.iter().map(Vec::len).sum::<usize>() <= STAGES_AT_MOST)
    }

    fn row(&self, class: usize) -> Option<Vec<f64>> {
        let count = self.in_row[class];
        match self.back[class] {
            Back::AtOnce => {
                let again = 1.0 - 1.0 / count;
                let shares = std::iter::successors(Some(1.0), |share| Some(share * again));
                let shares = shares.take_while(|&share| share > NO_SHARE);
                Some(shares.take(STAGES_AT_MOST + 1).collect())
            }
            Back::Never if count <= 1.0 => Some(vec![1.0]),
            Back::Never if (self.entries(class) - 1.0).abs() < ROUNDING => {
                let shares = (0..=STAGES_AT_MOST as u32).map(|before| count - f64::from(before));
                let shares = shares.take_while(|&share| share > ROUNDING);
                Some(shares.map(|share| share.min(1.0)).collect())
            }
            Back::Never | Back::FromElsewhere => None,
        }
    }

    /// Returns the squared coefficient of variation of the service time of one visit. [1]
    #[must_use]
    pub fn scv_of_visit(&self, class: usize) -> f64 {
        1.0 + (self.scv[class] - 1.0) / self.row_factor[class]
    }

    /// Takes the visits of a class as those that missed a cache with the given hit ratio: of V visits in a row at least
    /// one comes with probability 1 − h^V.
    pub(crate) fn miss(&mut self, class: usize, hit_ratio: f64) {
        let missed = self.visits[class];
        let all = missed / (1.0 - hit_ratio);
        if all > 1.0 && missed > 0.0 {
            self.in_row[class] = (missed / (1.0 - hit_ratio.powf(all))).max(1.0);
        }
    }
}

impl Network {
    /// Replaces the variation of each service time by that for visits in a row. The utilization by closed classes is not
    /// known yet, and taken as 1 together with that of open classes.
    pub(crate) fn with_rows(mut self) -> Self {
        let closed = |class: usize| matches!(self.loads[class], Load::Closed { .. });
        for index in 0..self.centers.len() {
            let center = &self.centers[index];
            let utilization = if center.visitors().any(closed) {
                1.0
            } else {
                (self.open_load(center) / center.speed.limit()).min(1.0)
            };
            let factors: Vec<f64> = (center.in_row.iter().zip(&center.back))
                .map(|(&count, &back)| row_factor(count, back, utilization))
                .collect();
            let scv =
                (factors.iter().zip(&center.scv)).map(|(factor, scv)| 1.0 + (scv - 1.0) * factor);
            self.centers[index].scv = scv.collect();
            self.centers[index].row_factor = factors;
        }
        self
    }
}

/// Returns the factor of the difference from 1 of a squared coefficient of variation, for visits in a row.
fn row_factor(count: f64, back: Back, utilization: f64) -> f64 {
    match back {
        Back::Never => (1.0 + utilization) / (count + utilization),
        Back::AtOnce | Back::FromElsewhere => 1.0 / count,
    }
}

pub(super) fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-12
}

/// Returns the mean number of visits of a class to a station in a row, from its number of visits; at least 1. [1]
pub(super) fn in_row(model: &Model, class: &str, station: &Station, visits: f64) -> f64 {
    let Some(route) = model.routing.iter().find(|route| route.class == class) else {
        return visits.max(1.0);
    };
    let next = route.next.get(&station.name);
    let again = next.and_then(|next| next.get(&station.name));
    let again = again.copied().unwrap_or(0.0);
    if again < 1.0 {
        1.0 / (1.0 - again)
    } else {
        1.0
    }
}

/// Returns the shape of the service time of one visit: that of measured times, if the model has them.
pub(super) fn shape_of_one(model: &Model, class: &str, station: &Station) -> Shape {
    let measured = (model.behaviour.samples.iter())
        .find(|samples| samples.station == station.name && samples.class == class);
    if let Some(samples) = measured {
        let count = samples.values_s.len() as f64;
        let mean = samples.values_s.iter().sum::<f64>() / count;
        let squares = samples
            .values_s
            .iter()
            .map(|value| (value / mean - 1.0).powi(2));
        return Shape::unknown(squares.sum::<f64>() / count);
    }
    let variation = station.service(class).map(|service| service.variation);
    variation.map_or(Shape::EXPONENTIAL, |variation| Shape {
        form: Some(variation.form()),
        scv: variation.squared_coefficient(),
    })
}
