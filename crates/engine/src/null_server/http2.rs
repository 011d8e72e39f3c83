//! Server side of HTTP/2 (RFC 9113) for the null server: every response has the same header fields and the same body.

use std::collections::VecDeque;

use towtank_load::http2::frames::{
    self, DEFAULT_WINDOW, ErrorCode, FRAME_BYTES, FrameHead, FrameReader, HEAD_BYTES, LAST_STREAM,
    PREFACE, WINDOW_AT_MOST, flag, kind, setting,
};
use towtank_load::http2::hpack::{Constant, DEFAULT_TABLE_BYTES, Decoder, Encoder};

use super::requests::{Refused, Request};

/// Largest number of concurrent requests over one connection, the usual limit of servers.
const STREAMS: u32 = 128;

/// Limit on the output that is not written yet. The next part of a body is put into a frame only while the output is
/// below this limit. [B]
const WRITE_AHEAD_BYTES: usize = 256 << 10;

/// Header fields of the response, which are the same for every request.
#[derive(Debug)]
pub struct Fields(Vec<Constant>);

impl Fields {
    pub fn new(fields: &[(&str, &str)]) -> Self {
        let numbered = fields.iter().enumerate();
        let each = numbered.map(|(number, (name, value))| {
            Constant::new(number, name.as_bytes(), value.as_bytes())
        });
        Self(each.collect())
    }
}

/// A request whose body has not arrived completely.
#[derive(Debug)]
struct Coming {
    stream: u32,
    request: Request,
}

/// A response whose body has not been put into frames completely.
#[derive(Debug)]
struct Going {
    stream: u32,
    /// Number of bytes of the body that have been put into frames. [B]
    sent: usize,
    window: i64,
}

/// State of one HTTP/2 connection.
#[derive(Debug)]
pub struct Connection {
    preface_left: usize,
    reader: FrameReader,
    decoder: Decoder,
    encoder: Encoder,
    /// Start of a block of header fields that has not arrived completely. `block_of` holds the number of the block's
    /// stream, and `true` if the stream ends with the block.
    block: Vec<u8>,
    block_of: Option<(u32, bool)>,
    coming: Vec<Coming>,
    going: VecDeque<Going>,
    /// Flow-control windows that the client grants: `stream_window` is the initial window of each stream, `window` is
    /// the unused window of the connection. [B]
    stream_window: i64,
    window: i64,
    /// Number of bytes that the client may still send before the server enlarges the window. [B]
    receive_left: i64,
    last_stream: u32,
    out: Vec<u8>,
    written: usize,
}

impl Connection {
    /// Creates a connection from its first bytes; `None` if they are not a prefix of the HTTP/2 connection preface.
    pub fn begun_with(start: &[u8]) -> Option<Self> {
        let length = start.len().min(PREFACE.len());
        (start[..length] == PREFACE[..length]).then(Self::new)
    }

    fn new() -> Self {
        let mut out = Vec::new();
        let settings = [
            (setting::MAX_CONCURRENT_STREAMS, STREAMS),
            (setting::INITIAL_WINDOW_SIZE, WINDOW_AT_MOST as u32),
        ];
        frames::write_settings(&settings, &mut out);
        frames::write_window_update(0, WINDOW_AT_MOST as u32 - DEFAULT_WINDOW, &mut out);
        Self {
            preface_left: PREFACE.len(),
            reader: FrameReader::default(),
            decoder: Decoder::new(DEFAULT_TABLE_BYTES),
            encoder: Encoder::default(),
            block: Vec::new(),
            block_of: None,
            coming: Vec::new(),
            going: VecDeque::new(),
            stream_window: i64::from(DEFAULT_WINDOW),
            window: i64::from(DEFAULT_WINDOW),
            receive_left: WINDOW_AT_MOST,
            last_stream: 0,
            out,
            written: 0,
        }
    }

    /// Processes bytes from the client. Calls `found` with the stream number of every request that these bytes
    /// complete.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        found: &mut impl FnMut(Request, u32),
    ) -> Result<(), Refused> {
        let (preface, mut bytes) = bytes.split_at(self.preface_left.min(bytes.len()));
        let start = PREFACE.len() - self.preface_left;
        if preface != &PREFACE[start..start + preface.len()] {
            return Err(Refused);
        }
        self.preface_left -= preface.len();
        loop {
            let mut spare = Vec::new();
            let next = self
                .reader
                .next(&mut bytes, &mut spare)
                .map_err(|_| Refused)?;
            let Some((head, payload)) = next else {
                return Ok(());
            };
            let taken = self.frame(head, payload, found);
            self.reader.done(spare);
            taken?;
        }
    }

    fn frame(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        found: &mut impl FnMut(Request, u32),
    ) -> Result<(), Refused> {
        match head.kind {
            kind::HEADERS => {
                let fragment = frames::content(head, payload).ok_or(Refused)?;
                let ends = head.has(flag::END_STREAM);
                if head.has(flag::END_HEADERS) && self.block_of.is_none() {
                    return self.request(head.stream, ends, fragment, found);
                }
                self.block.extend_from_slice(fragment);
                self.block_of = Some((head.stream, ends));
                Ok(())
            }
            kind::CONTINUATION => self.continuation(head, payload, found),
            kind::DATA => {
                self.data(head, payload, found);
                Ok(())
            }
            kind::SETTINGS if !head.has(flag::ACK) => self.settings(payload),
            kind::WINDOW_UPDATE => {
                let more = i64::from(frames::number(payload).ok_or(Refused)? & LAST_STREAM);
                if head.stream == 0 {
                    self.window += more;
                } else if let Some(going) = self
                    .going
                    .iter_mut()
                    .find(|going| going.stream == head.stream)
                {
                    going.window += more;
                }
                Ok(())
            }
            kind::PING if !head.has(flag::ACK) => {
                frames::write(kind::PING, flag::ACK, 0, payload, &mut self.out);
                Ok(())
            }
            kind::RST_STREAM => {
                self.coming.retain(|coming| coming.stream != head.stream);
                self.going.retain(|going| going.stream != head.stream);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        found: &mut impl FnMut(Request, u32),
    ) -> Result<(), Refused> {
        let (stream, ends) = self
            .block_of
            .filter(|_| self.block.len() <= 1 << 20)
            .ok_or(Refused)?;
        self.block.extend_from_slice(payload);
        if !head.has(flag::END_HEADERS) {
            return Ok(());
        }
        self.block_of = None;
        let block = std::mem::take(&mut self.block);
        self.request(stream, ends, &block, found)
    }

    fn request(
        &mut self,
        stream: u32,
        ends: bool,
        block: &[u8],
        found: &mut impl FnMut(Request, u32),
    ) -> Result<(), Refused> {
        let mut is_head = false;
        let decoded = self.decoder.decode(block, |name, value| {
            is_head |= name == b":method" && value == b"HEAD";
        });
        decoded.map_err(|_| Refused)?;
        if let Some(place) = self
            .coming
            .iter()
            .position(|coming| coming.stream == stream)
        {
            // These header fields follow the body (trailers). They are ignored.
            found(self.coming.swap_remove(place).request, stream);
            return Ok(());
        }
        self.last_stream = stream;
        let request = Request {
            is_head,
            is_last: false,
        };
        if ends {
            found(request, stream);
        } else {
            self.coming.push(Coming { stream, request });
        }
        Ok(())
    }

    fn data(&mut self, head: FrameHead, payload: &[u8], found: &mut impl FnMut(Request, u32)) {
        self.receive_left -= payload.len() as i64;
        if self.receive_left < WINDOW_AT_MOST / 2 {
            frames::write_window_update(
                0,
                (WINDOW_AT_MOST - self.receive_left) as u32,
                &mut self.out,
            );
            self.receive_left = WINDOW_AT_MOST;
        }
        let place = self
            .coming
            .iter()
            .position(|coming| coming.stream == head.stream);
        if let Some(place) = place.filter(|_| head.has(flag::END_STREAM)) {
            found(self.coming.swap_remove(place).request, head.stream);
        }
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), Refused> {
        for (number, value) in frames::settings(payload).ok_or(Refused)? {
            match number {
                setting::HEADER_TABLE_SIZE => self.encoder.allow(value as usize),
                setting::INITIAL_WINDOW_SIZE => {
                    let change = i64::from(value) - self.stream_window;
                    self.stream_window += change;
                    self.going
                        .iter_mut()
                        .for_each(|going| going.window += change);
                }
                _ => {}
            }
        }
        frames::write(kind::SETTINGS, flag::ACK, 0, &[], &mut self.out);
        Ok(())
    }

    /// Writes the head of a response, and queues the body of the response if it has one.
    pub fn answer(&mut self, stream: u32, fields: &Fields, has_body: bool) {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; HEAD_BYTES]);
        self.encoder.begin(&mut self.out);
        for field in &fields.0 {
            self.encoder.constant(field, &mut self.out);
        }
        frames::frame_block(stream, !has_body, start, FRAME_BYTES, &mut self.out);
        if has_body {
            self.going.push_back(Going {
                stream,
                sent: 0,
                window: self.stream_window,
            });
        }
    }

    /// Puts bodies into frames as far as the flow-control windows and [`WRITE_AHEAD_BYTES`] permit. Returns all bytes
    /// that wait to be written.
    pub fn pending(&mut self, body: &[u8]) -> &[u8] {
        let mut waiting = 0;
        while self.out.len() - self.written < WRITE_AHEAD_BYTES
            && waiting < self.going.len()
            && let Some(mut going) = self.going.pop_front()
        {
            let room = self.window.min(going.window).clamp(0, FRAME_BYTES as i64) as usize;
            let length = room.min(body.len() - going.sent);
            let ends = going.sent + length == body.len();
            if length > 0 || ends {
                let flags = if ends { flag::END_STREAM } else { 0 };
                frames::write(
                    kind::DATA,
                    flags,
                    going.stream,
                    &body[going.sent..][..length],
                    &mut self.out,
                );
                going.sent += length;
                going.window -= length as i64;
                self.window -= length as i64;
                waiting = 0;
            } else {
                waiting += 1;
            }
            if !ends {
                self.going.push_back(going);
            }
        }
        &self.out[self.written..]
    }

    /// Removes the first `bytes` bytes of the output, because they have been written to the socket.
    pub fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Sends the frame GOAWAY, which announces that the server accepts no further requests.
    pub fn send_goaway(&mut self) {
        frames::write_goaway(self.last_stream, ErrorCode::NoError, &mut self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [(&str, &str); 2] = [(":status", "200"), ("content-length", "5")];

    fn client(frames: &[(u8, u8, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = PREFACE.to_vec();
        frames::write_settings(&[], &mut bytes);
        for (kind, flags, stream, payload) in frames {
            frames::write(*kind, *flags, *stream, payload, &mut bytes);
        }
        bytes
    }

    fn found(connection: &mut Connection, bytes: &[u8]) -> Result<Vec<(bool, u32)>, Refused> {
        let mut requests = Vec::new();
        connection.feed(bytes, &mut |request, stream| {
            requests.push((request.is_head, stream));
        })?;
        Ok(requests)
    }

    /// Returns kind, stream number and length of every frame that the server has to send.
    fn said(connection: &mut Connection, body: &[u8]) -> Vec<(u8, u32, usize)> {
        let (mut reader, mut all) = (FrameReader::default(), Vec::new());
        loop {
            let pending = connection.pending(body).to_vec();
            connection.advance(pending.len());
            let mut rest = pending.as_slice();
            while let Some((head, payload)) = reader
                .next(&mut rest, &mut Vec::new())
                .expect("short frames")
            {
                all.push((head.kind, head.stream, payload.len()));
            }
            if pending.is_empty() {
                return all;
            }
        }
    }

    #[test]
    fn requests_are_found_however_they_are_split() {
        let both = flag::END_HEADERS | flag::END_STREAM;
        let bytes = client(&[
            (kind::HEADERS, both, 1, &[0x82]),
            (kind::HEADERS, flag::END_HEADERS, 3, &[0x83]),
            (kind::HEADERS, flag::END_STREAM, 5, &[0x42, 4]),
            (kind::CONTINUATION, flag::END_HEADERS, 5, b"HEAD"),
            (kind::DATA, 0, 3, b"a body"),
            (kind::DATA, flag::END_STREAM, 3, b""),
        ]);
        for split in 0..=bytes.len() {
            let mut connection = Connection::begun_with(&bytes[..split]).expect("a preface");
            let mut requests = found(&mut connection, &bytes[..split]).expect("frames");
            requests.extend(found(&mut connection, &bytes[split..]).expect("frames"));
            assert_eq!(requests, [(false, 1), (true, 5), (false, 3)]);
        }
    }

    #[test]
    fn what_is_not_http2_is_left_to_others_or_refused() {
        assert!(Connection::begun_with(b"GET / HTTP/1.1\r\n").is_none());
        assert!(Connection::begun_with(b"PRI").is_some());
        for frame in [
            (kind::HEADERS, flag::END_HEADERS, 1, &[0xbe][..]),
            (kind::CONTINUATION, 0, 1, &[]),
        ] {
            let mut connection = Connection::new();
            assert_eq!(found(&mut connection, &client(&[frame])), Err(Refused));
        }
    }

    #[test]
    fn bodies_go_as_windows_allow() {
        let body = vec![7; 100_000];
        let mut connection = Connection::new();
        found(&mut connection, &client(&[])).expect("settings");
        said(&mut connection, &body);
        let fields = Fields::new(&FIELDS);
        connection.answer(1, &fields, true);
        connection.answer(3, &fields, false);
        let sum = |frames: &[(u8, u32, usize)]| -> usize {
            frames
                .iter()
                .filter(|(kind, ..)| *kind == kind::DATA)
                .map(|(.., length)| length)
                .sum()
        };
        assert_eq!(sum(&said(&mut connection, &body)), DEFAULT_WINDOW as usize);
        let mut more = Vec::new();
        frames::write_window_update(0, 50_000, &mut more);
        found(&mut connection, &more).expect("a window");
        assert_eq!(sum(&said(&mut connection, &body)), 0);
        more.clear();
        frames::write_window_update(1, 50_000, &mut more);
        found(&mut connection, &more).expect("a window");
        assert_eq!(
            sum(&said(&mut connection, &body)),
            body.len() - DEFAULT_WINDOW as usize
        );
    }
}
