//! Encodes blocks of header fields by HPACK.

use super::static_table::{find, find_name};
use super::{DEFAULT_TABLE_BYTES, FIELD_OVERHEAD_BYTES, STATIC_FIELDS, huffman, integer};

/// Leading bits and number of prefix bits of literal fields that are added to the dynamic table (RFC 7541, section
/// 6.2). `NOT_INDEXED` is for literal fields that are not added.
const INDEXED: (u8, u32) = (0x40, 6);
const NOT_INDEXED: (u8, u32) = (0x00, 4);

/// Only constant fields with a number below this limit are added to the dynamic table. The limit excludes no field in
/// practice: a table of 4 KiB holds fewer fields, since the smallest takes 33 bytes.
const REMEMBERED: usize = 255;

/// A field name that is encoded in advance, for fields whose values vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(Box<[u8]>);

impl Name {
    /// Encodes a field name, which must be in lower case.
    #[must_use]
    pub fn new(name: &[u8]) -> Self {
        let mut out = Vec::new();
        write_name(name, NOT_INDEXED, &mut out);
        Self(out.into())
    }
}

/// A field whose name and value never change, encoded in advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Number of this field among the constant fields of the encoder, from 0.
    number: usize,
    /// Index of the field in the static table, if the table has an entry with this name and value.
    known: Option<u8>,
    /// Encoded literal field that the peer adds to its dynamic table.
    indexed: Box<[u8]>,
    /// Encoded literal field that the peer does not add to its dynamic table.
    plain: Box<[u8]>,
    /// Size of the field as an entry of the dynamic table. [B]
    size: usize,
}

impl Constant {
    /// Encodes a field that never changes; the name must be in lower case.
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

/// Encodes the field blocks that are sent on a connection.
///
/// Only constant fields are added to the dynamic table, and only while it has free space, so that no entry is ever
/// evicted. Fields with varying values are written as literals each time.
#[derive(Debug)]
pub struct Encoder {
    /// Position of each constant field in the dynamic table, counted from 1 in the order of insertion; 0 if the field
    /// is not in the table.
    places: Vec<u8>,
    entries: u8,
    used: usize,
    most: usize,
    /// `true` if the next block must begin with the new table size `most`.
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
    /// Limits the dynamic table to `table_bytes`, the size that the peer allows. The encoder never uses more than the
    /// protocol's default size.
    pub fn allow(&mut self, table_bytes: usize) {
        let most = table_bytes.min(DEFAULT_TABLE_BYTES);
        if most != self.most {
            self.most = most;
            self.is_resized = true;
            self.places.clear();
            (self.entries, self.used) = (0, 0);
        }
    }

    /// Begins a block. If the table size has changed, the block first announces size 0, which empties the dynamic
    /// table, and then the new size.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_resized {
            self.is_resized = false;
            integer::write(0x20, 5, 0, out);
            integer::write(0x20, 5, self.most, out);
        }
    }

    /// Appends a field that never changes: as an index if a table holds it, otherwise as a literal.
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

    /// Appends a field whose value varies, as a literal that is not added to the dynamic table.
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

/// Appends a string, either plain or in Huffman code, whichever is shorter.
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
