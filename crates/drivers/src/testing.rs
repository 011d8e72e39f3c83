//! An event loop for tests, which polls one session like a load thread.

use std::future::Future;
use std::io;
use std::os::fd::BorrowedFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::turns::{Edge, Thread, Turn, Watch};

/// Longest wait of a test for a socket event; a test that reaches this limit fails. [ms]
const PATIENCE_MS: u16 = 20_000;

#[derive(Clone)]
struct Poller(Rc<Epoll>);

impl Watch for Poller {
    fn watch(&self, file: BorrowedFd<'_>, data: u64) -> io::Result<()> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        Ok(self.0.add(file, EpollEvent::new(flags, data))?)
    }
}

/// An event loop that polls one session.
pub(crate) struct Loop {
    poller: Poller,
    pub(crate) turn: Rc<Turn>,
}

impl Loop {
    pub(crate) fn new() -> Self {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("an epoll");
        let poller = Poller(Rc::new(epoll));
        let thread = Rc::new(Thread::new(poller.clone()));
        let turn = Rc::new(Turn::new(&thread, 0));
        Self { poller, turn }
    }

    /// Waits for socket events for at most this time, and returns their number.
    pub(crate) fn edges(&self, within_ms: u16) -> usize {
        let mut events = [EpollEvent::empty(); 4];
        let timeout = EpollTimeout::from(within_ms);
        let count = self.poller.0.wait(&mut events, timeout).expect("edges");
        for event in &events[..count] {
            let has = |flags: EpollFlags| event.events().intersects(flags);
            let end = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
            self.turn.on_edge(Edge {
                data: event.data(),
                readable: has(EpollFlags::EPOLLIN | end),
                writable: has(EpollFlags::EPOLLOUT | end),
                closed: has(end),
            });
        }
        count
    }

    /// Runs the future to its end. Returns its result and the number of passes through the event loop.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> (T, usize) {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        let mut turns = 0;
        loop {
            turns += 1;
            self.turn.begin();
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return (result, turns);
            }
            if !self.turn.goes_on() {
                assert!(self.edges(PATIENCE_MS) > 0, "nothing happened");
            }
        }
    }
}
