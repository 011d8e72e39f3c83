//! The open streams of an HTTP/2 connection.

use std::collections::VecDeque;

/// Token that marks a stream in the list as closed.
const CLOSED: u32 = u32::MAX;

/// The list of streams is compacted once it contains more closed streams than this.
const CLOSED_AT_MOST: usize = 32;

/// An open stream: one request and its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    /// Token by which the caller identifies the exchange.
    pub(super) token: u32,
    /// Flow-control window for the request body: number of bytes that the server accepts now. It becomes negative if
    /// the server reduces the windows after the bytes were sent. [B]
    pub(super) send_window: i64,
    /// Flow-control window for the response body: bytes that the server may send now. [B]
    pub(super) receive_left: u32,
    /// `Content-Length` of the response, if its head contains this field.
    pub(super) expected: Option<u64>,
    /// `true` once the head of the final response has arrived.
    pub(super) has_head: bool,
    /// `true` while parts of the request body are unsent.
    pub(super) sending: bool,
    /// `true` if parts of the request body are unsent, but the stream's flow-control window is used up. The stream is
    /// then not in the queue of sending streams.
    pub(super) blocked: bool,
}

/// The open streams in the order of their numbers. Responses mostly arrive in this order, so a search usually ends at
/// the first stream.
#[derive(Debug, Default)]
pub(super) struct Streams {
    all: VecDeque<Stream>,
    open: usize,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.open
    }

    /// Adds a stream, whose number must be above the numbers of all other streams.
    pub(super) fn push(&mut self, stream: Stream) {
        self.all.push_back(stream);
        self.open += 1;
    }

    fn place(&self, id: u32) -> Option<usize> {
        let first = self.all.front()?;
        let place = if first.id == id {
            0
        } else {
            self.all
                .binary_search_by_key(&id, |stream| stream.id)
                .ok()?
        };
        (self.all[place].token != CLOSED).then_some(place)
    }

    #[inline]
    pub(super) fn find(&mut self, id: u32) -> Option<&mut Stream> {
        self.place(id).map(|place| &mut self.all[place])
    }

    /// Closes and returns the stream with this number, if it is open.
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let place = self.place(id)?;
        let stream = self.all[place];
        self.all[place].token = CLOSED;
        self.open -= 1;
        while self.all.front().is_some_and(|first| first.token == CLOSED) {
            self.all.pop_front();
        }
        if self.all.len() > 2 * self.open + CLOSED_AT_MOST {
            self.all.retain(|stream| stream.token != CLOSED);
        }
        Some(stream)
    }

    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.all.iter_mut().filter(|stream| stream.token != CLOSED)
    }

    /// Closes all streams with numbers above `id`, and passes their tokens to `removed`.
    pub(super) fn remove_above(&mut self, id: u32, mut removed: impl FnMut(u32)) {
        while self.all.back().is_some_and(|last| last.id > id) {
            if let Some(last) = self.all.pop_back()
                && last.token != CLOSED
            {
                self.open -= 1;
                removed(last.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(id: u32) -> Stream {
        Stream {
            id,
            token: id * 10,
            send_window: 0,
            receive_left: 0,
            expected: None,
            has_head: false,
            sending: false,
            blocked: false,
        }
    }

    #[test]
    fn one_that_stays_does_not_keep_those_that_came_and_went() {
        let mut streams = Streams::default();
        streams.push(stream(1));
        for id in (3..10_001).step_by(2) {
            streams.push(stream(id));
            assert_eq!(streams.find(id).map(|stream| stream.token), Some(id * 10));
            assert_eq!(streams.remove(id).map(|stream| stream.id), Some(id));
            assert!(streams.find(id).is_none() && streams.remove(id).is_none());
            assert!(streams.all.len() <= 2 * streams.len() + CLOSED_AT_MOST + 1);
        }
        assert_eq!(
            (streams.len(), streams.find(1).map(|stream| stream.id)),
            (1, Some(1))
        );
        assert!(streams.find(2).is_none());
    }

    #[test]
    fn those_above_a_number_go_together() {
        let mut streams = Streams::default();
        (1..=9).step_by(2).for_each(|id| streams.push(stream(id)));
        streams.remove(7);
        let mut removed = Vec::new();
        streams.remove_above(3, |token| removed.push(token));
        assert_eq!((removed, streams.len()), (vec![90, 50], 2));
    }
}
