//! Reads traces: CSV files with a header, line by line, in bounded memory. All faults are told, each with its place.

use std::io::{self, BufRead};
use std::ops::Range;

use serde::Serialize;

/// Names of the column of keys; that of sizes; that of times.
const KEY_NAMES: [&str; 6] = ["key", "path", "url", "file", "block", "page"];
const BYTES_NAMES: [&str; 3] = ["bytes", "size", "size_bytes"];
const TIME_NAMES: [&str; 3] = ["time", "time_s", "timestamp"];
/// Longest line. [byte]
const LINE_AT_MOST: usize = 65_536;
/// Largest size: whole numbers up to it are exact everywhere. [byte]
const BYTES_AT_MOST: u64 = 1 << 53;
/// Faults that are told one by one; the others are counted.
const TOLD_AT_MOST: usize = 100;

/// Something wrong in a trace.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    /// From 1; 0 for the whole.
    pub line: u64,
    /// From 1, in characters.
    pub column: usize,
    /// Column of the file.
    #[serde(rename = "where")]
    pub place: String,
    /// What must be, and what was got instead.
    pub message: String,
}

/// All faults of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Faults {
    /// The first ones.
    pub faults: Vec<Fault>,
    /// How many more there are. [1]
    pub more: u64,
}

impl Faults {
    /// A single one.
    #[must_use]
    pub fn one(fault: Fault) -> Self {
        Self {
            faults: vec![fault],
            more: 0,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    fn add(&mut self, fault: Fault) {
        if self.faults.len() < TOLD_AT_MOST {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

/// A cell: where its text is, and where it stands in the line.
#[derive(Clone, Debug)]
struct Cell {
    text: Range<usize>,
    begin: usize,
}

/// Places of the columns.
#[derive(Clone, Copy, Debug)]
struct Places {
    key: usize,
    bytes: Option<usize>,
    time: Option<usize>,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// What is referred to.
    pub key: &'a [u8],
    /// Its size; 0 without such a column. [byte]
    pub bytes: u64,
    /// When. [s]
    pub time: Option<f64>,
}

/// A trace that is being read.
pub struct Reader<R> {
    source: R,
    line: Vec<u8>,
    number: u64,
    /// Text of a line with quotes, without them.
    unquoted: Vec<u8>,
    quoted: bool,
    cells: Vec<Cell>,
    header: Vec<String>,
    separator: u8,
    places: Places,
    /// What was wrong so far.
    pub faults: Faults,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// If it is none of a trace.
    pub fn open(source: R) -> Result<Self, Faults> {
        let mut reader = Self {
            source,
            line: Vec::new(),
            number: 0,
            unquoted: Vec::new(),
            quoted: false,
            cells: Vec::new(),
            header: Vec::new(),
            separator: b',',
            places: Places {
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

    /// Whether rows have sizes.
    #[must_use]
    pub fn weighted(&self) -> bool {
        self.places.bytes.is_some()
    }

    /// Number of the line that was read last.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next row without a fault; nothing at the end.
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
                let text = if self.quoted {
                    &self.unquoted
                } else {
                    &self.line
                };
                let key = text[self.cells[self.places.key].text.clone()].trim_ascii();
                return Some(Row { key, bytes, time });
            }
        }
    }

    /// Adds a fault of this line.
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
        if self.line.starts_with(b"\x1f\x8b") {
            self.fault(
                1,
                "",
                "must be a CSV file, got a compressed one: unpack it first",
            );
            return;
        }
        let count = |separator: u8| self.line.iter().filter(|&&byte| byte == separator).count();
        // Where there is none of them, a comma: one column.
        for separator in [b',', b';', b'\t'] {
            if count(separator) > count(self.separator) {
                self.separator = separator;
            }
        }
        if !self.split() {
            return;
        }
        self.header = (0..self.cells.len()).map(|at| self.shown(at)).collect();
        let key = self.column("key", &KEY_NAMES);
        let (bytes, time) = (
            self.column("bytes", &BYTES_NAMES),
            self.column("time", &TIME_NAMES),
        );
        if let Some(key) = key {
            self.places = Places { key, bytes, time };
        } else if self.faults.is_empty() {
            let got = self.header.join(", ");
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

    /// Place of a column by its names; a fault where there are two.
    fn column(&mut self, what: &str, names: &[&str]) -> Option<usize> {
        let found: Vec<usize> = (0..self.header.len())
            .filter(|&at| names.contains(&self.header[at].to_lowercase().as_str()))
            .collect();
        if found.len() > 1 {
            let got: Vec<&str> = found.iter().map(|&at| self.header[at].as_str()).collect();
            let message = format!("must be one column, got {}", got.join(", "));
            self.fault(self.character(self.cells[found[1]].begin), what, &message);
        }
        found.first().copied()
    }

    /// Reads to the next line that has content; false at the end.
    fn content(&mut self) -> io::Result<bool> {
        while self.read_line()? {
            if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            let text = self.line.trim_ascii();
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

    /// Reads a line without its end; of one that is too long only the beginning is kept.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut some = false;
        loop {
            let part = match self.source.fill_buf() {
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', part);
            let length = end.unwrap_or(part.len());
            some |= !part.is_empty();
            let room = (LINE_AT_MOST + 4).saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..length.min(room)]);
            let done = end.is_some() || part.is_empty();
            self.source.consume(length + usize::from(end.is_some()));
            if done {
                self.number += u64::from(some);
                return Ok(some);
            }
        }
    }

    /// Splits the line into cells; a fault where quotes are wrong.
    fn split(&mut self) -> bool {
        self.cells.clear();
        while self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        self.quoted = memchr::memchr(b'"', &self.line).is_some();
        if self.quoted {
            return self.split_quoted();
        }
        let mut begin = 0;
        for end in memchr::memchr_iter(self.separator, &self.line).chain([self.line.len()]) {
            self.cells.push(Cell {
                text: begin..end,
                begin,
            });
            begin = end + 1;
        }
        true
    }

    fn split_quoted(&mut self) -> bool {
        self.unquoted.clear();
        let (mut at, length) = (0, self.line.len());
        loop {
            let (begin, from) = (at, self.unquoted.len());
            if self.line.get(at) == Some(&b'"') {
                at += 1;
                loop {
                    match (self.line.get(at), self.line.get(at + 1)) {
                        (Some(b'"'), Some(b'"')) => {
                            self.unquoted.push(b'"');
                            at += 2;
                        }
                        (Some(b'"'), _) => break,
                        (Some(&byte), _) => {
                            self.unquoted.push(byte);
                            at += 1;
                        }
                        (None, _) => {
                            let column = self.character(begin);
                            self.fault(
                                column,
                                "",
                                "must end its quotes in the same line, got none at its end",
                            );
                            return false;
                        }
                    }
                }
                at += 1;
                if at < length && self.line[at] != self.separator {
                    let column = self.character(at);
                    self.fault(
                        column,
                        "",
                        "must have a separator after the closing quote, got something else",
                    );
                    return false;
                }
            } else {
                while at < length && self.line[at] != self.separator {
                    self.unquoted.push(self.line[at]);
                    at += 1;
                }
            }
            self.cells.push(Cell {
                text: from..self.unquoted.len(),
                begin,
            });
            if at >= length {
                return true;
            }
            at += 1;
        }
    }

    /// Size and time of the line; nothing where something is wrong with it.
    fn values(&mut self) -> Option<(u64, Option<f64>)> {
        if !self.split() {
            return None;
        }
        if self.cells.len() != self.header.len() {
            let message = format!(
                "must have {} cells as the header has, got {} instead",
                self.header.len(),
                self.cells.len()
            );
            self.fault(1, "", &message);
            return None;
        }
        let before = self.faults.faults.len() as u64 + self.faults.more;
        if self.cell(self.places.key).is_empty() {
            self.wrong(self.places.key, "must be a key");
        }
        let bytes = self.places.bytes.map_or(0, |at| self.size(at));
        let time = self.places.time.map(|at| self.moment(at));
        let after = self.faults.faults.len() as u64 + self.faults.more;
        (before == after).then_some((bytes, time))
    }

    fn size(&mut self, at: usize) -> u64 {
        let text = self.cell(at);
        // Digits alone: `+1` and `1_000` are no sizes here.
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
        let text = std::str::from_utf8(self.cell(at)).ok();
        let value = text.and_then(|text| text.parse::<f64>().ok());
        match value.filter(|value| value.is_finite()) {
            Some(value) => value,
            None => {
                self.wrong(at, "must be a number of seconds");
                0.0
            }
        }
    }

    fn cell(&self, at: usize) -> &[u8] {
        let text = if self.quoted {
            &self.unquoted
        } else {
            &self.line
        };
        text[self.cells[at].text.clone()].trim_ascii()
    }

    fn shown(&self, at: usize) -> String {
        String::from_utf8_lossy(self.cell(at)).into_owned()
    }

    fn wrong(&mut self, at: usize, must: &str) {
        let text = self.shown(at);
        let got = match text.chars().count() {
            0 => "an empty cell".to_owned(),
            1..=60 => format!("'{text}'"),
            _ => format!("'{}...'", text.chars().take(57).collect::<String>()),
        };
        let (column, place) = (
            self.character(self.cells[at].begin),
            self.header[at].clone(),
        );
        self.fault(column, &place, &format!("{must}, got {got} instead"));
    }

    /// Column of a byte of the line, in characters from 1.
    fn character(&self, byte: usize) -> usize {
        String::from_utf8_lossy(&self.line[..byte]).chars().count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> (Vec<(String, u64, Option<f64>)>, Vec<String>) {
        let told = |faults: &Faults| -> Vec<String> {
            let line = |one: &Fault| {
                format!(
                    "{}:{}: {}: {}",
                    one.line, one.column, one.place, one.message
                )
            };
            faults.faults.iter().map(line).collect()
        };
        let mut reader = match Reader::open(text.as_bytes()) {
            Ok(reader) => reader,
            Err(faults) => return (Vec::new(), told(&faults)),
        };
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row() {
            let key = String::from_utf8_lossy(row.key).into_owned();
            rows.push((key, row.bytes, row.time));
        }
        (rows, told(&reader.faults))
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
        let one = |text: &str| rows(text).1;
        assert_eq!(
            one(""),
            ["1:1: : must have a header line and at least one row, got an empty file"]
        );
        assert_eq!(
            one("a,b\n1,2\n"),
            [
                "1:1: key: must be a column of the header (named one of key, path, url, file, block, page), got the columns a, b"
            ]
        );
        assert_eq!(
            one("key,path\n1,2\n"),
            ["1:5: key: must be one column, got key, path"]
        );
        assert!(one(&format!("key\n{}\n", "x".repeat(70_000)))[0].contains("at most 65536 bytes"));
    }

    #[test]
    fn faults_beyond_the_first_are_counted() {
        let text = format!("key,bytes\n{}", "a,x\n".repeat(150));
        let mut reader = Reader::open(text.as_bytes()).unwrap();
        assert!(reader.next_row().is_none());
        assert_eq!((reader.faults.faults.len(), reader.faults.more), (100, 50));
    }
}
