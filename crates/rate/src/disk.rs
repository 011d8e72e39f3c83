//! Kernels that read and write the disk without the page cache: sequential accesses of 1 MiB and random accesses of 4
//! KiB.
//!
//! All threads share one file of fixed size, so that the required space does not depend on the number of CPUs. Every
//! block of 4 KiB begins with the number of the block, which is checked at each read.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use towtank_load::rng::Random;

use crate::kernel::{Failed, Seat, Threaded, Work};

/// Size of the file that the disk kernels read and write. [bytes]
pub const FILE_BYTES: u64 = 128 << 20;
const BLOCK: usize = 4 << 10;
const PIECE: usize = 1 << 20;

/// Memory with the alignment that direct access to the disk (`O_DIRECT`) requires.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Self {
        let bytes = vec![0; length + BLOCK];
        let start = bytes.as_ptr().align_offset(BLOCK);
        Self {
            bytes,
            start,
            length,
        }
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

/// Fills a buffer with the content that the file has at an offset. Each block starts with its number; random bytes,
/// which cannot be compressed, follow.
fn fill(memory: &mut [u8], offset: u64, random: &mut Random) {
    for word in memory.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    stamp(memory, offset);
}

fn stamp(memory: &mut [u8], offset: u64) {
    for (number, block) in (offset / BLOCK as u64..).zip(memory.chunks_exact_mut(BLOCK)) {
        block[..8].copy_from_slice(&number.to_le_bytes());
    }
}

fn is_stamped(memory: &[u8], offset: u64) -> bool {
    (offset / BLOCK as u64..)
        .zip(memory.chunks_exact(BLOCK))
        .all(|(number, block)| block[..8] == number.to_le_bytes())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_DIRECT)
        .open(path)
}

/// Creates the file and writes all its blocks.
fn make(path: &Path, size: u64) -> io::Result<()> {
    let file = open(path)?;
    let (mut memory, mut random) = (Aligned::new(PIECE), Random::from_seed(2));
    for offset in (0..size).step_by(PIECE) {
        fill(memory.get(), offset, &mut random);
        file.write_all_at(memory.get(), offset)?;
    }
    file.sync_all()
}

/// Kind of access to the file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Sequential writes of 1 MiB each.
    Write,
    /// Sequential reads of 1 MiB each.
    Read,
    /// Writes of 4 KiB each at random offsets.
    WriteAnywhere,
    /// Reads of 4 KiB each at random offsets.
    ReadAnywhere,
}

/// The accesses of one thread to the file, without the page cache.
pub struct Direct {
    access: Access,
    file: File,
    /// Offset in the file at which the sequential accesses of this thread begin. Random accesses use the whole file.
    /// [bytes]
    begin: u64,
    end: u64,
    place: u64,
    memory: Aligned,
    random: Random,
}

impl Direct {
    fn new(path: &Path, access: Access, seat: Seat, size: u64) -> Result<Self, Failed> {
        let anywhere = matches!(access, Access::WriteAnywhere | Access::ReadAnywhere);
        let pieces = (size / PIECE as u64 / seat.threads as u64).max(1) * PIECE as u64;
        let begin = if anywhere {
            0
        } else {
            pieces * seat.number as u64 % size
        };
        let mut memory = Aligned::new(if anywhere { BLOCK } else { PIECE });
        let mut random = Random::from_seed(3 + seat.number as u64);
        fill(memory.get(), begin, &mut random);
        Ok(Self {
            access,
            file: open(path).map_err(|error| failed(&error))?,
            begin,
            end: if anywhere { size } else { begin + pieces },
            place: begin,
            memory,
            random,
        })
    }

    /// Returns the offset in the file of the next access.
    fn next(&mut self) -> u64 {
        match self.access {
            Access::WriteAnywhere | Access::ReadAnywhere => {
                self.random.below(self.end / BLOCK as u64) * BLOCK as u64
            }
            Access::Write | Access::Read => {
                let place = self.place;
                self.place += PIECE as u64;
                if self.place >= self.end {
                    self.place = self.begin;
                }
                place
            }
        }
    }
}

fn failed(error: &io::Error) -> Failed {
    if error.raw_os_error() == Some(libc::EINVAL) {
        return "the file system does not support access that bypasses the page cache (O_DIRECT)"
            .to_owned();
    }
    format!("access to the disk failed: {error}")
}

impl Work for Direct {
    fn batch(&mut self) -> Result<f64, Failed> {
        let offset = self.next();
        let memory = self.memory.get();
        match self.access {
            Access::Write | Access::WriteAnywhere => {
                stamp(memory, offset);
                self.file
                    .write_all_at(memory, offset)
                    .map_err(|error| failed(&error))?;
            }
            Access::Read | Access::ReadAnywhere => {
                self.file
                    .read_exact_at(memory, offset)
                    .map_err(|error| failed(&error))?;
                if !is_stamped(memory, offset) {
                    return Err(format!(
                        "the disk returned a wrong block at offset {offset}"
                    ));
                }
            }
        }
        Ok(match self.access {
            Access::Write | Access::Read => PIECE as f64,
            Access::WriteAnywhere | Access::ReadAnywhere => 1.0,
        })
    }
}

/// The file that the four disk kernels share. The first kernel that runs creates it.
struct Shared {
    path: PathBuf,
    size: u64,
    made: OnceLock<Result<(), Failed>>,
}

/// Returns the four disk kernels, which share one file of `size` bytes in `folder`.
#[must_use]
pub fn kernels(folder: &Path, size: u64) -> Vec<Threaded> {
    let shared = Arc::new(Shared {
        path: folder.join("direct.dat"),
        size,
        made: OnceLock::new(),
    });
    let kernel = |name, access| {
        let shared = Arc::clone(&shared);
        Threaded::new(name, move |seat| {
            let make = || make(&shared.path, shared.size).map_err(|error| failed(&error));
            shared.made.get_or_init(make).clone()?;
            Direct::new(&shared.path, access, seat, shared.size)
        })
    };
    vec![
        kernel("disk_write", Access::Write),
        kernel("disk_read", Access::Read),
        kernel("disk_write_4k", Access::WriteAnywhere),
        kernel("disk_read_4k", Access::ReadAnywhere),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Folder;

    const SIZE: u64 = 4 << 20;
    const ALONE: Seat = Seat {
        number: 0,
        threads: 1,
    };

    /// Creates a test file in the folder of this crate. The folder for temporary files is often in memory and not on a
    /// disk.
    fn file(name: &str) -> (Folder, PathBuf) {
        let folder = Folder::within(Path::new(env!("CARGO_MANIFEST_DIR")), name).expect("a folder");
        let path = folder.path().join("file");
        make(&path, SIZE).expect("a file");
        (folder, path)
    }

    #[test]
    fn memory_is_aligned() {
        let mut memory = Aligned::new(PIECE);
        assert_eq!(memory.get().as_ptr().align_offset(BLOCK), 0);
        assert_eq!(memory.get().len(), PIECE);
    }

    #[test]
    fn every_block_has_its_number_after_all_kinds_of_access() {
        let (_folder, path) = file("disk-blocks");
        for access in [
            Access::Write,
            Access::WriteAnywhere,
            Access::Read,
            Access::ReadAnywhere,
        ] {
            let mut work = Direct::new(&path, access, ALONE, SIZE).expect("work");
            let units: f64 = (0..9).map(|_| work.batch().expect("a batch")).sum();
            let anywhere = matches!(access, Access::WriteAnywhere | Access::ReadAnywhere);
            assert!((units - if anywhere { 9.0 } else { 9.0 * PIECE as f64 }).abs() < 0.5);
        }
        let content = std::fs::read(&path).expect("the file");
        assert_eq!(content.len() as u64, SIZE);
        assert!(is_stamped(&content, 0));
    }

    #[test]
    fn threads_in_a_row_have_parts_of_their_own() {
        let (_folder, path) = file("disk-parts");
        let places = |number| {
            let seat = Seat { number, threads: 2 };
            let mut work = Direct::new(&path, Access::Read, seat, SIZE).expect("work");
            (0..3).map(|_| work.next() >> 20).collect::<Vec<_>>()
        };
        assert_eq!((places(0), places(1)), (vec![0, 1, 0], vec![2, 3, 2]));
    }

    #[test]
    fn a_block_that_is_not_the_one_asked_for_is_reported() {
        let (_folder, path) = file("disk-wrong");
        std::fs::write(&path, vec![0xff; SIZE as usize]).expect("other content");
        let mut work = Direct::new(&path, Access::ReadAnywhere, ALONE, SIZE).expect("work");
        assert!(work.batch().unwrap_err().contains("wrong block"));
    }
}
