//! Starts and reaps processes, and detects their end.

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid, getppid, read, setsid};

/// Error: the command does not exist or cannot be executed.
#[derive(Debug)]
pub struct CannotStart {
    program: String,
    error: io::Error,
}

impl CannotStart {
    /// Returns the exit status that a shell would report: 127 if the program does not exist, 126 if it cannot be
    /// executed.
    pub fn exit_status(&self) -> u8 {
        if self.error.kind() == io::ErrorKind::NotFound {
            127
        } else {
            126
        }
    }
}

impl fmt::Display for CannotStart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot start {}: {}", self.program, self.error)
    }
}

/// Starts the command in a separate session without standard input. The kernel kills the command when this process
/// dies.
pub fn start(command: &[String]) -> Result<Pid, CannotStart> {
    let guard = getpid();
    let mut prepared = Command::new(&command[0]);
    prepared.args(&command[1..]).stdin(Stdio::null());
    let in_child = move || -> io::Result<()> {
        setsid()?;
        SigSet::empty().thread_set_mask()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // If the guard died before the call of `prctl`, the kernel sends no signal. Therefore the child checks here
        // whether the guard is still its parent.
        if getppid() == guard {
            Ok(())
        } else {
            Err(Errno::ESRCH.into())
        }
    };
    // SAFETY: between fork and exec, the closure only makes plain system calls and allocates nothing.
    unsafe { prepared.pre_exec(in_child) };
    match prepared.spawn() {
        // The handle is dropped, since this child is reaped together with all other children.
        Ok(child) => Ok(Pid::from_raw(child.id().cast_signed())),
        Err(error) => Err(CannotStart {
            program: command[0].clone(),
            error,
        }),
    }
}

/// Returns a descriptor that becomes readable when the process dies, if the kernel supports it (5.3 and later).
pub fn death_of(pid: Pid) -> Option<OwnedFd> {
    // SAFETY: the call takes two numbers, and returns a new descriptor or -1.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    // SAFETY: the descriptor was created by the call above, and has no other owner.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Reads the available bytes. Returns `true` at the end of the stream. Call this function only if input is available,
/// since it blocks otherwise.
pub fn drained_to_the_end(stream: BorrowedFd<'_>) -> bool {
    match read(stream, &mut [0; 4096]) {
        Ok(length) => length == 0,
        // If the stream cannot be read, it is treated as ended.
        Err(errno) => !matches!(errno, Errno::EAGAIN | Errno::EINTR),
    }
}

/// A child process that has ended and was reaped.
pub struct Reaped {
    pub pid: Pid,
    /// Exit status that a shell would report: 128 + n if signal n ended the process.
    pub exit_status: u8,
}

/// Reaps one child, if any has ended.
pub fn reap() -> Option<Reaped> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, status)) => {
                return Some(Reaped {
                    pid,
                    exit_status: status as u8,
                });
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) => {
                return Some(Reaped {
                    pid,
                    exit_status: 128 + signal as u8,
                });
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Returns `true` if any descendant of this process remains. Orphaned descendants become children of this process, so a
/// check for children is sufficient. A search of `/proc` would be slower, and could miss a process that was just
/// started.
pub fn any_left() -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::All, look) != Err(Errno::ECHILD)
}
