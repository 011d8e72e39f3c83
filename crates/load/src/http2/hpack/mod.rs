//! HPACK: compresses the fields of a head, with a table on both sides (RFC 7541).
//!
//! [`Decoder`] accepts any bytes and keeps no more than the agreed table. [`Encoder`] is designed for requests that
//! repeat: a field that never changes is prepared once ([`Constant`]), sent once per connection in full, and then takes
//! one byte per request.

mod decoder;
mod encoder;
pub mod huffman;
mod integer;
mod static_table;
mod table;

use std::fmt;

pub use decoder::Decoder;
pub use encoder::{Constant, Encoder, Name};
pub use integer::MOST_BYTES;
pub use static_table::{STATIC_FIELDS, find, find_name};

/// Size of the table of either side unless agreed otherwise (RFC 9113, section 6.5.2). [B]
pub const DEFAULT_TABLE_BYTES: usize = 4096;

/// Size of a field in a table or a list beyond its name and value (RFC 7541, section 4.1). [B]
pub const FIELD_OVERHEAD_BYTES: usize = 32;

/// Reason why a block of fields is malformed. The connection cannot be used afterwards, since the tables of both sides
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpackError {
    /// The block ends within a field.
    Truncated,
    /// An integer that exceeds any possible length or index.
    BadInteger,
    /// An index without an entry.
    BadIndex,
    /// An invalid code, or invalid padding.
    BadHuffman,
    /// A table size that exceeds the agreed limit, or that follows a field.
    BadTableSize,
}

impl fmt::Display for HpackError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Truncated => "the block ends within a field",
            Self::BadInteger => "a number is too long",
            Self::BadIndex => "an index without an entry",
            Self::BadHuffman => "a malformed Huffman code",
            Self::BadTableSize => "a table size that was not agreed",
        })
    }
}

impl std::error::Error for HpackError {}

#[cfg(test)]
mod tests;
