//! Encodes fields to blocks.

use super::static_table::{find, find_name};
use super::{DEFAULT_TABLE_BYTES, FIELD_OVERHEAD_BYTES, STATIC_FIELDS, huffman, integer};

/// Prefixes of literals that enter the table, and of literals that do not (RFC 7541, section 6.2).
const INDEXED: (u8, u32) = (0x40, 6);
const NOT_INDEXED: (u8, u32) = (0x00, 4);

/// Constants with a number below this enter the table; a table of 4 KiB holds fewer, since the smallest entry takes 33
/// bytes.
const REMEMBERED: usize = 255;

/// A name of fields whose values vary, ready to be written.
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

/// A field that never changes, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its number among those of one encoder: each has its own, counted from 0.
    number: usize,
    /// Index in the static table, if it holds the whole field.
    known: Option<u8>,
    /// Literal form that enters the table.
    indexed: Box<[u8]>,
    /// Literal form.
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

/// Writes the blocks of one direction of a connection.
///
/// Only constants enter the table, and only while it has room, so nothing is ever evicted before its next use. Varying
/// fields are written out each time.
#[derive(Debug)]
pub struct Encoder {
    /// Position in the table for each constant, counted from 1 in the order of insertion; 0 if it is not there.
    places: Vec<u8>,
    entries: u8,
    used: usize,
    most: usize,
    /// The next block must announce `most`.
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
    /// Accepts the table size that the other side allows. The default is never exceeded.
    pub fn allow(&mut self, table_bytes: usize) {
        let most = table_bytes.min(DEFAULT_TABLE_BYTES);
        if most != self.most {
            self.most = most;
            self.is_resized = true;
            self.places.clear();
            (self.entries, self.used) = (0, 0);
        }
    }

    /// Begins a block. A table of another size begins empty, whatever sizes were agreed in between.
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

    /// Writes a field whose value varies; it does not enter the table.
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

/// Writes the shorter of the two forms, as clients usually do.
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
