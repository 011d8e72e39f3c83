//! Starting and reaping processes, and noticing their end.

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

/// The command is not there or cannot be run.
#[derive(Debug)]
pub struct CannotStart {
    program: String,
    error: io::Error,
}

impl CannotStart {
    /// 127 when there is no such program, 126 when it cannot be run, as shells have it.
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

/// Starts the command in a session of its own, with no standard input, to die with this process.
pub fn start(command: &[String]) -> Result<Pid, CannotStart> {
    let guard = getpid();
    let mut prepared = Command::new(&command[0]);
    prepared.args(&command[1..]).stdin(Stdio::null());
    let in_child = move || -> io::Result<()> {
        setsid()?;
        SigSet::empty().thread_set_mask()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // A guard that died before the line above sends no signal any more.
        if getppid() == guard {
            Ok(())
        } else {
            Err(Errno::ESRCH.into())
        }
    };
    // SAFETY: between fork and exec the closure makes plain system calls only, and allocates nothing.
    unsafe { prepared.pre_exec(in_child) };
    match prepared.spawn() {
        // The handle is let go: this child is reaped with all the others.
        Ok(child) => Ok(Pid::from_raw(child.id().cast_signed())),
        Err(error) => Err(CannotStart {
            program: command[0].clone(),
            error,
        }),
    }
}

/// A descriptor that becomes readable when the process dies, if the kernel supports it (5.3 and later).
pub fn death_of(pid: Pid) -> Option<OwnedFd> {
    // SAFETY: the call takes two numbers, and gives a new descriptor or -1.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    // SAFETY: as above; nobody else owns the descriptor.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Reads the available bytes. Returns `true` if the stream is at its end. Call it only if there is input: it would
/// block.
pub fn drained_to_the_end(stream: BorrowedFd<'_>) -> bool {
    match read(stream, &mut [0; 4096]) {
        Ok(length) => length == 0,
        // A stream that cannot be read has ended.
        Err(errno) => !matches!(errno, Errno::EAGAIN | Errno::EINTR),
    }
}

/// A child that ended.
pub struct Reaped {
    pub pid: Pid,
    /// As shells have it: 128 + n if signal n ended it.
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

/// Returns `true` if any child is left. The reaper of all descendants has none only if no descendant is left: this is
/// known at once, while a look through `/proc` takes its time and may miss one that was just born.
pub fn any_left() -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::All, look) != Err(Errno::ECHILD)
}
