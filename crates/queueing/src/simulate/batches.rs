//! Arrivals of several jobs at the same time.

use super::machine::Machine;
use crate::model::behaviour::BatchSizes;

impl Machine<'_> {
    /// Returns the number of jobs that arrive together.
    #[inline]
    pub(super) fn batch_size(&mut self, class: usize) -> u64 {
        match self.plan.classes[class].batch {
            Some((size, BatchSizes::Constant)) => size as u64,
            Some((size, BatchSizes::Geometric)) if size > 1.0 => {
                // The number of trials until the first success, by inversion.
                let trials = self.streams.batch[class].uniform().ln() / (-1.0 / size).ln_1p();
                1 + trials as u64
            }
            None | Some(_) => 1,
        }
    }
}
