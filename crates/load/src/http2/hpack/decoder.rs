//! Decodes blocks of header fields that are compressed by HPACK.

use super::table::Table;
use super::{HpackError, STATIC_FIELDS, huffman, integer};

/// Decodes the field blocks that arrive on a connection, in the order of their arrival.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// Limit on the size that the encoder of the peer may choose for the dynamic table. [B]
    agreed: usize,
    /// Name and value of the literal field that is being decoded.
    text: Vec<u8>,
}

impl Decoder {
    /// Creates a decoder whose dynamic table holds at most `table_bytes` [B], the size announced to the peer.
    #[must_use]
    pub fn new(table_bytes: usize) -> Self {
        Self {
            table: Table::new(table_bytes),
            agreed: table_bytes,
            text: Vec::new(),
        }
    }

    /// Decodes a complete block and passes its fields on in order. All fields are decoded even if the caller no longer
    /// needs them, because they add table entries that later blocks refer to.
    ///
    /// # Errors
    /// [`HpackError`]. No further block of the connection can be decoded after it.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut begun = false;
        while let Some(&first) = block.first() {
            match first {
                0x80.. => {
                    let index = integer::read(&mut block, 7)?;
                    let (name, value) = self.entry(index)?;
                    field(name, value);
                }
                0x40.. => {
                    let name_bytes = self.literal(&mut block, 6)?;
                    let (name, value) = self.text.split_at(name_bytes);
                    field(name, value);
                    self.table.insert(name, value);
                }
                0x20.. => {
                    let size = integer::read(&mut block, 5)?;
                    if begun || size > self.agreed {
                        return Err(HpackError::BadTableSize);
                    }
                    self.table.resize(size);
                    continue;
                }
                _ => {
                    let name_bytes = self.literal(&mut block, 4)?;
                    let (name, value) = self.text.split_at(name_bytes);
                    field(name, value);
                }
            }
            begun = true;
        }
        Ok(())
    }

    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
        let place = index.checked_sub(1).ok_or(HpackError::BadIndex)?;
        if let Some(field) = STATIC_FIELDS.get(place) {
            return Ok(*field);
        }
        self.table
            .get(place - STATIC_FIELDS.len())
            .ok_or(HpackError::BadIndex)
    }

    /// Decodes a literal field, whose name and value are stored one after the other in `text`. Returns the length of
    /// the name.
    fn literal(&mut self, block: &mut &[u8], prefix_bits: u32) -> Result<usize, HpackError> {
        self.text.clear();
        match integer::read(block, prefix_bits)? {
            0 => string(block, &mut self.text)?,
            index => {
                let mut text = std::mem::take(&mut self.text);
                let found = self
                    .entry(index)
                    .map(|(name, _)| text.extend_from_slice(name));
                self.text = text;
                found?;
            }
        }
        let name_bytes = self.text.len();
        string(block, &mut self.text)?;
        Ok(name_bytes)
    }
}

/// Decodes a string and appends it to `out` (RFC 7541, section 5.2). The string is at most 8/5 times as long as its
/// encoded form, since the shortest Huffman code has 5 bits.
fn string(block: &mut &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_huffman = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::read(block, 7)?;
    let (bytes, rest) = block
        .split_at_checked(length)
        .ok_or(HpackError::Truncated)?;
    *block = rest;
    if is_huffman {
        huffman::decode(bytes, out)
    } else {
        out.extend_from_slice(bytes);
        Ok(())
    }
}
