//! Numbers of responses by HTTP status code.

/// Number of different status codes for which memory is allocated at the start. If a server sends more different codes,
/// the list grows.
const USUAL: usize = 16;

/// Numbers of responses by status code, in the order of the first response with each code. A linear search is fast,
/// since few codes occur and the first is nearly always the most frequent.
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

    /// Returns each status code and its number of responses, in the order of the first response with each code.
    pub(super) fn all(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// Resets the numbers, but keeps the allocated memory.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
    }
}
