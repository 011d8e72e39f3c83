//! The threads of the null server that respond to requests. Each thread has one edge-triggered epoll, and a request
//! costs one wait, one read and one write.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use towtank_linux::monotonic_ns;

use super::http2;
use super::log::Log;
use super::requests::{Request, RequestReader};
use super::schedule::Schedule;
use super::work::Work;

/// Event data of the first listening socket. Further listening sockets have consecutive numbers; connections have
/// lower numbers.
const LISTENERS: u64 = 1 << 62;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;
/// Size of the read buffer. If a read does not fill the buffer, the socket has no more bytes. [B]
const BUFFER_BYTES: usize = 64 << 10;
const EVENTS_AT_ONCE: usize = 512;
/// Pause after the limit on open files is reached, before the next attempt to accept a connection.
const OUT_OF_FILES_PAUSE: Duration = Duration::from_millis(10);

/// The bytes of the response, the same for every request.
#[derive(Debug)]
pub struct Answer {
    bytes: Vec<u8>,
    head_bytes: usize,
    /// Header fields of the response in HTTP/2.
    fields: http2::Fields,
}

impl Answer {
    /// Creates a response with status 200 and a body of this length.
    pub fn ok(body_bytes: usize) -> Self {
        Self::new("200 OK", "Content-Type: text/plain\r\n", body_bytes)
    }

    /// Creates a response with status 500 and a body of this length.
    pub fn internal_error(body_bytes: usize) -> Self {
        Self::new(
            "500 Internal Server Error",
            "Content-Type: text/plain\r\n",
            body_bytes,
        )
    }

    /// Creates a redirect to a URL that itself responds with the same redirect.
    pub fn redirect_to_itself() -> Self {
        Self::new("302 Found", "Location: /\r\n", 0)
    }

    fn new(status: &str, fields: &str, body_bytes: usize) -> Self {
        let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {body_bytes}\r\n\r\n");
        let head_bytes = head.len();
        let mut bytes = head.into_bytes();
        bytes.extend(b"towtank ".iter().cycle().take(body_bytes));
        let status = status.split(' ').next().unwrap_or(status);
        let length = body_bytes.to_string();
        let mut named = vec![(":status", status), ("content-length", length.as_str())];
        let lower = fields.trim_end().to_ascii_lowercase();
        named.extend(lower.split_once(": "));
        Self {
            bytes,
            head_bytes,
            fields: http2::Fields::new(&named),
        }
    }

    /// Returns the head and the body of the response.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn for_request(&self, request: Request) -> &[u8] {
        if request.is_head {
            &self.bytes[..self.head_bytes]
        } else {
            &self.bytes
        }
    }
}

/// A request that waits for its response.
#[derive(Clone, Copy, Debug)]
struct Pending {
    request: Request,
    /// Number of the HTTP/2 stream of the request.
    stream: u32,
    /// Time at which the request arrived; zero if neither the schedule nor the log needs the time. [ns]
    arrival_ns: u64,
}

/// A request whose response is delayed.
#[derive(Debug)]
struct Held {
    until_ns: u64,
    slot: usize,
    generation: u64,
    pending: Pending,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// Serial number of the connection, which distinguishes it from earlier connections with the same index.
    generation: u64,
    reader: RequestReader,
    /// HTTP/2 state of the connection, if the client uses HTTP/2.
    http2: Option<Box<http2::Connection>>,
    /// Requests whose responses are due, in the order in which the responses are sent.
    due: VecDeque<Pending>,
    /// Number of bytes of the first due response that have been written. [B]
    written: usize,
    /// `true` if the CPU work for the first due request has been done.
    worked: bool,
}

/// One thread of the null server with its connections.
#[derive(Debug)]
pub struct Worker {
    epoll: Epoll,
    listeners: Vec<TcpListener>,
    timer: TimerFd,
    /// Time for which the timer is set; `None` if it is not set. [ns]
    armed_ns: Option<u64>,
    answer: Arc<Answer>,
    schedule: Schedule,
    work: Work,
    log: Option<Log>,
    /// `true` if the server accepts HTTP/2.
    speaks_http2: bool,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    generations: u64,
    /// Requests with delayed responses, in the order of `until_ns`.
    held: VecDeque<Held>,
    buffer: Vec<u8>,
    /// Event descriptor that stops the thread. It must stay open while the epoll watches it.
    _stop: Arc<EventFd>,
}

impl Worker {
    pub fn new(
        listeners: Vec<TcpListener>,
        answer: Arc<Answer>,
        schedule: Schedule,
        work: Work,
        log: Option<Log>,
        speaks_http2: bool,
        stop: Arc<EventFd>,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        // With `EPOLLEXCLUSIVE`, a new connection does not wake all threads that wait for the same listening socket.
        let exclusive = EpollFlags::EPOLLIN | EpollFlags::EPOLLEXCLUSIVE;
        for (listener, data) in listeners.iter().zip(LISTENERS..) {
            epoll.add(listener, EpollEvent::new(exclusive, data))?;
        }
        epoll.add(&*stop, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK,
        )?;
        // The event that stops the thread is edge-triggered, so its descriptor need not be read.
        epoll.add(
            &timer,
            EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER),
        )?;
        Ok(Self {
            epoll,
            listeners,
            timer,
            armed_ns: None,
            answer,
            schedule,
            work,
            log,
            speaks_http2,
            connections: Vec::new(),
            free: Vec::new(),
            generations: 0,
            held: VecDeque::new(),
            buffer: vec![0; BUFFER_BYTES],
            _stop: stop,
        })
    }

    /// Answers requests until the thread is stopped.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); EVENTS_AT_ONCE];
        loop {
            let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                result => result?,
            };
            self.release_held()?;
            for event in &events[..count] {
                match event.data() {
                    STOP => {
                        self.send_goaway();
                        return self.log.as_mut().map_or(Ok(()), Log::flush);
                    }
                    TIMER => self.armed_ns = None,
                    data @ LISTENERS.. => self.accept((data - LISTENERS) as usize)?,
                    slot => self.serve(slot as usize, event.events())?,
                }
            }
            self.arm()?;
        }
    }

    fn accept(&mut self, listener: usize) -> io::Result<()> {
        loop {
            let stream = match self.listeners[listener].accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    // The client has closed the connection already, or too many files are open. The thread continues.
                    if matches!(
                        Errno::from_raw(error.raw_os_error().unwrap_or(0)),
                        Errno::EMFILE | Errno::ENFILE
                    ) {
                        std::thread::sleep(OUT_OF_FILES_PAUSE);
                        return Ok(());
                    }
                    continue;
                }
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let slot = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let interest = EpollFlags::EPOLLIN
                | EpollFlags::EPOLLOUT
                | EpollFlags::EPOLLRDHUP
                | EpollFlags::EPOLLET;
            self.epoll
                .add(&stream, EpollEvent::new(interest, slot as u64))?;
            self.generations += 1;
            self.connections[slot] = Some(Connection {
                stream,
                generation: self.generations,
                reader: RequestReader::default(),
                http2: None,
                due: VecDeque::new(),
                written: 0,
                worked: false,
            });
        }
    }

    /// Handles an event of a connection: reads the available bytes and writes the responses that are due. Events of
    /// closed connections are ignored.
    fn serve(&mut self, slot: usize, events: EpollFlags) -> io::Result<()> {
        let to_the_end =
            events.intersects(EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR);
        let is_open = if to_the_end || events.contains(EpollFlags::EPOLLIN) {
            self.read(slot, to_the_end)
        } else {
            true
        };
        // A client may send its last requests and close its sending side at once. It still gets the responses.
        self.write(slot)?;
        if !is_open {
            self.close(slot);
        }
        Ok(())
    }

    /// Reads requests from the connection with the index `slot`. Returns `true` if more requests may arrive on this
    /// connection.
    fn read(&mut self, slot: usize, to_the_end: bool) -> bool {
        let Some(connection) = self.connections[slot].as_mut() else {
            return true;
        };
        loop {
            let length = match connection.stream.read(&mut self.buffer) {
                Ok(0) => return false,
                Ok(length) => length,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            };
            let is_timed = self.log.is_some() || !self.schedule.is_immediate();
            let arrival_ns = if is_timed { monotonic_ns() } else { 0 };
            let until_ns = self.schedule.answer_ns(arrival_ns);
            let (held, due, generation) =
                (&mut self.held, &mut connection.due, connection.generation);
            let mut found = |request, stream| {
                let pending = Pending {
                    request,
                    stream,
                    arrival_ns,
                };
                if until_ns > arrival_ns {
                    held.push_back(Held {
                        until_ns,
                        slot,
                        generation,
                        pending,
                    });
                } else {
                    due.push_back(pending);
                }
            };
            let bytes = &self.buffer[..length];
            if self.speaks_http2 && connection.http2.is_none() && !connection.reader.has_begun() {
                connection.http2 = http2::Connection::begun_with(bytes).map(Box::new);
            }
            let taken = match &mut connection.http2 {
                Some(http2) => http2.feed(bytes, &mut found),
                None => connection.reader.feed(bytes, |request| found(request, 0)),
            };
            if taken.is_err() {
                return false;
            }
            if length < BUFFER_BYTES && !to_the_end {
                return true;
            }
        }
    }

    /// Writes the responses that are due, until the socket accepts no more bytes.
    fn write(&mut self, slot: usize) -> io::Result<()> {
        let Some(connection) = self.connections[slot].as_mut() else {
            return Ok(());
        };
        if connection.http2.is_some() {
            return self.write_http2(slot);
        }
        while let Some(&pending) = connection.due.front() {
            if !connection.worked {
                self.work.burn();
                connection.worked = true;
            }
            let bytes = self.answer.for_request(pending.request);
            match connection.stream.write(&bytes[connection.written..]) {
                Ok(length) => connection.written += length,
                // An epoll event will report when the socket accepts more bytes, so writing ends here.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => {
                    self.close(slot);
                    return Ok(());
                }
            }
            if connection.written == bytes.len() {
                connection.written = 0;
                connection.worked = false;
                connection.due.pop_front();
                if let Some(log) = &mut self.log {
                    log.add(pending.arrival_ns, monotonic_ns())?;
                }
                if pending.request.is_last {
                    self.close(slot);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Writes the responses that are due over HTTP/2, as frames.
    fn write_http2(&mut self, slot: usize) -> io::Result<()> {
        let Some(connection) = self.connections[slot].as_mut() else {
            return Ok(());
        };
        let Some(http2) = &mut connection.http2 else {
            return Ok(());
        };
        let body = &self.answer.bytes[self.answer.head_bytes..];
        while let Some(pending) = connection.due.pop_front() {
            self.work.burn();
            let has_body = !pending.request.is_head && !body.is_empty();
            http2.answer(pending.stream, &self.answer.fields, has_body);
            if let Some(log) = &mut self.log {
                log.add(pending.arrival_ns, monotonic_ns())?;
            }
        }
        loop {
            let bytes = http2.pending(body);
            if bytes.is_empty() {
                return Ok(());
            }
            match connection.stream.write(bytes) {
                Ok(length) => http2.advance(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => {
                    self.close(slot);
                    return Ok(());
                }
            }
        }
    }

    /// Sends the frame GOAWAY, which announces the end of the connection, to all clients that use HTTP/2.
    fn send_goaway(&mut self) {
        let body = &self.answer.bytes[self.answer.head_bytes..];
        for connection in self.connections.iter_mut().flatten() {
            if let Some(http2) = &mut connection.http2 {
                http2.send_goaway();
                // If the socket of a client accepts no more bytes, this client does not get the frame.
                let _ = connection.stream.write(http2.pending(body));
            }
        }
    }

    fn close(&mut self, slot: usize) {
        if self.connections[slot].take().is_some() {
            self.free.push(slot);
        }
    }

    /// Writes the delayed responses that are due by now.
    fn release_held(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let now = monotonic_ns();
        while self.held.front().is_some_and(|held| held.until_ns <= now)
            && let Some(held) = self.held.pop_front()
        {
            let connection = self.connections[held.slot].as_mut();
            if let Some(connection) =
                connection.filter(|connection| connection.generation == held.generation)
            {
                connection.due.push_back(held.pending);
                self.write(held.slot)?;
            }
        }
        Ok(())
    }

    /// Sets the timer to the time of the next delayed response.
    fn arm(&mut self) -> io::Result<()> {
        let next = self.held.front().map(|held| held.until_ns);
        if let Some(next_ns) = next
            && self.armed_ns != next
        {
            let at = TimeSpec::from_duration(Duration::from_nanos(next_ns));
            self.timer.set(
                Expiration::OneShot(at),
                TimerSetTimeFlags::TFD_TIMER_ABSTIME,
            )?;
            self.armed_ns = next;
        }
        Ok(())
    }
}
