//! Driver for operations on the files below a folder.
//!
//! A session keeps files open until they are closed. Paths cannot leave the folder: the kernel resolves them below the
//! folder and refuses symbolic links (`openat2`, Linux 5.6).

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::sys::statfs::{
    BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC,
    XFS_SUPER_MAGIC, fstatfs,
};
use nix::unistd::{UnlinkatFlags, unlinkat};
use rustix::fs::{OFlags, ResolveFlags};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::answer::{Answer, Content, Failed, FailureKind, Meter};
use crate::clock::monotonic_ns;
use crate::digest::Digest;
use crate::executor::Call;
use crate::fresh::{Noise, beside};
use crate::operation::{FileAction, Operation, Task};
use crate::session::{Value, Working};

/// Size of the buffer through which files are read and written. [B]
const BLOCK_BYTES: usize = 1 << 20;

/// Alignment that direct input and output requires of memory and file offsets: a multiple of all sector sizes and of
/// the page size. [B]
const ALIGNMENT_BYTES: usize = 4096;

/// Size of the largest file that one operation reads or writes. [B]
const SIZE_CEILING: u64 = 1 << 40;

/// Largest read from the page cache that the load thread itself performs. The limit bounds the time for which the load
/// thread is blocked. [B]
const AT_ONCE_BYTES: u64 = 64 * 1024;

thread_local! {
    /// Memory for one block, with additional bytes so that the block can start at an aligned address.
    static SPACE: RefCell<Vec<u8>> = RefCell::new(vec![b'x'; BLOCK_BYTES + ALIGNMENT_BYTES]);
}

/// File systems on a local disk or in memory, by the type numbers of `statfs(2)`. On these file systems, opening a file
/// whose name and inode are cached does not wait.
const LOCAL: [FsType; 5] = [
    EXT4_SUPER_MAGIC,
    XFS_SUPER_MAGIC,
    BTRFS_SUPER_MAGIC,
    TMPFS_MAGIC,
    OVERLAYFS_SUPER_MAGIC,
];

struct Session {
    root: OwnedFd,
    direct: bool,
    is_local: bool,
    open: HashMap<Vec<u8>, File>,
}

/// Calls `act` with the aligned block of memory that belongs to this thread.
fn with_block<T>(act: impl FnOnce(&mut [u8]) -> T) -> T {
    SPACE.with_borrow_mut(|space| {
        let start = space.as_ptr().align_offset(ALIGNMENT_BYTES);
        act(&mut space[start..start + BLOCK_BYTES])
    })
}

/// Opens a session for the folder `root`.
///
/// # Errors
///
/// A failure of the kind `connect`, if the folder does not exist.
pub(crate) fn open(root: &Path, direct: bool) -> Result<Box<dyn Working>, Failed> {
    let folder = File::open(root).and_then(|file| {
        if file.metadata()?.is_dir() {
            Ok(file)
        } else {
            Err(io::Error::from(Errno::ENOTDIR))
        }
    });
    let folder = folder.map_err(|error| {
        let why = Errno::from_raw(error.raw_os_error().unwrap_or(0)).desc();
        let text = format!(
            "the folder cannot be opened, {why}: is its path right, and may this user read it?"
        );
        Failed::new(FailureKind::Connect, text)
    })?;
    let about = fstatfs(&folder);
    Ok(Box::new(Session {
        root: folder.into(),
        direct,
        is_local: about.is_ok_and(|about| LOCAL.contains(&about.filesystem_type())),
        open: HashMap::new(),
    }))
}

/// Splits a path into the path of its folder, if the path contains one, and the file name.
fn split(path: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(place) => (Some(&path[..place]), &path[place + 1..]),
        None => (None, path),
    }
}

/// Values that a call passes to a file operation.
struct Values<'a> {
    path: &'a [u8],
    offset: Option<u64>,
    size: Option<u64>,
    to: Option<&'a [u8]>,
}

/// Reason why an operation on a file failed, with the error of the operating system.
enum Trouble {
    /// The operating system refused the operation, and nothing was changed.
    Refused(io::Error),
    /// The file was replaced, but the replacement may be lost if the system crashes.
    Unsure(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(error) => Self::new(FailureKind::Refused, reason(&error)),
            Trouble::Unsure(error) => Self::new(FailureKind::Closed, reason(&error)),
        }
    }
}

fn invalid() -> Failed {
    Failed::new(FailureKind::Internal, "an invalid path, size or offset")
}

/// Returns `true` if the path has a valid form. The kernel then checks that the path stays in the folder.
fn is_path(path: &[u8]) -> bool {
    let parts = path.split(|byte| *byte == b'/');
    !path.is_empty()
        && !path.contains(&0)
        && parts.clone().all(|part| !part.is_empty() && part != b"..")
}

impl<'a> Values<'a> {
    fn new(values: &'a [Value]) -> Result<Self, Failed> {
        let [path, offset, size, to] = values else {
            return Err(invalid());
        };
        let number = |value: &Value| -> Result<Option<u64>, Failed> {
            let Some(bytes) = value else { return Ok(None) };
            let text = std::str::from_utf8(bytes).map_err(|_| invalid())?;
            let number: u64 = text.parse().map_err(|_| invalid())?;
            Some(number)
                .filter(|number| *number <= SIZE_CEILING)
                .map_or(Err(invalid()), |number| Ok(Some(number)))
        };
        let path = path.as_deref().unwrap_or_default();
        let to = to.as_deref();
        if !is_path(path) || to.is_some_and(|to| !is_path(to)) {
            return Err(invalid());
        }
        Ok(Self {
            path,
            offset: number(offset)?,
            size: number(size)?,
            to,
        })
    }
}

impl Session {
    fn beneath(&self, path: &[u8], flags: OFlag) -> nix::Result<OwnedFd> {
        let mode = if flags.contains(OFlag::O_CREAT) {
            Mode::from_bits_truncate(0o644)
        } else {
            Mode::empty()
        };
        let how = OpenHow::new()
            .flags(flags | OFlag::O_CLOEXEC)
            .mode(mode)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        openat2(&self.root, path, how)
    }

    /// Opens the folder of a path, and calls `act` with this folder and the file name of the path.
    fn in_folder<T>(
        &self,
        path: &[u8],
        act: impl FnOnce(BorrowedFd<'_>, &[u8]) -> nix::Result<T>,
    ) -> nix::Result<T> {
        let (folder, name) = split(path);
        match folder {
            None => act(self.root.as_fd(), name),
            Some(folder) => {
                let folder = self.beneath(folder, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
                act(folder.as_fd(), name)
            }
        }
    }

    fn begin(&mut self, path: &[u8], flags: OFlag) -> nix::Result<()> {
        let direct = if self.direct {
            OFlag::O_DIRECT
        } else {
            OFlag::empty()
        };
        let file = self.beneath(path, flags | direct | OFlag::O_RDWR)?;
        self.open.insert(path.to_vec(), File::from(file));
        Ok(())
    }

    /// Calls `act` with the file at a path. A file that is not open is opened for this operation only.
    fn with<T>(
        &mut self,
        path: &[u8],
        flags: OFlag,
        act: impl FnOnce(&File, &mut [u8]) -> io::Result<T>,
    ) -> io::Result<T> {
        if let Some(file) = self.open.get(path) {
            return with_block(|block| act(file, block));
        }
        let direct = if self.direct {
            OFlag::O_DIRECT
        } else {
            OFlag::empty()
        };
        let file = File::from(self.beneath(path, flags | direct)?);
        with_block(|block| act(&file, block))
    }

    /// Reads from the page cache; returns `None` if any part must come from the disk.
    fn read_cached(&self, values: &Values<'_>, meter: &mut Meter) -> Option<Answer> {
        let size = values.size.unwrap_or(AT_ONCE_BYTES + 1);
        if self.direct || size > AT_ONCE_BYTES + u64::from(values.size.is_none()) {
            return None;
        }
        let opened;
        let file = if let Some(file) = self.open.get(values.path) {
            file.as_fd()
        } else {
            opened = self.open_cached(values.path)?;
            opened.as_fd()
        };
        let from = values.offset.unwrap_or(0);
        let done = with_block(|block| {
            let mut done = 0;
            while done < size {
                let room = &mut [IoSliceMut::new(&mut block[..(size - done) as usize])];
                match preadv2(file, room, from + done, ReadWriteFlags::NOWAIT) {
                    Ok(0) => break,
                    Ok(count) => done += count as u64,
                    Err(_) => return None,
                }
            }
            // Without a size in the call, one byte more than the limit is requested. If this byte arrives, the file is
            // too long to be read in the load thread.
            (done <= AT_ONCE_BYTES).then_some(done)
        })?;
        if done > 0 {
            meter.first_byte_ns = Some(monotonic_ns());
            meter.bytes_in = done;
        }
        Some(Answer::default())
    }

    /// Opens a file if the kernel has the name and inode of the file in its cache; otherwise returns `None`.
    fn open_cached(&self, path: &[u8]) -> Option<OwnedFd> {
        if !self.is_local {
            return None;
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED;
        // Without `NONBLOCK`, the load thread would wait if the path is a pipe, or if another process holds a lease on
        // the file.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::openat2(&self.root, path, flags, rustix::fs::Mode::empty(), resolve).ok()
    }

    /// Creates a file with the complete content and waits until it is on disk.
    fn write_new(
        &mut self,
        path: &[u8],
        size: u64,
        noise: &mut Noise,
        digest: &mut Option<Digest>,
        meter: &mut Meter,
    ) -> io::Result<()> {
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY;
        self.with(path, flags, |file, block| {
            let mut done = 0;
            while done < size {
                let most = (size - done).min(block.len() as u64) as usize;
                let piece = &mut block[..most];
                noise.fill(piece);
                file.write_all_at(piece, done)?;
                if let Some(digest) = digest {
                    digest.update(piece);
                }
                done += most as u64;
                meter.bytes_out += most as u64;
            }
            file.sync_all()
        })
    }

    /// Renames a file. If a file with the new name exists, it is replaced.
    fn replace(&self, path: &[u8], to: &[u8]) -> nix::Result<()> {
        self.in_folder(path, |from, name| {
            self.in_folder(to, |into, new| renameat(from, name, into, new))
        })
    }

    /// Waits until the entries of the folder that contains the path are on disk.
    fn sync_folder(&self, path: &[u8]) -> io::Result<()> {
        let folder = split(path).0.unwrap_or(b".");
        let folder = self.beneath(folder, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        match File::from(folder).sync_all() {
            // `EINVAL` means that this file system has nothing to write to disk.
            Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => Ok(()),
            result => result,
        }
    }

    /// Replaces a file atomically: readers find either the complete previous file or the complete new file.
    fn put(
        &mut self,
        values: &Values<'_>,
        task: &Task,
        meter: &mut Meter,
        answer: &mut Answer,
    ) -> Result<(), Trouble> {
        let (new, number) = beside(split(values.path).0);
        let mut digest = task.keeps_content.then(Digest::default);
        let (size, mut noise) = (values.size.unwrap_or(0), Noise::new(number));
        let written = self
            .write_new(&new, size, &mut noise, &mut digest, meter)
            .and_then(|()| self.replace(&new, values.path).map_err(io::Error::from));
        if let Err(error) = written {
            let _ = self.in_folder(&new, |folder, name| {
                unlinkat(folder, name, UnlinkatFlags::NoRemoveDir)
            });
            return Err(error.into());
        }
        self.open.remove(values.path);
        self.sync_folder(values.path).map_err(Trouble::Unsure)?;
        answer.affected = size;
        answer.content = digest.as_ref().map(Content::from);
        Ok(())
    }

    fn read(
        &mut self,
        values: &Values<'_>,
        task: &Task,
        meter: &mut Meter,
        answer: &mut Answer,
    ) -> io::Result<()> {
        let is_whole = values.offset.is_none() && values.size.is_none();
        let mut digest = (task.keeps_content && is_whole).then(Digest::default);
        let (from, size) = (values.offset.unwrap_or(0), values.size.unwrap_or(u64::MAX));
        self.with(values.path, OFlag::O_RDONLY, |file, block| {
            let mut done = 0;
            while done < size {
                let most = (size - done).min(block.len() as u64) as usize;
                let count = file.read_at(&mut block[..most], from + done)?;
                if count == 0 {
                    break;
                }
                meter.first_byte_ns.get_or_insert_with(monotonic_ns);
                if let Some(digest) = &mut digest {
                    digest.update(&block[..count]);
                }
                done += count as u64;
                meter.bytes_in += count as u64;
            }
            Ok(())
        })?;
        answer.content = digest.as_ref().map(Content::from);
        Ok(())
    }

    fn write(&mut self, values: &Values<'_>, at_end: bool, meter: &mut Meter) -> io::Result<u64> {
        let size = values.size.unwrap_or(0);
        self.with(values.path, OFlag::O_WRONLY, |file, block| {
            let from = match values.offset {
                Some(offset) if !at_end => offset,
                _ if at_end => file.metadata()?.size(),
                _ => 0,
            };
            let mut done = 0;
            while done < size {
                let most = (size - done).min(block.len() as u64) as usize;
                let count = file.write_at(&block[..most], from + done)?;
                done += count as u64;
                meter.bytes_out += count as u64;
            }
            Ok(done)
        })
    }

    fn stat(&mut self, values: &Values<'_>, answer: &mut Answer) -> io::Result<()> {
        let file = File::from(self.beneath(values.path, OFlag::O_PATH)?);
        let about = file.metadata()?;
        let kind = if about.is_dir() { "folder" } else { "file" };
        answer.columns = ["size".to_owned(), "kind".to_owned()].into();
        let row = vec![
            Some(about.size().to_string().into_bytes()),
            Some(kind.as_bytes().to_vec()),
        ];
        answer.rows.push(row);
        answer.row_count = 1;
        Ok(())
    }

    fn list(&mut self, values: &Values<'_>, task: &Task, answer: &mut Answer) -> io::Result<()> {
        let folder = self.beneath(values.path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        answer.columns = ["name".to_owned()].into();
        let mut room_bytes = task.rows_bytes_at_most;
        for entry in std::fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))? {
            let name = entry?.file_name().into_encoded_bytes();
            answer.row_count += 1;
            answer.is_truncated |= task.keeps_rows && name.len() > room_bytes;
            if task.keeps_rows && !answer.is_truncated {
                room_bytes -= name.len();
                answer.rows.push(vec![Some(name)]);
            }
        }
        Ok(())
    }

    fn rename(&mut self, values: &Values<'_>) -> io::Result<()> {
        let to = values.to.unwrap_or_default();
        self.replace(values.path, to)?;
        if let Some(file) = self.open.remove(values.path) {
            self.open.insert(to.to_vec(), file);
        }
        Ok(())
    }

    fn act(
        &mut self,
        action: FileAction,
        values: &Values<'_>,
        task: &Task,
        meter: &mut Meter,
    ) -> Result<Answer, Trouble> {
        let mut answer = Answer {
            affected: 1,
            ..Answer::default()
        };
        match action {
            FileAction::Create => self.begin(values.path, OFlag::O_CREAT | OFlag::O_TRUNC)?,
            FileAction::Open => self.begin(values.path, OFlag::empty())?,
            FileAction::Close => drop(self.open.remove(values.path)),
            FileAction::Read => {
                answer.affected = 0;
                self.read(values, task, meter, &mut answer)?;
            }
            FileAction::Write => answer.affected = self.write(values, false, meter)?,
            FileAction::Append => answer.affected = self.write(values, true, meter)?,
            FileAction::Put => self.put(values, task, meter, &mut answer)?,
            FileAction::Sync => {
                self.with(values.path, OFlag::O_RDONLY, |file, _| file.sync_all())?;
            }
            FileAction::Stat => {
                answer.affected = 0;
                self.stat(values, &mut answer)?;
            }
            FileAction::List => {
                answer.affected = 0;
                self.list(values, task, &mut answer)?;
            }
            FileAction::Rename => self.rename(values)?,
            FileAction::MakeFolder => self.in_folder(values.path, |folder, name| {
                mkdirat(folder, name, Mode::from_bits_truncate(0o755))
            })?,
            FileAction::Delete => {
                self.open.remove(values.path);
                self.in_folder(values.path, |folder, name| {
                    unlinkat(folder, name, UnlinkatFlags::NoRemoveDir)
                })?;
            }
        }
        Ok(answer)
    }
}

impl Working for Session {
    /// Reads from the page cache, which needs no wait. Invalid values and errors give `None`, so that `perform` reports
    /// them.
    fn at_once(
        &mut self,
        task: &Task,
        call: &Call,
        meter: &mut Meter,
    ) -> Option<Result<Answer, Failed>> {
        let Operation::File {
            action: FileAction::Read,
        } = task.operation
        else {
            return None;
        };
        if task.keeps_content {
            return None;
        }
        let values = Values::new(&call.values).ok()?;
        self.read_cached(&values, meter).map(Ok)
    }

    fn perform(&mut self, task: &Task, call: &Call, meter: &mut Meter) -> Result<Answer, Failed> {
        let Operation::File { action } = &task.operation else {
            return Err(Failed::new(
                FailureKind::Internal,
                "the operation is not a file operation",
            ));
        };
        let values = Values::new(&call.values)?;
        let done = self.act(*action, &values, task, meter);
        done.map_err(Failed::from)
    }
}

/// Returns the symbolic name of a system error, such as `ENOENT`.
fn reason(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(
        || error.kind().to_string(),
        |number| format!("{:?}", Errno::from_raw(number)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_and_never_go_up() {
        for path in ["a", "a/b", "a..b/c.d", ".hidden"] {
            assert!(is_path(path.as_bytes()), "{path}");
        }
        for path in ["", "/a", "a//b", "a/", "..", "a/../b", "../a", "a\0b"] {
            assert!(!is_path(path.as_bytes()), "{path}");
        }
    }
}
