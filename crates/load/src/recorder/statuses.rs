//! Counts of responses by status code.

/// Number of codes for which memory is allocated at the start. If a server sends more different codes, the list grows
/// once.
const USUAL: usize = 16;

/// Counts by status code, in the order of first occurrence. A linear search is fast, since few codes occur and the
/// first code is nearly always the most frequent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statuses {
    counts: Vec<(u16, u64)>,
}

impl Statuses {
    pub(super) fn make_room(&mut self) {
        self.counts.reserve(USUAL);
    }

    #[inline]
    pub(super) fn count(&mut self, status: u16) {
        match self.counts.iter_mut().find(|(code, _)| *code == status) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((status, 1)),
        }
    }

    /// Codes with their counts, in the order of their first response.
    pub(super) fn all(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// Resets the counts, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
    }
}
