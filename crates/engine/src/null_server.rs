//! `towtank-engine null-server`: answers every request immediately with the same bytes.
//!
//! It serves to calibrate load generators, since no real server responds faster. Options add a known delay, a known
//! demand for CPU time, or stalls. Other options make the server violate the protocol in ways that a client must
//! survive.
//!
//! Each thread has its own table of open files, so that the server can hold a million connections with several threads
//! and ports.

mod answering;
mod bomb;
mod http2;
mod listening;
mod log;
mod misbehaving;
mod options;
mod requests;
mod schedule;
mod work;

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::read;
use towtank_linux::{monotonic_ns, raise_open_files};

use answering::{Answer, Worker};
use log::Log;
use options::{Kind, Options};

/// Runs the subcommand until `SIGTERM` or `SIGINT`. If an option requests it, the end of standard input also ends the
/// subcommand.
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(faults) => {
            for fault in faults {
                eprintln!("null-server: {fault}");
            }
            eprintln!("{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match serve(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("null-server: {error}");
            ExitCode::from(1)
        }
    }
}

fn serve(options: &Options) -> io::Result<()> {
    if let Some(cpus) = &options.cpus {
        crate::cpus::pin(cpus).map_err(|fault| io::Error::other(format!("--cpus {fault}")))?;
    }
    // Every connection is an open file, so the limit on open files is raised.
    raise_open_files()?;
    // The signals are blocked before any thread starts, so that only `wait_for_the_end` receives them.
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    mask.thread_block()?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC)?;
    let listeners = listening::listen(options)?;
    let log = options.log.as_deref().map(Log::create).transpose()?;

    if let Some(kind) = options.misbehave.filter(|kind| !kind.is_answer()) {
        listening::announce(&listeners)?;
        for listener in listeners {
            misbehaving::start(listener, kind, options.body_bytes);
        }
        return wait_for_the_end(&signals, options.until_stdin_closes);
    }
    let stop = Arc::new(EventFd::from_value_and_flags(
        0,
        EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK,
    )?);
    let workers = start_workers(options, &listeners, log.as_ref(), &stop)?;
    listening::announce(&listeners)?;
    wait_for_the_end(&signals, options.until_stdin_closes)?;
    stop.write(1)?;
    for worker in workers {
        worker
            .join()
            .map_err(|_| io::Error::other("a thread panicked"))??;
    }
    Ok(())
}

type Working = thread::JoinHandle<io::Result<()>>;

fn start_workers(
    options: &Options,
    listeners: &[TcpListener],
    log: Option<&Log>,
    stop: &Arc<EventFd>,
) -> io::Result<Vec<Working>> {
    for listener in listeners {
        listener.set_nonblocking(true)?;
    }
    let answer = Arc::new(match options.misbehave {
        Some(Kind::Status500) => Answer::internal_error(options.body_bytes),
        Some(Kind::RedirectLoop) => Answer::redirect_to_itself(),
        _ => Answer::ok(options.body_bytes),
    });
    let started_ns = monotonic_ns();
    (0..options.threads)
        .map(|number| {
            let schedule = options.schedule(started_ns);
            let work = options.work(number);
            let stop = Arc::clone(stop);
            let mut worker = Worker::new(
                listening::of_thread(listeners, number, options.threads)?,
                Arc::clone(&answer),
                schedule,
                work,
                log.cloned(),
                options.http2,
                stop,
            )?;
            thread::Builder::new()
                .name(format!("answering-{number}"))
                .spawn(move || {
                    // A thread with its own table of open files can hold as many connections as a whole process with a
                    // single table. If the system forbids this, all threads share one table.
                    let _ = towtank_load::sys::own_files();
                    // The thread gets high priority, so that other programs do not delay it: its times serve as the
                    // reference for measurements.
                    towtank_load::sys::come_first();
                    worker.run()
                })
        })
        .collect()
}

fn wait_for_the_end(signals: &SignalFd, until_stdin_closes: bool) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        let mut watched = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        if until_stdin_closes {
            watched.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut watched, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            result => result?,
        };
        let has_news =
            |watched: &PollFd<'_>| watched.revents().is_some_and(|events| !events.is_empty());
        if has_news(&watched[0]) {
            return Ok(());
        }
        // The bytes of standard input are ignored; only its end matters. If it cannot be read, it is treated as ended.
        if watched.get(1).is_some_and(has_news)
            && !matches!(read(stdin.as_fd(), &mut [0; 4096]), Ok(1..))
        {
            return Ok(());
        }
    }
}
