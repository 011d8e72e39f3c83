//! HTTP/2 exchanges, many at the same time over one connection.
//!
//! The output of a connection is collected while the responses of one read are processed. It is then written with one
//! system call.

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
use super::secure::{ReadResult, Trouble};
use super::user::{Exchange, NONE, Phase};

/// Limit on how often a request is sent again after servers reported that they did not process it. Without the limit, a
/// server that always refuses would keep a thread busy.
const SENT_AGAIN_AT_MOST: u8 = 10;

/// Limit on the connections with collected output. Once it is exceeded, the output is written, so that no request
/// waits long.
const GATHERED_AT_MOST: usize = 32;

/// HTTP/2 state of one connection.
#[derive(Debug)]
struct Link {
    connection: Connection,
    target: usize,
    /// `true` if the connection is in the list of connections with collected output.
    is_gathered: bool,
    /// Limit on concurrent requests that was last passed to the pool.
    limit: u32,
    /// Index of the exchange that waits until the server accepts requests again; [`NONE`] if no exchange waits. Used
    /// only if the connection belongs to a single user.
    waiting: u32,
}

impl Link {
    /// Returns `true` if the server accepts another request now.
    fn has_room(&self) -> bool {
        self.connection.in_hand() < self.connection.limit() as usize
    }

    /// Removes the waiting exchange from the connection, and returns it.
    fn take_waiting(&mut self) -> Option<usize> {
        let waiting = mem::replace(&mut self.waiting, NONE);
        (waiting != NONE).then_some(waiting as usize)
    }
}

/// HTTP/2 state of a load thread.
#[derive(Debug)]
pub(super) struct Multiplexing {
    /// HTTP/2 state of each connection; empty if no target speaks HTTP/2.
    links: Vec<Option<Box<Link>>>,
    gathered: Vec<u32>,
    ended: Vec<Ended>,
    bounds: Bounds,
    pub(super) counts: Counts,
}

/// Counters of HTTP/2 connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// HTTP/2 connections that were established.
    pub connections: u64,
    /// Connections on which the server sent GOAWAY.
    pub goaways: u64,
    /// Requests that the client cancelled after they were sent.
    pub cancelled: u64,
    /// Number of requests that were sent again, because the server reported that it had not processed them.
    pub sent_again: u64,
}

impl Counts {
    /// Adds the counters of another load thread.
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

    /// Records that a connection has output to write.
    fn gather(&mut self, connection: usize) {
        if let Some(link) = self.links[connection].as_deref_mut()
            && !link.is_gathered
        {
            link.is_gathered = true;
            self.gathered.push(connection as u32);
        }
    }
}

/// Gives an HTTP/2 connection access to the exchanges of its load thread.
struct View<'a> {
    exchanges: &'a mut [Exchange],
    now_ns: u64,
}

impl Exchanges for View<'_> {
    #[inline]
    fn received(&mut self, token: u32, bytes: usize) -> &mut Answer {
        let entry = &mut self.exchanges[token as usize];
        entry.bytes_in += bytes as u64;
        entry.first_byte_ns.get_or_insert(self.now_ns);
        entry.scanner.answer_mut()
    }

    #[inline]
    fn sent(&mut self, token: u32, bytes: usize) -> &mut Outgoing {
        let entry = &mut self.exchanges[token as usize];
        entry.bytes_out += bytes as u64;
        &mut entry.out
    }
}

impl Worker<'_> {
    /// Begins HTTP/2 on an established connection, with one request.
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
            waiting: NONE,
        };
        self.http2.links[connection] = Some(Box::new(link));
        self.http2.counts.connections += 1;
        self.open_stream(exchange, connection);
    }

    /// Opens a request over a connection. If the connection belongs to a single user and the server accepts no request
    /// now, the request waits.
    pub(super) fn open_stream_in_turn(&mut self, exchange: usize, connection: usize) {
        // With a pool no check is needed, as the pool itself counts the free capacity of its connections.
        if matches!(self.model, Model::PerUser)
            && let Some(link) = self.http2.link(connection)
            && !link.has_room()
        {
            link.waiting = exchange as u32;
            return;
        }
        self.open_stream(exchange, connection);
    }

    /// Opens the waiting request, if the server accepts one now.
    fn resume_waiting(&mut self, connection: usize) {
        if let Some(link) = self.http2.link(connection)
            && link.has_room()
            && let Some(exchange) = link.take_waiting()
        {
            self.open_stream(exchange, connection);
        }
    }

    /// Opens a request over an established connection.
    fn open_stream(&mut self, exchange: usize, connection: usize) {
        let Some(link) = self.http2.link(connection) else {
            return;
        };
        let entry = &mut self.exchanges[exchange];
        let request = &self.program.requests[entry.request as usize];
        let constants = &self.program.constants;
        let values = mem::take(&mut entry.fields);
        let mut view = View {
            exchanges: &mut self.exchanges,
            now_ns: 0,
        };
        let stream = link
            .connection
            .open(exchange as u32, &mut view, |encoder, out| {
                request.encode_fields(constants, &values, encoder, out);
            });
        let entry = &mut self.exchanges[exchange];
        (entry.fields, entry.stream) = (values, stream);
        self.http2.gather(connection);
        self.update_limit(connection);
        if self.http2.gathered.len() > GATHERED_AT_MOST {
            self.flush_gathered();
        }
    }

    /// Passes the limit on concurrent requests to the pool, if the limit has changed. Returns the index of the target
    /// if so.
    fn update_limit(&mut self, connection: usize) -> Option<usize> {
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

    /// Returns `true` if the connection accepts no further request.
    pub(super) fn is_draining(&mut self, connection: usize) -> bool {
        let link = self.http2.link(connection);
        link.is_some_and(|link| link.connection.is_draining())
    }

    /// Writes the collected output of all connections.
    #[inline]
    pub(super) fn flush_gathered(&mut self) {
        if !self.http2.gathered.is_empty() {
            self.say_each();
        }
    }

    fn say_each(&mut self) {
        while let Some(connection) = self.http2.gathered.pop() {
            if let Some(link) = self.http2.link(connection as usize) {
                link.is_gathered = false;
                self.flush_connection(connection as usize);
            }
        }
    }

    /// Writes until all output is written, the socket is full, or the limit on consecutive writes is reached.
    fn flush_connection(&mut self, connection: usize) {
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
                // Data that the server sent before it closed the connection can still be read. The end of the stream
                // follows.
                Err(()) => {
                    self.revisit.push(connection as u32, generation, true);
                    return;
                }
            }
        }
        self.revisit.push(connection as u32, generation, false);
    }

    /// Writes output with one system call. Returns `true` if the socket may accept more.
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

    /// Passes output to the TLS session until the session's buffer is full.
    fn put_in(&mut self, connection: usize) {
        let link = self.http2.links[connection].as_deref_mut();
        let session = self.sessions[connection].as_mut();
        if let (Some(link), Some(session)) = (link, session) {
            let bytes = session.put_in(link.connection.pending());
            link.connection.advance(bytes);
        }
    }

    /// Handles an event of an HTTP/2 connection.
    pub(super) fn on_shared(&mut self, connection: usize, event: Event) {
        if event.writable() {
            self.http2.gather(connection);
        }
        if event.readable() {
            self.receive_shared(connection, event.closed());
        }
    }

    /// Continues a connection that was interrupted by the limit on consecutive reads or writes.
    pub(super) fn go_on_sharing(&mut self, connection: usize, closed: bool) {
        self.http2.gather(connection);
        self.receive_shared(connection, closed);
    }

    /// Reads from an HTTP/2 connection until its socket is empty.
    pub(super) fn receive_shared(&mut self, connection: usize, closed: bool) {
        let generation = self.connections[connection].generation;
        for _ in 0..READS_IN_A_ROW {
            let (count, close_notify) = match self.read_once(connection) {
                Ok(ReadResult::Nothing) => return,
                Ok(ReadResult::Bytes {
                    count,
                    close_notify,
                }) => (count, close_notify),
                Ok(ReadResult::EndOfStream) | Err(Trouble::Socket) => {
                    return self.lose(connection, None, Failure::Closed);
                }
                Err(Trouble::Tls(error)) if self.is_fresh(connection) => {
                    return self.lose(connection, Some(Reason::tls(&error)), Failure::Connect);
                }
                Err(Trouble::Tls(_)) => return self.lose(connection, None, Failure::Protocol),
            };
            if !self.process_received(connection, count, close_notify) {
                return;
            }
            // A read that does not fill the buffer has emptied the socket, and a new event will report further bytes.
            // If the stream has ended, no further event follows, so reading must go on.
            if count < self.buffer.len() && !closed {
                return;
            }
        }
        self.revisit.push(connection as u32, generation, closed);
    }

    /// Processes received bytes, which are in `plain` with TLS, otherwise in `buffer`. Returns `true` if the connection
    /// continues.
    pub(super) fn process_received(
        &mut self,
        connection: usize,
        count: usize,
        close_notify: bool,
    ) -> bool {
        let generation = self.connections[connection].generation;
        let taken = self.take_in(connection, count);
        if !self.is_shared(connection, generation) {
            return false;
        }
        match taken {
            Ok(()) if close_notify => self.lose(connection, None, Failure::Closed),
            Ok(()) => self.close_if_drained(connection),
            Err(Broken::NotHttp2) => self.lose(connection, Some(Reason::NoHttp2), Failure::Connect),
            Err(Broken::Protocol(_)) => self.lose(connection, None, Failure::Protocol),
        }
        self.is_shared(connection, generation)
    }

    /// Returns `true` if the connection entry still has the same socket, and the connection speaks HTTP/2.
    fn is_shared(&self, connection: usize, generation: u32) -> bool {
        let place = &self.connections[connection];
        place.generation == generation && place.phase == Phase::Shared
    }

    /// Reads once from the socket. The bytes are then in `plain` with TLS, otherwise in `buffer`.
    fn read_once(&mut self, connection: usize) -> Result<ReadResult, Trouble> {
        if self.connections[connection].secure {
            return self.read_decrypted(connection);
        }
        let Some(socket) = self.connections[connection].socket.as_mut() else {
            return Ok(ReadResult::Nothing);
        };
        loop {
            match socket.read(&mut self.buffer) {
                Ok(0) => return Ok(ReadResult::EndOfStream),
                Ok(count) => {
                    return Ok(ReadResult::Bytes {
                        count,
                        close_notify: false,
                    });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(ReadResult::Nothing);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Trouble::Socket),
            }
        }
    }

    /// Passes received bytes to the connection, and ends the exchanges that they complete.
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
        let changed = self.update_limit(connection);
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
            self.resume_waiting(connection);
        }
        taken
    }

    /// Sends a request again because the server reported it as not processed. The request uses another connection if
    /// this one accepts no more requests.
    fn send_again(&mut self, exchange: usize, now_ns: u64) {
        let entry = &mut self.exchanges[exchange];
        let (connection, request) = (
            entry.connection as usize,
            &self.program.requests[entry.request as usize],
        );
        if entry.sent_again == SENT_AGAIN_AT_MOST {
            self.end_exchange(exchange, Err(Failure::Closed), now_ns, false);
            return;
        }
        entry.sent_again += 1;
        entry.out.rewind();
        self.http2.counts.sent_again += 1;
        if let Model::Pool(pools) = &mut self.model {
            entry.connection = NONE;
            self.tickets += 1;
            entry.ticket = self.tickets;
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

    /// Handles the time-out of a request: resets its stream and keeps the connection.
    pub(super) fn cancel(&mut self, exchange: usize, now_ns: u64) {
        let entry = &self.exchanges[exchange];
        let (connection, stream) = (entry.connection as usize, entry.stream);
        let generation = self.connections[connection].generation;
        if let Some(link) = self.http2.link(connection) {
            if link.waiting == exchange as u32 {
                link.waiting = NONE;
            } else {
                link.connection.cancel(stream);
                self.http2.counts.cancelled += 1;
                self.http2.gather(connection);
            }
        }
        self.end_exchange(exchange, Err(Failure::Timeout), now_ns, false);
        if self.connections[connection].generation == generation {
            self.close_if_drained(connection);
        }
    }

    /// Closes a connection if the server accepts no more requests over it and has responded to all requests that it
    /// accepted. A waiting request is sent over a new connection.
    fn close_if_drained(&mut self, connection: usize) {
        let Some(link) = self.http2.link(connection) else {
            return;
        };
        if !link.connection.is_draining() || link.connection.in_hand() > 0 {
            return;
        }
        let waiting = link.take_waiting();
        self.lose(connection, None, Failure::Closed);
        if let Some(exchange) = waiting {
            let now_ns = self.tick();
            if self.launch_over(exchange, connection, now_ns) == Flow::Next {
                self.later(self.exchanges[exchange].user as usize);
            }
        }
    }

    /// Closes a connection and fails its open exchanges.
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
        tokens.extend(link.take_waiting());
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

    /// Ends HTTP/2 on a connection that is about to close; sends GOAWAY if the server still reads.
    pub(super) fn end_link(&mut self, connection: usize) {
        if let Some(link) = self.http2.link(connection) {
            link.connection.send_goaway();
            // An error is ignored: if the socket is full or closed, the frame is not sent.
            let _ = self.write_some(connection);
            self.http2.links[connection] = None;
        }
    }
}
