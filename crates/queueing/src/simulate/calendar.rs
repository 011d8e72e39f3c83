//! The calendar: which event is next, as a heap with four children that knows where each event stands.
//!
//! Every source of events has a slot of its own and at most one event. So an event is moved or taken back in place, where a
//! heap without positions would gather events that are no longer meant. Four children make the heap half as deep as two
//! and keep them on one cache line.

/// Children of a node.
const ARITY: usize = 4;
/// Position of a slot without an event.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    time: f64,
    /// Order among events of the same time: who was entered first goes first.
    order: u32,
    slot: u32,
}

impl Entry {
    fn before(&self, other: &Self) -> bool {
        // Wrapping: after 2^32 entries the order goes on as if the counter had no end.
        self.time < other.time
            || (self.time == other.time && (self.order.wrapping_sub(other.order) as i32) < 0)
    }
}

/// Events by time.
pub struct Calendar {
    heap: Vec<Entry>,
    position: Vec<u32>,
    order: u32,
}

impl Calendar {
    /// An empty calendar for slots from 0 to `slots` - 1.
    pub fn new(slots: usize) -> Self {
        Self {
            heap: Vec::with_capacity(slots.min(4096)),
            position: vec![NOWHERE; slots],
            order: 0,
        }
    }

    /// Makes room for more slots.
    pub fn grow(&mut self, slots: usize) {
        if slots > self.position.len() {
            self.position.resize(slots, NOWHERE);
        }
    }

    /// Enters the event of a slot, or moves it.
    #[inline]
    pub fn set(&mut self, slot: u32, time: f64) {
        self.order = self.order.wrapping_add(1);
        let entry = Entry {
            time,
            order: self.order,
            slot,
        };
        let at = self.position[slot as usize];
        if at == NOWHERE {
            self.heap.push(entry);
            self.rise(self.heap.len() - 1, entry);
        } else {
            self.place(at as usize, entry);
        }
    }

    /// Takes the event of a slot back and gives its time, if there was one.
    pub fn clear(&mut self, slot: u32) -> Option<f64> {
        let at = self.position[slot as usize];
        if at == NOWHERE {
            return None;
        }
        let time = self.heap[at as usize].time;
        self.remove(at as usize);
        Some(time)
    }

    /// The next event is taken out: its time and slot.
    #[inline]
    pub fn pop(&mut self) -> Option<(f64, u32)> {
        let first = *self.heap.first()?;
        self.remove(0);
        Some((first.time, first.slot))
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.position[self.heap[at].slot as usize] = NOWHERE;
        let last = self.heap.pop().expect("an entry is there");
        if at < self.heap.len() {
            self.place(at, last);
        }
    }

    /// Puts an entry at a place of which the old entry is gone, and moves it where it belongs.
    #[inline]
    fn place(&mut self, at: usize, entry: Entry) {
        if at > 0 && entry.before(&self.heap[(at - 1) / ARITY]) {
            self.rise(at, entry);
        } else {
            self.sink(at, entry);
        }
    }

    #[inline]
    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    #[inline]
    fn sink(&mut self, mut at: usize, entry: Entry) {
        loop {
            let first = at * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&entry) {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.position[entry.slot as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list that is searched: entering, moving and taking back in an order without pattern.
    #[test]
    fn events_come_in_order_of_time() {
        let (mut calendar, mut list) = (Calendar::new(64), vec![None; 64]);
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..20_000 {
            let slot = random() % 64;
            match random() % 4 {
                0 => assert_eq!(calendar.clear(slot as u32), list[slot].take()),
                1 => {
                    let least = list.iter().flatten().copied().fold(f64::INFINITY, f64::min);
                    match calendar.pop() {
                        None => assert!(least.is_infinite()),
                        Some((time, slot)) => {
                            assert_eq!((time, list[slot as usize].take()), (least, Some(least)));
                        }
                    }
                }
                _ => {
                    let time = random() as f64;
                    calendar.set(slot as u32, time);
                    list[slot] = Some(time);
                }
            }
        }
    }

    #[test]
    fn events_of_one_time_come_as_entered() {
        let mut calendar = Calendar::new(10);
        for slot in [3, 1, 4, 5, 9, 2, 6] {
            calendar.set(slot, 7.0);
        }
        let order: Vec<u32> = std::iter::from_fn(|| calendar.pop().map(|(_, slot)| slot)).collect();
        assert_eq!(order, [3, 1, 4, 5, 9, 2, 6]);
    }
}
