//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: shorter codes come first, and codes of the same length are in the order of their symbols. The
//! lengths therefore determine the code, and all tables are computed from them at compile time.

use super::HpackError;

/// Length of the Huffman code of each byte value. The last element belongs to the end-of-string symbol, which is never
/// sent. [bit]
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const END_OF_STRING: u16 = 256;
const SHORTEST: usize = 5;
const LONGEST: usize = 30;

/// Codes of up to this many bits are decoded by one table lookup. Most bytes in header fields have such short codes.
const QUICK_BITS: u32 = 10;

struct Tables {
    /// Huffman code of each symbol.
    codes: [u32; 257],
    /// Symbols, sorted by their codes.
    symbols: [u16; 257],
    /// Smallest code of each code length.
    first_code: [u32; LONGEST + 2],
    /// Position in `symbols` of the first symbol of each code length.
    first_place: [u16; LONGEST + 2],
    /// Decoding table, indexed by the next `QUICK_BITS` bits: a symbol and the length of its code. Both are zero if the
    /// code is longer than `QUICK_BITS`.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut made = Tables {
        codes: [0; 257],
        symbols: [0; 257],
        first_code: [0; LONGEST + 2],
        first_place: [0; LONGEST + 2],
        quick: [(0, 0); 1 << QUICK_BITS],
    };
    let (mut code, mut place, mut length) = (0_u32, 0_usize, SHORTEST);
    while length <= LONGEST {
        made.first_code[length] = code;
        made.first_place[length] = place as u16;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                made.codes[symbol] = code;
                made.symbols[place] = symbol as u16;
                if length <= QUICK_BITS as usize {
                    let spare = QUICK_BITS as usize - length;
                    let mut rest = 0;
                    while rest < 1 << spare {
                        made.quick[((code as usize) << spare) + rest] =
                            (symbol as u8, length as u8);
                        rest += 1;
                    }
                }
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    made.first_code[LONGEST + 1] = code;
    made.first_place[LONGEST + 1] = place as u16;
    made
}

/// Returns the length of the text in Huffman code. [B]
#[must_use]
pub fn encoded_bytes(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|byte| usize::from(LENGTHS[usize::from(*byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends the text in Huffman code to `out`.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    // The highest `held` bits of `bits` are not written yet; there are fewer than eight of them.
    let (mut bits, mut held) = (0_u64, 0_u32);
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        bits |= u64::from(TABLES.codes[usize::from(*byte)]) << (64 - length - held);
        held += length;
        while held >= 8 {
            out.push((bits >> 56) as u8);
            bits <<= 8;
            held -= 8;
        }
    }
    if held > 0 {
        // The last byte is padded with the beginning of the end-of-string code, which consists of ones.
        out.push((bits >> 56) as u8 | (0xff >> held));
    }
}

/// Decodes a text in Huffman code and appends it to `out`.
///
/// # Errors
/// [`HpackError::BadHuffman`]: the code contains the end-of-string symbol, or its padding is not up to seven
/// ones.
pub fn decode(code: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let start = out.len();
    // Reserves memory for the longest possible text, in which each symbol has the shortest code. The loop can then
    // store symbols without checking the capacity.
    out.resize(start + code.len() * 8 / SHORTEST + 1, 0);
    let length = decode_into(code, &mut out[start..]);
    out.truncate(start + length.unwrap_or(0));
    length.map(|_| ()).ok_or(HpackError::BadHuffman)
}

fn decode_into(code: &[u8], out: &mut [u8]) -> Option<usize> {
    // The highest `held` bits of `bits` are the next bits to decode. The lower bits are zero, or already contain bits
    // of the next input bytes, which will be read again.
    let (mut bits, mut held) = (0_u64, 0_u32);
    let (mut read, mut written) = (0, 0);
    loop {
        if let Some(next) = code.get(read..).and_then(|rest| rest.first_chunk::<8>()) {
            bits |= u64::from_be_bytes(*next) >> held;
            let taken = (63 - held) / 8;
            read += taken as usize;
            held += taken * 8;
        } else {
            while held <= 56 && read < code.len() {
                bits |= u64::from(code[read]) << (56 - held);
                read += 1;
                held += 8;
            }
        }
        // Unless the input is near its end, the held bits suffice for a code of any length.
        let (symbol, length) = next_symbol(bits);
        if length > held || symbol == END_OF_STRING {
            let is_padding = held < 8
                && read == code.len()
                && bits >> (64 - held.max(1)) == (1 << held.max(1)) - 1;
            return (held == 0 || is_padding).then_some(written);
        }
        out[written] = symbol as u8;
        written += 1;
        bits <<= length;
        held -= length;
        // Further short codes are decoded from the bits already held, without reading the input.
        while held >= QUICK_BITS {
            let (symbol, length) = TABLES.quick[(bits >> (64 - QUICK_BITS)) as usize];
            if length == 0 {
                break;
            }
            out[written] = symbol;
            written += 1;
            bits <<= length;
            held -= u32::from(length);
        }
    }
}

/// Decodes the first symbol in `bits`. Returns the symbol and the length of its code.
fn next_symbol(bits: u64) -> (u16, u32) {
    let (symbol, length) = TABLES.quick[(bits >> (64 - QUICK_BITS)) as usize];
    if length > 0 {
        return (u16::from(symbol), u32::from(length));
    }
    for length in QUICK_BITS as usize + 1..LONGEST {
        let code = (bits >> (64 - length)) as u32;
        // A code has this length (`length`) if it is smaller than the first code of the next length.
        if code < TABLES.first_code[length + 1] >> 1 {
            let place = usize::from(TABLES.first_place[length])
                + (code - TABLES.first_code[length]) as usize;
            return (TABLES.symbols[place], length as u32);
        }
    }
    let code = (bits >> (64 - LONGEST)) as u32;
    let place =
        usize::from(TABLES.first_place[LONGEST]) + (code - TABLES.first_code[LONGEST]) as usize;
    (TABLES.symbols[place], LONGEST as u32)
}
