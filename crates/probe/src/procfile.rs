//! A file of `/proc` that is opened once and read repeatedly.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Initial size of the buffer, enough for `/proc/vmstat` and the files of a process. [bytes]
const BUFFER_BYTES: usize = 8192;

/// Result of reading a file of `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The buffer contains the complete file.
    Whole,
    /// The process to which the file belongs has ended.
    Ended,
    /// The kernel does not provide the file, or this process may not read it.
    Unknown,
}

/// The buffer that all files of a sampler share.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// Returns the content of the last read.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A file of `/proc`, given by its path and, after the first read, by its descriptor.
///
/// A descriptor of a file under `/proc/PID` remains bound to that process. After the end of the process, reads fail
/// with ESRCH, even if the process id was reused. Therefore a reused process id does no harm.
#[derive(Debug)]
pub struct ProcFile {
    path: PathBuf,
    file: Option<File>,
    unknown: bool,
    is_one_record: bool,
}

impl ProcFile {
    /// Creates a file that is opened by the first read.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: None,
            unknown: false,
            is_one_record: false,
        }
    }

    /// Creates a file that the kernel produces as a whole, such as the files of a process.
    ///
    /// A read that does not fill the buffer then reaches the end of the file, so that no further read is needed to find
    /// the end. The kernel produces other files, such as lists of sockets, record by record, and may leave a part of
    /// the buffer unused.
    #[must_use]
    pub fn of_one_record(path: impl Into<PathBuf>) -> Self {
        Self {
            is_one_record: true,
            ..Self::new(path)
        }
    }

    /// Reads the file from its start into `buffer`.
    ///
    /// If a file is missing or may not be read, later calls do not try again, since this does not change while the
    /// probe runs.
    pub fn read(&mut self, buffer: &mut Buffer) -> Reading {
        buffer.length = 0;
        if self.unknown {
            return Reading::Unknown;
        }
        match self.fill(buffer) {
            Ok(()) => Reading::Whole,
            Err(error) => self.judge(&error),
        }
    }

    fn fill(&mut self, buffer: &mut Buffer) -> io::Result<()> {
        if buffer.bytes.is_empty() {
            buffer.bytes.resize(BUFFER_BYTES, 0);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        loop {
            if buffer.length == buffer.bytes.len() {
                buffer.bytes.resize(buffer.bytes.len() * 2, 0);
            }
            match file.read_at(&mut buffer.bytes[buffer.length..], buffer.length as u64) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    buffer.length += count;
                    if self.is_one_record && buffer.length < buffer.bytes.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn judge(&mut self, error: &io::Error) -> Reading {
        self.file = None;
        match error.raw_os_error() {
            Some(libc::ESRCH) => Reading::Ended,
            // A lack of file descriptors may be temporary, so the next read tries again. Other errors are permanent.
            Some(libc::EMFILE | libc::ENFILE) => Reading::Unknown,
            _ => {
                self.unknown = true;
                Reading::Unknown
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_are_unknown_not_zero() {
        let mut buffer = Buffer::default();
        let mut file = ProcFile::new("/proc/there-is-no-such-file");
        assert_eq!(file.read(&mut buffer), Reading::Unknown);
        assert!(buffer.text().is_empty());
    }

    #[test]
    fn a_kept_open_file_is_produced_anew() {
        let mut buffer = Buffer::default();
        let mut file = ProcFile::new("/proc/self/status");
        assert_eq!(file.read(&mut buffer), Reading::Whole);
        let first = buffer.text().to_vec();
        assert_eq!(file.read(&mut buffer), Reading::Whole);
        assert!(first.starts_with(b"Name:") && buffer.text().starts_with(b"Name:"));
    }

    #[test]
    fn a_longer_file_than_the_buffer_is_read_whole() {
        let path = std::env::temp_dir().join(format!("towtank-probe-long-{}", std::process::id()));
        let lengths = [3 * BUFFER_BYTES + 5, BUFFER_BYTES, 2 * BUFFER_BYTES];
        for (length, open) in lengths.into_iter().zip([
            ProcFile::new,
            ProcFile::of_one_record,
            ProcFile::of_one_record,
        ]) {
            std::fs::write(&path, vec![b'x'; length]).expect("a file in the temporary folder");
            let mut buffer = Buffer::default();
            let reading = open(path.clone()).read(&mut buffer);
            assert_eq!((reading, buffer.text().len()), (Reading::Whole, length));
        }
        std::fs::remove_file(&path).expect("the file is ours");
    }
}
