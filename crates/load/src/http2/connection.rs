//! State of one HTTP/2 connection: its settings, its flow-control windows, and the output that is not written yet.

use std::collections::VecDeque;

use super::frames::{
    self, DEFAULT_WINDOW, ErrorCode, FRAME_BYTES, FrameHead, FrameReader, HEAD_BYTES, LAST_STREAM,
    PREFACE, flag, kind, setting,
};
use super::hpack::{DEFAULT_TABLE_BYTES, Decoder, Encoder};
use super::streams::{Stream, Streams};
use crate::http::response::Answer;
use crate::outcome::Failure;
use crate::program::body::Outgoing;

/// Bodies are put into frames only while the pending output is below this size. Without this limit, a server with a
/// large flow-control window could fill the memory of the client. [B]
const WRITE_AHEAD_BYTES: usize = 64 << 10;

/// Limit on the pending output, which grows if the server does not read. Above the limit, no further request is opened.
/// Required replies to frames of the server, and resets of requests that time out, can still increase the output. [B]
pub(super) const UNREAD_BYTES_AT_MOST: usize = 64 << 20;

/// Memory that the frame buffer keeps allocated while it is empty. [B]
const KEPT_BYTES: usize = 16 << 10;

/// Limits and flow-control windows that the client announces to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Limit on concurrent requests over the connection.
    pub streams: u32,
    /// Flow-control window of each response. [B]
    pub stream_window: u32,
    /// Flow-control window of the connection, which all its responses share; at least [`DEFAULT_WINDOW`]. [B]
    pub connection_window: u32,
    /// Limit on the size of a response head. [B]
    pub header_bytes: usize,
}

impl Bounds {
    /// Creates bounds with default windows. These suffice for a server that sends 160 MB/s at a round-trip time of 100
    /// ms.
    #[must_use]
    pub fn new(streams: u32, header_bytes: usize) -> Self {
        Self {
            streams,
            stream_window: 16 << 20,
            connection_window: 256 << 20,
            header_bytes,
        }
    }
}

/// Result of an exchange that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The response is complete.
    Whole,
    /// The exchange failed.
    Failed(Failure),
    /// The server reports that it processed no part of the request, so the client may send the request again.
    Refused,
}

/// An exchange that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Token by which the caller identifies the exchange.
    pub token: u32,
    /// Result of the exchange.
    pub end: End,
}

/// Reason why a connection can no longer be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The peer does not speak HTTP/2.
    NotHttp2,
    /// The peer violates the protocol.
    Protocol(ErrorCode),
}

/// Gives access to the response and the request body of an exchange, identified by its token.
pub trait Exchanges {
    /// Adds `bytes` to the received bytes of an exchange, and returns the exchange's response.
    fn received(&mut self, token: u32, bytes: usize) -> &mut Answer;
    /// Adds `bytes` to the sent bytes of an exchange, and returns the unsent part of the exchange's request body.
    fn sent(&mut self, token: u32, bytes: usize) -> &mut Outgoing;
}

/// Settings that the server has announced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) streams: u32,
    pub(super) stream_window: i64,
}

/// A connection that speaks HTTP/2 with a server.
#[derive(Debug)]
pub struct Connection {
    pub(super) bounds: Bounds,
    pub(super) peer: Peer,
    /// `true` once the settings of the server have arrived.
    pub(super) is_ready: bool,
    out: Vec<u8>,
    written: usize,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) reader: FrameReader,
    pub(super) streams: Streams,
    next_stream: u32,
    /// Highest stream number that the server will process. If the server does not read its input, this is the number of
    /// the last opened stream, so that no further stream is opened.
    pub(super) last_stream: u32,
    pub(super) send_window: i64,
    pub(super) receive_left: u32,
    /// Streams with unsent parts of the request body and an open flow-control window.
    pub(super) sending: VecDeque<u32>,
    /// Received bytes of an incomplete block of header fields. `block_stream` is the number of its stream, or 0 if
    /// there is no such block. `block_ends` is `true` if the stream ends with this block.
    pub(super) block: Vec<u8>,
    pub(super) block_stream: u32,
    pub(super) block_ends: bool,
    /// Number of consecutive received frames that did not advance any response.
    pub(super) idle_frames: u32,
    /// Number of bytes that may still arrive for cancelled requests: the sum of their unused flow-control windows. [B]
    pub(super) late_bytes: u64,
    has_sent_goaway: bool,
}

impl Connection {
    /// Creates a connection whose pending output begins with the connection preface and the client's settings.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let mut out = PREFACE.to_vec();
        let settings = [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, bounds.stream_window),
            (setting::MAX_HEADER_LIST_SIZE, bounds.header_bytes as u32),
        ];
        frames::write_settings(&settings, &mut out);
        if bounds.connection_window > DEFAULT_WINDOW {
            frames::write_window_update(0, bounds.connection_window - DEFAULT_WINDOW, &mut out);
        }
        Self {
            bounds,
            peer: Peer {
                streams: u32::MAX,
                stream_window: i64::from(DEFAULT_WINDOW),
            },
            is_ready: false,
            out,
            written: 0,
            encoder: Encoder::default(),
            decoder: Decoder::new(DEFAULT_TABLE_BYTES),
            reader: FrameReader::default(),
            streams: Streams::default(),
            next_stream: 1,
            last_stream: u32::MAX,
            send_window: i64::from(DEFAULT_WINDOW),
            receive_left: bounds.connection_window.max(DEFAULT_WINDOW),
            sending: VecDeque::new(),
            block: Vec::new(),
            block_stream: 0,
            block_ends: false,
            idle_frames: 0,
            late_bytes: 0,
            has_sent_goaway: false,
        }
    }

    /// Returns the limit on the number of concurrent requests.
    #[must_use]
    pub fn limit(&self) -> u32 {
        if self.is_draining() {
            0
        } else if self.is_ready {
            self.bounds.streams.min(self.peer.streams)
        } else {
            1
        }
    }

    /// Returns the number of open requests.
    #[must_use]
    pub fn in_hand(&self) -> usize {
        self.streams.len()
    }

    /// Returns `true` once the settings of the server have arrived.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Returns `true` if no further request can be opened: the server refuses requests or does not read, the stream
    /// numbers are used up, or the client has sent GOAWAY.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.last_stream != u32::MAX || self.next_stream > LAST_STREAM || self.has_sent_goaway
    }

    /// Opens a request, whose fields are appended by `encode`. Returns the number of the request's stream. The caller
    /// must respect [`Connection::limit`].
    pub fn open(
        &mut self,
        token: u32,
        exchanges: &mut impl Exchanges,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) -> u32 {
        let id = self.next_stream;
        self.next_stream += 2;
        self.idle_frames = 0;
        let start = self.out.len();
        self.out.extend_from_slice(&[0; HEAD_BYTES]);
        self.encoder.begin(&mut self.out);
        encode(&mut self.encoder, &mut self.out);
        let bytes = self.out.len() - start;
        let has_body = !exchanges.sent(token, bytes).is_done();
        frames::frame_block(id, !has_body, start, FRAME_BYTES, &mut self.out);
        if self.unwritten() > UNREAD_BYTES_AT_MOST {
            self.last_stream = self.last_stream.min(id);
        }
        self.streams.push(Stream {
            id,
            token,
            send_window: self.peer.stream_window,
            receive_left: self.bounds.stream_window,
            expected: None,
            has_head: false,
            sending: has_body,
            blocked: false,
        });
        if has_body {
            self.sending.push_back(id);
            self.pump(exchanges);
        }
        id
    }

    /// Puts request bodies into frames as far as flow-control windows and the output buffer permit. Streams are served
    /// in rotation, one frame each.
    pub fn pump(&mut self, exchanges: &mut impl Exchanges) {
        while self.out.len() - self.written < WRITE_AHEAD_BYTES
            && let Some(&id) = self.sending.front()
        {
            let Some(stream) = self.streams.find(id).filter(|stream| stream.sending) else {
                self.sending.pop_front();
                continue;
            };
            let body = exchanges.sent(stream.token, 0);
            let pending = body.pending();
            let window = self.send_window.min(stream.send_window);
            let room = window.clamp(0, FRAME_BYTES as i64) as usize;
            if room == 0 && !pending.is_empty() {
                if self.send_window <= 0 {
                    return;
                }
                stream.blocked = true;
                self.sending.pop_front();
                continue;
            }
            let length = pending.len().min(room);
            let place = self.out.len();
            FrameHead {
                length,
                kind: kind::DATA,
                flags: 0,
                stream: id,
            }
            .write(&mut self.out);
            self.out.extend_from_slice(&pending[..length]);
            body.advance(length);
            let is_done = body.is_done();
            self.out[place + 4] = if is_done { flag::END_STREAM } else { 0 };
            self.send_window -= length as i64;
            stream.send_window -= length as i64;
            stream.sending = !is_done;
            self.idle_frames = 0;
            exchanges.sent(stream.token, HEAD_BYTES + length);
            self.sending.pop_front();
            if !is_done {
                self.sending.push_back(id);
            }
        }
    }

    /// Cancels a request by resetting its stream.
    pub fn cancel(&mut self, stream: u32) {
        let _ = self.give_up(stream, ErrorCode::Cancel);
    }

    /// Closes a stream by a reset. Before the reset reaches the server, the server may send as many bytes as the
    /// stream's flow-control window still allows.
    pub(super) fn give_up(&mut self, id: u32, code: ErrorCode) -> Option<Stream> {
        let stream = self.streams.remove(id)?;
        frames::write_reset(id, code, &mut self.out);
        self.late_bytes += u64::from(stream.receive_left);
        Some(stream)
    }

    /// Sends GOAWAY, unless it was sent already.
    pub fn send_goaway(&mut self) {
        self.complain(ErrorCode::NoError);
    }

    pub(super) fn complain(&mut self, code: ErrorCode) {
        if !self.has_sent_goaway {
            self.has_sent_goaway = true;
            frames::write_goaway(0, code, &mut self.out);
        }
    }

    /// Ends all open requests and passes their tokens to `token`.
    pub fn abandon(&mut self, mut token: impl FnMut(u32)) {
        self.streams.remove_above(0, &mut token);
    }

    /// Returns the bytes that wait to be written.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// Removes the first `bytes` bytes of the pending output, after they were written to the socket.
    pub fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written == self.out.len() {
            self.out.clear();
            self.out.shrink_to(WRITE_AHEAD_BYTES + KEPT_BYTES);
            self.written = 0;
        }
    }

    /// Returns the output buffer for control frames.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Returns the number of bytes that wait to be written. [B]
    pub(super) fn unwritten(&self) -> usize {
        self.out.len() - self.written
    }

    /// Returns `true` if the client ever opened the stream.
    pub(super) fn was_opened(&self, stream: u32) -> bool {
        stream % 2 == 1 && stream < self.next_stream
    }

    /// Sets the number of the next stream. Only tests use it, to exhaust the stream numbers.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, stream: u32) {
        self.next_stream = stream;
    }
}
