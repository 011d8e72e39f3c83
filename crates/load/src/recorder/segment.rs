//! Writes the result files of one load thread, `worker-WW.NNNN.ndjson`. Each file (segment) begins with a header line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::line::LineBuilder;
use super::writer::{Header, Stage, WriterFailed};

/// The segment (result file) that is being written, and the header line for the next segment.
#[derive(Debug)]
pub(super) struct Segments {
    folder: PathBuf,
    header: Header,
    segment_bytes: u64,
    part: usize,
    path: PathBuf,
    file: File,
    /// Length of the complete lines written to the current segment. [B]
    written: u64,
    line: LineBuilder,
}

impl Segments {
    /// Creates the folder of the results and the first segment in it.
    pub(super) fn create(
        folder: &Path,
        header: Header,
        segment_bytes: u64,
    ) -> Result<Self, WriterFailed> {
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        let (path, file) = open(folder, header.worker, 0)?;
        let folder = folder.to_path_buf();
        let mut segments = Self {
            folder,
            header,
            segment_bytes,
            part: 0,
            path,
            file,
            written: 0,
            line: LineBuilder::default(),
        };
        segments.write_header()?;
        Ok(segments)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line; begins a new segment if the current one is full.
    pub(super) fn append(&mut self, line: &[u8]) -> Result<(), WriterFailed> {
        if self.written >= self.segment_bytes {
            self.begin_next()?;
        }
        self.write(line)
    }

    /// Begins a new segment, whose header line states the changed load stages.
    pub(super) fn turn(&mut self, stages: Vec<Stage>, edits: usize) -> Result<(), WriterFailed> {
        (self.header.stages, self.header.edits) = (stages, edits);
        self.begin_next()
    }

    fn begin_next(&mut self) -> Result<(), WriterFailed> {
        self.sync()?;
        self.part += 1;
        (self.path, self.file) = open(&self.folder, self.header.worker, self.part)?;
        self.written = 0;
        self.write_header()
    }

    pub(super) fn sync(&mut self) -> Result<(), WriterFailed> {
        self.file
            .sync_all()
            .map_err(|error| failed(&self.path, &error))
    }

    fn write_header(&mut self) -> Result<(), WriterFailed> {
        let mut line = std::mem::take(&mut self.line);
        let result = self.write(line.header(&self.header, self.part));
        self.line = line;
        result
    }

    /// Writes a line with one system call. If the process is killed, only the last line can be incomplete.
    fn write(&mut self, line: &[u8]) -> Result<(), WriterFailed> {
        if let Err(error) = self.file.write_all(line) {
            // If the disk became full while the line was written, the incomplete line is removed. If that fails,
            // readers of the file skip the line.
            let _ = self.file.set_len(self.written);
            return Err(failed(&self.path, &error));
        }
        self.written += line.len() as u64;
        Ok(())
    }
}

fn open(folder: &Path, worker: usize, part: usize) -> Result<(PathBuf, File), WriterFailed> {
    let path = folder.join(format!("worker-{worker:02}.{part:04}.ndjson"));
    match OpenOptions::new().append(true).create_new(true).open(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(failed(&path, &error)),
    }
}

fn failed(path: &Path, error: &io::Error) -> WriterFailed {
    WriterFailed {
        path: path.to_path_buf(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, header};

    #[test]
    fn a_full_disk_is_named_and_leaves_whole_lines() {
        let folder = Folder::new("full-disk");
        let mut segments = Segments::create(folder.path(), header(0), u64::MAX).unwrap();
        segments.append(b"a line\n").unwrap();
        let whole = fs::read(segments.path()).unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let file = std::mem::replace(&mut segments.file, full);
        let failed = segments.append(b"another line\n").unwrap_err();
        assert_eq!(failed.path, folder.path().join("worker-00.0000.ndjson"));
        assert!(
            failed.to_string().contains("No space left on device"),
            "{failed}"
        );
        segments.file = file;
        assert_eq!(fs::read(segments.path()).unwrap(), whole);
        assert_eq!(segments.written, whole.len() as u64);
    }

    #[test]
    fn a_segment_that_is_there_is_never_overwritten() {
        let folder = Folder::new("overwrite");
        fs::write(folder.path().join("worker-03.0000.ndjson"), "precious").unwrap();
        let failed = Segments::create(folder.path(), header(3), u64::MAX).unwrap_err();
        assert!(failed.to_string().contains("exists"), "{failed}");
        assert_eq!(fs::read_to_string(failed.path).unwrap(), "precious");
    }
}
