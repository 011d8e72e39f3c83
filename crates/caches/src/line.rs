//! Splits a line of a CSV file into cells. A quoted cell must end in the line in which it begins.

use std::io::{self, BufRead};
use std::ops::Range;

/// Maximum length of a line of a trace. [byte]
pub const LINE_AT_MOST: usize = 65_536;
/// Byte order mark of UTF-8, which may precede the first line. Its bytes do not count towards `LINE_AT_MOST`.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A cell: its text, and its position in the line.
#[derive(Clone, Debug)]
struct Cell {
    text: Range<usize>,
    begin: usize,
}

/// The current line of a CSV file and its cells.
#[derive(Debug, Default)]
pub struct Line {
    bytes: Vec<u8>,
    /// Texts of the cells after the removal of quotes; used only if the line has quotes.
    unquoted: Vec<u8>,
    quoted: bool,
    cells: Vec<Cell>,
}

/// Position of an invalid quote, and the message about it.
pub struct Misquoted {
    /// Position of the quote in the line, in characters from 1.
    pub column: usize,
    /// The message: it states the violated requirement and what was found instead.
    pub message: &'static str,
}

impl Line {
    /// Reads a line without its line end. If the line is longer than `LINE_AT_MOST`, only its beginning is kept.
    /// Returns `false` at the end of the file.
    ///
    /// # Errors
    ///
    /// Errors of the source.
    pub fn read(&mut self, source: &mut impl BufRead) -> io::Result<bool> {
        self.bytes.clear();
        let mut some = false;
        loop {
            let part = match source.fill_buf() {
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', part);
            let length = end.unwrap_or(part.len());
            some |= !part.is_empty();
            let room = (LINE_AT_MOST + MARK.len() + 2).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&part[..length.min(room)]);
            let done = end.is_some() || part.is_empty();
            source.consume(length + usize::from(end.is_some()));
            if done {
                return Ok(some);
            }
        }
    }

    /// Removes the byte order mark from the start of the first line.
    pub fn skip_mark(&mut self) {
        if self.bytes.starts_with(MARK) {
            self.bytes.drain(..MARK.len());
        }
    }

    /// Returns the text of the line without blanks at its start and end.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.bytes.trim_ascii()
    }

    /// Returns the number of times that `byte` occurs in the line. [1]
    #[must_use]
    pub fn count(&self, byte: u8) -> usize {
        memchr::memchr_iter(byte, &self.bytes).count()
    }

    /// Returns the number of cells in the line. [1]
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Returns the text of a cell without blanks at its start and end.
    #[must_use]
    pub fn cell(&self, at: usize) -> &[u8] {
        let text = if self.quoted {
            &self.unquoted
        } else {
            &self.bytes
        };
        text[self.cells[at].text.clone()].trim_ascii()
    }

    /// Returns the position in the line at which a cell begins, in characters from 1.
    #[must_use]
    pub fn column(&self, at: usize) -> usize {
        self.character(self.cells[at].begin)
    }

    fn character(&self, byte: usize) -> usize {
        String::from_utf8_lossy(&self.bytes[..byte]).chars().count() + 1
    }

    /// Splits the line into cells.
    ///
    /// # Errors
    ///
    /// If quotes are invalid.
    pub fn split(&mut self, separator: u8) -> Result<(), Misquoted> {
        self.cells.clear();
        while self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        self.quoted = memchr::memchr(b'"', &self.bytes).is_some();
        if self.quoted {
            return self.split_quoted(separator);
        }
        let mut begin = 0;
        for end in memchr::memchr_iter(separator, &self.bytes).chain([self.bytes.len()]) {
            self.cells.push(Cell {
                text: begin..end,
                begin,
            });
            begin = end + 1;
        }
        Ok(())
    }

    fn split_quoted(&mut self, separator: u8) -> Result<(), Misquoted> {
        self.unquoted.clear();
        let mut at = 0;
        loop {
            let (begin, from) = (at, self.unquoted.len());
            if self.bytes.get(at) == Some(&b'"') {
                at = self.unquote(at)?;
                if self.bytes.get(at).is_some_and(|&byte| byte != separator) {
                    return Err(Misquoted {
                        column: self.character(at),
                        message: "must have a separator after the closing quote, got something else",
                    });
                }
            } else {
                let rest = &self.bytes[at..];
                let length = memchr::memchr(separator, rest).unwrap_or(rest.len());
                self.unquoted.extend_from_slice(&rest[..length]);
                at += length;
            }
            self.cells.push(Cell {
                text: from..self.unquoted.len(),
                begin,
            });
            if at >= self.bytes.len() {
                return Ok(());
            }
            at += 1;
        }
    }

    /// Reads a quoted text, in which two consecutive quotes stand for one quote. Returns the position after the closing
    /// quote.
    fn unquote(&mut self, begin: usize) -> Result<usize, Misquoted> {
        let mut at = begin + 1;
        while let Some(length) = memchr::memchr(b'"', &self.bytes[at..]) {
            self.unquoted
                .extend_from_slice(&self.bytes[at..at + length]);
            at += length + 1;
            if self.bytes.get(at) != Some(&b'"') {
                return Ok(at);
            }
            self.unquoted.push(b'"');
            at += 1;
        }
        Err(Misquoted {
            column: self.character(begin),
            message: "must end its quotes in the same line, got none at its end",
        })
    }
}
