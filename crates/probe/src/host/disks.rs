//! `/proc/diskstats`, whole devices only.

use std::path::PathBuf;

use crate::json::Json;
use crate::text;

/// Unit of the sector columns, whatever the device's own sector size (Documentation/admin-guide/iostats.rst). [bytes]
const SECTOR_BYTES: u64 = 512;
const MILLISECOND_NS: u64 = 1_000_000;

/// Devices that exist in numbers without being used; shown once they have moved data.
const OFTEN_UNUSED: [&[u8]; 4] = [b"loop", b"ram", b"zram", b"nbd"];

/// Knows which names are whole devices.
#[derive(Debug)]
pub struct Disks {
    block: PathBuf,
    known: Vec<(Vec<u8>, bool)>,
}

impl Disks {
    /// Takes the folder in which the kernel lists whole devices, and only those: `/sys/block`.
    #[must_use]
    pub fn new(block: PathBuf) -> Self {
        Self {
            block,
            known: Vec::new(),
        }
    }

    /// Writes the object `disks`.
    ///
    /// Devices built from others (`dm-0`, `md0`) stand beside those they are built from: sums over all count twice.
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
                write_disk(name, &columns, json);
            }
        }
        json.end_object();
    }

    fn whole(&mut self, name: &[u8]) -> bool {
        if let Some((_, whole)) = self.known.iter().find(|(known, _)| known == name) {
            return *whole;
        }
        // sysfs writes the slash of names as `cciss/c0d0` as an exclamation mark.
        let whole = self
            .block
            .join(text::owned(name).replace('/', "!"))
            .exists();
        self.known.push((name.to_vec(), whole));
        whole
    }
}

fn often_unused(name: &[u8]) -> bool {
    OFTEN_UNUSED.iter().any(|prefix| name.starts_with(prefix))
}

/// Columns from the fourth of the line: reads, merged, sectors, ms, writes, merged, sectors, ms, now, ms busy, ms queued.
fn write_disk(name: &[u8], columns: &[u64; 11], json: &mut Json) {
    json.object(&text::owned(name));
    json.count("read_bytes_total", columns[2] * SECTOR_BYTES);
    json.count("write_bytes_total", columns[6] * SECTOR_BYTES);
    json.count("read_operations_total", columns[0]);
    json.count("write_operations_total", columns[4]);
    json.seconds("busy_s_total", columns[9] * MILLISECOND_NS);
    json.seconds("queue_s_total", columns[10] * MILLISECOND_NS);
    json.end_object();
}
