//! Current speed of access to memory: the CPU time to access pages that were not used for a second.
//!
//! A virtual machine accesses its memory through page tables of its host. If the host takes pages away, or clears their
//! entries to find out which pages are in use, the next access to each page traps to the host. This takes tens of
//! microseconds in place of a fraction of one, and counts as CPU time of the program. Work in the first-level cache,
//! which [`crate::pace`] times, shows nothing of it. A thread of its own accesses the pages once a second, so slow
//! memory never delays the samples.
//!
//! The time does not show slow first accesses to newly allocated memory. If the host manages memory in pieces that are
//! larger than the pages of this machine, a piece stays fast while any page of it is in use, also by other programs.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::json::Json;
use crate::sys;

/// Number of pages that are accessed in each round. [1]
const PAGES: usize = 8;
/// Number of pages that are accessed first and not timed. These accesses fetch the thread's code and stack. [1]
const PAGES_BEFORE: usize = 2;
/// Additional distance between accesses, so that they use different sets of the caches. [byte]
const CACHE_LINE: usize = 64;
/// Size of the block around each page. The allocator takes blocks of this size from the system as they are, so only the
/// page that is accessed occupies memory. [byte]
const BLOCK: usize = 256 << 10;
/// Amount of memory that is allocated between two pages. [byte]
const BETWEEN: usize = 1 << 20;
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
            let mut pages = Pages::new();
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

/// Pages of memory in different places of the machine's memory.
struct Pages {
    blocks: Vec<Vec<u8>>,
}

impl Pages {
    /// Allocates the pages, each with other memory between it and the next. That memory is released again.
    ///
    /// The host may manage memory in pieces that are larger than a page, and a piece stays fast while any page of it is
    /// in use. Pages next to each other would all be in the same piece.
    fn new() -> Self {
        let mut pages = Self { blocks: Vec::new() };
        let mut between = Vec::new();
        for page in 0..PAGES_BEFORE + PAGES {
            between.push(vec![1_u8; BETWEEN]);
            pages.blocks.push(vec![0_u8; BLOCK]);
            // The system gives a page its place in memory at the first access.
            pages.access(page..page + 1);
        }
        black_box(&between);
        pages
    }

    /// Accesses each page once, and returns the mean CPU time of an access. [ns]
    fn time(&mut self) -> u64 {
        self.access(0..PAGES_BEFORE);
        black_box(sys::thread_cpu_ns());
        let before_ns = sys::thread_cpu_ns();
        self.access(PAGES_BEFORE..PAGES_BEFORE + PAGES);
        (sys::thread_cpu_ns() - before_ns) / PAGES as u64
    }

    /// Reads and writes one byte of each page, in the middle of its block.
    fn access(&mut self, pages: Range<usize>) {
        for page in pages {
            let byte = black_box(&mut self.blocks[page][BLOCK / 2 + page * CACHE_LINE]);
            *byte = byte.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::{PAGES, PAGES_BEFORE, Pages, RestedMemory};
    use crate::json::Json;

    #[test]
    fn one_byte_of_each_page_is_accessed() {
        let mut pages = Pages::new();
        pages.time();
        let changed: Vec<usize> = pages
            .blocks
            .iter()
            .map(|block| block.iter().filter(|&&byte| byte != 0).count())
            .collect();
        assert_eq!(changed, [1; PAGES_BEFORE + PAGES]);
        assert!(
            pages.blocks.iter().all(|block| block.contains(&2)),
            "each page was accessed when it was allocated, and then once"
        );
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
