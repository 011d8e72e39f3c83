//! HTTP exchanges over TLS. A TLS session decrypts the bytes from the socket before the scanner parses them.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, HandshakeKind};

use crate::http::response::Progress;
use crate::outcome::Failure;
use crate::sys::Event;
use crate::tls::{HTTP2, Sessions};

use super::Worker;
use super::exchange::{READS_IN_A_ROW, WRITES_IN_A_ROW};
use super::reasons::Reason;
use super::user::Phase;

/// Limit on consecutive received bytes without application data. Without this limit, a server that sends session
/// tickets endlessly would delay the other users of the thread. Handshakes are far shorter. [B]
const FRUITLESS_BYTES_AT_MOST: usize = 256 * 1024;

/// TLS state of a load thread for one target.
#[derive(Debug, Clone)]
pub struct TargetTls {
    /// TLS configuration for all connections of the thread to the target.
    pub config: Arc<ClientConfig>,
    /// TLS sessions to resume.
    pub sessions: Arc<Sessions>,
    /// Server name to send (SNI) and to verify.
    pub name: ServerName<'static>,
}

/// TLS state of one connection.
#[derive(Debug)]
pub(super) struct Session {
    tls: ClientConnection,
    target: usize,
    begun_ns: u64,
    /// `true` until the first byte of a response has arrived. Until then, an error counts as a failed handshake: with
    /// TLS 1.3, a server rejects the client's certificate only after the handshake.
    fresh: bool,
    /// Bytes received since the last application data. [B]
    fruitless_bytes: usize,
}

/// Result of one read from the socket. Decrypted bytes are in `Worker::plain`.
pub(super) enum ReadResult {
    /// The socket has no bytes to read.
    Nothing,
    /// Number of encrypted bytes read from the socket, and `true` if the server sent `close_notify`.
    Bytes { count: usize, close_notify: bool },
    /// The stream ended without `close_notify`.
    EndOfStream,
}

pub(super) enum Trouble {
    Socket,
    Tls(rustls::Error),
}

impl Worker<'_> {
    pub(super) fn begin_handshake(&mut self, exchange: usize, connection: usize, now_ns: u64) {
        let request = &self.program.requests[self.exchanges[exchange].request as usize];
        let target = request.target;
        let Some(secured) = &self.targets[target].tls else {
            return;
        };
        secured.sessions.turn_to(connection as u32);
        let session = ClientConnection::new(Arc::clone(&secured.config), secured.name.clone());
        match session {
            Ok(tls) => {
                let session = Session::new(tls, target, now_ns);
                self.sessions[connection] = Some(Box::new(session));
                self.connections[connection].phase = Phase::Securing;
                self.go_on_securing(connection, false);
            }
            Err(error) => self.fail_to_connect(exchange, Reason::tls(&error), now_ns),
        }
    }

    /// Continues the handshake as far as possible.
    pub(super) fn go_on_securing(&mut self, connection: usize, closed: bool) {
        let exchange = self.connections[connection].exchange as usize;
        self.plain.clear();
        loop {
            let flushed = self.flush(connection);
            let now_ns = self.tick();
            if let Err(error) = flushed {
                self.fail_to_connect(exchange, Reason::of(&error), now_ns);
                return;
            }
            let Some(session) = &self.sessions[connection] else {
                return;
            };
            if !session.tls.is_handshaking() {
                self.secured(connection, closed, now_ns);
                return;
            }
            match self.read_decrypted(connection) {
                Ok(ReadResult::Nothing) => return,
                Ok(ReadResult::Bytes { .. }) => {}
                Ok(ReadResult::EndOfStream) | Err(Trouble::Socket) => {
                    self.fail_to_connect(exchange, Reason::HandshakeClosed, now_ns);
                    return;
                }
                Err(Trouble::Tls(error)) => {
                    // Sends the alert that states why the handshake failed, if the server still reads.
                    let _ = self.flush(connection);
                    self.fail_to_connect(exchange, Reason::tls(&error), now_ns);
                    return;
                }
            }
        }
    }

    fn secured(&mut self, connection: usize, closed: bool, now_ns: u64) {
        let place = &self.connections[connection];
        let (exchange, generation) = (place.exchange as usize, place.generation);
        let mut chosen = None;
        if let Some(session) = &self.sessions[connection] {
            chosen = session.tls.alpn_protocol();
            let resumed = session.tls.handshake_kind() == Some(HandshakeKind::Resumed);
            self.recorder
                .handshake(now_ns.saturating_sub(session.begun_ns), resumed);
        }
        let request = &self.program.requests[self.exchanges[exchange].request as usize];
        if request.is_http2() && chosen != Some(HTTP2) {
            self.fail_to_connect(exchange, Reason::NoHttp2, now_ns);
            return;
        }
        self.established(exchange, connection);
        // The last read of the handshake may also contain frames, if an HTTP/2 server has sent some.
        let speaks_first = self.connections[connection].phase == Phase::Shared;
        if speaks_first && !self.plain.is_empty() && !self.process_received(connection, 0, false) {
            return;
        }
        if closed {
            // The end of the stream was already reported, and no further event will follow. The connection is queued,
            // so that the end is handled.
            self.revisit.push(connection as u32, generation, true);
        }
    }

    pub(super) fn on_busy_secure(&mut self, connection: usize, event: Event) {
        let exchange = self.connections[connection].exchange as usize;
        if event.writable() {
            self.send_secure(exchange);
        }
        if event.readable() {
            self.receive_secure(exchange, event.closed());
        }
    }

    /// Handles bytes on an idle connection. New session tickets are stored; anything else ends the connection. Only
    /// application data counts as unrequested: `close_notify` is the normal way to close an unused connection.
    pub(super) fn on_idle_secure(&mut self, connection: usize) {
        loop {
            match self.read_decrypted(connection) {
                Ok(ReadResult::Nothing) => {
                    if self.flush(connection).is_err() {
                        self.close(connection);
                    }
                    return;
                }
                Ok(ReadResult::Bytes {
                    close_notify: false,
                    ..
                }) if self.plain.is_empty() => {}
                Ok(ReadResult::Bytes { .. }) if !self.plain.is_empty() => {
                    self.recorder.unasked();
                    self.close(connection);
                    return;
                }
                _ => {
                    self.close(connection);
                    return;
                }
            }
        }
    }

    pub(super) fn send_secure(&mut self, exchange: usize) {
        let connection = self.exchanges[exchange].connection as usize;
        let generation = self.connections[connection].generation;
        for _ in 0..WRITES_IN_A_ROW {
            let entry = &mut self.exchanges[exchange];
            let Some(session) = &mut self.sessions[connection] else {
                return;
            };
            let pending = entry.out.pending();
            if !pending.is_empty() {
                let bytes = session.put_in(pending);
                entry.out.advance(bytes);
                entry.bytes_out += bytes as u64;
            }
            let done = entry.out.is_done();
            if self.flush(connection).is_err() {
                self.revisit.push(connection as u32, generation, true);
                return;
            }
            if done || self.wants_write(connection) {
                return;
            }
        }
        self.revisit.push(connection as u32, generation, false);
    }

    pub(super) fn wants_write(&self, connection: usize) -> bool {
        let session = self.sessions[connection].as_ref();
        session.is_some_and(|session| session.tls.wants_write())
    }

    /// Writes the encrypted output of a connection until all is written or the socket is full.
    pub(super) fn flush(&mut self, connection: usize) -> io::Result<()> {
        let session = self.sessions[connection].as_mut();
        let socket = self.connections[connection].socket.as_mut();
        let (Some(session), Some(socket)) = (session, socket) else {
            return Ok(());
        };
        while session.tls.wants_write() {
            match session.tls.write_tls(socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads once from the socket, and decrypts all bytes that were read.
    pub(super) fn read_decrypted(&mut self, connection: usize) -> Result<ReadResult, Trouble> {
        self.plain.clear();
        let session = self.sessions[connection].as_mut();
        let socket = self.connections[connection].socket.as_mut();
        let (Some(session), Some(socket)) = (session, socket) else {
            return Ok(ReadResult::Nothing);
        };
        let count = loop {
            match socket.read(&mut self.buffer) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(ReadResult::Nothing);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Trouble::Socket),
            }
        };
        if count == 0 {
            return Ok(ReadResult::EndOfStream);
        }
        if let Some(secured) = &self.targets[session.target].tls {
            secured.sessions.turn_to(connection as u32);
        }
        let close_notify = session.take_in(&self.buffer[..count], &mut self.plain);
        let close_notify = close_notify.map_err(Trouble::Tls)?;
        if session.tls.wants_write() {
            // Sends the response to a key update as far as possible. Unsent bytes follow with the next request.
            self.flush(connection).map_err(|_| Trouble::Socket)?;
        }
        Ok(ReadResult::Bytes {
            count,
            close_notify,
        })
    }

    /// Reads until the response is complete or the socket is empty.
    pub(super) fn receive_secure(&mut self, exchange: usize, closed: bool) {
        let connection = self.exchanges[exchange].connection as usize;
        for _ in 0..READS_IN_A_ROW {
            let result = self.read_decrypted(connection);
            let now_ns = self.tick();
            let (count, close_notify) = match result {
                Ok(ReadResult::Nothing) => return,
                Ok(ReadResult::Bytes {
                    count,
                    close_notify,
                }) => (count, close_notify),
                Ok(ReadResult::EndOfStream) | Err(Trouble::Socket) => {
                    self.end_exchange(exchange, Err(Failure::Closed), now_ns, true);
                    return;
                }
                Err(Trouble::Tls(error)) => {
                    self.fail_secure(exchange, connection, &error, now_ns);
                    return;
                }
            };
            if self.digest(exchange, connection, close_notify, closed, now_ns) {
                return;
            }
            // A read that does not fill the buffer has emptied the socket, and a new event will report further bytes.
            // If the stream has ended, no further event follows, so reading must go on.
            if count < self.buffer.len() && !closed {
                return;
            }
        }
        let generation = self.connections[connection].generation;
        self.revisit.push(connection as u32, generation, closed);
    }

    /// Passes decrypted bytes to the response scanner. Returns `true` if the exchange has ended.
    fn digest(
        &mut self,
        exchange: usize,
        connection: usize,
        close_notify: bool,
        closed: bool,
        now_ns: u64,
    ) -> bool {
        let entry = &mut self.exchanges[exchange];
        let mut progress = Ok(Progress::More);
        if !self.plain.is_empty() {
            entry.first_byte_ns.get_or_insert(now_ns);
            entry.bytes_in += self.plain.len() as u64;
            progress = entry.scanner.feed(&self.plain);
            self.no_longer_fresh(connection);
        }
        let entry = &mut self.exchanges[exchange];
        let mut whole = self.plain.len();
        if close_notify && progress == Ok(Progress::More) {
            progress = entry.scanner.end_of_stream();
            whole = 0;
        }
        match progress {
            Ok(Progress::More) if close_notify => {
                self.end_exchange(exchange, Err(Failure::Closed), now_ns, true);
            }
            Ok(Progress::More) => return false,
            Ok(Progress::Complete { consumed }) => {
                let ended = close_notify || closed;
                if consumed < whole {
                    self.recorder.surplus();
                }
                let usable = entry.scanner.keep_alive()
                    && consumed == whole
                    && entry.out.is_done()
                    && !ended
                    && !self.wants_write(connection);
                self.connections[connection].ended |= ended;
                self.answered(exchange, now_ns, !usable);
            }
            Err(error) => self.end_exchange(exchange, Err(Failure::from(error)), now_ns, true),
        }
        true
    }

    fn fail_secure(
        &mut self,
        exchange: usize,
        connection: usize,
        error: &rustls::Error,
        now_ns: u64,
    ) {
        if self.is_fresh(connection) {
            self.fail_to_connect(exchange, Reason::tls(error), now_ns);
        } else {
            self.end_exchange(exchange, Err(Failure::Protocol), now_ns, true);
        }
    }

    /// Returns `true` if no byte of any response has arrived on the connection.
    pub(super) fn is_fresh(&self, connection: usize) -> bool {
        let session = self.sessions[connection].as_ref();
        session.is_some_and(|session| session.fresh)
    }

    pub(super) fn no_longer_fresh(&mut self, connection: usize) {
        if let Some(session) = &mut self.sessions[connection] {
            session.fresh = false;
        }
    }

    /// Ends the TLS session of a connection, with `close_notify` if the server can still read.
    pub(super) fn end_session(&mut self, connection: usize, close_notify: bool) {
        if close_notify && let Some(session) = &mut self.sessions[connection] {
            session.tls.send_close_notify();
            // An error is ignored: if the socket is full or closed, the alert is not sent.
            let _ = self.flush(connection);
        }
        self.sessions[connection] = None;
    }

    /// Drops the stored TLS sessions of a connection slot, so that the next user of the slot cannot resume them.
    pub(super) fn forget_sessions(&mut self, connection: usize) {
        for target in &self.targets {
            if let Some(secured) = &target.tls {
                secured.sessions.forget(connection as u32);
            }
        }
    }
}

impl Session {
    fn new(tls: ClientConnection, target: usize, begun_ns: u64) -> Self {
        Self {
            tls,
            target,
            begun_ns,
            fresh: true,
            fruitless_bytes: 0,
        }
    }

    /// Passes bytes to the TLS session as far as the buffer of the session accepts them. Returns the number of accepted
    /// bytes.
    pub(super) fn put_in(&mut self, bytes: &[u8]) -> usize {
        // The buffer of the TLS session is limited in size; it becomes free when its content is written to the socket.
        self.tls.writer().write(bytes).unwrap_or(0)
    }

    /// Decrypts received bytes and appends the application data to `plain`. Returns `true` after `close_notify`.
    fn take_in(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> Result<bool, rustls::Error> {
        let mut close_notify = false;
        while !wire.is_empty() {
            let refused = |error: io::Error| rustls::Error::General(error.to_string());
            let taken = self.tls.read_tls(&mut wire).map_err(refused)?;
            let state = self.tls.process_new_packets()?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            let mut reader = self.tls.reader();
            if plain.len() > start {
                reader.read_exact(&mut plain[start..]).map_err(refused)?;
            }
            close_notify |= state.peer_has_closed();
            self.fruitless_bytes = if plain.len() > start {
                0
            } else {
                self.fruitless_bytes + taken
            };
            if self.fruitless_bytes > FRUITLESS_BYTES_AT_MOST {
                let reason = "more than 256 KiB without any content";
                return Err(rustls::Error::General(reason.to_owned()));
            }
            if taken == 0 {
                // Bytes after `close_notify` are ignored.
                break;
            }
        }
        Ok(close_notify)
    }
}

#[cfg(test)]
mod tests;
