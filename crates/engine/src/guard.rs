//! `towtank-engine guard`: runs a command and leaves none of the processes of the command behind.
//!
//! The guard is the reaper of all descendants of the command, including those that detached themselves from their
//! parents. It ends all of them in three cases: its standard input ends, its parent dies (because the conductor has
//! ended), or the command itself exits. The guard runs in a session of its own. Ctrl-C therefore reaches only the
//! conductor, which then shuts everything down in order.

mod descendants;
mod options;
mod processes;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getppid, setsid};

use descendants::Descendants;
use options::Options;
use processes::{CannotStart, Reaped};

/// Signals that the guard forwards to the command.
const FORWARDED: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];
/// Interval at which the guard searches for descendants that have not ended yet.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Limit on the wait for a process after `SIGKILL`. If the kernel cannot end the process (because of a faulty disk, for
/// example), the guard reports the process id and gives up.
const KILLED_AT_LATEST: Duration = Duration::from_secs(30);
/// Interval at which the guard checks that its parent is alive, if the kernel cannot report the death of the parent.
/// [ms]
const LOOK_AT_PARENT_EVERY: u16 = 500;

/// Runs the subcommand `guard`. Returns the exit status of the command, or 128 + n if signal n ended the command.
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(faults) => {
            for fault in faults {
                eprintln!("guard: {fault}");
            }
            eprintln!("{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match Guard::start(&options) {
        Ok(mut guard) => ExitCode::from(guard.watch()),
        Err(Fault::Cpus(fault)) => {
            eprintln!("guard: --cpus {fault}");
            ExitCode::from(2)
        }
        Err(Fault::Command(cannot_start)) => {
            eprintln!("guard: {cannot_start}");
            ExitCode::from(cannot_start.exit_status())
        }
        Err(Fault::System(errno)) => {
            eprintln!("guard: {}", errno.desc());
            ExitCode::from(70)
        }
    }
}

enum Fault {
    Cpus(String),
    Command(CannotStart),
    System(Errno),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

/// Event that wakes the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The conductor has ended or has closed the standard input of the guard, so all processes must be ended.
    LetGo,
    /// The command ended with this exit status; it is 128 + n if signal n ended the command.
    Ended(u8),
    Nothing,
}

struct Guard {
    signals: SignalFd,
    parent: Pid,
    /// Descriptor that becomes readable when the parent of the guard dies.
    parent_death: Option<OwnedFd>,
    watch_stdin: bool,
    grace: Duration,
    command: Pid,
    status: Option<u8>,
}

impl Guard {
    fn start(options: &Options) -> Result<Self, Fault> {
        // The guard detects the death of its parent only from this call on, so the call comes first.
        let parent = getppid();
        let parent_death = processes::death_of(parent);
        // `setsid` fails if the guard leads a process group, as it does when a shell starts it. The guard then stays in
        // the session of the terminal and receives the signals of Ctrl-C; `forward` handles this case.
        let _ = setsid();
        prctl::set_child_subreaper(true)?;
        let mut mask = SigSet::empty();
        FORWARDED
            .into_iter()
            .chain([Signal::SIGCHLD])
            .for_each(|signal| mask.add(signal));
        mask.thread_block()?;
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        if let Some(cpus) = &options.cpus {
            crate::cpus::pin(cpus).map_err(Fault::Cpus)?;
        }
        let command = processes::start(&options.command).map_err(Fault::Command)?;
        let (watch_stdin, grace) = (options.watch_stdin, options.grace);
        Ok(Self {
            signals,
            parent,
            parent_death,
            watch_stdin,
            grace,
            command,
            status: None,
        })
    }

    /// Waits for the end of the command or of the conductor, ends the remaining processes, and returns the exit status.
    fn watch(&mut self) -> u8 {
        loop {
            match self.wait(None) {
                Event::LetGo => {
                    self.end_all();
                    break;
                }
                Event::Ended(status) => {
                    self.status = Some(status);
                    self.end_all();
                    break;
                }
                Event::Nothing => {}
            }
        }
        // If the status is missing, the command survived `SIGKILL`.
        self.status.unwrap_or(128 + Signal::SIGKILL as u8)
    }

    /// Sleeps until an event occurs, or for at most `at_most`.
    fn wait(&self, at_most: Option<Duration>) -> Event {
        let stdin = io::stdin();
        let mut watched = vec![readable(self.signals.as_fd())];
        let ending = at_most.is_some();
        if !ending {
            let death = self.parent_death.as_ref().map(AsFd::as_fd);
            let stdin = self.watch_stdin.then(|| stdin.as_fd());
            watched.extend([death, stdin].into_iter().flatten().map(readable));
        }
        let timeout = match at_most {
            Some(time) => PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
            None if self.parent_death.is_none() => PollTimeout::from(LOOK_AT_PARENT_EVERY),
            None => PollTimeout::NONE,
        };
        // If a signal interrupts `poll`, no event is reported.
        let _ = poll(&mut watched, timeout);
        let stdin_has_news = self.watch_stdin
            && !ending
            && watched
                .last()
                .and_then(PollFd::revents)
                .is_some_and(|events| !events.is_empty());
        drop(watched);
        self.forward();
        if let Some(status) = self.reap() {
            return Event::Ended(status);
        }
        let abandoned = getppid() != self.parent
            || (stdin_has_news && processes::drained_to_the_end(stdin.as_fd()));
        if abandoned {
            Event::LetGo
        } else {
            Event::Nothing
        }
    }

    /// Forwards to the command the signals that the guard has received.
    fn forward(&self) {
        while let Ok(Some(news)) = self.signals.read_signal() {
            let Ok(signal) = Signal::try_from(news.ssi_signo.cast_signed()) else {
                continue;
            };
            // SIGINT or SIGQUIT from the kernel was caused by Ctrl-C or Ctrl-\ at the terminal. These keys are intended
            // for the conductor, so the signal is not forwarded.
            let from_terminal = matches!(signal, Signal::SIGINT | Signal::SIGQUIT)
                && news.ssi_code == libc::SI_KERNEL;
            if signal != Signal::SIGCHLD && !from_terminal && self.status.is_none() {
                // The command may have ended in the meantime, so a failure to send the signal is ignored.
                let _ = kill(self.command, signal);
            }
        }
    }

    /// Reaps all children that have ended. Returns the exit status of the command if it is among them.
    fn reap(&self) -> Option<u8> {
        let mut status = None;
        while let Some(Reaped { pid, exit_status }) = processes::reap() {
            if pid == self.command {
                status = Some(exit_status);
            }
        }
        status
    }

    /// Ends all descendants: sends `SIGTERM`, and after the grace period `SIGKILL` to the processes that remain.
    fn end_all(&mut self) {
        let started = Instant::now();
        let mut asked = Descendants::default();
        loop {
            self.status = self.reap().or(self.status);
            if !processes::any_left() {
                return;
            }
            let left = Descendants::of_this_process();
            let waited = started.elapsed();
            if waited >= self.grace + KILLED_AT_LATEST {
                eprintln!("guard: the kernel could not end {left}");
                return;
            }
            if waited >= self.grace {
                left.kill();
            } else {
                // Each process gets `SIGTERM` once, including processes that start while others end.
                left.ask_to_end(&asked);
                asked = left;
            }
            let rest = self.grace.saturating_sub(waited);
            let pause = if rest.is_zero() {
                LOOK_EVERY
            } else {
                LOOK_EVERY.min(rest)
            };
            if let Event::Ended(status) = self.wait(Some(pause)) {
                self.status = Some(status);
            }
        }
    }
}

fn readable(descriptor: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(descriptor, PollFlags::POLLIN)
}
