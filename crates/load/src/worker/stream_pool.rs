//! The free places of connections that carry many requests at once: the one with the fewest is next.

/// A place of a connection.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Requests in hand.
    load: u32,
    /// How many there may be.
    limit: u32,
    /// Where it stands in the list of its load, if it has room and is open.
    position: Option<u32>,
}

/// Connections to one target by the number of their requests. Everything takes the same time however many there are.
#[derive(Debug)]
pub(super) struct StreamPool {
    first: u32,
    places: Vec<Place>,
    /// Those that are closed.
    closed: Vec<u32>,
    /// Those that are open and have room, by load.
    open: Vec<Vec<u32>>,
    /// No list before this one has any.
    least: usize,
}

impl StreamPool {
    /// All closed.
    pub(super) fn new(places: std::ops::Range<u32>) -> Self {
        let closed = Place {
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

    /// Takes a place for one request: an open connection without any, else one that must be opened, else that with the
    /// fewest. One that is opened takes no second request until its limit is known.
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
        self.change(place, |one| one.load += 1);
        Some(place)
    }

    /// A request is over.
    pub(super) fn put_back(&mut self, place: u32) {
        self.change(place, |one| one.load = one.load.saturating_sub(1));
    }

    /// A connection takes so many at once from now on.
    pub(super) fn set_limit(&mut self, place: u32, limit: u32) {
        self.change(place, |one| one.limit = limit);
    }

    /// A connection is closed, and what it had in hand is over.
    pub(super) fn closed(&mut self, place: u32) {
        self.change(place, |one| (one.load, one.limit) = (0, 0));
        self.places[(place - self.first) as usize].limit = 1;
        self.closed.push(place);
    }

    /// Changes a place and puts it where it belongs then.
    fn change(&mut self, place: u32, change: impl FnOnce(&mut Place)) {
        let index = (place - self.first) as usize;
        let one = &mut self.places[index];
        if let Some(position) = one.position.take() {
            let list = &mut self.open[one.load as usize];
            list.swap_remove(position as usize);
            if let Some(moved) = list.get(position as usize) {
                self.places[(moved - self.first) as usize].position = Some(position);
            }
        }
        let one = &mut self.places[index];
        change(one);
        if one.load < one.limit {
            let load = one.load as usize;
            if self.open.len() <= load {
                self.open.resize_with(load + 1, Vec::new);
            }
            one.position = Some(self.open[load].len() as u32);
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
        // One request at 5, two at 4.
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

    /// Against a list that is searched.
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
