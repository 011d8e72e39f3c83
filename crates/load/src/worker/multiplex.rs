//! Exchanges by HTTP/2: many at once over one connection.
//!
//! What is to be said over a connection is gathered while the answers of one read are dealt with, and written at once.

use std::io::{ErrorKind, Read, Write};
use std::mem;

use crate::http::response::Answer;
use crate::http2::{Bounds, Broken, Connection, End, Ended, Exchanges};
use crate::outcome::Failure;
use crate::program::body::Outgoing;
use crate::sys::Event;

use super::Worker;
use super::connections::Model;
use super::exchange::{READS_IN_A_ROW, WRITES_IN_A_ROW};
use super::interpret::Flow;
use super::reasons::Reason;
use super::secure::{Drawn, Trouble};
use super::user::{Exchange, NONE, Phase};

/// How often a request is sent again that servers say they did nothing of. A server that refuses for ever must not keep a
/// thread busy.
const SENT_AGAIN_AT_MOST: u8 = 10;

/// Connections that have something to say, beyond which it is said before more is gathered: no request waits long.
const GATHERED_AT_MOST: usize = 32;

/// HTTP/2 of one connection.
#[derive(Debug)]
struct Link {
    connection: Connection,
    target: usize,
    /// It is among those that have something to say.
    is_gathered: bool,
    /// Requests at once as its pool knows it.
    limit: u32,
}

/// HTTP/2 of a thread.
#[derive(Debug)]
pub(super) struct Multiplexing {
    /// By the place of a connection; empty when no target speaks it.
    links: Vec<Option<Box<Link>>>,
    gathered: Vec<u32>,
    ended: Vec<Ended>,
    bounds: Bounds,
    pub(super) counts: Counts,
}

/// What happened to connections that speak HTTP/2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Made.
    pub connections: u64,
    /// On which the server said that it takes no more requests.
    pub goaways: u64,
    /// Requests that this side gave up.
    pub cancelled: u64,
    /// Requests that the server did nothing of, as it said, and that were sent once more.
    pub sent_again: u64,
}

impl Counts {
    /// Adds those of another thread.
    pub fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.goaways += other.goaways;
        self.cancelled += other.cancelled;
        self.sent_again += other.sent_again;
    }
}

impl Multiplexing {
    pub(super) fn new(places: usize, bounds: Bounds) -> Self {
        Self {
            links: (0..places).map(|_| None).collect(),
            gathered: Vec::new(),
            ended: Vec::new(),
            bounds,
            counts: Counts::default(),
        }
    }

    fn link(&mut self, connection: usize) -> Option<&mut Link> {
        self.links.get_mut(connection)?.as_deref_mut()
    }

    /// Notes that a connection has something to say.
    fn gather(&mut self, connection: usize) {
        if let Some(link) = self.links[connection].as_deref_mut()
            && !link.is_gathered
        {
            link.is_gathered = true;
            self.gathered.push(connection as u32);
        }
    }
}

/// The exchanges of a thread, as a connection looks at them.
struct View<'a> {
    exchanges: &'a mut [Exchange],
    now_ns: u64,
}

impl Exchanges for View<'_> {
    #[inline]
    fn received(&mut self, token: u32, bytes: usize) -> &mut Answer {
        let one = &mut self.exchanges[token as usize];
        one.bytes_in += bytes as u64;
        one.first_byte_ns.get_or_insert(self.now_ns);
        one.scanner.answer_mut()
    }

    #[inline]
    fn sent(&mut self, token: u32, bytes: usize) -> &mut Outgoing {
        let one = &mut self.exchanges[token as usize];
        one.bytes_out += bytes as u64;
        &mut one.out
    }
}

impl Worker<'_> {
    /// Nothing is between this side and the server any more: HTTP/2 begins, with one request.
    pub(super) fn begin_link(&mut self, exchange: usize, connection: usize) {
        let request = &self.program.requests[self.exchanges[exchange].request as usize];
        let place = &mut self.connections[connection];
        place.phase = Phase::Shared;
        place.exchange = NONE;
        let link = Link {
            connection: Connection::new(self.http2.bounds),
            target: request.target,
            is_gathered: false,
            limit: 1,
        };
        self.http2.links[connection] = Some(Box::new(link));
        self.http2.counts.connections += 1;
        self.open_stream(exchange, connection);
    }

    /// Begins a request over a connection that stands.
    pub(super) fn open_stream(&mut self, exchange: usize, connection: usize) {
        let Some(link) = self.http2.link(connection) else {
            return;
        };
        let one = &mut self.exchanges[exchange];
        let request = &self.program.requests[one.request as usize];
        let constants = &self.program.constants;
        let values = mem::take(&mut one.fields);
        let mut view = View {
            exchanges: &mut self.exchanges,
            now_ns: 0,
        };
        let stream = link
            .connection
            .open(exchange as u32, &mut view, |encoder, out| {
                request.encode_fields(constants, &values, encoder, out);
            });
        let one = &mut self.exchanges[exchange];
        (one.fields, one.stream) = (values, stream);
        self.http2.gather(connection);
        self.tell_limit(connection);
        if self.http2.gathered.len() > GATHERED_AT_MOST {
            self.say_all();
        }
    }

    /// Tells the pool how many requests there may be at once, if that has changed; the target, if it has.
    fn tell_limit(&mut self, connection: usize) -> Option<usize> {
        let link = self.http2.link(connection)?;
        if link.limit == link.connection.limit() {
            return None;
        }
        link.limit = link.connection.limit();
        if let Model::Pool(pools) = &mut self.model {
            pools[link.target].set_limit(connection as u32, link.limit);
        }
        Some(link.target)
    }

    /// Whether a connection takes no further request.
    pub(super) fn is_draining(&mut self, connection: usize) -> bool {
        let link = self.http2.link(connection);
        link.is_some_and(|link| link.connection.is_draining())
    }

    /// Writes what was gathered.
    #[inline]
    pub(super) fn say_all(&mut self) {
        if !self.http2.gathered.is_empty() {
            self.say_each();
        }
    }

    fn say_each(&mut self) {
        while let Some(connection) = self.http2.gathered.pop() {
            if let Some(link) = self.http2.link(connection as usize) {
                link.is_gathered = false;
                self.say(connection as usize);
            }
        }
    }

    /// Writes until all is said, the socket is full or the turn is over.
    fn say(&mut self, connection: usize) {
        let place = &self.connections[connection];
        let (secure, generation) = (place.secure, place.generation);
        for _ in 0..WRITES_IN_A_ROW {
            let Some(link) = self.http2.links[connection].as_deref_mut() else {
                return;
            };
            link.connection.pump(&mut View {
                exchanges: &mut self.exchanges,
                now_ns: 0,
            });
            if link.connection.pending().is_empty() && !(secure && self.wants_write(connection)) {
                return;
            }
            match self.write_some(connection) {
                Ok(true) => {}
                Ok(false) => return,
                // What the server said before it closed is still there to be read, and then the end.
                Err(()) => {
                    self.revisit.push(connection as u32, generation, true);
                    return;
                }
            }
        }
        self.revisit.push(connection as u32, generation, false);
    }

    /// Writes once; whether the socket may take more.
    fn write_some(&mut self, connection: usize) -> Result<bool, ()> {
        let place = &mut self.connections[connection];
        let link = self.http2.links[connection].as_deref_mut();
        let (Some(link), Some(socket)) = (link, place.socket.as_mut()) else {
            return Ok(false);
        };
        if place.secure {
            self.put_in(connection);
            self.flush(connection).map_err(|_| ())?;
            return Ok(!self.wants_write(connection));
        }
        match socket.write(link.connection.pending()) {
            Ok(bytes) => {
                link.connection.advance(bytes);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(_) => Err(()),
        }
    }

    /// Hands what is to be said to the TLS session, as far as that takes it.
    fn put_in(&mut self, connection: usize) {
        let link = self.http2.links[connection].as_deref_mut();
        let session = self.sessions[connection].as_mut();
        if let (Some(link), Some(session)) = (link, session) {
            let bytes = session.put_in(link.connection.pending());
            link.connection.advance(bytes);
        }
    }

    /// Something happened to a connection that speaks HTTP/2.
    pub(super) fn on_shared(&mut self, connection: usize, event: Event) {
        if event.writable() {
            self.http2.gather(connection);
        }
        if event.readable() {
            self.receive_shared(connection, event.closed());
        }
    }

    /// Goes on with a connection whose turn ended before all was said or read.
    pub(super) fn go_on_sharing(&mut self, connection: usize, closed: bool) {
        self.http2.gather(connection);
        self.receive_shared(connection, closed);
    }

    /// Reads until the socket is empty.
    pub(super) fn receive_shared(&mut self, connection: usize, closed: bool) {
        let generation = self.connections[connection].generation;
        for _ in 0..READS_IN_A_ROW {
            let (count, farewell) = match self.read_once(connection) {
                Ok(Drawn::Nothing) => return,
                Ok(Drawn::Bytes { count, farewell }) => (count, farewell),
                Ok(Drawn::Cut) | Err(Trouble::Socket) => {
                    return self.lose(connection, None, Failure::Closed);
                }
                Err(Trouble::Tls(error)) if self.is_fresh(connection) => {
                    return self.lose(
                        connection,
                        Some(Reason::Tls(error.to_string())),
                        Failure::Connect,
                    );
                }
                Err(Trouble::Tls(_)) => return self.lose(connection, None, Failure::Protocol),
            };
            if !self.hear(connection, count, farewell) {
                return;
            }
            // A short read has emptied the socket; an edge tells of more. The end of the stream has no further edge.
            if count < self.buffer.len() && !closed {
                return;
            }
        }
        self.revisit.push(connection as u32, generation, closed);
    }

    /// Deals with what came, which is in `plain` with TLS, else in `buffer`; whether the connection goes on.
    pub(super) fn hear(&mut self, connection: usize, count: usize, farewell: bool) -> bool {
        let generation = self.connections[connection].generation;
        let taken = self.take_in(connection, count);
        if !self.is_shared(connection, generation) {
            return false;
        }
        match taken {
            Ok(()) if farewell => self.lose(connection, None, Failure::Closed),
            Ok(()) => self.close_if_drained(connection),
            Err(Broken::NotHttp2) => self.lose(connection, Some(Reason::NoHttp2), Failure::Connect),
            Err(Broken::Protocol(_)) => self.lose(connection, None, Failure::Protocol),
        }
        self.is_shared(connection, generation)
    }

    /// Whether it is still the same connection that speaks HTTP/2.
    fn is_shared(&self, connection: usize, generation: u32) -> bool {
        let place = &self.connections[connection];
        place.generation == generation && place.phase == Phase::Shared
    }

    /// Reads once; what came is in `plain` with TLS, else in `buffer`.
    fn read_once(&mut self, connection: usize) -> Result<Drawn, Trouble> {
        if self.connections[connection].secure {
            return self.draw_in(connection);
        }
        let Some(socket) = self.connections[connection].socket.as_mut() else {
            return Ok(Drawn::Nothing);
        };
        loop {
            match socket.read(&mut self.buffer) {
                Ok(0) => return Ok(Drawn::Cut),
                Ok(count) => {
                    return Ok(Drawn::Bytes {
                        count,
                        farewell: false,
                    });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Drawn::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Trouble::Socket),
            }
        }
    }

    /// Gives what came to the connection, and ends the exchanges that are over by it.
    fn take_in(&mut self, connection: usize, count: usize) -> Result<(), Broken> {
        let now_ns = self.tick();
        let secure = self.connections[connection].secure;
        let Some(link) = self.http2.links[connection].as_deref_mut() else {
            return Ok(());
        };
        let bytes = if secure {
            &self.plain[..]
        } else {
            &self.buffer[..count]
        };
        let was_draining = link.connection.is_draining();
        let mut ended = mem::take(&mut self.http2.ended);
        let mut view = View {
            exchanges: &mut self.exchanges,
            now_ns,
        };
        let taken = link.connection.receive(bytes, &mut view, &mut ended);
        if taken.is_ok() && link.connection.is_draining() && !was_draining {
            self.http2.counts.goaways += 1;
        }
        if !link.connection.pending().is_empty() {
            self.http2.gather(connection);
        }
        if secure && !self.plain.is_empty() {
            self.no_longer_fresh(connection);
        }
        let changed = self.tell_limit(connection);
        for Ended { token, end } in ended.drain(..) {
            match end {
                End::Whole => self.answered(token as usize, now_ns, false),
                End::Failed(failure) => {
                    self.end_exchange(token as usize, Err(failure), now_ns, false);
                }
                End::Refused => self.send_again(token as usize, now_ns),
            }
        }
        self.http2.ended = ended;
        if let Some(target) = changed {
            self.serve_waiting(target);
        }
        taken
    }

    /// A request that the server did nothing of goes out again, over another connection if this one takes no more.
    fn send_again(&mut self, exchange: usize, now_ns: u64) {
        let one = &mut self.exchanges[exchange];
        let (connection, request) = (
            one.connection as usize,
            &self.program.requests[one.request as usize],
        );
        if one.sent_again == SENT_AGAIN_AT_MOST {
            self.end_exchange(exchange, Err(Failure::Closed), now_ns, false);
            return;
        }
        one.sent_again += 1;
        one.out.rewind();
        self.http2.counts.sent_again += 1;
        if let Model::Pool(pools) = &mut self.model {
            one.connection = NONE;
            self.tickets += 1;
            one.ticket = self.tickets;
            let pool = &mut pools[request.target];
            pool.put_back(connection as u32, true);
            pool.wait_first(exchange as u32, self.tickets);
            self.serve_waiting(request.target);
            return;
        }
        if self.launch_over(exchange, connection, now_ns) == Flow::Next {
            self.later(self.exchanges[exchange].user as usize);
        }
    }

    /// The time of a request is over: the server is told, and the connection goes on.
    pub(super) fn cancel(&mut self, exchange: usize, now_ns: u64) {
        let one = &self.exchanges[exchange];
        let (connection, stream) = (one.connection as usize, one.stream);
        let generation = self.connections[connection].generation;
        if let Some(link) = self.http2.link(connection) {
            link.connection.cancel(stream);
            self.http2.counts.cancelled += 1;
            self.http2.gather(connection);
        }
        self.end_exchange(exchange, Err(Failure::Timeout), now_ns, false);
        if self.connections[connection].generation == generation {
            self.close_if_drained(connection);
        }
    }

    /// The server takes no more requests, and all that it took are answered.
    fn close_if_drained(&mut self, connection: usize) {
        let over =
            |link: &mut Link| link.connection.is_draining() && link.connection.in_hand() == 0;
        if self.http2.link(connection).is_some_and(over) {
            self.lose(connection, None, Failure::Closed);
        }
    }

    /// Closes a connection whose exchanges, if there are any, fail with it.
    fn lose(&mut self, connection: usize, reason: Option<Reason>, failure: Failure) {
        let now_ns = self.tick();
        let Some(link) = self.http2.link(connection) else {
            return;
        };
        let (reason, failure) = if link.connection.is_ready() || reason.is_some() {
            (reason, failure)
        } else {
            (Some(Reason::NoSettings), Failure::Connect)
        };
        let target = link.target;
        let mut tokens = Vec::new();
        link.connection.abandon(|token| tokens.push(token as usize));
        for token in &tokens {
            self.exchanges[*token].connection = NONE;
        }
        if let Some(reason) = reason.filter(|_| !tokens.is_empty()) {
            self.reasons.count(reason);
        }
        self.close(connection);
        if let Model::Pool(pools) = &mut self.model {
            pools[target].closed(connection as u32);
        }
        for token in tokens {
            self.end_exchange(token, Err(failure), now_ns, false);
        }
        self.serve_waiting(target);
    }

    /// Takes HTTP/2 off a connection that is about to close; the server is told, if it still listens.
    pub(super) fn end_link(&mut self, connection: usize) {
        if let Some(link) = self.http2.link(connection) {
            link.connection.say_farewell();
            // A socket that is full or gone does without.
            let _ = self.write_some(connection);
            self.http2.links[connection] = None;
        }
    }
}
