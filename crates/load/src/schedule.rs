//! Starts of users and arrivals: pure functions of the plan, its edits and the seed, the same in every thread.
//!
//! [`Stages`] holds the stages and applies edits to them, [`UserChanges`] gives the times at which users start and leave,
//! [`Arrivals`] those at which transactions of an open load start.

mod arrivals;
mod stages;
mod user_changes;

pub use arrivals::{Arrival, Arrivals};
pub use stages::{Change, DRAIN, Edit, Refused, Stages};
pub use user_changes::{UserChange, UserChanges};

/// Group of every user, so that any first n users have the shares as exactly as whole users can: each next user goes to
/// the group that is furthest behind its share (largest remainder), among those below their upper quota.
#[must_use]
pub fn assign_groups(shares: &[f64], users: usize) -> Vec<u16> {
    let mut counts = vec![0_u32; shares.len()];
    let mut groups = Vec::with_capacity(users);
    for number in 1..=users {
        let behind = |index: usize| shares[index] * number as f64 - f64::from(counts[index]);
        let mut best = 0;
        for index in 1..shares.len() {
            // Shares such as 0.1 are not exact; a tie within rounding goes to the group named first.
            if behind(index) > behind(best) + 1e-9 {
                best = index;
            }
        }
        counts[best] += 1;
        groups.push(best as u16);
    }
    groups
}
