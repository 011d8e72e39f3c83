//! Lines with checksums. Each line consists of a CRC-32 in eight hexadecimal digits, a blank, a JSON document and a
//! line feed.

use std::io::{self, Write};

/// Writes documents to a stream. Each document takes one line and one system call, so if the process is killed, at
/// most the current line is lost.
pub struct LineWriter<'a> {
    stream: &'a mut dyn Write,
    line: Vec<u8>,
}

impl<'a> LineWriter<'a> {
    /// Creates a writer to this stream.
    pub fn new(stream: &'a mut dyn Write) -> Self {
        Self {
            stream,
            line: Vec::with_capacity(8192),
        }
    }

    /// Writes a document, which must not contain a line feed.
    ///
    /// # Errors
    ///
    /// Errors of the stream, such as a full disk, or a closed pipe.
    pub fn write(&mut self, document: &str) -> io::Result<()> {
        self.line.clear();
        writeln!(
            self.line,
            "{:08x} {document}",
            crc32fast::hash(document.as_bytes())
        )?;
        self.stream.write_all(&self.line)?;
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_zlib() {
        let mut out = Vec::new();
        LineWriter::new(&mut out)
            .write("{\"k\":1}")
            .expect("a vector takes everything");
        // The expected checksum is printed by python3 -c 'import zlib; print("%08x" % zlib.crc32(b"{\"k\":1}"))'.
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "1cabb40e {\"k\":1}\n"
        );
    }
}
