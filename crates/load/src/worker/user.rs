//! State of a virtual user.

use crate::cookies::Jar;
use crate::http::response::{Limits, ResponseScanner};
use crate::outcome::Failure;
use crate::plan::CookiesKept;
use crate::program::body::Outgoing;
use crate::program::{GroupCode, Program};
use crate::rng::{Random, Stream};
use crate::schedule::Arrival;
use crate::sys::Socket;
use crate::template::Memory;

use super::addresses::Attempt;
use super::deadlines::UNLISTED;

/// Stands for no transaction, page, request or exchange.
pub const NONE: u32 = u32::MAX;

/// Length of a usual request, and of the head of a usual response. [B]
const USUAL_BYTES: usize = 512;

/// State of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not started, or gone.
    Absent,
    /// Waiting for its turn in the queue of this thread.
    Ready,
    /// Pausing inside a transaction, or in `once` or `exit`.
    Thinking,
    /// Pausing between transactions.
    Resting,
    /// Waiting for a response.
    Exchanging,
    /// Idle until an arrival (open load).
    Idle,
}

/// One virtual user.
#[derive(Debug)]
pub struct User {
    /// Number in the run.
    pub number: u32,
    /// Index of the group.
    pub group: u16,
    /// Number of users of its group with a lower number.
    pub rank: u32,
    /// State of the user.
    pub state: State,
    /// `true` if the user leaves at the end of its transaction.
    pub leaving: bool,
    /// `true` while the user performs its exit operations.
    pub exiting: bool,
    /// `true` if the user starts again after it has left.
    pub restart: bool,
    /// Index of the next instruction.
    pub pc: u32,
    /// Return address at the end of the transaction.
    pub back: u32,
    /// The current transaction.
    pub transaction: u32,
    /// The current page.
    pub page: u32,
    /// Failure of the current page.
    pub page_failure: Option<Failure>,
    /// The current exchange.
    pub exchange: u32,
    /// Intended time of the next action: the end of the previous step. [ns]
    pub clock_ns: u64,
    /// Intended start of the current transaction. [ns]
    pub begun_ns: u64,
    /// Think time inside the transaction so far. [ns]
    pub thought_ns: u64,
    /// Intended start of the first request of the current page, if any. [ns]
    pub page_begun_ns: Option<u64>,
    /// End of the last request of the current page. [ns]
    pub page_end_ns: u64,
    /// Think time between requests of the page. [ns]
    pub page_thought_ns: u64,
    /// Think time since the last request. [ns]
    pub page_pending_ns: u64,
    /// Length of the current pause. [ns]
    pub pause_ns: u64,
    /// Slot of [`super::deadlines::Deadlines`] in which the user is entered.
    pub listed: u64,
    /// Number of transactions begun.
    pub iteration: u64,
    /// Random generator of the user.
    pub random: Random,
    /// Variables and lists of the user.
    pub memory: Memory,
    /// Counters of loops.
    pub loops: Box<[u32]>,
    /// Number of draws from each pool.
    pub draws: Box<[u32]>,
    /// Cookies of the user.
    pub jar: Jar,
    /// Number of rounds begun.
    pub rounds: u32,
    /// Arrival that the user serves, with an open load.
    pub arrival: Option<Arrival>,
}

impl User {
    /// Creates a user that has not started. Its memory is allocated at its start, so that users that start late need
    /// little memory before.
    #[must_use]
    pub fn new(number: u32, group: u16, rank: u32, seed: u64) -> Self {
        Self {
            number,
            group,
            rank,
            state: State::Absent,
            leaving: false,
            exiting: false,
            restart: false,
            pc: 0,
            back: 0,
            transaction: NONE,
            page: NONE,
            page_failure: None,
            exchange: NONE,
            clock_ns: 0,
            begun_ns: 0,
            thought_ns: 0,
            page_begun_ns: None,
            page_end_ns: 0,
            page_thought_ns: 0,
            page_pending_ns: 0,
            pause_ns: 0,
            listed: UNLISTED,
            iteration: 0,
            random: Random::for_stream(seed, u64::from(number), Stream::User),
            memory: Memory::default(),
            loops: Box::default(),
            draws: Box::default(),
            jar: Jar::default(),
            rounds: 0,
            arrival: None,
        }
    }

    /// Records the intended start of a request or call. The first request or call of a page begins the page.
    #[inline]
    pub fn note_exchange(&mut self, intended_ns: u64) {
        if self.page != NONE {
            if self.page_begun_ns.is_none() {
                self.page_begun_ns = Some(intended_ns);
            } else {
                self.page_thought_ns += self.page_pending_ns;
            }
            self.page_pending_ns = 0;
        }
    }

    /// Begins a round. If cookies are kept for one round, the cookies of the previous round are dropped. Operations
    /// before the first round belong to the first round.
    #[inline]
    pub fn begin_round(&mut self, group: &GroupCode) {
        let is_first = self.rounds == 0;
        self.rounds = self.rounds.saturating_add(1);
        if !is_first && group.cookies_kept == CookiesKept::Round {
            self.jar.restart(&group.given);
        }
    }

    /// Makes the user ready to run from the start of its group's code. Its generator and its positions in pools
    /// continue from its previous stay.
    pub fn start(&mut self, program: &Program, at_ns: u64) {
        if self.memory.variables.len() == program.variables
            && self.memory.lists.len() == program.lists
        {
            self.memory.clear();
        } else {
            self.memory = Memory::new(program.variables, program.lists);
        }
        if self.loops.len() != program.loop_slots {
            self.loops = vec![0; program.loop_slots].into();
        }
        if self.draws.len() != program.pools.len() {
            self.draws = vec![0; program.pools.len()].into();
        }
        let group = &program.groups[usize::from(self.group)];
        self.jar.restart(&group.given);
        self.rounds = 0;
        self.pc = group.start;
        self.clock_ns = at_ns;
        (self.leaving, self.exiting, self.restart) = (false, false, false);
        (self.transaction, self.page, self.exchange) = (NONE, NONE, NONE);
    }
}

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No connection.
    Closed,
    /// Connecting, for the current exchange.
    Connecting,
    /// Performing the TLS handshake.
    Securing,
    /// Carries the current exchange.
    Busy,
    /// Kept for the next request.
    Idle,
    /// Carries any number of exchanges (HTTP/2), or none.
    Shared,
}

/// A connection to one target.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub socket: Option<Socket>,
    /// Number of the socket in this slot, so that events of earlier sockets are recognized.
    pub generation: u32,
    /// The exchange that the connection carries or is opened for.
    pub exchange: u32,
    /// Phase of the connection.
    pub phase: Phase,
    /// `true` if the connection uses TLS.
    pub secure: bool,
    /// `true` if the current response is complete.
    pub answered: bool,
    /// `true` if the peer has closed the connection.
    pub ended: bool,
}

impl Connection {
    /// Creates a slot without a connection.
    #[must_use]
    pub fn new() -> Self {
        Self {
            socket: None,
            generation: 0,
            exchange: NONE,
            phase: Phase::Closed,
            secure: false,
            answered: false,
            ended: false,
        }
    }
}

/// A request in progress. Only users that wait for a response have an exchange; exchanges are reused.
#[derive(Debug)]
pub struct Exchange {
    /// Index of the user in this thread.
    pub user: u32,
    /// Index of the request in the program.
    pub request: u32,
    /// Index of the connection in this thread, once the exchange has one.
    pub connection: u32,
    /// Ticket under which the exchange waits for a connection of a pool; 0 if it does not wait.
    pub ticket: u64,
    /// Intended start. [ns]
    pub intended_ns: u64,
    /// Actual start. [ns]
    pub started_ns: u64,
    /// Start of the attempt to connect, if a new connection was opened. [ns]
    pub connecting_ns: u64,
    /// Addresses at which this connection was attempted.
    pub attempt: Attempt,
    /// `true` if the connection had carried an earlier request and its response.
    pub reused: bool,
    /// Arrival of the first byte of the response. [ns]
    pub first_byte_ns: Option<u64>,
    /// Deadline of the exchange. [ns]
    pub deadline_ns: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes that are still to be sent.
    pub out: Outgoing,
    /// Scanner that reads the response.
    pub scanner: ResponseScanner,
    /// Path of the request, which is needed to store cookies.
    pub path: Vec<u8>,
    /// Key of the object that the request or call stores, replaces, removes or reads, as JSON text.
    pub key: Vec<u8>,
    /// Actual start, which identifies the notes of the exchange. [ns]
    pub noted_ns: u64,
    /// Rendered varying fields of the request (HTTP/2).
    pub fields: Vec<u8>,
    /// Number of the stream of the request (HTTP/2).
    pub stream: u32,
    /// Number of times that the request was sent again because the server reported it as not processed (HTTP/2).
    pub sent_again: u8,
}

impl Exchange {
    /// Creates an exchange that is not in use.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            user: NONE,
            request: NONE,
            connection: NONE,
            ticket: 0,
            intended_ns: 0,
            started_ns: 0,
            connecting_ns: 0,
            attempt: Attempt::default(),
            reused: false,
            first_byte_ns: None,
            deadline_ns: 0,
            bytes_in: 0,
            bytes_out: 0,
            out: Outgoing::default(),
            scanner: ResponseScanner::new(limits),
            path: Vec::new(),
            key: Vec::new(),
            noted_ns: 0,
            fields: Vec::new(),
            stream: 0,
            sent_again: 0,
        }
    }

    /// Allocates memory for a usual request and the head of its response now.
    pub fn make_room(&mut self) {
        self.out.make_room(USUAL_BYTES);
        self.scanner.make_room(USUAL_BYTES);
        self.path.reserve(USUAL_BYTES / 4);
    }
}
