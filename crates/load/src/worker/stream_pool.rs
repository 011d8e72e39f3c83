//! A pool of HTTP/2 connections, which carry several requests at the same time. The next request goes to the connection
//! with the fewest requests.

/// State of one connection in the pool.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Number of requests that the connection carries.
    load: u32,
    /// Limit on concurrent requests over the connection.
    limit: u32,
    /// Position in the list of connections with the same number of requests; `None` if the connection is closed or
    /// accepts no request.
    position: Option<u32>,
}

/// Connections to one target, arranged by their number of requests. The cost of an operation does not depend on the
/// number of connections.
#[derive(Debug)]
pub(super) struct StreamPool {
    first: u32,
    places: Vec<Slot>,
    /// Indices of the closed connections.
    closed: Vec<u32>,
    /// For each number of requests, the open connections that carry exactly this number and accept another request.
    open: Vec<Vec<u32>>,
    /// Lower bound on the index of the first non-empty list in `open`.
    least: usize,
}

impl StreamPool {
    /// Creates a pool of closed connections.
    pub(super) fn new(places: std::ops::Range<u32>) -> Self {
        let closed = Slot {
            load: 0,
            limit: 1,
            position: None,
        };
        Self {
            first: places.start,
            places: vec![closed; places.len()],
            closed: places.rev().collect(),
            open: vec![Vec::new()],
            least: 0,
        }
    }

    /// Takes capacity for one request. The connection is an open connection without requests; if there is none, a
    /// closed connection, which must then be opened; otherwise the open connection with the fewest requests. A
    /// connection that is being opened gets no second request before its limit is known.
    pub(super) fn take(&mut self) -> Option<u32> {
        if self.open[0].is_empty()
            && let Some(place) = self.closed.pop()
        {
            self.places[(place - self.first) as usize].load = 1;
            return Some(place);
        }
        while self.open.get(self.least).is_some_and(Vec::is_empty) {
            self.least += 1;
        }
        let place = *self.open.get(self.least)?.last()?;
        self.change(place, |connection| connection.load += 1);
        Some(place)
    }

    /// Records that a request over the connection has ended.
    pub(super) fn put_back(&mut self, place: u32) {
        self.change(place, |connection| {
            connection.load = connection.load.saturating_sub(1);
        });
    }

    pub(super) fn set_limit(&mut self, place: u32, limit: u32) {
        self.change(place, |connection| connection.limit = limit);
    }

    /// Records that a connection was closed and its requests have ended.
    pub(super) fn closed(&mut self, place: u32) {
        self.change(place, |connection| {
            (connection.load, connection.limit) = (0, 0);
        });
        self.places[(place - self.first) as usize].limit = 1;
        self.closed.push(place);
    }

    /// Changes the state of a connection, and moves it to the list for its new number of requests.
    fn change(&mut self, place: u32, change: impl FnOnce(&mut Slot)) {
        let index = (place - self.first) as usize;
        let slot = &mut self.places[index];
        if let Some(position) = slot.position.take() {
            let list = &mut self.open[slot.load as usize];
            list.swap_remove(position as usize);
            if let Some(moved) = list.get(position as usize) {
                self.places[(moved - self.first) as usize].position = Some(position);
            }
        }
        let slot = &mut self.places[index];
        change(slot);
        if slot.load < slot.limit {
            let load = slot.load as usize;
            if self.open.len() <= load {
                self.open.resize_with(load + 1, Vec::new);
            }
            slot.position = Some(self.open[load].len() as u32);
            self.open[load].push(place);
            self.least = self.least.min(load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn connections_are_opened_before_any_gets_a_second_request() {
        let mut pool = StreamPool::new(4..6);
        assert_eq!(
            [pool.take(), pool.take(), pool.take()],
            [Some(4), Some(5), None]
        );
        pool.set_limit(4, 3);
        assert_eq!(pool.take(), Some(4));
        pool.set_limit(5, 3);
        // Now connection 5 has one request, and connection 4 has two. With a limit of 3 each, they accept three more.
        let taken = [pool.take(), pool.take(), pool.take(), pool.take()];
        assert_eq!(
            taken.map(|place| place.is_some()),
            [true, true, true, false]
        );
        pool.put_back(5);
        assert_eq!([pool.take(), pool.take()], [Some(5), None]);
    }

    #[test]
    fn an_idle_connection_is_taken_before_one_is_opened() {
        let mut pool = StreamPool::new(0..2);
        assert_eq!(pool.take(), Some(0));
        pool.set_limit(0, 10);
        pool.put_back(0);
        assert_eq!([pool.take(), pool.take()], [Some(0), Some(1)]);
    }

    #[test]
    fn one_that_drains_gets_nothing_and_one_that_closed_begins_anew() {
        let mut pool = StreamPool::new(0..1);
        assert_eq!(pool.take(), Some(0));
        pool.set_limit(0, 2);
        pool.set_limit(0, 0);
        assert_eq!(pool.take(), None);
        pool.closed(0);
        assert_eq!([pool.take(), pool.take()], [Some(0), None]);
    }

    /// After random operations, compares the chosen connection with the result of a linear search.
    #[test]
    fn the_least_loaded_is_taken_whatever_happened_before() {
        let mut random = Random::from_seed(3);
        let mut pool = StreamPool::new(0..5);
        let mut loads = [0_u32; 5];
        for place in 0..5 {
            assert_eq!(pool.take(), Some(place));
            pool.set_limit(place, 4);
            loads[place as usize] = 1;
        }
        for _ in 0..10_000 {
            let place = random.below(5) as usize;
            if random.below(2) == 0 && loads[place] > 0 {
                pool.put_back(place as u32);
                loads[place] -= 1;
                continue;
            }
            let least = loads.iter().copied().min().filter(|least| *least < 4);
            let taken = pool.take();
            assert_eq!(taken.map(|place| loads[place as usize]), least);
            if let Some(place) = taken {
                loads[place as usize] += 1;
            }
        }
    }
}
