//! Current speed of access to memory: the CPU time to access pages that were not used for a second.
//!
//! A virtual machine accesses its memory through page tables of its host. If the host takes pages away, or clears their
//! entries to find out which pages are in use, the next access to each page traps to the host. This takes tens of
//! microseconds in place of a fraction of one, and counts as CPU time of the program. Work in the first-level cache,
//! which [`crate::pace`] times, shows nothing of it. A thread of its own accesses the pages once a second, so slow
//! memory never delays the samples.
//!
//! The time does not show slow first accesses to newly allocated memory. If the host manages memory in pieces that are
//! larger than the pages of this machine, a piece stays fast while any page of it is in use, also by other programs. The
//! mean time is then lower than for pages in pieces that nothing else uses.

use std::hint::black_box;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use memmap2::{Advice, MmapMut};

use crate::json::Json;
use crate::sys;

/// Number of pages whose access is timed in each round. [1]
const PAGES: usize = 4;
/// Number of pages that are accessed first and not timed. These accesses fetch the thread's code and stack. [1]
const PAGES_BEFORE: usize = 2;
/// Additional distance between accesses, so that they use different sets of the caches. [byte]
const CACHE_LINE: usize = 64;
/// Memory between two timed pages. It is as large as the largest pieces in which hosts usually manage memory. [byte]
const BETWEEN: usize = 2 << 20;
/// Time for which the pages rest between two rounds.
const REST: Duration = Duration::from_secs(1);
/// Longest rest after which a time counts. A thread that gets no CPU for a while starts its round late. [ns]
const REST_AT_MOST_NS: u64 = 1_500_000_000;

/// Times accesses to pages of memory that were last used a second ago.
#[derive(Debug)]
pub struct RestedMemory {
    /// Mean CPU time of an access in the last round; 0 if there was no round since the last call of `write`. [ns]
    took_ns: Arc<AtomicU64>,
}

impl RestedMemory {
    /// Starts the thread that accesses the pages.
    #[must_use]
    pub fn start() -> Self {
        let took_ns = Arc::new(AtomicU64::new(0));
        let took = Arc::clone(&took_ns);
        let body = move || {
            // Without memory the samples lack this time.
            let Ok(mut pages) = Pages::new() else { return };
            let mut used_ns = sys::monotonic_ns();
            loop {
                thread::sleep(REST);
                let rested_ns = sys::monotonic_ns() - used_ns;
                let mean_ns = pages.time();
                used_ns = sys::monotonic_ns();
                if rested_ns <= REST_AT_MOST_NS {
                    took.store(mean_ns, Ordering::Relaxed);
                }
            }
        };
        // The thread cannot start if a limit on processes is reached. The samples then lack this time.
        let _ = thread::Builder::new()
            .name("rested-memory".into())
            .spawn(body);
        Self { took_ns }
    }

    /// Writes the mean CPU time of an access in the last round. It is left out if no round ended since the last call, or
    /// if the clock is too coarse to measure the time.
    pub fn write(&self, json: &mut Json) {
        let took_ns = self.took_ns.swap(0, Ordering::Relaxed);
        json.seconds("rested_page_s", (took_ns > 0).then_some(took_ns));
    }
}

/// Pages of memory, the timed ones in different places of the machine's memory.
struct Pages {
    /// The pages, each a mapping of its own, so the allocator of the process does not change.
    pages: Vec<MmapMut>,
}

impl Pages {
    /// Maps the pages, each timed page after other memory, which is released again when all pages have their places.
    ///
    /// The system usually takes pages from its free memory in order. Pages next to each other would be in the same piece
    /// of the host's memory, which stays fast while any page of it is in use.
    fn new() -> io::Result<Self> {
        let page_bytes = sys::page_bytes() as usize;
        let mut pages = Self { pages: Vec::new() };
        let mut between = Vec::new();
        for page in 0..PAGES_BEFORE + PAGES {
            if page >= PAGES_BEFORE {
                let mut other = MmapMut::map_anon(BETWEEN)?;
                // A huge page would leave the next small page in its place. A kernel without huge pages rejects this.
                let _ = other.advise(Advice::NoHugePage);
                // A page gets its place in memory at the first access.
                other
                    .iter_mut()
                    .step_by(page_bytes)
                    .for_each(|byte| *byte = 1);
                between.push(other);
            }
            let own = MmapMut::map_anon(page_bytes)?;
            let _ = own.advise(Advice::NoHugePage);
            pages.pages.push(own);
            pages.access(page..page + 1);
        }
        Ok(pages)
    }

    /// Accesses each page once, and returns the mean CPU time of an access to a timed page. [ns]
    fn time(&mut self) -> u64 {
        self.access(0..PAGES_BEFORE);
        black_box(sys::thread_cpu_ns());
        let before_ns = sys::thread_cpu_ns();
        self.access(PAGES_BEFORE..PAGES_BEFORE + PAGES);
        (sys::thread_cpu_ns() - before_ns) / PAGES as u64
    }

    /// Reads and writes one byte of each page.
    fn access(&mut self, pages: Range<usize>) {
        for page in pages {
            let byte = black_box(&mut self.pages[page][page * CACHE_LINE]);
            *byte = byte.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use memmap2::MmapMut;

    use super::{BETWEEN, PAGES, PAGES_BEFORE, Pages, RestedMemory};
    use crate::json::Json;
    use crate::sys;

    #[test]
    fn one_byte_of_each_page_is_accessed() {
        let mut pages = Pages::new().unwrap();
        pages.time();
        let changed: Vec<Vec<u8>> = pages
            .pages
            .iter()
            .map(|page| page.iter().copied().filter(|&byte| byte != 0).collect())
            .collect();
        // Each page was accessed when it was mapped, and then once.
        assert_eq!(changed, vec![vec![2]; PAGES_BEFORE + PAGES]);
    }

    /// Returns the place of a page in the machine's memory, counted in pages (`proc_pid_pagemap(5)`); None if this process
    /// may not see it.
    fn place(page: &MmapMut) -> Option<u64> {
        let mut entry = [0; 8];
        let number = page.as_ptr() as u64 / sys::page_bytes();
        let map = File::open("/proc/self/pagemap").ok()?;
        map.read_exact_at(&mut entry, number * 8).ok()?;
        let (entry, present) = (u64::from_le_bytes(entry), 1 << 63);
        Some(entry & ((1 << 55) - 1)).filter(|&place| entry & present != 0 && place != 0)
    }

    #[test]
    fn timed_pages_lie_in_different_pieces_of_memory() {
        let pages = Pages::new().unwrap();
        let places: Option<Vec<u64>> = pages.pages[PAGES_BEFORE..].iter().map(place).collect();
        let Some(places) = places else { return };
        let pieces: BTreeSet<u64> = places
            .iter()
            .map(|place| place * sys::page_bytes() / BETWEEN as u64)
            .collect();
        // Two pages may share a piece if the free memory of the machine is fragmented.
        assert!(pieces.len() > 1, "{places:?}");
    }

    fn written(memory: &RestedMemory) -> String {
        let mut json = Json::default();
        json.begin();
        memory.write(&mut json);
        json.end_object();
        json.as_str().to_owned()
    }

    #[test]
    fn a_time_is_written_once() {
        let memory = RestedMemory {
            took_ns: Arc::new(AtomicU64::new(2500)),
        };
        assert_eq!(written(&memory), r#"{"rested_page_s":0.0000025}"#);
        assert_eq!(written(&memory), "{}");
    }

    #[test]
    fn the_thread_times_accesses_after_a_rest() {
        let memory = RestedMemory::start();
        assert_eq!(written(&memory), "{}", "the pages have not rested yet");
        // A thread that gets no CPU for half a second leaves its time out, and then measures again.
        let found = (0..60_000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            memory.took_ns.load(Ordering::Relaxed) > 0
        });
        assert!(found, "no access was timed");
    }
}
