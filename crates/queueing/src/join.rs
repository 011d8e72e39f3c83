//! Fork and join: computes the mean of the longest of several random times.

use crate::network::Network;

/// Returns the mean of the longest of several independent exponential times with the means T. By inclusion and
/// exclusion, it is the sum of ± 1 / Σ 1/T over all subsets of the times.
///
/// Times of 0 are left out. There can be at most 16 branches, since the sum has 2^branches terms.
#[must_use]
pub fn longest_of_independent(means: &[f64]) -> f64 {
    let rates: Vec<f64> = means
        .iter()
        .filter(|&&mean| mean > 0.0)
        .map(|mean| 1.0 / mean)
        .collect();
    let mut sums = vec![(0.0, -1.0)];
    let mut longest = 0.0;
    for rate in rates {
        for index in 0..sums.len() {
            let (sum, sign): (f64, f64) = sums[index];
            sums.push((sum + rate, -sign));
            longest -= sign / (sum + rate);
        }
    }
    longest
}

/// Returns the mean of the longest response time over the branches of a fork. Each branch is a single queue and gets
/// one job of every fork.
///
/// Nelson and Tantawi, IEEE Trans. Computers 37(6), 1988: for K equal M/M/1 with utilization ρ and response time `R_1`,
/// the mean is `R_K` = [H_K/H_2 + (4/11) (1 − H_K/H_2) ρ] (12 − ρ)/8 `R_1`, exact for K = 2. H_K is the K-th harmonic
/// number. For unequal branches, the excess over the longest mean is reduced in the same proportion as for equal
/// branches.
#[must_use]
pub fn longest_of_queues(means: &[f64], utilization: f64) -> f64 {
    let independent = longest_of_independent(means);
    let branches = means.iter().filter(|&&mean| mean > 0.0).count();
    if branches < 2 {
        return independent;
    }
    let harmonic: f64 = (1..=branches).map(|branch| 1.0 / branch as f64).sum();
    let scale = harmonic / 1.5;
    let busy = utilization.clamp(0.0, 1.0);
    let factor = (scale + 4.0 / 11.0 * (1.0 - scale) * busy) * (12.0 - busy) / 8.0;
    let slowest = means.iter().copied().fold(0.0, f64::max);
    slowest + (independent - slowest) * (factor - 1.0) / (harmonic - 1.0)
}

/// Returns the time that a class spends at the given stations. A fork counts as the mean time of its longest branch.
///
/// `residence` and `utilization` have an entry for each station of the network.
#[must_use]
pub fn through(
    network: &Network,
    class: usize,
    stations: &[usize],
    residence: &[f64],
    utilization: &[f64],
) -> f64 {
    let mut time: f64 = stations.iter().map(|&station| residence[station]).sum();
    for split in network.splits.iter().filter(|split| split.concerns[class]) {
        if !stations.contains(&split.branches[0][0]) {
            continue;
        }
        let branches: Vec<f64> = (split.branches.iter())
            .map(|branch| branch.iter().map(|&station| residence[station]).sum())
            .collect();
        let queues = (split.branches.iter())
            .all(|branch| branch.len() == 1 && network.centers[branch[0]].speed.is_single());
        let longest = if queues {
            let busy = split
                .branches
                .iter()
                .map(|branch| utilization[branch[0]])
                .fold(0.0, f64::max);
            longest_of_queues(&branches, busy)
        } else {
            longest_of_independent(&branches)
        };
        time += longest - branches.iter().sum::<f64>();
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_branches_have_harmonic_numbers() {
        assert!((longest_of_independent(&[2.0, 2.0]) - 3.0).abs() < 1e-14);
        let harmonic: f64 = (1..=16).map(|branch| 1.0 / f64::from(branch)).sum();
        assert!((longest_of_independent(&[1.0; 16]) - harmonic).abs() < 1e-10);
        // The mean of the longer of two exponential times with the means 1 and 2 is 1 + 2 − 1/(1 + 1/2).
        assert!((longest_of_independent(&[1.0, 2.0]) - (3.0 - 2.0 / 3.0)).abs() < 1e-14);
    }

    /// For three equal queues with R = 1 and a utilization of 0.5, the formula gives [11/9 + 4/11 (1 - 11/9) 0.5] 11.5/8.
    #[test]
    fn three_equal_queues_follow_the_formula() {
        let equal = (11.0 / 9.0 - 4.0 / 99.0) * 11.5 / 8.0;
        assert!((longest_of_queues(&[1.0; 3], 0.5) - equal).abs() < 1e-14);
        assert!((longest_of_queues(&[1.0, 0.0, 1.0, 1.0], 0.5) - equal).abs() < 1e-14);
        // With unequal branches, the excess over the longest mean is 2 - 1/1.5 - 1 for two independent times of 1 and 2
        // s; it shrinks in the proportion 11.5/8 - 1 to 1.5 - 1.
        let excess = (3.0 - 2.0 / 3.0 - 2.0) * (11.5 / 8.0 - 1.0) / 0.5;
        assert!((longest_of_queues(&[1.0, 2.0], 0.5) - 2.0 - excess).abs() < 1e-14);
        // A single branch takes its own time, and a utilization beyond 1 counts as 1.
        assert!((longest_of_queues(&[2.0, 0.0], 0.5) - 2.0).abs() < 1e-14);
        assert!((longest_of_queues(&[1.0, 1.0], 7.0) - 11.0 / 8.0).abs() < 1e-14);
    }

    #[test]
    fn two_equal_queues_are_exact() {
        assert!((longest_of_queues(&[1.0, 1.0], 0.5) - 11.5 / 8.0).abs() < 1e-14);
    }
}
