//! The dynamic table of HPACK (RFC 7541, section 2.3.2). The oldest entries are evicted first.

use std::collections::VecDeque;

use super::FIELD_OVERHEAD_BYTES;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Position of the entry's name in `Table::bytes`; the entry's value follows its name.
    start: usize,
    name_bytes: usize,
    value_bytes: usize,
}

impl Entry {
    fn size(self) -> usize {
        self.name_bytes + self.value_bytes + FIELD_OVERHEAD_BYTES
    }
}

#[derive(Debug)]
pub(super) struct Table {
    /// Entries of the table, newest first.
    entries: VecDeque<Entry>,
    /// Names and values of the entries, oldest first. At the start there may be bytes of evicted entries that are not
    /// reclaimed yet.
    bytes: Vec<u8>,
    size: usize,
    most: usize,
}

impl Table {
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: Vec::new(),
            size: 0,
            most,
        }
    }

    /// Returns name and value of an entry; the newest entry has index 0.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(index)?;
        let field = &self.bytes[entry.start..][..entry.name_bytes + entry.value_bytes];
        Some(field.split_at(entry.name_bytes))
    }

    /// Adds a field. If the field alone is larger than the table, all entries are evicted and the field is not added
    /// (RFC 7541, section 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        self.evict_to(self.most.saturating_sub(size));
        if size > self.most {
            return;
        }
        // The memory of evicted entries is reclaimed only when the stored bytes would exceed twice the table size, so
        // that bytes are seldom moved.
        if self.bytes.len() + name.len() + value.len() > 2 * self.most {
            self.compact();
        }
        self.entries.push_front(Entry {
            start: self.bytes.len(),
            name_bytes: name.len(),
            value_bytes: value.len(),
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += size;
    }

    /// Sets the largest size of the table, and evicts entries that exceed it.
    pub(super) fn resize(&mut self, most: usize) {
        self.most = most;
        self.evict_to(most);
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size();
        }
    }

    fn compact(&mut self) {
        let start = self
            .entries
            .back()
            .map_or(self.bytes.len(), |oldest| oldest.start);
        self.bytes.drain(..start);
        for entry in &mut self.entries {
            entry.start -= start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_and_the_rest_stays_whole() {
        let mut table = Table::new(200);
        for number in 0..1000 {
            let name = format!("name-{number}");
            table.insert(name.as_bytes(), &[number as u8; 20]);
            assert!(table.size <= 200 && table.bytes.len() <= 400);
            // An entry takes at most `32 + 20 + 8 = 60` bytes (overhead, value and name), so three entries fit into 200
            // bytes.
            for age in 0..3.min(number + 1) {
                let (name, value) = table.get(age).expect("an entry");
                assert_eq!(name, format!("name-{}", number - age).as_bytes());
                assert_eq!(value, [(number - age) as u8; 20]);
            }
            assert_eq!(table.get(3), None);
        }
    }

    #[test]
    fn a_field_larger_than_the_table_empties_it() {
        let mut table = Table::new(100);
        table.insert(b"a", b"b");
        table.insert(b"a", &[0; 100]);
        assert_eq!((table.get(0), table.size), (None, 0));
    }
}
