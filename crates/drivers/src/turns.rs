//! The turns of a session in the loop of its load thread: the edges of its socket, and a limit on
//! the bytes and the time of one turn.

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

/// Limit on the bytes that a session moves in one turn; then other sessions of the thread run. [B]
pub(crate) const TURN_BYTES: usize = 256 * 1024;

/// Limit on the time of a session in one turn, except for its last [`PACE`] messages. [ns]
const TURN_NS: u64 = 100_000;

/// Messages after which a session looks at the clock: reading it costs as much as reading a message.
const PACE: u32 = 32;

/// Limit on the bytes that an idle session reads; the rest stays in the socket until a call waits
/// for an answer. [B]
pub(crate) const UNASKED_BYTES: usize = 64 * 1024;

/// Size of the read buffer that all sessions of a thread share. [B]
const READ_BYTES: usize = 16 * 1024;

/// Set in the data of the events of sessions, which no other event of a load thread has in its low half.
pub const SESSION: u64 = 1 << 31;

/// Registers sockets with the poller of a load thread.
pub trait Watch {
    /// Registers a file: the poller reports each of its edges under `data` until the file is
    /// closed.
    ///
    /// # Errors
    /// When the system refuses.
    fn watch(&self, file: BorrowedFd<'_>, data: u64) -> io::Result<()>;
}

/// An edge that the poller reports.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The data under which the socket is registered.
    pub data: u64,
    /// Bytes, the end of the stream, or an error can be read.
    pub readable: bool,
    /// Bytes can be written, or an error is pending.
    pub writable: bool,
    /// The peer sends no more bytes.
    pub closed: bool,
}

/// State that all sessions of a thread share.
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

/// State that a session shares with the loop that polls it.
pub(crate) struct Turn {
    thread: Rc<Thread>,
    data: u64,
    orders: RefCell<VecDeque<Orders>>,
    readable: Cell<bool>,
    writable: Cell<bool>,
    closed: Cell<bool>,
    is_opening: Cell<bool>,
    moved: Cell<usize>,
    /// When the session moved its first bytes or read its first messages in this turn; 0 before. [ns]
    since_ns: Cell<u64>,
    /// Messages read, over all turns.
    messages: Cell<u32>,
    goes_on: Cell<bool>,
    /// Bytes of the current call, kept here because they would be lost with a discarded session;
    /// `None` between calls, so that the bytes of a rollback are not counted for a call.
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

    /// Begins a turn.
    pub(crate) fn begin(&self) {
        self.moved.set(0);
        self.since_ns.set(0);
        self.goes_on.set(false);
    }

    /// Begins to count the bytes of a call.
    pub(crate) fn begin_call(&self) {
        self.meter.set(Some(Meter::default()));
    }

    /// Stops counting the bytes of a call.
    pub(crate) fn end_call(&self) {
        self.meter.set(None);
    }

    /// Bytes that the current call has moved so far.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.get().unwrap_or_default()
    }

    /// Counts bytes that were sent.
    pub(crate) fn wrote(&self, count: usize) {
        if let Some(mut meter) = self.meter.get() {
            meter.bytes_out += count as u64;
            self.meter.set(Some(meter));
        }
        self.moved(count);
    }

    /// Counts bytes of an answer.
    pub(crate) fn arrived(&self, count: usize, first_byte_ns: Option<u64>) {
        if let Some(mut meter) = self.meter.get() {
            meter.first_byte_ns = first_byte_ns;
            meter.bytes_in += count as u64;
            self.meter.set(Some(meter));
        }
    }

    /// Returns `true` if the session has used up its turn and waits for the next one.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on.get()
    }

    pub(crate) fn push(&self, orders: Orders) {
        self.orders.borrow_mut().push_back(orders);
    }

    /// Waits for the next order.
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

    /// Registers the socket of this session.
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
            // Most calls move few bytes once in each direction, and need no look at the clock.
            if self.moved.get() > 0 && self.is_used_up() {
                self.goes_on.set(true);
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Counts a message that was read, and yields to other sessions if this one has used up its
    /// turn. A short message costs far more time than its bytes suggest.
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

    /// Time at which the session moved its first bytes or read its first messages in this turn.
    /// [ns]
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

    /// Counts a read of `count` bytes into a buffer of `room` bytes. A read that does not fill the
    /// buffer has emptied the socket, so that further bytes cause another edge; the end of the
    /// connection has already caused its edge.
    pub(crate) fn read(&self, count: usize, room: usize) {
        self.moved(count);
        if count < room && !self.closed.get() {
            self.readable.set(false);
        }
    }

    /// Read buffer of the thread.
    pub(crate) fn buffer(&self) -> RefMut<'_, Vec<u8>> {
        self.thread.buffer.borrow_mut()
    }
}
