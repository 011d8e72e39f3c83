//! Creates a small gzip file that decompresses to a large file.

use flate2::{Compress, Compression, FlushCompress, Status};

/// Length of one piece of the file before compression. [B]
const PIECE_BYTES: usize = 4 << 20;

/// Creates a gzip file that decompresses to `pieces` times 4 MiB of zeros. The file is about a thousandth as long.
///
/// Only one piece is compressed, and its compressed form is repeated. This is possible because a full flush ends the
/// piece at a byte boundary and resets the compression window.
pub fn gzip(pieces: usize) -> Vec<u8> {
    let zeros = vec![0; PIECE_BYTES];
    let piece = deflated(&zeros, FlushCompress::Full);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&zeros);
    let single = checksum.clone();
    (1..pieces).for_each(|_| checksum.combine(&single));

    // Header of a gzip file: magic number, deflate, no flags, no time, no extra flags, unknown system (RFC 1952,
    // section 2.3).
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    (0..pieces).for_each(|_| file.extend_from_slice(&piece));
    file.extend_from_slice(&deflated(&[], FlushCompress::Finish));
    file.extend_from_slice(&checksum.finalize().to_le_bytes());
    // The gzip format stores the decompressed length modulo 2^32.
    file.extend_from_slice(&((pieces * PIECE_BYTES) as u32).to_le_bytes());
    file
}

fn deflated(bytes: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut compress = Compress::new(Compression::best(), false);
    let mut out = Vec::with_capacity(bytes.len() / 500 + 1_024);
    loop {
        let taken = compress.total_in() as usize;
        let status = compress.compress_vec(&bytes[taken..], &mut out, flush);
        let done = compress.total_in() as usize == bytes.len() && out.len() < out.capacity();
        match status {
            Ok(Status::StreamEnd) => return out,
            Ok(_) if done && flush != FlushCompress::Finish => return out,
            _ => out.reserve(1_024),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn it_is_a_whole_gzip_file_a_thousandth_as_long() {
        let file = gzip(3);
        assert!(file.len() * 900 < 3 * PIECE_BYTES, "{} bytes", file.len());
        // At the end of the file, the decoder verifies the checksum and the length. Reading to the end thus tests both.
        let mut decoder = flate2::bufread::GzDecoder::new(file.as_slice());
        let mut buffer = vec![1; 1 << 20];
        let mut length = 0;
        loop {
            let read = decoder.read(&mut buffer).expect("a good file");
            if read == 0 {
                break;
            }
            assert!(buffer[..read].iter().all(|&byte| byte == 0));
            length += read;
        }
        assert_eq!(length, 3 * PIECE_BYTES);
    }
}
