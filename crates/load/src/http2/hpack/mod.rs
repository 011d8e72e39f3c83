//! HPACK: compresses header fields by tables that both peers keep (RFC 7541).
//!
//! [`Decoder`] accepts any bytes and keeps no more memory than the agreed size of the dynamic table. [`Encoder`] is
//! designed for requests that repeat. A field that never changes is encoded in advance ([`Constant`]). It is sent in
//! full once per connection, and later requests refer to it by one byte.

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

/// Default size of the dynamic table of either peer (RFC 9113, section 6.5.2). [B]
pub const DEFAULT_TABLE_BYTES: usize = 4096;

/// Overhead that counts as part of a field's size, in addition to its name and value (RFC 7541, section 4.1). [B]
pub const FIELD_OVERHEAD_BYTES: usize = 32;

/// Reason why a block of fields is malformed. The connection cannot be used afterwards, since the dynamic tables of
/// client and server differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpackError {
    /// The block ends in the middle of a field.
    Truncated,
    /// An integer that exceeds any possible length or index.
    BadInteger,
    /// An index for which the static and the dynamic table have no entry.
    BadIndex,
    /// An invalid Huffman code, or invalid padding after it.
    BadHuffman,
    /// A change of the table size that exceeds the agreed limit, or that does not precede all fields of its block.
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
