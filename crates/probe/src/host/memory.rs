//! Values from `/proc/meminfo` and `/proc/vmstat`.

use crate::json::Json;
use crate::text;

const KIB: u64 = 1024;

/// Writes the current sizes of memory areas from `/proc/meminfo`.
pub fn write_meminfo(content: &[u8], json: &mut Json) {
    for (key, name) in [
        ("memory_total_bytes", "MemTotal"),
        ("memory_available_bytes", "MemAvailable"),
        ("memory_cached_bytes", "Cached"),
        ("memory_dirty_bytes", "Dirty"),
    ] {
        json.count(
            key,
            text::keyed(content, name).map(|kibibytes| kibibytes * KIB),
        );
    }
    let anonymous = text::keyed(content, "AnonPages").zip(text::keyed(content, "Shmem"));
    json.count(
        "memory_anonymous_bytes",
        anonymous.map(|(private, shared)| (private + shared) * KIB),
    );
}

/// Writes the paging counters from `/proc/vmstat`.
pub fn write_vmstat(content: &[u8], json: &mut Json) {
    for (key, name) in [
        ("swap_in_pages_total", "pswpin"),
        ("swap_out_pages_total", "pswpout"),
        ("page_faults_total", "pgfault"),
        ("major_page_faults_total", "pgmajfault"),
    ] {
        json.count(key, text::keyed(content, name));
    }
}
