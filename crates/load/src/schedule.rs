//! Times at which users and transactions start: pure functions of the plan, its edits and the seed, identical in every
//! thread.
//!
//! [`Stages`] holds the stages and applies edits to them, [`UserChanges`] gives the times at which users start and
//! leave, [`Arrivals`] gives the times at which transactions of an open load start.

mod arrivals;
mod stages;
mod user_changes;

pub use arrivals::{Arrival, Arrivals};
pub use stages::{Change, DRAIN, Edit, Refused, Stages};
pub use user_changes::{UserChange, UserChanges};

/// Assigns a group to every user. Each user goes to the group that is furthest below its share of the users so far
/// (largest remainder).
#[must_use]
pub fn assign_groups(shares: &[f64], users: usize) -> Vec<u16> {
    let mut counts = vec![0_u32; shares.len()];
    let mut groups = Vec::with_capacity(users);
    for number in 1..=users {
        let behind = |index: usize| shares[index] * number as f64 - f64::from(counts[index]);
        let mut best = 0;
        for index in 1..shares.len() {
            // Shares such as 0.1 are not exact numbers. If groups are tied within rounding errors, the first of them in
            // the plan gets the user.
            if behind(index) > behind(best) + 1e-9 {
                best = index;
            }
        }
        counts[best] += 1;
        groups.push(best as u16);
    }
    groups
}
