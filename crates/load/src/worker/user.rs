//! State of a virtual user, its connections, and its requests in progress.

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

/// Index that stands for no transaction, no page, no request or no exchange.
pub const NONE: u32 = u32::MAX;

/// Estimated length of a usual request, and of the head of a usual response. [B]
const USUAL_BYTES: usize = 512;

/// Activity of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The user has not started, or has left.
    Absent,
    /// The user can continue, and waits in the queue of its load thread.
    Ready,
    /// The user pauses inside a transaction, or among the operations of `once` or `exit`.
    Thinking,
    /// The user pauses between transactions.
    Resting,
    /// The user waits for a response.
    Exchanging,
    /// The user has no work and waits for an arrival (open load).
    Idle,
}

/// One virtual user.
#[derive(Debug)]
pub struct User {
    /// Number of the user, unique within the run.
    pub number: u32,
    /// Index of the user's group.
    pub group: u16,
    /// Position of the user among the users of its group, from 0, in the order of their numbers.
    pub rank: u32,
    /// Current activity of the user.
    pub state: State,
    /// `true` if the user leaves at the end of its transaction.
    pub leaving: bool,
    /// `true` while the user performs its exit operations.
    pub exiting: bool,
    /// `true` if the user starts again after it has left.
    pub restart: bool,
    /// Index of the next instruction to execute.
    pub pc: u32,
    /// Index of the instruction at which the user continues after the current transaction.
    pub back: u32,
    /// Index of the current transaction.
    pub transaction: u32,
    /// Index of the current page.
    pub page: u32,
    /// First failure on the current page, if any.
    pub page_failure: Option<Failure>,
    /// Index of the current exchange.
    pub exchange: u32,
    /// Intended time of the next action, which is the end of the previous step. [ns]
    pub clock_ns: u64,
    /// Intended start of the current transaction. [ns]
    pub begun_ns: u64,
    /// Sum of the pauses inside the current transaction so far. [ns]
    pub thought_ns: u64,
    /// Intended start of the first request of the current page, if any. [ns]
    pub page_begun_ns: Option<u64>,
    /// End of the last request of the current page. [ns]
    pub page_end_ns: u64,
    /// Sum of the pauses between requests of the current page. [ns]
    pub page_thought_ns: u64,
    /// Sum of the pauses after the latest request of the current page. They count only if another request follows. [ns]
    pub page_pending_ns: u64,
    /// Length of the current pause. [ns]
    pub pause_ns: u64,
    /// Time slot of the user in [`super::deadlines::Deadlines`].
    pub listed: u64,
    /// Number of transactions that the user has begun.
    pub iteration: u64,
    /// Random generator of the user.
    pub random: Random,
    /// Variables and lists of the user.
    pub memory: Memory,
    /// Loop counters of the user.
    pub loops: Box<[u32]>,
    /// Number of rows that the user has taken from each data pool.
    pub draws: Box<[u32]>,
    /// Cookies of the user.
    pub jar: Jar,
    /// Number of rounds (transactions chosen from the mix) that the user has begun.
    pub rounds: u32,
    /// Arrival whose transaction the user executes (open load).
    pub arrival: Option<Arrival>,
}

impl User {
    /// Creates a user that has not started. Most of its memory is allocated only when it starts.
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

    /// Begins a round, that is, a transaction chosen from the mix. If cookies are kept for one round, those of the
    /// previous round are dropped. Operations before the first round belong to the first round.
    #[inline]
    pub fn begin_round(&mut self, group: &GroupCode) {
        let is_first = self.rounds == 0;
        self.rounds = self.rounds.saturating_add(1);
        if !is_first && group.cookies_kept == CookiesKept::Round {
            self.jar.restart(&group.given);
        }
    }

    /// Makes the user ready to run from the start of its group's code. A user that starts again continues its random
    /// sequence, and its sequence of rows from each data pool.
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

/// State of a connection between opening and closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The connection is closed.
    Closed,
    /// The connection is being opened for the current exchange.
    Connecting,
    /// The TLS handshake is in progress.
    Securing,
    /// The connection carries the current exchange.
    Busy,
    /// The connection is open without a request, and waits for the next request.
    Idle,
    /// The HTTP/2 connection is open and carries any number of exchanges, or none.
    Shared,
}

/// State of a connection to one target.
#[derive(Debug)]
pub struct Connection {
    /// Socket of the connection, if it is open or being opened.
    pub socket: Option<Socket>,
    /// Generation of the socket in this entry. Events of earlier sockets have a lower generation.
    pub generation: u32,
    /// Index of the exchange that the connection carries or is opened for.
    pub exchange: u32,
    /// State of the connection between opening and closing.
    pub phase: Phase,
    /// `true` if the connection uses TLS.
    pub secure: bool,
    /// `true` if the response of the current exchange is complete.
    pub answered: bool,
    /// `true` if the peer has closed the connection.
    pub ended: bool,
}

impl Connection {
    /// Creates the state of a connection that is closed.
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

/// A request or call in progress. Only users that wait for a response have one. The objects are reused.
#[derive(Debug)]
pub struct Exchange {
    /// Index of the user in its load thread.
    pub user: u32,
    /// Index of the request in the compiled plan; for calls see `CALL`.
    pub request: u32,
    /// Index of the connection in the load thread, once a connection is assigned.
    pub connection: u32,
    /// Number under which the exchange waits for a connection from a pool; 0 if it does not wait.
    pub ticket: u64,
    /// Intended start of the request. [ns]
    pub intended_ns: u64,
    /// Actual start of the request. [ns]
    pub started_ns: u64,
    /// Start of the attempt to connect, if a new connection was opened. [ns]
    pub connecting_ns: u64,
    /// Progress of the connection attempt over the addresses of the host name.
    pub attempt: Attempt,
    /// `true` if the connection was idle before, so that it has carried an earlier request and its response.
    pub reused: bool,
    /// Arrival of the first byte of the response. [ns]
    pub first_byte_ns: Option<u64>,
    /// Time at which the request times out. [ns]
    pub deadline_ns: u64,
    /// Bytes received for this request. [B]
    pub bytes_in: u64,
    /// Bytes sent for this request. [B]
    pub bytes_out: u64,
    /// The part of the request that is not sent yet.
    pub out: Outgoing,
    /// Parser of the response, which also stores the parts of the response that are to be kept.
    pub scanner: ResponseScanner,
    /// Path of the request, which is needed to store cookies.
    pub path: Vec<u8>,
    /// Key of the object that the request or call stores, replaces, removes or reads, as JSON text.
    pub key: Vec<u8>,
    /// Actual start of the request. It identifies the exchange in the notes about stored objects. [ns]
    pub noted_ns: u64,
    /// Rendered values of those request fields that are not constant (HTTP/2).
    pub fields: Vec<u8>,
    /// Number of the stream that carries the request (HTTP/2).
    pub stream: u32,
    /// Number of times that the request was sent again because the server had not processed it (HTTP/2).
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

    /// Allocates memory for a usual request and the head of its response in advance.
    pub fn make_room(&mut self) {
        self.out.make_room(USUAL_BYTES);
        self.scanner.make_room(USUAL_BYTES);
        self.path.reserve(USUAL_BYTES / 4);
    }
}
