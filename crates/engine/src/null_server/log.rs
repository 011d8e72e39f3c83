//! A log of the arrival time of each request and the departure time of its response. It is the reference for the times
//! that load generators measure.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of bytes of log lines that are buffered before they are written to the file. [B]
const GATHERED_BYTES: usize = 64 << 10;

/// Writes one line per request: arrival time and response time by `CLOCK_MONOTONIC` [ns], separated by a blank.
///
/// Each thread writes its lines separately, so only the lines of one thread are in the order of the responses.
#[derive(Clone, Debug)]
pub struct Log {
    file: Arc<Mutex<File>>,
    lines: String,
}

impl Log {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path).map_err(|error| {
            io::Error::other(format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self {
            file: Arc::new(Mutex::new(file)),
            lines: String::new(),
        })
    }

    pub fn add(&mut self, arrival_ns: u64, answer_ns: u64) -> io::Result<()> {
        // Formatting into memory cannot fail, so the result is ignored.
        let _ = writeln!(self.lines, "{arrival_ns} {answer_ns}");
        if self.lines.len() >= GATHERED_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }
}
