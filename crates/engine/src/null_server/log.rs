//! A log with the arrival time of each request and the departure time of its answer, as a reference for load
//! generators.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Lines are buffered up to this length before they are written. [B]
const GATHERED_BYTES: usize = 64 << 10;

/// Writes one line per request: the times of arrival and answer by `CLOCK_MONOTONIC` in nanoseconds, separated by a
/// blank. Each thread writes whole lines to a clone of the file, so that only the lines of the same thread are in the
/// order of answers.
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
        // Formatting into memory cannot fail.
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
