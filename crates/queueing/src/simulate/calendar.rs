//! The event calendar: a heap with four children per node that records the position of each event.
//!
//! Every source of events has its own slot and at most one event. Therefore an event can be moved or cancelled in
//! place, whereas a heap without positions would accumulate cancelled events. With four children the heap is half as
//! deep as with two, and the children share a cache line.

/// Number of children of a node of the heap.
const ARITY: usize = 4;
/// Marks a slot without an event, in place of a position in the heap.
const NOWHERE: u32 = u32::MAX;

/// Time, order of insertion and slot of an event, combined in one integer that is ordered like the tuple. The bits of
/// non-negative floating-point times have the order of the times, and integer comparisons need no branch.
type Entry = u128;
/// Placeholder at the root of the heap, after the root's event was removed and before another event is inserted. It
/// precedes all events.
const HOLE: Entry = 0;

#[inline]
fn slot_of(entry: Entry) -> u32 {
    entry as u32
}

#[inline]
fn time_of(entry: Entry) -> f64 {
    f64::from_bits((entry >> 64) as u64)
}

/// Calendar of future events, ordered by time.
pub struct Calendar {
    heap: Vec<Entry>,
    position: Vec<u32>,
    /// Order among events at the same time: first inserted, first served (except once in 2^32 insertions).
    order: u32,
    /// `true` if the root of the heap holds no event. Processing an event usually inserts another event, which then
    /// becomes the root.
    hole: bool,
}

impl Calendar {
    /// Creates an empty calendar for the slots 0 to `slots` - 1.
    pub fn new(slots: usize) -> Self {
        Self {
            heap: Vec::with_capacity(slots.min(4096)),
            position: vec![NOWHERE; slots],
            order: 0,
            hole: false,
        }
    }

    /// Increases the number of slots.
    pub fn grow(&mut self, slots: usize) {
        if slots > self.position.len() {
            self.position.resize(slots, NOWHERE);
        }
    }

    /// Sets the time of the event of a slot; an existing event is moved. Times must not be negative.
    #[inline]
    pub fn set(&mut self, slot: u32, time: f64) {
        self.order = self.order.wrapping_add(1);
        let entry =
            (u128::from(time.to_bits()) << 64) | (u128::from(self.order) << 32) | u128::from(slot);
        let at = self.position[slot as usize];
        if at != NOWHERE {
            self.place(at as usize, entry);
        } else if self.hole {
            self.hole = false;
            self.sink(0, entry);
        } else {
            self.heap.push(entry);
            self.rise(self.heap.len() - 1, entry);
        }
    }

    /// Removes the event of a slot and returns its time, if there was one.
    pub fn clear(&mut self, slot: u32) -> Option<f64> {
        let at = self.position[slot as usize];
        if at == NOWHERE {
            return None;
        }
        let time = time_of(self.heap[at as usize]);
        self.position[slot as usize] = NOWHERE;
        let last = self.heap.pop().expect("an entry is there");
        if (at as usize) < self.heap.len() {
            self.place(at as usize, last);
        }
        Some(time)
    }

    /// Removes the earliest event and returns its time and slot.
    #[inline]
    pub fn pop(&mut self) -> Option<(f64, u32)> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop().expect("the hole is there");
            if !self.heap.is_empty() {
                self.sink(0, last);
            }
        }
        let first = *self.heap.first()?;
        self.heap[0] = HOLE;
        self.hole = true;
        self.position[slot_of(first) as usize] = NOWHERE;
        Some((time_of(first), slot_of(first)))
    }

    /// Puts an entry at an empty position of the heap, and moves it up or down to its final position.
    #[inline]
    fn place(&mut self, at: usize, entry: Entry) {
        if at > 0 && entry < self.heap[(at - 1) / ARITY] {
            self.rise(at, entry);
        } else {
            self.sink(at, entry);
        }
    }

    #[inline]
    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if entry >= self.heap[parent] {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    #[inline]
    fn sink(&mut self, mut at: usize, entry: Entry) {
        while let Some(child) = self.least_child(at) {
            let least = self.heap[child];
            if least >= entry {
                break;
            }
            self.put(at, least);
            at = child;
        }
        self.put(at, entry);
    }

    /// Returns the position of the earliest child of a node, if it has children. The usual case of four children has no
    /// branches, since the processor cannot predict which child is earliest.
    #[inline]
    fn least_child(&self, at: usize) -> Option<usize> {
        let first = at * ARITY + 1;
        if let Some(&[a, b, c, d]) = self.heap.get(first..first + ARITY) {
            let (left, right) = (usize::from(b < a), usize::from(d < c));
            let last = usize::from(c.min(d) < a.min(b));
            return Some(first + last * (2 + right) + (1 - last) * left);
        }
        (first..self.heap.len()).min_by_key(|&child| self.heap[child])
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.position[slot_of(entry) as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the calendar with a list that is searched for the earliest event, while events are inserted, moved and
    /// removed in random order.
    #[test]
    fn events_come_in_order_of_time() {
        let (mut calendar, mut list) = (Calendar::new(64), vec![None; 64]);
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
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
