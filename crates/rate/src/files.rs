//! Kernels for small files, from creation to deletion. One kernel uses only the page cache, the other also syncs the
//! files to disk.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::kernel::{Failed, Threaded, Work};

/// Size of each file that the kernels write. [bytes]
const SIZE: usize = 16 << 10;

/// Work of one thread: creates, writes, reads, renames and deletes files in a separate folder. If requested, the files
/// are also synced to disk.
pub struct Files {
    folder: PathBuf,
    synced: bool,
    number: u64,
    content: Vec<u8>,
}

impl Files {
    /// Creates the work of one thread, with a new folder for its files.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(folder: PathBuf, synced: bool) -> Result<Self, Failed> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self {
            folder,
            synced,
            number: 0,
            content: (0..SIZE).map(|index| (index % 251) as u8).collect(),
        })
    }

    fn cycle(&mut self) -> std::io::Result<Vec<u8>> {
        self.number += 1;
        self.content[..8].copy_from_slice(&self.number.to_le_bytes());
        let (new, old) = (self.folder.join("new"), self.folder.join("old"));
        let mut file = fs::File::create(&new)?;
        file.write_all(&self.content)?;
        if self.synced {
            file.sync_all()?;
        }
        drop(file);
        let read = fs::read(&new)?;
        fs::rename(&new, &old)?;
        fs::remove_file(&old)?;
        Ok(read)
    }
}

impl Work for Files {
    fn batch(&mut self) -> Result<f64, Failed> {
        let read = self.cycle();
        let read = read.map_err(|error| format!("{}: {error}", self.folder.display()))?;
        if read == self.content {
            return Ok(1.0);
        }
        Err("the bytes read differ from the bytes written".to_owned())
    }

    /// Checks that no file is left in the folder after a measured execution.
    fn check(&mut self) -> Result<(), Failed> {
        let left = fs::read_dir(&self.folder).map_err(|error| error.to_string())?;
        match left.count() {
            0 => Ok(()),
            count => Err(format!("files that were not deleted: {count}")),
        }
    }
}

fn kernel(name: &'static str, folder: &Path, synced: bool) -> Threaded {
    let folder = folder.to_owned();
    Threaded::new(name, move |seat| {
        let own = folder.join(format!("{name}-{}-{}", seat.threads, seat.number));
        Files::new(own, synced)
    })
}

/// Returns the two kernels of this module, which create their files in `folder`.
#[must_use]
pub fn kernels(folder: &Path) -> Vec<Threaded> {
    vec![
        kernel("file_cycle", folder, false),
        kernel("file_sync", folder, true),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Folder;

    #[test]
    fn a_file_goes_all_its_way_and_nothing_is_left() {
        let folder = Folder::new("files").expect("a folder");
        for synced in [false, true] {
            let mut work = Files::new(folder.path().join("own"), synced).expect("work");
            assert_eq!(work.batch(), Ok(1.0));
            assert_eq!(work.batch(), Ok(1.0));
            assert_eq!(work.number, 2);
            work.check().expect("nothing is left");
        }
    }

    #[test]
    fn what_is_left_behind_and_a_folder_that_is_gone_are_told() {
        let folder = Folder::new("files-left").expect("a folder");
        let mut work = Files::new(folder.path().join("own"), false).expect("work");
        fs::write(folder.path().join("own/stray"), "x").expect("a file");
        assert_eq!(work.check().unwrap_err(), "files that were not deleted: 1");
        fs::remove_dir_all(folder.path().join("own")).expect("removed");
        assert!(work.batch().is_err());
    }
}
