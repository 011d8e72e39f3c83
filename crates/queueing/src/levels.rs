//! Stationary probabilities of a Markov chain whose states form levels. A transition stays in its level or leads to the
//! next level up or down.

use crate::phases::{Matrix, divided, product, row_product};

/// Transition rates from the states of one level.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// Rates between the states of the level; the diagonal is ignored.
    pub local: Matrix,
    /// Rates to the states of the level above; all rows are empty at the highest level.
    pub up: Matrix,
    /// Rates to the states of the level below; empty at the lowest level.
    pub down: Matrix,
}

/// Returns the approximate number of operations that [`stationary`] needs for levels with these numbers of states. [1]
#[must_use]
pub fn operations(sizes: impl Iterator<Item = usize>) -> f64 {
    sizes.map(|size| 3.0 * (size as f64).powi(3)).sum()
}

/// Returns the stationary probability of each state, by level.
///
/// Levels are eliminated from the highest to the lowest, and the states of a level as in [`divided`]. No numbers are
/// subtracted, so small probabilities have as many correct digits as large ones.
#[must_use]
pub fn stationary(levels: &[Level]) -> Vec<Vec<f64>> {
    let highest = levels.len() - 1;
    let mut steps: Vec<Matrix> = vec![Matrix::new(); levels.len()];
    for number in (1..=highest).rev() {
        let mut local = levels[number].local.clone();
        if number < highest {
            add(
                &mut local,
                product(&steps[number + 1], &levels[number + 1].down),
            );
        }
        let exits = levels[number]
            .down
            .iter()
            .map(|row| row.iter().sum())
            .collect();
        steps[number] = divided(levels[number - 1].up.clone(), local, exits);
    }
    let mut first = levels[0].local.clone();
    if highest > 0 {
        add(&mut first, product(&steps[1], &levels[1].down));
    }
    let mut rows = vec![alone(first)];
    let mut logs = vec![0.0_f64];
    for step in &steps[1..] {
        let next = row_product(&rows[rows.len() - 1], step);
        let ratio: f64 = next.iter().sum();
        logs.push(logs[logs.len() - 1] + ratio.ln());
        rows.push(next.iter().map(|chance| chance / ratio).collect());
    }
    scaled(rows, &logs)
}

/// Multiplies each normalized row by the probability of its level.
fn scaled(mut rows: Vec<Vec<f64>>, logs: &[f64]) -> Vec<Vec<f64>> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    for (row, weight) in rows.iter_mut().zip(weights) {
        for chance in row {
            *chance = if weight > 0.0 {
                *chance * weight / total
            } else {
                0.0
            };
        }
    }
    rows
}

fn add(to: &mut Matrix, more: Matrix) {
    for (row, other) in to.iter_mut().zip(more) {
        row.iter_mut()
            .zip(other)
            .for_each(|(cell, value)| *cell += value);
    }
}

/// Returns the stationary probabilities of the states of a single level (Grassmann, Taksar and Heyman, Operations
/// Research 33(5), 1985).
fn alone(mut rates: Matrix) -> Vec<f64> {
    let size = rates.len();
    for last in (1..size).rev() {
        let (before, row) = rates.split_at_mut(last);
        let out: f64 = row[0][..last].iter().sum();
        for line in before.iter_mut() {
            line[last] /= out;
            let through = line[last];
            line.iter_mut()
                .zip(&row[0][..last])
                .for_each(|(cell, rate)| *cell += through * rate);
        }
    }
    let mut found = vec![1.0];
    for state in 1..size {
        let into = rates
            .iter()
            .zip(&found)
            .map(|(row, chance)| chance * row[state]);
        let sum = into.sum();
        found.push(sum);
    }
    let total: f64 = found.iter().sum();
    found.iter().map(|chance| chance / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three states form a ring and are left at the rates 1, 2 and 3. Their probabilities are proportional to the mean
    /// times in the states, 1, 1/2 and 1/3.
    #[test]
    fn a_ring_stays_in_each_state_as_long_as_its_mean() {
        let found = alone(vec![
            vec![0.0, 1.0, 0.0],
            vec![0.0, 0.0, 2.0],
            vec![3.0, 0.0, 0.0],
        ]);
        for (chance, stay) in found.iter().zip([1.0, 0.5, 1.0 / 3.0]) {
            assert!((chance - stay / (11.0 / 6.0)).abs() < 1e-15);
        }
    }

    /// Levels with one state each form a birth-death process with p(n) = ρ^n (1 − ρ) / (1 − ρ^(K + 1)). Here ρ is the
    /// ratio of the rates up and down, and K the highest level.
    #[test]
    fn single_states_are_births_and_deaths() {
        let one = |rate: f64| vec![vec![rate]];
        let level = |number: usize| Level {
            local: one(0.0),
            up: if number < 40 { one(0.1) } else { Matrix::new() },
            down: if number > 0 { one(1.0) } else { Matrix::new() },
        };
        let found = stationary(&(0..=40).map(level).collect::<Vec<_>>());
        for (number, row) in found.iter().enumerate() {
            let exact = 0.1_f64.powi(number as i32) * 0.9;
            assert!((row[0] / exact - 1.0).abs() < 1e-12, "{number}: {row:?}");
        }
    }
}
