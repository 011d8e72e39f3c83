//! Counters of `/proc/diskstats` for whole devices, without partitions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json::Json;
use crate::sys;
use crate::text;

/// Unit of the columns that count sectors. It does not depend on the sector size of the device
/// (Documentation/admin-guide/iostats.rst). [bytes]
const SECTOR_BYTES: u64 = 512;
const MILLISECOND_NS: u64 = 1_000_000;

/// Names of devices that often exist in large numbers without being used. Such a device is only reported after it has
/// transferred data.
const OFTEN_UNUSED: [&[u8]; 4] = [b"loop", b"ram", b"zram", b"nbd"];

/// Writes the counters of whole devices. Remembers which names belong to whole devices.
#[derive(Debug)]
pub struct Disks {
    block: PathBuf,
    known: Vec<(Vec<u8>, bool)>,
}

impl Disks {
    /// Creates the writer for the folder in which the kernel lists whole devices: `/sys/block`.
    #[must_use]
    pub fn new(block: PathBuf) -> Self {
        Self {
            block,
            known: Vec::new(),
        }
    }

    /// Writes the object `disks`.
    ///
    /// Devices that consist of other devices are included and marked as `stacked`, so that sums can leave them out.
    pub fn write(&mut self, content: &[u8], json: &mut Json) {
        json.object("disks");
        for line in text::lines(content) {
            let mut fields = text::fields(line).skip(2);
            let Some(name) = fields.next() else { continue };
            let mut columns = [0_u64; 11];
            let mut count = 0;
            for (column, field) in columns.iter_mut().zip(fields) {
                let Some(number) = text::number(field) else {
                    break;
                };
                *column = number;
                count += 1;
            }
            let moved = columns[0] + columns[4] > 0;
            if count == columns.len() && self.whole(name) && (moved || !often_unused(name)) {
                let folder = self.block.join(file_name(name));
                write_disk(name, &columns, is_stacked(&folder), json);
            }
        }
        json.end_object();
    }

    fn whole(&mut self, name: &[u8]) -> bool {
        if let Some((_, whole)) = self.known.iter().find(|(known, _)| known == name) {
            return *whole;
        }
        let whole = self.block.join(file_name(name)).exists();
        self.known.push((name.to_vec(), whole));
        whole
    }
}

fn often_unused(name: &[u8]) -> bool {
    OFTEN_UNUSED.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the name of the disk in sysfs, where an exclamation mark replaces the slash in names such as `cciss/c0d0`.
fn file_name(disk: &[u8]) -> String {
    text::owned(disk).replace('/', "!")
}

/// Returns `true` if this device consists of other devices, or of a file on a disk. Another device then counts the same
/// bytes.
///
/// A file in memory (tmpfs) is not on a disk. A file that is not visible to this process is assumed to be on a disk.
fn is_stacked(folder: &Path) -> bool {
    let built_from_disks =
        || fs::read_dir(folder.join("slaves")).is_ok_and(|mut entries| entries.next().is_some());
    match fs::read_to_string(folder.join("loop/backing_file")) {
        Ok(file) => !sys::is_in_memory(Path::new(file.trim_end_matches('\n'))),
        Err(_) => built_from_disks(),
    }
}

/// Writes the counters of a disk. `columns` are the columns of a line from the fourth on. For reads and then for
/// writes: number, merged, sectors, and time in ms. Then: requests in progress, time busy in ms, and time queued in ms.
fn write_disk(name: &[u8], columns: &[u64; 11], stacked: bool, json: &mut Json) {
    json.object(&text::owned(name));
    json.count("read_bytes_total", columns[2] * SECTOR_BYTES);
    json.count("write_bytes_total", columns[6] * SECTOR_BYTES);
    json.count("read_operations_total", columns[0]);
    json.count("write_operations_total", columns[4]);
    json.seconds("busy_s_total", columns[9] * MILLISECOND_NS);
    json.seconds("queue_s_total", columns[10] * MILLISECOND_NS);
    json.flag("stacked", stacked);
    json.end_object();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_built_from_another_is_stacked() {
        let folder = std::env::temp_dir().join(format!("towtank-stacked-{}", std::process::id()));
        let disk = |name: &str, part: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.join(part)).expect("a folder");
            path
        };
        let (plain, mapped) = (disk("vda", "slaves"), disk("dm-0", "slaves/vda"));
        let looped = disk("loop0", "loop");
        let found = |file: &str| {
            fs::write(looped.join("loop/backing_file"), file).expect("a file");
            is_stacked(&looped)
        };
        let on_disk = found("/nowhere/to/be/seen (deleted)\n");
        let in_memory = found("/dev/shm\n");
        let others = (is_stacked(&plain), is_stacked(&mapped));
        fs::remove_dir_all(&folder).expect("our own folder");
        assert_eq!((on_disk, in_memory, others), (true, false, (false, true)));
    }

    /// Loop devices without any request are left out. The counts of reads and writes are added, so that a device with
    /// as many writes as reads is in use.
    #[test]
    fn unused_loop_devices_are_left_out() {
        let folder = std::env::temp_dir().join(format!("towtank-unused-{}", std::process::id()));
        for name in ["loop0", "loop1", "loop2", "loop3", "loop4", "vda"] {
            fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        let lines = b"7 3 loop3 1 0 0 0 0 0 0 0 0 0 0\n7 4 loop4 0 0 0 0 1 0 0 0 0 0 0\n7 0 loop0 5 0 8 1 5 0 16 1 0 2 2\n7 1 loop1 0 0 0 0 0 0 0 0 0 0 0\n\
            7 2 loop2 0 0 0 0 3 0 8 1 0 1 1\n254 0 vda 0 0 0 0 0 0 0 0 0 0 0\n";
        let mut json = Json::default();
        Disks::new(folder.clone()).write(lines, &mut json);
        fs::remove_dir_all(&folder).expect("our own folder");
        let written = |name: &str| json.as_str().contains(&format!("\"{name}\""));
        let found = ["loop0", "loop1", "loop2", "loop3", "loop4", "vda"].map(written);
        assert_eq!(
            found,
            [true, false, true, true, true, true],
            "{}",
            json.as_str()
        );
    }
}
