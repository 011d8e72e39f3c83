//! Computes visits from routes by the traffic equations v = start + v P, solved by elimination. Here v are the visits,
//! `start` the probabilities of the first station, and P the transition probabilities.

use super::{Class, END, Fault, Model, Route};

/// Limit on the visits of a transaction to one station. With more visits, the probability of leaving the network is
/// lost in rounding.
const VISITS_AT_MOST: f64 = 1e9;

/// Returns the mean number of visits of a transaction of a class to each station.
pub(super) fn visits(model: &Model, class: &Class) -> Result<Vec<f64>, Fault> {
    if let Some(route) = model.routing.iter().find(|route| route.class == class.name) {
        return routed(model, route);
    }
    let visits = model.stations.iter().map(|station| {
        let service = station.service(&class.name);
        service.map_or(0.0, |service| service.visits.unwrap_or(1.0))
    });
    Ok(visits.collect())
}

/// Solves the traffic equations of a route; returns the mean number of visits to each station.
fn routed(model: &Model, route: &Route) -> Result<Vec<f64>, Fault> {
    let places = model.stations.len();
    let index = |name: &str| {
        model
            .stations
            .iter()
            .position(|station| station.name == name)
    };
    let mut matrix = vec![vec![0.0; places + 1]; places];
    for (row, line) in matrix.iter_mut().enumerate() {
        line[row] = 1.0;
    }
    for (name, share) in &route.start {
        if let Some(to) = index(name) {
            matrix[to][places] += share;
        }
    }
    for (from, next) in &route.next {
        for (name, share) in next.iter().filter(|(name, _)| *name != END) {
            if let (Some(from), Some(to)) = (index(from), index(name)) {
                matrix[to][from] -= share;
            }
        }
    }
    eliminate(&mut matrix);
    let visits: Vec<f64> = matrix.iter().map(|line| line[places]).collect();
    if visits
        .iter()
        .all(|&count| (0.0..VISITS_AT_MOST).contains(&count))
    {
        return Ok(visits);
    }
    Err(Fault::new(
        &["routing", &route.class],
        "must have a path to 'end' from every station that it reaches, got a cycle without such a path",
    ))
}

/// Gauss-Jordan elimination with partial pivoting; for a singular matrix the values are not finite.
pub(crate) fn eliminate(matrix: &mut [Vec<f64>]) {
    let rows = matrix.len();
    for pivot in 0..rows {
        let best = (pivot..rows)
            .max_by(|&a, &b| matrix[a][pivot].abs().total_cmp(&matrix[b][pivot].abs()))
            .unwrap_or(pivot);
        matrix.swap(pivot, best);
        let line: Vec<f64> = matrix[pivot]
            .iter()
            .map(|value| value / matrix[pivot][pivot])
            .collect();
        for (row, other) in matrix.iter_mut().enumerate() {
            if row == pivot {
                other.clone_from(&line);
            } else if other[pivot] != 0.0 {
                let factor = other[pivot];
                for (value, part) in other.iter_mut().zip(&line) {
                    *value -= factor * part;
                }
            }
        }
    }
}
