//! Input of an HTTP/2 connection: handles the frames from the server one by one.

use super::connection::{Broken, Connection, End, Ended, Exchanges, UNREAD_BYTES_AT_MOST};
use super::frames::{
    self, ErrorCode, FRAME_BYTES, FrameHead, HEAD_BYTES, LAST_STREAM, WINDOW_AT_MOST, flag, kind,
    setting,
};
use super::head::{Head, HeadReader};
use crate::outcome::Failure;

/// Limit on consecutive frames that do not advance any response; one ping per second stays far below this limit.
const IDLE_FRAMES_AT_MOST: u32 = 10_000;

type Taken = Result<(), Broken>;

fn broken<T>(code: ErrorCode) -> Result<T, Broken> {
    Err(Broken::Protocol(code))
}

impl Connection {
    /// Processes bytes from the server, and appends each exchange that ends to `ended`. After an error, the pending
    /// output holds a GOAWAY frame with the reason, and the caller must close the connection.
    ///
    /// # Errors
    /// [`Broken`]; `ended` then contains the exchanges that ended before the error.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        exchanges: &mut impl Exchanges,
        ended: &mut Vec<Ended>,
    ) -> Taken {
        let result = loop {
            let mut spare = Vec::new();
            match self.reader.next(&mut bytes, &mut spare) {
                Ok(None) => break Ok(()),
                Ok(Some((head, payload))) => {
                    let taken = self.frame(head, payload, exchanges, ended);
                    self.reader.done(spare);
                    if taken.is_err() {
                        break taken;
                    }
                }
                Err(frames::TooLong) => break broken(ErrorCode::FrameSizeError),
            }
        };
        match result {
            Ok(()) => {
                self.pump(exchanges);
                Ok(())
            }
            Err(_) if !self.is_ready => Err(Broken::NotHttp2),
            Err(Broken::Protocol(code)) => {
                self.complain(code);
                result
            }
            Err(Broken::NotHttp2) => result,
        }
    }

    fn frame(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        exchanges: &mut impl Exchanges,
        ended: &mut Vec<Ended>,
    ) -> Taken {
        let in_order = if self.is_ready {
            self.block_stream == 0 || head.kind == kind::CONTINUATION
        } else {
            head.kind == kind::SETTINGS && !head.has(flag::ACK)
        };
        if !in_order {
            return broken(ErrorCode::ProtocolError);
        }
        match head.kind {
            kind::DATA => self.data(head, payload, exchanges, ended),
            kind::HEADERS => self.headers(head, payload, exchanges, ended),
            kind::CONTINUATION => self.continuation(head, payload, exchanges, ended),
            kind::RST_STREAM => self.reset(head, payload, ended),
            kind::GOAWAY => self.go_away(head, payload, ended),
            kind::WINDOW_UPDATE => self.window_update(head, payload, ended),
            kind::SETTINGS => self.settings(head, payload),
            kind::PING => self.ping(head, payload),
            kind::PUSH_PROMISE => broken(ErrorCode::ProtocolError),
            // Clients ignore stream priorities, and unknown frame types must be ignored (RFC 9113, section 5.5).
            _ => self.count_idle(),
        }
    }

    /// Counts a frame that does not advance any response. Too many such frames in a row are an error.
    fn count_idle(&mut self) -> Taken {
        self.idle_frames += 1;
        if self.idle_frames > IDLE_FRAMES_AT_MOST || self.unwritten() > UNREAD_BYTES_AT_MOST {
            return broken(ErrorCode::EnhanceYourCalm);
        }
        Ok(())
    }

    fn data(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        exchanges: &mut impl Exchanges,
        ended: &mut Vec<Ended>,
    ) -> Taken {
        let Some(content) = frames::content(head, payload).filter(|_| self.was_opened(head.stream))
        else {
            return broken(ErrorCode::ProtocolError);
        };
        self.take_from_window(payload.len() as u32)?;
        let ends = head.has(flag::END_STREAM) && self.streams.find(head.stream).is_some();
        let is_idle = content.is_empty() && !ends;
        if is_idle {
            self.count_idle()?;
        }
        let window = self.bounds.stream_window;
        let Some(stream) = self.streams.find(head.stream) else {
            return self.late_data(payload.len() as u64);
        };
        if !is_idle {
            self.idle_frames = 0;
        }
        let Some(left) = stream.receive_left.checked_sub(payload.len() as u32) else {
            return broken(ErrorCode::FlowControlError);
        };
        stream.receive_left = left;
        let answer = exchanges.received(stream.token, HEAD_BYTES + payload.len());
        let length = content.len() as u64;
        let fits = stream.has_head
            && answer.room_for(length).is_ok()
            && stream
                .expected
                .is_none_or(|expected| answer.body_bytes() + length <= expected);
        if !fits {
            self.fail(head.stream, ErrorCode::Cancel, ended);
            return Ok(());
        }
        answer.push_body(content);
        if head.has(flag::END_STREAM) {
            self.end(head.stream, exchanges, ended);
        } else if left <= window / 2 {
            stream.receive_left = window;
            frames::write_window_update(head.stream, window - left, self.out());
        }
        Ok(())
    }

    /// Handles data of a cancelled request, which the server may have sent before the reset arrived. More data than the
    /// unused flow-control windows of cancelled requests allow is an error.
    fn late_data(&mut self, bytes: u64) -> Taken {
        let Some(left) = self.late_bytes.checked_sub(bytes) else {
            return broken(ErrorCode::StreamClosed);
        };
        self.late_bytes = left;
        Ok(())
    }

    fn take_from_window(&mut self, bytes: u32) -> Taken {
        let Some(left) = self.receive_left.checked_sub(bytes) else {
            return broken(ErrorCode::FlowControlError);
        };
        self.receive_left = left;
        let window = self.bounds.connection_window;
        if left <= window / 2 {
            self.receive_left = window;
            frames::write_window_update(0, window - left, self.out());
        }
        Ok(())
    }

    fn headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        exchanges: &mut impl Exchanges,
        ended: &mut Vec<Ended>,
    ) -> Taken {
        let Some(fragment) =
            frames::content(head, payload).filter(|_| self.was_opened(head.stream))
        else {
            return broken(ErrorCode::ProtocolError);
        };
        let ends = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.fields(head.stream, ends, fragment, exchanges, ended);
        }
        self.block.clear();
        self.block.extend_from_slice(fragment);
        (self.block_stream, self.block_ends) = (head.stream, ends);
        Ok(())
    }

    fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        exchanges: &mut impl Exchanges,
        ended: &mut Vec<Ended>,
    ) -> Taken {
        if self.block_stream == 0 || head.stream != self.block_stream {
            return broken(ErrorCode::ProtocolError);
        }
        self.count_idle()?;
        // An encoded head is at most as long as the decoded head, plus changes of the table size, for which one frame
        // is allowed. A longer block belongs to a head that is too large.
        if self.block.len() + payload.len() > self.bounds.header_bytes + FRAME_BYTES {
            return broken(ErrorCode::EnhanceYourCalm);
        }
        self.block.extend_from_slice(payload);
        if !head.has(flag::END_HEADERS) {
            return Ok(());
        }
        self.block_stream = 0;
        let block = std::mem::take(&mut self.block);
        let taken = self.fields(head.stream, self.block_ends, &block, exchanges, ended);
        self.block = block;
        self.block.clear();
        taken
    }

    /// Handles a complete block of fields. Every block is decoded, even on a closed stream, since later blocks refer to
    /// table entries that it adds.
    fn fields(
        &mut self,
        id: u32,
        ends: bool,
        block: &[u8],
        exchanges: &mut impl Exchanges,
        ended: &mut Vec<Ended>,
    ) -> Taken {
        let Some(stream) = self.streams.find(id) else {
            if self.decoder.decode(block, |_, _| {}).is_err() {
                return broken(ErrorCode::CompressionError);
            }
            return self.count_idle();
        };
        let answer = exchanges.received(stream.token, HEAD_BYTES + block.len());
        let mut reader = HeadReader::new(answer, stream.has_head);
        let decoded = self
            .decoder
            .decode(block, |name, value| reader.field(name, value));
        if decoded.is_err() {
            return broken(ErrorCode::CompressionError);
        }
        match reader.end(ends) {
            Err(_) => {
                self.fail(id, ErrorCode::ProtocolError, ended);
                return Ok(());
            }
            Ok(Head::Informational) => return self.count_idle(),
            Ok(Head::Final(expected)) => {
                stream.has_head = true;
                stream.expected = expected;
            }
            Ok(Head::Trailers) => {}
        }
        self.idle_frames = 0;
        if ends {
            self.end(id, exchanges, ended);
        }
        Ok(())
    }

    /// Handles a frame by which the server ends a stream.
    fn end(&mut self, id: u32, exchanges: &mut impl Exchanges, ended: &mut Vec<Ended>) {
        let Some(stream) = self.streams.remove(id) else {
            return;
        };
        if stream.sending {
            // The server completed its response before it received the whole request body: drop the unsent part.
            frames::write_reset(id, ErrorCode::Cancel, self.out());
        }
        let answer = exchanges.received(stream.token, 0);
        let is_whole = answer.wanted().method_is_head
            || stream
                .expected
                .is_none_or(|expected| answer.body_bytes() == expected);
        let end = if is_whole {
            End::Whole
        } else {
            End::Failed(Failure::Protocol)
        };
        ended.push(Ended {
            token: stream.token,
            end,
        });
    }

    /// Fails the exchange of a stream on which invalid frames arrived.
    fn fail(&mut self, id: u32, code: ErrorCode, ended: &mut Vec<Ended>) {
        if let Some(stream) = self.give_up(id, code) {
            ended.push(Ended {
                token: stream.token,
                end: End::Failed(Failure::Protocol),
            });
        }
    }

    fn reset(&mut self, head: FrameHead, payload: &[u8], ended: &mut Vec<Ended>) -> Taken {
        let Some(code) = frames::number(payload).filter(|_| payload.len() == 4) else {
            return broken(ErrorCode::FrameSizeError);
        };
        if !self.was_opened(head.stream) {
            return broken(ErrorCode::ProtocolError);
        }
        let Some(stream) = self.streams.remove(head.stream) else {
            return self.count_idle();
        };
        let refused = code == ErrorCode::RefusedStream as u32 && !stream.has_head;
        let end = if refused {
            End::Refused
        } else {
            End::Failed(Failure::Closed)
        };
        ended.push(Ended {
            token: stream.token,
            end,
        });
        Ok(())
    }

    /// Handles GOAWAY: the server accepts no further requests, and has processed no request above the stream number in
    /// the frame.
    fn go_away(&mut self, head: FrameHead, payload: &[u8], ended: &mut Vec<Ended>) -> Taken {
        let Some(last) = frames::number(payload).filter(|_| payload.len() >= 8) else {
            return broken(ErrorCode::FrameSizeError);
        };
        if head.stream != 0 {
            return broken(ErrorCode::ProtocolError);
        }
        self.last_stream = self.last_stream.min(last & LAST_STREAM);
        self.streams.remove_above(self.last_stream, |token| {
            ended.push(Ended {
                token,
                end: End::Refused,
            });
        });
        self.count_idle()
    }

    fn window_update(&mut self, head: FrameHead, payload: &[u8], ended: &mut Vec<Ended>) -> Taken {
        let Some(more) = frames::number(payload).filter(|_| payload.len() == 4) else {
            return broken(ErrorCode::FrameSizeError);
        };
        let more = i64::from(more & LAST_STREAM);
        self.count_idle()?;
        if head.stream == 0 {
            self.send_window += more;
            return match more {
                0 => broken(ErrorCode::ProtocolError),
                _ if self.send_window > WINDOW_AT_MOST => broken(ErrorCode::FlowControlError),
                _ => Ok(()),
            };
        }
        if !self.was_opened(head.stream) {
            return broken(ErrorCode::ProtocolError);
        }
        let Some(stream) = self.streams.find(head.stream) else {
            return Ok(());
        };
        stream.send_window += more;
        if more == 0 || stream.send_window > WINDOW_AT_MOST {
            let code = if more == 0 {
                ErrorCode::ProtocolError
            } else {
                ErrorCode::FlowControlError
            };
            self.fail(head.stream, code, ended);
        } else if stream.blocked && stream.send_window > 0 {
            stream.blocked = false;
            self.sending.push_back(head.stream);
        }
        Ok(())
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8]) -> Taken {
        if head.stream != 0 {
            return broken(ErrorCode::ProtocolError);
        }
        if head.has(flag::ACK) {
            return if payload.is_empty() {
                self.count_idle()
            } else {
                broken(ErrorCode::FrameSizeError)
            };
        }
        let Some(settings) = frames::settings(payload) else {
            return broken(ErrorCode::FrameSizeError);
        };
        for (number, value) in settings {
            self.set(number, value)?;
        }
        self.is_ready = true;
        self.count_idle()?;
        frames::write(kind::SETTINGS, flag::ACK, 0, &[], self.out());
        Ok(())
    }

    fn set(&mut self, number: u16, value: u32) -> Taken {
        match number {
            setting::HEADER_TABLE_SIZE => self.encoder.allow(value as usize),
            setting::ENABLE_PUSH if value != 0 => return broken(ErrorCode::ProtocolError),
            setting::MAX_CONCURRENT_STREAMS => self.peer.streams = value,
            setting::INITIAL_WINDOW_SIZE => return self.set_window(i64::from(value)),
            // A maximum frame size below the default is an error, since every peer must accept frames of the default
            // size. A size of 2^24 or more is an error, too.
            setting::MAX_FRAME_SIZE if !(FRAME_BYTES..1 << 24).contains(&(value as usize)) => {
                return broken(ErrorCode::ProtocolError);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets the initial flow-control window of streams. The windows of all open streams change by the difference from
    /// the previous value (RFC 9113, section 6.9.2).
    fn set_window(&mut self, window: i64) -> Taken {
        let change = window - self.peer.stream_window;
        self.peer.stream_window = window;
        for stream in self.streams.each() {
            stream.send_window += change;
            if stream.send_window > WINDOW_AT_MOST {
                return broken(ErrorCode::FlowControlError);
            }
            if stream.blocked && stream.send_window > 0 {
                stream.blocked = false;
                self.sending.push_back(stream.id);
            }
        }
        if window > WINDOW_AT_MOST {
            broken(ErrorCode::FlowControlError)
        } else {
            Ok(())
        }
    }

    fn ping(&mut self, head: FrameHead, payload: &[u8]) -> Taken {
        if payload.len() != 8 {
            return broken(ErrorCode::FrameSizeError);
        }
        if head.stream != 0 {
            return broken(ErrorCode::ProtocolError);
        }
        self.count_idle()?;
        if !head.has(flag::ACK) {
            frames::write(kind::PING, flag::ACK, 0, payload, self.out());
        }
        Ok(())
    }
}
