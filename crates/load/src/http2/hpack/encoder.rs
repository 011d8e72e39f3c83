//! Encodes field blocks.

use super::static_table::{find, find_name};
use super::{DEFAULT_TABLE_BYTES, FIELD_OVERHEAD_BYTES, STATIC_FIELDS, huffman, integer};

/// Prefixes (first bits, length) of literals that are added to the table, and, in the next line, of literals that are
/// not added (RFC 7541, section 6.2).
const INDEXED: (u8, u32) = (0x40, 6);
const NOT_INDEXED: (u8, u32) = (0x00, 4);

/// Constants with a number below this value are added to the table. A table of 4 KiB holds fewer entries, since the
/// smallest entry takes 33 bytes.
const REMEMBERED: usize = 255;

/// A prepared name, for fields whose values vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(Box<[u8]>);

impl Name {
    /// Prepares a name, which is in lower case.
    #[must_use]
    pub fn new(name: &[u8]) -> Self {
        let mut out = Vec::new();
        write_name(name, NOT_INDEXED, &mut out);
        Self(out.into())
    }
}

/// A prepared field that never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Number among the constants of one encoder, from 0.
    number: usize,
    /// Index in the static table, if it holds the whole field.
    known: Option<u8>,
    /// Literal form that adds the field to the table.
    indexed: Box<[u8]>,
    /// Literal form that does not add the field to the table.
    plain: Box<[u8]>,
    /// Size in the table. [B]
    size: usize,
}

impl Constant {
    /// Prepares a field; its name is in lower case.
    #[must_use]
    pub fn new(number: usize, name: &[u8], value: &[u8]) -> Self {
        let written = |kind| {
            let mut out = Vec::new();
            write_name(name, kind, &mut out);
            write_string(value, &mut out);
            out.into()
        };
        Self {
            number,
            known: find(name, value).map(|index| index as u8),
            indexed: written(INDEXED),
            plain: written(NOT_INDEXED),
            size: name.len() + value.len() + FIELD_OVERHEAD_BYTES,
        }
    }
}

/// Encodes the blocks of one direction of a connection.
///
/// Only constants are added to the table, and only while it has room, so that no entry is ever evicted. Varying fields
/// are written out each time.
#[derive(Debug)]
pub struct Encoder {
    /// Position of each constant in the table, counted from 1 in the order of insertion; 0 if the constant is not in
    /// the table.
    places: Vec<u8>,
    entries: u8,
    used: usize,
    most: usize,
    /// `true` if the next block must announce `most`.
    is_resized: bool,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            entries: 0,
            used: 0,
            most: DEFAULT_TABLE_BYTES,
            is_resized: false,
        }
    }
}

impl Encoder {
    /// Accepts the table size that the peer allows; a size above the default is not used.
    pub fn allow(&mut self, table_bytes: usize) {
        let most = table_bytes.min(DEFAULT_TABLE_BYTES);
        if most != self.most {
            self.most = most;
            self.is_resized = true;
            self.places.clear();
            (self.entries, self.used) = (0, 0);
        }
    }

    /// Begins a block. After a change of the table size, the block first announces size 0, which empties the table, and
    /// then the new size.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_resized {
            self.is_resized = false;
            integer::write(0x20, 5, 0, out);
            integer::write(0x20, 5, self.most, out);
        }
    }

    /// Writes a field that never changes.
    #[inline]
    pub fn constant(&mut self, field: &Constant, out: &mut Vec<u8>) {
        if let Some(index) = field.known {
            out.push(0x80 | index);
            return;
        }
        match self.places.get(field.number) {
            Some(&place) if place > 0 => {
                let index = STATIC_FIELDS.len() + 1 + usize::from(self.entries - place);
                integer::write(0x80, 7, index, out);
            }
            _ => self.write_out(field, out),
        }
    }

    fn write_out(&mut self, field: &Constant, out: &mut Vec<u8>) {
        let fits = field.number < REMEMBERED && self.used + field.size <= self.most;
        if !fits {
            out.extend_from_slice(&field.plain);
            return;
        }
        out.extend_from_slice(&field.indexed);
        self.entries += 1;
        self.used += field.size;
        if self.places.len() <= field.number {
            self.places.resize(field.number + 1, 0);
        }
        self.places[field.number] = self.entries;
    }

    /// Writes a field whose value varies; the field is not added to the table.
    pub fn varying(name: &Name, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&name.0);
        write_string(value, out);
    }
}

fn write_name(name: &[u8], (first, bits): (u8, u32), out: &mut Vec<u8>) {
    if let Some(index) = find_name(name) {
        integer::write(first, bits, index, out);
    } else {
        out.push(first);
        write_string(name, out);
    }
}

/// Writes a string in the shorter of its two forms, as clients usually do.
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_bytes(text);
    if coded < text.len() {
        integer::write(0x80, 7, coded, out);
        huffman::encode(text, out);
    } else {
        integer::write(0, 7, text.len(), out);
        out.extend_from_slice(text);
    }
}
