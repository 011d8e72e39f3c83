//! The turns of a session. A turn is the time from one poll of the session by the event loop until the session waits.
//! This module passes socket events to the session, and limits the bytes and the time of each turn.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::task::Poll;

use crate::answer::Meter;
use crate::clock::monotonic_ns;
use crate::executor::Orders;

/// Limit on the bytes that a session sends and receives in one turn, that is, in one poll by the event loop. The other
/// sessions of the thread run before its next turn. [B]
pub(crate) const TURN_BYTES: usize = 256 * 1024;

/// Limit on the time of a session in one turn, that is, in one poll by the event loop. A turn may exceed the limit by
/// the time for reading [`PACE`] messages. [ns]
const TURN_NS: u64 = 100_000;

/// Number of messages after which a session reads the clock. Reading the clock costs as much as reading a message.
const PACE: u32 = 32;

/// Limit on the bytes that are read from an idle session. Further bytes stay in the socket until a call waits for a
/// response. [B]
pub(crate) const UNASKED_BYTES: usize = 64 * 1024;

/// Size of the read buffer that all sessions of a thread share. [B]
const READ_BYTES: usize = 16 * 1024;

/// Flag in the data of socket events that belong to sessions. In other events of a load thread, the lower half of the
/// data never has this bit.
pub const SESSION: u64 = 1 << 31;

/// Registers sockets with the poller of a load thread.
pub trait Watch {
    /// Registers a file. The poller reports each event of the file with `data` until the file is closed.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    fn watch(&self, file: BorrowedFd<'_>, data: u64) -> io::Result<()>;
}

/// A socket event. The poller reports each event only once (edge-triggered epoll).
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The number that was passed to the poller when the socket was registered.
    pub data: u64,
    /// `true` if bytes, the end of the stream, or an error can be read from the socket.
    pub readable: bool,
    /// `true` if bytes can be written to the socket, or an error is pending.
    pub writable: bool,
    /// `true` if the peer has closed the connection or will send no more bytes.
    pub closed: bool,
}

/// State that all sessions of a load thread share.
pub(crate) struct Thread {
    watch: Box<dyn Watch>,
    buffer: RefCell<Vec<u8>>,
}

impl Thread {
    pub(crate) fn new(watch: impl Watch + 'static) -> Self {
        Self {
            watch: Box::new(watch),
            buffer: RefCell::new(vec![0; READ_BYTES]),
        }
    }
}

/// State that a session shares with the event loop that polls it.
pub(crate) struct Turn {
    thread: Rc<Thread>,
    data: u64,
    orders: RefCell<VecDeque<Orders>>,
    readable: Cell<bool>,
    writable: Cell<bool>,
    closed: Cell<bool>,
    is_opening: Cell<bool>,
    moved: Cell<usize>,
    /// Time at which the session first sent or received bytes, or read a message, in the current turn (poll by the
    /// event loop); 0 before that. [ns]
    since_ns: Cell<u64>,
    /// Number of messages that the session has read since it was created.
    messages: Cell<u32>,
    goes_on: Cell<bool>,
    /// Bytes of the current call. They are stored here, outside of the session, so that they remain if the session is
    /// discarded. `None` between calls, so that the bytes of a rollback are not counted for a call.
    meter: Cell<Option<Meter>>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl Turn {
    pub(crate) fn new(thread: &Rc<Thread>, data: u64) -> Self {
        Self {
            thread: Rc::clone(thread),
            data,
            orders: RefCell::default(),
            readable: Cell::new(false),
            writable: Cell::new(false),
            closed: Cell::new(false),
            is_opening: Cell::new(false),
            moved: Cell::new(0),
            since_ns: Cell::new(0),
            messages: Cell::new(0),
            goes_on: Cell::new(false),
            meter: Cell::default(),
        }
    }

    /// Begins a turn: resets the counts of bytes and time to which the limits apply.
    pub(crate) fn begin(&self) {
        self.moved.set(0);
        self.since_ns.set(0);
        self.goes_on.set(false);
    }

    /// Begins to count the bytes that a call sends and receives.
    pub(crate) fn begin_call(&self) {
        self.meter.set(Some(Meter::default()));
    }

    /// Stops counting the bytes that a call sends and receives.
    pub(crate) fn end_call(&self) {
        self.meter.set(None);
    }

    /// Returns the bytes that the current call has sent and received so far.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.get().unwrap_or_default()
    }

    /// Counts bytes that the session has sent.
    pub(crate) fn wrote(&self, count: usize) {
        if let Some(mut meter) = self.meter.get() {
            meter.bytes_out += count as u64;
            self.meter.set(Some(meter));
        }
        self.moved(count);
    }

    /// Counts bytes that the session has received as part of a response.
    pub(crate) fn arrived(&self, count: usize, first_byte_ns: Option<u64>) {
        if let Some(mut meter) = self.meter.get() {
            meter.first_byte_ns = first_byte_ns;
            meter.bytes_in += count as u64;
            self.meter.set(Some(meter));
        }
    }

    /// Returns `true` if the session has reached the limit of its turn, so that the event loop must poll it again.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on.get()
    }

    pub(crate) fn push(&self, orders: Orders) {
        self.orders.borrow_mut().push_back(orders);
    }

    /// Waits for the next order of the load thread.
    pub(crate) async fn order(&self) -> Orders {
        poll_fn(|_| match self.orders.borrow_mut().pop_front() {
            Some(orders) => Poll::Ready(orders),
            None => Poll::Pending,
        })
        .await
    }

    pub(crate) fn set_opening(&self, is_opening: bool) {
        self.is_opening.set(is_opening);
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.is_opening.get()
    }

    /// Registers the socket of this session with the poller.
    pub(crate) fn watch(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.thread.watch.watch(file, self.data)
    }

    pub(crate) fn on_edge(&self, edge: Edge) {
        self.readable.set(self.readable.get() || edge.readable);
        self.writable.set(self.writable.get() || edge.writable);
        self.closed.set(self.closed.get() || edge.closed);
    }

    pub(crate) fn forget_edges(&self) {
        for flag in [&self.readable, &self.writable, &self.closed] {
            flag.set(false);
        }
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.readable.get()
    }

    pub(crate) async fn until_readable(&self) {
        self.until(&self.readable).await;
    }

    pub(crate) async fn until_writable(&self) {
        self.until(&self.writable).await;
    }

    async fn until(&self, ready: &Cell<bool>) {
        poll_fn(|_| {
            if !ready.get() {
                return Poll::Pending;
            }
            // Most calls send and receive only once, and only few bytes. They cannot reach the time limit, so the clock
            // is not read for them.
            if self.moved.get() > 0 && self.is_used_up() {
                self.goes_on.set(true);
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Counts a message that was read, and yields to other sessions if this session has reached the limit of its turn.
    /// A limit on bytes alone is not sufficient, since reading a short message takes far more time per byte than
    /// reading a long one.
    pub(crate) async fn pace(&self) {
        self.messages.set(self.messages.get().wrapping_add(1));
        if !self.messages.get().is_multiple_of(PACE) {
            return;
        }
        poll_fn(|_| {
            if self.is_used_up() {
                self.goes_on.set(true);
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    fn is_used_up(&self) -> bool {
        self.moved.get() >= TURN_BYTES || monotonic_ns() >= self.began_ns() + TURN_NS
    }

    /// Returns the time at which the session first sent or received bytes, or read a message, in this turn. [ns]
    fn began_ns(&self) -> u64 {
        if self.since_ns.get() == 0 {
            self.since_ns.set(monotonic_ns());
        }
        self.since_ns.get()
    }

    pub(crate) fn allow_write(&self) {
        self.writable.set(true);
    }

    pub(crate) fn blocked_write(&self) {
        self.writable.set(false);
    }

    pub(crate) fn blocked_read(&self) {
        self.readable.set(false);
    }

    pub(crate) fn moved(&self, count: usize) {
        self.began_ns();
        self.moved.set(self.moved.get() + count);
    }

    /// Counts a read of `count` bytes into a buffer of `room` bytes. A read that does not fill the buffer has emptied
    /// the socket, so the session waits for an event before it reads again. If the event for the end of the connection
    /// has been reported already, no event would follow, so the session continues to read.
    pub(crate) fn read(&self, count: usize, room: usize) {
        self.moved(count);
        if count < room && !self.closed.get() {
            self.readable.set(false);
        }
    }

    /// Returns the read buffer that all sessions of the thread share.
    pub(crate) fn buffer(&self) -> RefMut<'_, Vec<u8>> {
        self.thread.buffer.borrow_mut()
    }
}
