//! Linux interfaces that the standard library lacks, such as epoll with nanoseconds, CPU pinning and signals. This
//! module contains all unsafe code of the load engine. All pointers passed to the kernel refer to local variables that
//! outlive the call.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use towtank_drivers::Watch;

mod socket;

pub use socket::{Address, Socket, UNIX_PATH_BYTES};
pub use towtank_linux::{monotonic_ns, raise_open_files, thread_cpu_ns, wall_ns};

fn check(result: i64) -> io::Result<i64> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Resources that the process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode. [s]
    pub user_s: f64,
    /// CPU time in the kernel. [s]
    pub system_s: f64,
    /// Largest resident set size so far. [bytes]
    pub peak_rss_bytes: u64,
}

/// Reads the peak memory `VmHWM` of this process. The `ru_maxrss` of getrusage is not suitable: a process inherits its
/// value from the process that started it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the resources that the process has used so far.
#[must_use]
pub fn usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // Safety: `usage` is valid for writing. If the call fails, it contains zeros, which are a valid `rusage`.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Usage {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        peak_rss_bytes: peak_rss_bytes().unwrap_or(usage.ru_maxrss as u64 * 1024),
    }
}

/// Restricts the calling thread, and the threads that it creates later, to these CPUs.
///
/// # Errors
/// If none of these CPUs exists and may be used by the thread.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    // Safety: zeros are an empty CPU set, and plans allow only CPU numbers that fit into the set.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    check(i64::from(result)).map(|_| ())
}

/// Makes timers of the calling thread fire when they are due; otherwise the kernel adds up to 50 us of slack.
pub fn sharp_timers() {
    // Safety: the call takes only numbers. If the kernel refuses, timers are slightly late, which is visible in the
    // start lag.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}

/// Nice value of load threads. It gives them priority over other programs on their CPU. The processes of Towtank that
/// observe and control the run (probe and conductor) still get CPU time while load threads are busy.
const LOAD_THREAD_NICE: i32 = -5;

/// Time slice of load threads: 0.1 ms, the shortest that Linux accepts (the default is about 3 ms). Since Linux 6.12, a
/// thread that wakes preempts a thread with a longer slice immediately, rather than at the end of the longer slice.
const LOAD_THREAD_SLICE_NS: u64 = 100_000;

/// Makes the calling thread run as soon as it wakes, even if other programs (or the thread that writes the results) use
/// its CPU. If the process may not lower the nice value, only the time slice is shortened.
pub fn come_first() {
    if !schedule_as(LOAD_THREAD_NICE) {
        schedule_as(0);
    }
}

fn schedule_as(nice: i32) -> bool {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: LOAD_THREAD_SLICE_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // Safety: `attributes` is valid and states its size. If the kernel refuses, the thread keeps its priority; its
    // delays are visible in the start lag.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}

/// Returns the limit on the number of open files in a descriptor table; `None` if there is no limit.
#[must_use]
pub fn file_limit() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // Safety: `limit` is valid for writing.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    (known && limit.rlim_max != libc::RLIM_INFINITY).then_some(limit.rlim_max)
}

/// Gives the calling thread a separate table of open files: a copy of the table that it shared with the process. The
/// limit on open files then applies separately to this thread and the threads that it starts.
///
/// # Errors
/// If the system has no memory for the table, or forbids it.
pub fn own_files() -> io::Result<()> {
    // Safety: the calls take only numbers. Containers often forbid `unshare` but not `close_range`, which also copies
    // the table with this flag. It closes nothing, since all open descriptors are below its range.
    unsafe {
        if libc::unshare(libc::CLONE_FILES) == 0 {
            return Ok(());
        }
        let (first, last) = (libc::c_uint::MAX - 1, libc::c_uint::MAX);
        let flags = libc::CLOSE_RANGE_UNSHARE;
        check(libc::syscall(libc::SYS_close_range, first, last, flags)).map(|_| ())
    }
}

/// Returns the number of ports for outgoing connections; `None` if the system does not report it. This number limits
/// the connections from one address of this host to the same address and port.
#[must_use]
pub fn ports() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (last + 1).checked_sub(first)
}

/// Events that epoll reports for one file descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Number that was given when the descriptor was registered.
    pub data: u64,
    flags: u32,
}

impl Event {
    /// Returns `true` if a read would return bytes, the end of the stream, or an error.
    #[must_use]
    pub fn readable(self) -> bool {
        self.flags & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32
            != 0
    }

    /// Returns `true` if a write would accept bytes or return an error.
    #[must_use]
    pub fn writable(self) -> bool {
        self.flags & (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }

    /// Returns `true` if the peer has closed its sending direction, so that no more bytes will arrive.
    #[must_use]
    pub fn closed(self) -> bool {
        self.flags & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
}

/// An edge-triggered epoll instance.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    /// Creates an instance that reports at most `batch` events per call.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn new(batch: usize) -> io::Result<Self> {
        // Safety: the call takes only numbers. The returned descriptor has no other owner.
        let fd = unsafe {
            OwnedFd::from_raw_fd(
                check(i64::from(libc::epoll_create1(libc::EPOLL_CLOEXEC)))? as RawFd
            )
        };
        Ok(Self {
            fd,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; batch],
        })
    }

    /// Registers a descriptor, until it is closed, for all events. Since epoll is edge-triggered, a writable socket
    /// causes no events as long as no write finds the buffer full.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add(&self, file: &impl AsRawFd, data: u64) -> io::Result<()> {
        register(&self.fd, file.as_raw_fd(), data)
    }

    /// Returns a handle by which drivers can register their descriptors with this instance.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn registry(&self) -> io::Result<Registry> {
        self.fd.try_clone().map(Registry)
    }

    /// Waits for events for at most `timeout_ns`. Returns the number of events.
    ///
    /// # Errors
    /// Any error except an interruption by a signal.
    pub fn wait(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        // Safety: the buffer holds as many events as are requested; `timeout` is valid for the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                size_of::<libc::sigset_t>(),
            )
        };
        match check(result) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                self.wait_coarse(timeout_ns)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits in whole milliseconds, rounded up, on kernels before 5.11. Starts may then be late by up to a millisecond,
    /// which is visible in the start lag.
    fn wait_coarse(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let millis = timeout_ns.div_ceil(1_000_000).min(60_000) as libc::c_int;
        // Safety: the buffer holds as many events as are requested.
        let result = unsafe {
            let (events, count) = (self.events.as_mut_ptr(), self.events.len() as libc::c_int);
            libc::epoll_wait(self.fd.as_raw_fd(), events, count, millis)
        };
        match check(i64::from(result)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other.map(|count| count as usize),
        }
    }

    /// Returns the event with this index, from the last call of [`Epoll::wait`].
    #[must_use]
    pub fn event(&self, index: usize) -> Event {
        let event = self.events[index];
        Event {
            data: event.u64,
            flags: event.events,
        }
    }
}

/// Registers descriptors with an [`Epoll`]. Their events are reported to the owner of the `Epoll`.
#[derive(Debug)]
pub struct Registry(OwnedFd);

impl Watch for Registry {
    fn watch(&self, file: BorrowedFd<'_>, data: u64) -> io::Result<()> {
        register(&self.0, file.as_raw_fd(), data)
    }
}

fn register(epoll: &OwnedFd, file: RawFd, data: u64) -> io::Result<()> {
    let flags = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
    let mut event = libc::epoll_event {
        events: flags as u32,
        u64: data,
    };
    // Safety: `event` is valid for the call.
    let result =
        unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, file, &raw mut event) };
    check(i64::from(result)).map(|_| ())
}

/// Event descriptor by which one thread wakes another.
#[derive(Debug)]
pub struct Waker {
    fd: OwnedFd,
}

impl Waker {
    /// Creates a waker.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        // Safety: the call takes only numbers. The returned descriptor has no other owner.
        let fd = unsafe {
            let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
            OwnedFd::from_raw_fd(check(i64::from(libc::eventfd(0, flags)))? as RawFd)
        };
        Ok(Self { fd })
    }

    /// Wakes the thread that waits for this waker.
    pub fn wake(&self) {
        let one = 1_u64;
        // Safety: passes eight bytes of a valid local variable. An error is ignored: if the counter is full, the thread
        // has already been woken.
        unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Receives SIGINT and SIGTERM by a file descriptor. A process must create this value before it starts any thread, so
/// that the signals are blocked in all threads.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Blocks the signals and opens the descriptor.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn block() -> io::Result<Self> {
        // Safety: `set` is valid for writing and filled by `sigemptyset`; the descriptor is owned from here on.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let fd = check(i64::from(libc::signalfd(-1, &raw const set, flags)))?;
            Ok(Self {
                fd: OwnedFd::from_raw_fd(fd as RawFd),
            })
        }
    }

    /// Returns the number of signals since the last call. Signals of the same kind that arrive together count once.
    #[must_use]
    pub fn take(&self) -> usize {
        let mut count = 0;
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // Safety: the buffer has the size that is passed to the call.
        while unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) }
            == size as isize
        {
            count += 1;
        }
        count
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Waits until a descriptor can be read, for at most `timeout_ms`. Returns `true` for each descriptor that can be read.
///
/// # Errors
/// Any error except an interruption by a signal.
pub fn poll(files: &[RawFd], timeout_ms: u64) -> io::Result<Vec<bool>> {
    let mut waits: Vec<libc::pollfd> = files
        .iter()
        .map(|fd| libc::pollfd {
            fd: *fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let timeout = libc::c_int::try_from(timeout_ms).unwrap_or(libc::c_int::MAX);
    // Safety: the array has the length that is passed to the call.
    let result = unsafe { libc::poll(waits.as_mut_ptr(), waits.len() as libc::nfds_t, timeout) };
    match check(i64::from(result)) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(waits.iter().map(|wait| wait.revents != 0).collect()),
    }
}

/// Appends the readable bytes of standard input to `taken`. Returns `true` if it read any bytes, and `false` at the end
/// of the input or after an error.
pub fn read_input(taken: &mut Vec<u8>) -> bool {
    let mut bytes = [0_u8; 8192];
    // Safety: the buffer has the size that is passed to the call.
    let count = unsafe { libc::read(libc::STDIN_FILENO, bytes.as_mut_ptr().cast(), bytes.len()) };
    if count > 0 {
        taken.extend_from_slice(&bytes[..count as usize]);
    }
    count > 0
}
