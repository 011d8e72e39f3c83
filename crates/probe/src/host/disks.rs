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

/// Columns of a line of `/proc/diskstats` from the fourth on. Four columns describe reads, and four describe writes:
/// number, merged requests, sectors, and time [ms]. The last three are the requests in progress, the busy time [ms],
/// and the queued time [ms].
type Columns = [u64; 11];

/// Properties of a device that are read from sysfs.
#[derive(Debug)]
struct Known {
    name: Vec<u8>,
    whole: bool,
    /// Columns of the device at its last examination, and `true` if it consists of other devices or of a file.
    stacked: Option<(Columns, bool)>,
}

/// Writes the counters of whole devices. Remembers which names belong to whole devices, and which idle devices are
/// stacked.
#[derive(Debug)]
pub struct Disks {
    block: PathBuf,
    known: Vec<Known>,
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
            let mut columns: Columns = [0; 11];
            let mut count = 0;
            for (column, field) in columns.iter_mut().zip(fields) {
                let Some(number) = text::number(field) else {
                    break;
                };
                *column = number;
                count += 1;
            }
            let moved = columns[0] + columns[4] > 0;
            if count != columns.len() || (!moved && often_unused(name)) {
                continue;
            }
            if let Some(stacked) = self.look(name, &columns) {
                write_disk(name, &columns, stacked, json);
            }
        }
        json.end_object();
    }

    /// Returns `true` if a whole device consists of other devices or of a file on a disk; `None` if the name does not
    /// belong to a whole device.
    ///
    /// A device is examined again only if it has transferred data since its last examination, which saves six system
    /// calls. If a loop device gets another file, the kernel reads this file at once, so the change is noticed.
    fn look(&mut self, name: &[u8], columns: &Columns) -> Option<bool> {
        let folder = self.block.join(file_name(name));
        let place = self.known.iter().position(|known| known.name == name);
        let place = place.unwrap_or_else(|| {
            let (name, whole) = (name.to_vec(), folder.exists());
            self.known.push(Known {
                name,
                whole,
                stacked: None,
            });
            self.known.len() - 1
        });
        let known = &mut self.known[place];
        if !known.whole {
            return None;
        }
        let idle = known.stacked.filter(|(before, _)| before == columns);
        let stacked = idle.map_or_else(|| is_stacked(&folder), |(_, stacked)| stacked);
        known.stacked = Some((*columns, stacked));
        Some(stacked)
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

fn write_disk(name: &[u8], columns: &Columns, stacked: bool, json: &mut Json) {
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

    #[test]
    fn a_device_is_looked_at_again_after_it_transferred_data() {
        let folder = std::env::temp_dir().join(format!("towtank-looked-{}", std::process::id()));
        let looped = folder.join("loop0/loop");
        fs::create_dir_all(&looped).expect("a folder");
        let mut disks = Disks::new(folder.clone());
        let mut stacked = |file: &str, reads: u64| {
            fs::write(looped.join("backing_file"), file).expect("a file");
            let mut json = Json::default();
            disks.write(
                format!("7 0 loop0 {reads} 0 8 1 5 0 16 1 0 2 2\n").as_bytes(),
                &mut json,
            );
            json.as_str().contains("\"stacked\":true")
        };
        let found = [
            stacked("/nowhere/to/be/seen\n", 5),
            stacked("/dev/shm\n", 5),
            stacked("/dev/shm\n", 6),
        ];
        fs::remove_dir_all(&folder).expect("our own folder");
        assert_eq!(found, [true, true, false]);
    }
}
