//! The sessions of a load thread that wait for servers over sockets. The load thread runs them itself.
//!
//! Each session is a future. The load thread polls it when the session gets an order and when the kernel reports an
//! event of the session's socket. A session may do only a limited amount of work in one pass of the event loop (a
//! turn). If the session reaches this limit, the load thread polls it again in the next turn. Nothing else wakes a
//! session: there is no thread, channel or lock between a user and its server.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::executor::{Attempt, Call, Done, Known, Orders, no_such_task};
use crate::session::Session;
use crate::turns::{Edge, SESSION, Thread, Turn, Watch};

/// Value that replaces the slot number of a session that is being closed, since such a session has no slot.
const NOWHERE: u32 = u32::MAX;

/// Memory for one session (a seat). After the session has ended, the seat and its number are reused for another
/// session.
#[derive(Default)]
struct Seat {
    /// Number of the current session in this seat. Socket events for an earlier session in the seat have another
    /// number, so they can be ignored.
    generation: u32,
    running: Option<Running>,
}

struct Running {
    turn: Rc<Turn>,
    place: u32,
    course: Pin<Box<dyn Future<Output = ()>>>,
    /// `true` if the session is in the list of sessions to continue in the next pass of the event loop. This prevents a
    /// second entry if further socket events arrive.
    is_listed: bool,
}

/// The sessions of a load thread that wait for sockets.
pub(crate) struct Sessions {
    known: Arc<Known>,
    thread: Rc<Thread>,
    done: Rc<RefCell<Vec<Done>>>,
    seats: Vec<Seat>,
    free: Vec<u32>,
    /// For each slot number, the index in `seats` of the slot's session, plus one; 0 if the slot has no session.
    of_place: Vec<u32>,
    /// Sessions to continue in the next pass of the event loop, each as its index in `seats` and its generation number.
    again: Vec<(u32, u32)>,
}

impl Sessions {
    pub(crate) fn new(known: Arc<Known>, watch: impl Watch + 'static) -> Self {
        Self {
            known,
            thread: Rc::new(Thread::new(watch)),
            done: Rc::default(),
            seats: Vec::new(),
            free: Vec::new(),
            of_place: Vec::new(),
            again: Vec::new(),
        }
    }

    pub(crate) fn order(&mut self, target: usize, place: u32, orders: Orders) {
        let seat = self.seat_of(place);
        match orders {
            Orders::Abandon => {
                if let Some(seat) = seat {
                    self.leave(place);
                    self.vacate(seat);
                }
            }
            Orders::Close => {
                if let Some(seat) = seat {
                    self.leave(place);
                    self.carry_out(seat, Orders::Close);
                    // A closing message that the socket does not accept immediately is dropped, since the wait would
                    // have no time limit.
                    if self.seats[seat as usize].running.is_some() {
                        self.vacate(seat);
                    }
                }
            }
            orders => {
                let seat = seat.unwrap_or_else(|| self.begin(target, place));
                self.carry_out(seat, orders);
            }
        }
    }

    /// Returns `true` if the session with the number `place` is being opened.
    pub(crate) fn is_opening(&self, place: u32) -> bool {
        let seat = self.seat_of(place);
        let running = seat.and_then(|seat| self.seats[seat as usize].running.as_ref());
        running.is_some_and(|running| running.turn.is_opening())
    }

    /// Returns the bytes that the current call of the session with the number `place` has sent and received so far.
    pub(crate) fn meter(&self, place: u32) -> Meter {
        let seat = self.seat_of(place);
        let running = seat.and_then(|seat| self.seats[seat as usize].running.as_ref());
        running.map_or_else(Meter::default, |running| running.turn.meter())
    }

    /// Passes an event of a socket to the session that owns the socket.
    pub(crate) fn on_edge(&mut self, edge: Edge) {
        let seat = (edge.data & (SESSION - 1)) as u32;
        let Some(found) = self.seats.get(seat as usize) else {
            return;
        };
        if found.generation != (edge.data >> 32) as u32 {
            return;
        }
        if let Some(running) = &found.running {
            running.turn.on_edge(edge);
            if !running.is_listed {
                self.poll(seat);
            }
        }
    }

    /// Continues the sessions that were interrupted in the last pass of the event loop because they had reached their
    /// limit of bytes or time.
    pub(crate) fn go_on(&mut self) {
        for (seat, generation) in std::mem::take(&mut self.again) {
            let found = &mut self.seats[seat as usize];
            if found.generation == generation
                && let Some(running) = &mut found.running
            {
                running.is_listed = false;
                self.poll(seat);
            }
        }
    }

    /// Returns `true` if sessions can continue or results are ready without another socket event.
    pub(crate) fn is_busy(&self) -> bool {
        !self.again.is_empty() || !self.done.borrow().is_empty()
    }

    pub(crate) fn take(&self, out: &mut Vec<Done>) {
        out.append(&mut self.done.borrow_mut());
    }

    fn seat_of(&self, place: u32) -> Option<u32> {
        self.of_place.get(place as usize)?.checked_sub(1)
    }

    fn leave(&mut self, place: u32) {
        if let Some(seat) = self.seat_of(place)
            && let Some(running) = &mut self.seats[seat as usize].running
        {
            running.place = NOWHERE;
        }
        self.of_place[place as usize] = 0;
    }

    fn begin(&mut self, target: usize, place: u32) -> u32 {
        let seat = self.free.pop().unwrap_or_else(|| {
            self.seats.push(Seat::default());
            (self.seats.len() - 1) as u32
        });
        let data =
            (u64::from(self.seats[seat as usize].generation) << 32) | SESSION | u64::from(seat);
        let turn = Rc::new(Turn::new(&self.thread, data));
        let (known, done) = (Arc::clone(&self.known), Rc::clone(&self.done));
        let course = Box::pin(attend(known, done, target, place, Rc::clone(&turn)));
        self.seats[seat as usize].running = Some(Running {
            turn,
            place,
            course,
            is_listed: false,
        });
        let places = self.of_place.len().max(place as usize + 1);
        self.of_place.resize(places, 0);
        self.of_place[place as usize] = seat + 1;
        seat
    }

    fn carry_out(&mut self, seat: u32, orders: Orders) {
        if let Some(running) = &self.seats[seat as usize].running {
            running.turn.push(orders);
            self.poll(seat);
        }
    }

    fn poll(&mut self, seat: u32) {
        let Seat {
            generation,
            running: Some(running),
        } = &mut self.seats[seat as usize]
        else {
            return;
        };
        running.turn.begin();
        let mut context = Context::from_waker(Waker::noop());
        match running.course.as_mut().poll(&mut context) {
            Poll::Ready(()) => {
                let place = running.place;
                if place != NOWHERE {
                    self.leave(place);
                }
                self.vacate(seat);
            }
            Poll::Pending if running.turn.goes_on() && !running.is_listed => {
                running.is_listed = true;
                self.again.push((seat, *generation));
            }
            Poll::Pending => {}
        }
    }

    /// Drops the session in a seat, together with the socket. The server then rolls back an open transaction.
    fn vacate(&mut self, seat: u32) {
        let found = &mut self.seats[seat as usize];
        found.running = None;
        found.generation = found.generation.wrapping_add(1);
        self.free.push(seat);
    }
}

impl Drop for Sessions {
    /// Sends closing messages for all sessions whose sockets accept data immediately.
    fn drop(&mut self) {
        for seat in 0..self.seats.len() as u32 {
            self.carry_out(seat, Orders::Close);
        }
    }
}

/// Runs one session from its first order to its last order.
async fn attend(
    known: Arc<Known>,
    done: Rc<RefCell<Vec<Done>>>,
    target: usize,
    place: u32,
    turn: Rc<Turn>,
) {
    let mut session: Option<Session> = None;
    loop {
        match turn.order().await {
            Orders::Call(call) => {
                let mut attempt = Attempt::begin(place, &call);
                let result =
                    exchange(&known, target, &call, &mut session, &mut attempt, &turn).await;
                if result.as_ref().is_err_and(|failed| !failed.keeps_session()) {
                    session = None;
                }
                let is_held = session.as_ref().is_some_and(Session::is_held);
                let is_over = session.as_ref().is_some_and(Session::is_over);
                let ends = is_over || (call.is_single && !is_held);
                let is_open = session.is_some() && !ends;
                let mut ended = attempt.end(result, is_open, is_held);
                ended.values = call.values;
                done.borrow_mut().push(ended);
                if ends && let Some(session) = session.take() {
                    Box::pin(session.close()).await;
                }
                if let Some(session) = &mut session {
                    session.rest();
                }
            }
            Orders::Reset => {
                if let Some(open) = &mut session
                    && Box::pin(open.reset()).await.is_err()
                {
                    session = None;
                }
            }
            Orders::Close | Orders::Abandon => break,
        }
    }
    if let Some(session) = session {
        Box::pin(session.close()).await;
    }
}

async fn exchange(
    known: &Known,
    target: usize,
    call: &Call,
    session: &mut Option<Session>,
    attempt: &mut Attempt,
    turn: &Rc<Turn>,
) -> Result<Answer, Failed> {
    let (server, location, task) = known.find(target, call).ok_or_else(no_such_task)?;
    // If the server closed the idle session, a new session is opened, as an HTTP client opens a new connection. An open
    // transaction is lost.
    if let Some(open) = session.as_mut() {
        let (is_held, is_closed) = (open.is_held(), open.is_closed());
        attempt.unasked = open.has_unasked();
        if attempt.unasked || (is_closed && !is_held) {
            *session = None;
        }
        if attempt.unasked && is_held {
            let reason = "bytes that belong to no call";
            return Err(Failed::new(FailureKind::Protocol, reason));
        }
    }
    let open = if let Some(open) = session {
        open
    } else {
        turn.set_opening(true);
        let opened = Box::pin(Session::open(server, location, turn)).await;
        turn.set_opening(false);
        let opened = opened?;
        attempt.opened();
        session.insert(opened)
    };
    turn.begin_call();
    let result = open.perform(task, call, &mut attempt.meter).await;
    turn.end_call();
    result
}
