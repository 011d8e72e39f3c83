//! HTTP exchanges: from the start of a request to the end of its response.

use std::io::{ErrorKind, Read, Write};

use crate::http::response::{Progress, Wanted};
use crate::outcome::Failure;
use crate::plan::CookiesKept;
use crate::program::request::wall_ms;
use crate::recorder;
use crate::sys::Event;
use crate::template::Context;

use super::Worker;
use super::calls::CALL;
use super::deadlines::slot_of;
use super::interpret::Flow;
use super::reasons::Reason;
use super::user::{Exchange, NONE, Phase, State};

/// Limit on consecutive reads of one connection, so that an endless body does not delay the other users of the thread.
///
/// It is one because a read fills the buffer, which may hold 20,000 chunks of one byte. With a higher limit, four
/// servers that sent such chunks took most of the time of the thread.
pub(super) const READS_IN_A_ROW: usize = 1;

/// Limit on consecutive writes of one block each to a connection. Without it, a large body would keep the thread busy
/// if the server reads as fast as the thread generates the body.
pub(super) const WRITES_IN_A_ROW: usize = 16;

/// Size above which the buffer for the kept part of a response body is freed after use, since most users need no such
/// buffer. [B]
const KEPT_CAPTURE_BYTES: usize = 64 * 1024;

impl Worker<'_> {
    /// Starts the request of a user as far as possible without waiting.
    pub(super) fn begin_exchange(&mut self, index: usize, request: u32) -> Flow {
        let now_ns = self.tick();
        let program = self.program;
        let plan = &program.requests[request as usize];
        let exchange = self.take_exchange();
        let user = &mut self.users[index];
        let intended_ns = user.clock_ns;
        user.note_exchange(intended_ns);
        self.recorder.offered(plan.step);
        self.recorder
            .started(plan.step, now_ns.saturating_sub(intended_ns));
        let entry = &mut self.exchanges[exchange];
        entry.user = index as u32;
        entry.request = request;
        entry.connection = NONE;
        (entry.intended_ns, entry.started_ns, entry.first_byte_ns) = (intended_ns, now_ns, None);
        (entry.bytes_in, entry.bytes_out) = (0, 0);
        entry.out.clear();
        let inspection = &plan.inspection;
        entry.scanner.begin(Wanted {
            head: true,
            body: inspection.needs_body,
            method_is_head: plan.is_head,
        });
        user.exchange = exchange as u32;
        user.state = State::Exchanging;
        if plan.note.is_some() {
            self.note_begin(exchange);
        }
        let (entry, user) = (&mut self.exchanges[exchange], &mut self.users[index]);
        let mut context = Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        };
        let (out, path, jar) = (&mut entry.out, &mut entry.path, &mut user.jar);
        let encoded = if plan.is_http2() {
            entry.sent_again = 0;
            plan.render(&mut entry.fields, out, path, &mut context, jar)
        } else {
            plan.encode(out, path, &mut context, jar)
        };
        if let Err(why) = encoded {
            let reason = plan.reason(why, path);
            self.unsendable.count(Reason::Unsendable(reason));
            return self.finish(exchange, Err(Failure::Internal), now_ns, true);
        }
        self.set_deadline(exchange, now_ns + plan.timeout_ns);
        self.launch(exchange, plan.target, now_ns)
    }

    pub(super) fn set_deadline(&mut self, exchange: usize, deadline_ns: u64) {
        let entry = &mut self.exchanges[exchange];
        entry.deadline_ns = deadline_ns;
        let user = &mut self.users[entry.user as usize];
        let slot = slot_of(deadline_ns);
        if slot < user.listed {
            user.listed = slot;
            self.deadlines.insert(slot, entry.user);
        }
    }

    /// Times out exchanges whose deadline is at or before `now_ns`. If the deadline of a user's exchange was moved to a
    /// later time, the user is entered again.
    pub(super) fn sweep(&mut self, now_ns: u64) {
        while let Some(index) = self.deadlines.pop(now_ns) {
            let user = &mut self.users[index as usize];
            user.listed = super::deadlines::UNLISTED;
            let exchange = user.exchange;
            if exchange == NONE {
                continue;
            }
            let deadline_ns = self.exchanges[exchange as usize].deadline_ns;
            if deadline_ns <= now_ns {
                self.time_out(exchange as usize);
            } else {
                self.set_deadline(exchange as usize, deadline_ns);
            }
        }
    }

    fn time_out(&mut self, exchange: usize) {
        let now_ns = self.tick();
        if self.exchanges[exchange].request & CALL != 0 {
            self.time_out_call(exchange, now_ns);
            return;
        }
        let connection = self.exchanges[exchange].connection;
        if connection == NONE {
            self.end_wait(exchange, now_ns);
            self.end_exchange(exchange, Err(Failure::Timeout), now_ns, true);
            return;
        }
        match self.connections[connection as usize].phase {
            Phase::Connecting => {
                self.refused(exchange, connection as usize, Reason::Late, now_ns);
            }
            Phase::Securing => self.fail_to_connect(exchange, Reason::HandshakeLate, now_ns),
            Phase::Shared => self.cancel(exchange, now_ns),
            _ => self.end_exchange(exchange, Err(Failure::Timeout), now_ns, true),
        }
    }

    /// Handles an event of a connection.
    pub(super) fn on_event(&mut self, event: Event) {
        let connection = (event.data & u64::from(u32::MAX)) as usize;
        let place = &self.connections[connection];
        if place.generation != (event.data >> 32) as u32 {
            self.lingering.on_event(event);
            return;
        }
        match place.phase {
            Phase::Idle if event.readable() && place.secure => self.on_idle_secure(connection),
            // Bytes on an idle connection cannot be the response to a request.
            Phase::Idle if event.readable() => self.close_unasked(connection),
            Phase::Idle => {}
            Phase::Closed => self.lingering.on_event(event),
            Phase::Securing => self.go_on_securing(connection, event.closed()),
            Phase::Busy if place.secure => self.on_busy_secure(connection, event),
            Phase::Connecting => {
                if event.writable() || event.closed() {
                    self.connected(connection);
                    // An HTTP/2 server sends first. This event may also report bytes of the server. They must be read
                    // now, since no further event will report them.
                    if event.readable() && self.connections[connection].phase == Phase::Shared {
                        self.receive_shared(connection, event.closed());
                    }
                }
            }
            Phase::Busy => self.on_busy(connection, event),
            Phase::Shared => self.on_shared(connection, event),
        }
        self.flush_gathered();
    }

    fn on_busy(&mut self, connection: usize, event: Event) {
        let exchange = self.connections[connection].exchange as usize;
        if event.writable() && !self.exchanges[exchange].out.is_done() {
            self.send(exchange);
        }
        if event.readable() {
            self.receive(exchange, event.closed());
        }
    }

    /// Continues an exchange that was interrupted by the limit on consecutive reads or writes.
    pub(super) fn go_on_exchanging(&mut self, connection: usize, closed: bool) {
        let place = &self.connections[connection];
        let (exchange, secure) = (place.exchange as usize, place.secure);
        if !closed && !self.exchanges[exchange].out.is_done() {
            self.send(exchange);
        }
        if secure {
            self.receive_secure(exchange, closed);
        } else {
            self.receive(exchange, closed);
        }
    }

    /// Writes the request until everything is sent, the socket is full, or the limit on consecutive writes is reached.
    pub(super) fn send(&mut self, exchange: usize) {
        let entry = &mut self.exchanges[exchange];
        let place = &mut self.connections[entry.connection as usize];
        if place.secure {
            self.send_secure(exchange);
            return;
        }
        let Some(socket) = place.socket.as_mut() else {
            return;
        };
        for _ in 0..WRITES_IN_A_ROW {
            let pending = entry.out.pending();
            if pending.is_empty() {
                return;
            }
            match socket.write(pending) {
                Ok(bytes) => {
                    entry.out.advance(bytes);
                    entry.bytes_out += bytes as u64;
                    if entry.out.is_done() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The server may have responded before it closed the connection. Its response can still be read.
                Err(_) => {
                    self.revisit.push(entry.connection, place.generation, true);
                    return;
                }
            }
        }
        self.revisit.push(entry.connection, place.generation, false);
    }

    /// Reads until the response is complete, the socket is empty, or the limit on consecutive reads is reached.
    pub(super) fn receive(&mut self, exchange: usize, closed: bool) {
        for _ in 0..READS_IN_A_ROW {
            let entry = &mut self.exchanges[exchange];
            let connection = entry.connection as usize;
            let Some(socket) = self.connections[connection].socket.as_mut() else {
                return;
            };
            let count = match socket.read(&mut self.buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => {
                    let now_ns = self.tick();
                    self.end_exchange(exchange, Err(Failure::Closed), now_ns, true);
                    return;
                }
            };
            let now_ns = self.tick();
            let entry = &mut self.exchanges[exchange];
            let progress = if count == 0 {
                entry.scanner.end_of_stream()
            } else {
                entry.first_byte_ns.get_or_insert(now_ns);
                entry.bytes_in += count as u64;
                entry.scanner.feed(&self.buffer[..count])
            };
            match progress {
                Ok(Progress::More) if count == 0 => {
                    self.end_exchange(exchange, Err(Failure::Closed), now_ns, true);
                    return;
                }
                // A read that does not fill the buffer has emptied the socket, and a new event will report further
                // bytes. If the stream has ended, no further event follows, so reading must go on.
                Ok(Progress::More) if count < self.buffer.len() && !closed => return,
                Ok(Progress::More) => {}
                Ok(Progress::Complete { consumed }) => {
                    if consumed < count {
                        self.recorder.surplus();
                    }
                    let usable = entry.scanner.keep_alive()
                        && consumed == count
                        && entry.out.is_done()
                        && !closed;
                    if closed || count == 0 {
                        self.connections[connection].ended = true;
                    }
                    self.answered(exchange, now_ns, count == 0 || !usable);
                    return;
                }
                Err(error) => {
                    self.end_exchange(exchange, Err(Failure::from(error)), now_ns, true);
                    return;
                }
            }
        }
        let connection = self.exchanges[exchange].connection;
        self.revisit.push(
            connection,
            self.connections[connection as usize].generation,
            closed,
        );
    }

    /// Handles a complete response: stores cookies, performs checks, and extracts values.
    pub(super) fn answered(&mut self, exchange: usize, now_ns: u64, close: bool) {
        let entry = &mut self.exchanges[exchange];
        self.connections[entry.connection as usize].answered = true;
        let request = &self.program.requests[entry.request as usize];
        let user = &mut self.users[entry.user as usize];
        let kept = self.program.groups[usize::from(user.group)].cookies_kept;
        let cookies = entry.scanner.answer().headers("set-cookie");
        for field in cookies.filter(|_| kept != CookiesKept::Never) {
            user.jar.store(&request.site, &entry.path, field, wall_ms());
        }
        let mut context = Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        };
        let result =
            request
                .inspection
                .apply(entry.scanner.answer(), &mut context, &mut self.scratch);
        if let Err(fault) = result
            && self.examples.lacks(request.step, fault)
        {
            self.keep_example(exchange, fault, now_ns);
        }
        let result = result.map_err(|fault| fault.failure);
        let entry = &mut self.exchanges[exchange];
        if entry.scanner.answer().body().len() > KEPT_CAPTURE_BYTES {
            entry.scanner.release();
        }
        self.end_exchange(exchange, result, now_ns, close);
    }

    /// Ends an exchange. Then the exchanges that wait for a connection to the same target continue, and so does the
    /// user.
    pub(super) fn end_exchange(
        &mut self,
        exchange: usize,
        result: Result<(), Failure>,
        now_ns: u64,
        close: bool,
    ) {
        let entry = &self.exchanges[exchange];
        let user = entry.user as usize;
        let target = self.program.requests[entry.request as usize].target;
        let _ = self.finish(exchange, result, now_ns, close);
        self.serve_waiting(target);
        self.go_on(user);
    }

    /// Continues a user after a response. After a failure, the user continues in the next iteration of the event loop,
    /// so that immediate failures do not delay other users.
    fn go_on(&mut self, user: usize) {
        if self.users[user].state == State::Exchanging {
            self.run(user);
        }
    }

    /// Counts an exchange as ended, and frees its entry for other users.
    pub(super) fn finish(
        &mut self,
        exchange: usize,
        result: Result<(), Failure>,
        now_ns: u64,
        close: bool,
    ) -> Flow {
        let program = self.program;
        let entry = &self.exchanges[exchange];
        let request = &program.requests[entry.request as usize];
        let is_whole = result.err().is_none_or(Failure::has_answer);
        let counted = recorder::Exchange {
            result,
            status: is_whole.then(|| entry.scanner.answer().status()),
            response_ns: now_ns.saturating_sub(entry.intended_ns),
            exchange_ns: now_ns.saturating_sub(entry.started_ns),
            first_byte_ns: entry
                .first_byte_ns
                .map(|first_ns| first_ns.saturating_sub(entry.started_ns)),
            bytes_in: entry.bytes_in,
            bytes_out: entry.bytes_out,
        };
        self.recorder.finished(request.step, counted);
        if request.note.is_some() {
            self.note_end(exchange, result, now_ns);
        }
        let entry = &self.exchanges[exchange];
        if let Err(failure) = result {
            let reason = Reason::of_answer(failure, entry, request.is_http2());
            if !failure.has_answer() {
                let text = reason.as_ref().map(Reason::text);
                self.keep_silence(request.step, failure, request.timeout_ns, text, now_ns);
            }
            if let Some(reason) = reason {
                self.broken.count(reason);
            }
        }
        let entry = &self.exchanges[exchange];
        let (index, connection) = (entry.user as usize, entry.connection);
        if connection != NONE {
            self.release(connection as usize, request.target, close, now_ns);
        }
        self.free_exchanges.push(exchange as u32);
        let user = &mut self.users[index];
        user.exchange = NONE;
        user.clock_ns = now_ns;
        user.page_end_ns = now_ns;
        match result {
            Ok(()) => return Flow::Next,
            Err(_) if request.go_on => {}
            Err(failure) => self.fail(index, failure),
        }
        // The user continues in the next iteration of the event loop, so that immediate failures do not delay other
        // users.
        self.later(index);
        Flow::Wait
    }

    pub(super) fn take_exchange(&mut self) -> usize {
        if let Some(free) = self.free_exchanges.pop() {
            return free as usize;
        }
        self.exchanges.push(Exchange::new(self.limits));
        self.exchanges.len() - 1
    }
}
