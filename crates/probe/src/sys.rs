//! System calls that the standard library does not provide. This module contains all unsafe code of the crate.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use towtank_linux::{
    monotonic_ns, pin_thread, process_cpu_ns, raise_open_files, thread_cpu_ns, wall_ns,
};

/// Reason why waiting for the next sampling time ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The sampling time (deadline) was reached.
    Deadline,
    /// Standard input has data or has ended.
    Input,
    /// A signal requested the end of the probe.
    Signal,
}

/// Number of the file system type `tmpfs` (`linux/magic.h`, statfs(2)).
const TMPFS_MAGIC: libc::__fsword_t = 0x0102_1994;
const RAMFS_MAGIC: libc::__fsword_t = 0x8584_58f6;

static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn note_signal(_signal: libc::c_int) {
    ASKED_TO_END.store(true, Ordering::Relaxed);
}

/// Makes SIGTERM end [`wait_until`] with [`Wake::Signal`]. SIGINT does the same unless `ignore_interrupt` is set.
pub fn install_signals(ignore_interrupt: bool) {
    let note = note_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    let interrupt = if ignore_interrupt {
        libc::SIG_IGN
    } else {
        note
    };
    for (signal, action) in [(libc::SIGTERM, note), (libc::SIGINT, interrupt)] {
        // Safety: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, action) };
    }
}

fn configured(name: libc::c_int, usual: u64) -> u64 {
    // Safety: `sysconf` accepts any name.
    u64::try_from(unsafe { libc::sysconf(name) })
        .ok()
        .filter(|value| *value > 0)
        .unwrap_or(usual)
}

/// Returns the size of a memory page. [bytes]
#[must_use]
pub fn page_bytes() -> u64 {
    configured(libc::_SC_PAGESIZE, 4096)
}

/// Returns the number of clock ticks per second, the unit of CPU times in `/proc`. [1/s]
#[must_use]
pub fn clock_ticks() -> u64 {
    configured(libc::_SC_CLK_TCK, 100)
}

/// Returns the number of CPUs that are online on the host. [1]
#[must_use]
pub fn online_cpus() -> u64 {
    configured(libc::_SC_NPROCESSORS_ONLN, 1)
}

/// Returns `true` if a file is in memory, that is, on a file system of type `tmpfs` or `ramfs`. Returns `false` if the
/// file is not visible.
#[must_use]
pub fn is_in_memory(file: &Path) -> bool {
    let Ok(name) = CString::new(file.as_os_str().as_bytes()) else {
        return false;
    };
    let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // Safety: `name` ends with a zero byte and `about` is valid for writing. `about` is only read after the call has
    // succeeded.
    let kind = unsafe {
        if libc::statfs(name.as_ptr(), about.as_mut_ptr()) != 0 {
            return false;
        }
        about.assume_init().f_type
    };
    [TMPFS_MAGIC, RAMFS_MAGIC].contains(&kind)
}

/// Sleeps until `CLOCK_MONOTONIC` reaches `deadline_ns`, or until input or a signal arrives.
#[must_use]
pub fn wait_until(deadline_ns: u64, watch_input: bool) -> Wake {
    loop {
        if ASKED_TO_END.load(Ordering::Relaxed) {
            return Wake::Signal;
        }
        let remaining_ns = deadline_ns.saturating_sub(monotonic_ns());
        if remaining_ns == 0 {
            return Wake::Deadline;
        }
        let remaining = Duration::from_nanos(remaining_ns);
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(remaining.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: remaining.subsec_nanos().into(),
        };
        let mut input = libc::pollfd {
            fd: 0,
            events: libc::POLLIN,
            revents: 0,
        };
        let watched = libc::nfds_t::from(watch_input);
        // Safety: `input` is valid for `watched` (0 or 1) entries, and `timeout` for reading; no signal mask is given.
        let ready = unsafe {
            libc::ppoll(
                &raw mut input,
                watched,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        if ready > 0 {
            return Wake::Input;
        }
    }
}
