//! Reads traces from CSV files with a header, line by line and in bounded memory. Reports every fault with its
//! location.

use std::io::{self, BufRead};

use crate::faults::{Fault, Faults};
use crate::line::{LINE_AT_MOST, Line};

/// Accepted names of the columns of keys, sizes and times.
const KEY_NAMES: [&str; 6] = ["key", "path", "url", "file", "block", "page"];
const BYTES_NAMES: [&str; 3] = ["bytes", "size", "size_bytes"];
const TIME_NAMES: [&str; 3] = ["time", "time_s", "timestamp"];
/// Maximum size of a reference. Integers up to 2^53 are exact as floating-point numbers. [byte]
const BYTES_AT_MOST: u64 = 1 << 53;

/// Positions of the columns of keys, sizes and times in a row, from 0.
#[derive(Clone, Copy, Debug)]
struct Columns {
    key: usize,
    bytes: Option<usize>,
    time: Option<usize>,
}

/// A row of a trace, which describes one reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// Key that is referenced.
    pub key: &'a [u8],
    /// Size of the reference; 0 if the trace has no column of sizes. [byte]
    pub bytes: u64,
    /// Time of the reference; `None` if the trace has no column of times. [s]
    pub time: Option<f64>,
}

/// Reads a trace row by row.
pub struct Reader<R> {
    source: R,
    line: Line,
    number: u64,
    header: Vec<String>,
    separator: u8,
    places: Columns,
    /// Faults of the trace found so far.
    pub faults: Faults,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of a trace.
    ///
    /// # Errors
    ///
    /// If the source does not begin with the header of a trace.
    pub fn open(source: R) -> Result<Self, Faults> {
        let mut reader = Self {
            source,
            line: Line::default(),
            number: 0,
            header: Vec::new(),
            separator: b',',
            places: Columns {
                key: 0,
                bytes: None,
                time: None,
            },
            faults: Faults::default(),
        };
        let found = reader.content();
        match found {
            Ok(true) => reader.read_header(),
            Ok(false) => {
                reader.fault(
                    1,
                    "",
                    "must have a header line and at least one row, got an empty file",
                );
            }
            Err(error) => {
                reader.fault(
                    1,
                    "",
                    &format!("must be a file that can be read, got: {error}"),
                );
            }
        }
        if reader.faults.is_empty() {
            Ok(reader)
        } else {
            Err(reader.faults)
        }
    }

    /// Returns `true` if the trace has a column of sizes.
    #[must_use]
    pub fn weighted(&self) -> bool {
        self.places.bytes.is_some()
    }

    /// Returns the number of the current line, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next row without a fault, or `None` at the end of the trace. A read error is recorded as a fault and
    /// ends the trace.
    pub fn next_row(&mut self) -> Option<Row<'_>> {
        loop {
            match self.content() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.fault(
                        1,
                        "",
                        &format!("must be a file that can be read, got: {error}"),
                    );
                    return None;
                }
            }
            if let Some((bytes, time)) = self.values() {
                let key = self.line.cell(self.places.key);
                return Some(Row { key, bytes, time });
            }
        }
    }

    /// Adds a fault at a position in the current line.
    pub fn fault(&mut self, column: usize, place: &str, message: &str) {
        let fault = Fault {
            line: self.number.max(1),
            column,
            place: place.to_owned(),
            message: message.to_owned(),
        };
        self.faults.add(fault);
    }

    fn read_header(&mut self) {
        if self.line.text().starts_with(b"\x1f\x8b") {
            self.fault(
                1,
                "",
                "must be a CSV file, got a compressed one: unpack it first",
            );
            return;
        }
        // A header without any separator has only one column. The separator is then the comma by default.
        for separator in [b',', b';', b'\t'] {
            if self.line.count(separator) > self.line.count(self.separator) {
                self.separator = separator;
            }
        }
        if !self.split() {
            return;
        }
        self.header = (0..self.line.cells()).map(|at| self.shown(at)).collect();
        let key = self.column("key", &KEY_NAMES);
        let (bytes, time) = (
            self.column("bytes", &BYTES_NAMES),
            self.column("time", &TIME_NAMES),
        );
        if let Some(key) = key {
            self.places = Columns { key, bytes, time };
        } else if self.faults.is_empty() {
            let got = shortened(&self.header.join(", "));
            let names = KEY_NAMES.join(", ");
            self.fault(
                1,
                "key",
                &format!(
                    "must be a column of the header (named one of {names}), got the columns {got}"
                ),
            );
        }
    }

    /// Returns the position of the column whose name is in `names`. Records a fault if there are several such columns.
    fn column(&mut self, what: &str, names: &[&str]) -> Option<usize> {
        let found: Vec<usize> = (0..self.header.len())
            .filter(|&at| names.contains(&self.header[at].to_lowercase().as_str()))
            .collect();
        if found.len() > 1 {
            let got: Vec<&str> = found.iter().map(|&at| self.header[at].as_str()).collect();
            let message = format!("must be one column, got {}", got.join(", "));
            self.fault(self.line.column(found[1]), what, &message);
        }
        found.first().copied()
    }

    /// Reads lines up to the next line that is neither empty nor a comment (`#`). Returns `false` at the end of the
    /// file.
    fn content(&mut self) -> io::Result<bool> {
        while self.line.read(&mut self.source)? {
            self.number += 1;
            if self.number == 1 {
                self.line.skip_mark();
            }
            let text = self.line.text();
            if text.len() > LINE_AT_MOST {
                let message =
                    format!("must be a line of at most {LINE_AT_MOST} bytes, got a longer one");
                self.fault(1, "", &message);
            } else if !text.is_empty() && text[0] != b'#' {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn split(&mut self) -> bool {
        match self.line.split(self.separator) {
            Ok(()) => true,
            Err(wrong) => {
                self.fault(wrong.column, "", wrong.message);
                false
            }
        }
    }

    /// Returns the size and time in the current line; `None` if the line has a fault.
    fn values(&mut self) -> Option<(u64, Option<f64>)> {
        if !self.split() {
            return None;
        }
        if self.line.cells() != self.header.len() {
            let message = format!(
                "must have {} cells as the header has, got {} instead",
                self.header.len(),
                self.line.cells()
            );
            self.fault(1, "", &message);
            return None;
        }
        let before = self.faults.count();
        if self.line.cell(self.places.key).is_empty() {
            self.wrong(self.places.key, "must be a key");
        }
        let bytes = self.places.bytes.map_or(0, |at| self.size(at));
        let time = self.places.time.map(|at| self.moment(at));
        (before == self.faults.count()).then_some((bytes, time))
    }

    fn size(&mut self, at: usize) -> u64 {
        let text = self.line.cell(at);
        // Only digits are accepted: `+1` and `1_000` are faults, although other parsers accept them.
        let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit) && text.len() < 18;
        let value = text
            .iter()
            .take(if digits { text.len() } else { 0 })
            .fold(0_u64, |value, digit| 10 * value + u64::from(digit - b'0'));
        if !digits || value > BYTES_AT_MOST {
            let must = format!("must be a whole number of bytes from 0 to {BYTES_AT_MOST}");
            self.wrong(at, &must);
        }
        value
    }

    fn moment(&mut self, at: usize) -> f64 {
        let text = std::str::from_utf8(self.line.cell(at)).ok();
        let value = text.and_then(|text| text.parse::<f64>().ok());
        if let Some(value) = value.filter(|value| value.is_finite()) {
            value
        } else {
            self.wrong(at, "must be a number of seconds");
            0.0
        }
    }

    fn shown(&self, at: usize) -> String {
        String::from_utf8_lossy(self.line.cell(at)).into_owned()
    }

    fn wrong(&mut self, at: usize, must: &str) {
        let text = self.shown(at);
        let got = if text.is_empty() {
            "an empty cell".to_owned()
        } else {
            format!("'{}'", shortened(&text))
        };
        let (column, place) = (self.line.column(at), self.header[at].clone());
        self.fault(column, &place, &format!("{must}, got {got} instead"));
    }
}

/// Returns a text for display: unprintable characters are escaped, and a long text is truncated.
fn shortened(text: &str) -> String {
    let some: String = text.chars().take(57).flat_map(char::escape_debug).collect();
    if text.chars().nth(57).is_some() {
        format!("{some}...")
    } else {
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (String, u64, Option<f64>);

    fn rows(text: &str) -> (Vec<Row>, Vec<String>) {
        let messages = |faults: &Faults| -> Vec<String> {
            let line = |fault: &Fault| {
                format!(
                    "{}:{}: {}: {}",
                    fault.line, fault.column, fault.place, fault.message
                )
            };
            faults.faults.iter().map(line).collect()
        };
        let mut reader = match Reader::open(text.as_bytes()) {
            Ok(reader) => reader,
            Err(faults) => return (Vec::new(), messages(&faults)),
        };
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row() {
            let key = String::from_utf8_lossy(row.key).into_owned();
            rows.push((key, row.bytes, row.time));
        }
        (rows, messages(&reader.faults))
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let (found, faults) =
            rows("\u{feff}# made by hand\n\nTime;URL;Size\r\n1.5;/a,b;10\n2;/c;0\n");
        assert!(faults.is_empty(), "{faults:?}");
        let exact = [
            ("/a,b".to_owned(), 10, Some(1.5)),
            ("/c".to_owned(), 0, Some(2.0)),
        ];
        assert_eq!(found, exact);
    }

    #[test]
    fn quotes_keep_separators() {
        let (found, faults) = rows("key,bytes\n\"a,\"\"b\"\"\",3\nc,\"4\"\n");
        assert!(faults.is_empty(), "{faults:?}");
        let exact = [("a,\"b\"".to_owned(), 3, None), ("c".to_owned(), 4, None)];
        assert_eq!(found, exact);
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let text = "key,bytes,time\nä,-1,0\n,1,soon\na,1\nb,1.5,inf\n\"c,1,1\n\"d\"e,1,1\nf,9007199254740993,1\ng,1,1";
        let (found, faults) = rows(text);
        assert_eq!(found, [("g".to_owned(), 1, Some(1.0))]);
        let size = "must be a whole number of bytes from 0 to 9007199254740992";
        let exact = [
            format!("2:3: bytes: {size}, got '-1' instead"),
            "3:1: key: must be a key, got an empty cell instead".to_owned(),
            "3:4: time: must be a number of seconds, got 'soon' instead".to_owned(),
            "4:1: : must have 3 cells as the header has, got 2 instead".to_owned(),
            format!("5:3: bytes: {size}, got '1.5' instead"),
            "5:7: time: must be a number of seconds, got 'inf' instead".to_owned(),
            "6:1: : must end its quotes in the same line, got none at its end".to_owned(),
            "7:4: : must have a separator after the closing quote, got something else".to_owned(),
            format!("8:3: bytes: {size}, got '9007199254740993' instead"),
        ];
        assert_eq!(faults, exact);
    }

    #[test]
    fn what_is_no_trace_is_told() {
        let fault_of = |text: &str| rows(text).1;
        assert_eq!(
            fault_of(""),
            ["1:1: : must have a header line and at least one row, got an empty file"]
        );
        assert_eq!(
            fault_of("a,b\n1,2\n"),
            [
                "1:1: key: must be a column of the header (named one of key, path, url, file, block, page), got the columns a, b"
            ]
        );
        assert_eq!(
            fault_of("key,path\n1,2\n"),
            ["1:5: key: must be one column, got key, path"]
        );
        assert!(fault_of("\u{1}\u{7f}\n1\n")[0].ends_with("got the columns \\u{1}\\u{7f}"));
        assert!(
            fault_of(&format!("key\n{}\n", "x".repeat(70_000)))[0].contains("at most 65536 bytes")
        );
    }

    #[test]
    fn faults_beyond_the_first_are_counted() {
        let text = format!("key,bytes\n{}", "a,x\n".repeat(150));
        let mut reader = Reader::open(text.as_bytes()).unwrap();
        assert!(reader.next_row().is_none());
        assert_eq!((reader.faults.faults.len(), reader.faults.more), (100, 50));
    }
}
