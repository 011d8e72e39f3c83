//! Tests that every driver of a network protocol must pass. The loop of the test determines the order of events: for
//! example, the server sends a byte, then the loop passes on the socket events.
//!
//! To test a new protocol, add a case to [`cases`].

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde_json::{Value as Json, json};
use towtank_drivers::{
    Answer, Call, Done, Edge, Executor, FailureKind, Location, Meter, Operation, Orders, Server,
    Task, Watch,
};

/// Longest wait of a test for a socket event; a test that reaches this limit fails. [ms]
const PATIENCE_MS: u16 = 20_000;

#[derive(Clone)]
struct Poller(Rc<Epoll>);

impl Watch for Poller {
    fn watch(&self, file: BorrowedFd<'_>, data: u64) -> io::Result<()> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        Ok(self.0.add(file, EpollEvent::new(flags, data))?)
    }
}

/// A test case for a protocol: a server, a call, and all bytes that the server sends during the session.
struct Case {
    name: &'static str,
    server: Server,
    task: Task,
    values: Vec<Option<Vec<u8>>>,
    /// Bytes that the server sends while the session is opened, before the client sends the call.
    welcome: Vec<u8>,
    /// Bytes of the response to the call.
    answer: Vec<u8>,
    /// Last bytes that the client sends before it closes the connection; empty if it sends no closing message.
    closing_bytes: &'static [u8],
}

/// A load thread and a server for the test of a protocol.
struct Bench {
    poller: Poller,
    executor: Executor,
    listener: TcpListener,
    generation: u32,
}

impl Bench {
    fn new(case: &Case) -> Self {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("an epoll");
        let poller = Poller(Rc::new(epoll));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let location = Location::Tcp(listener.local_addr().expect("an address"));
        let servers = vec![Some((case.server.clone(), vec![location]))];
        let tasks = Arc::from(vec![case.task.clone()]);
        Self {
            executor: Executor::new(servers, tasks, poller.clone(), || {}),
            poller,
            listener,
            generation: 0,
        }
    }

    fn call(&mut self, case: &Case, place: u32) {
        self.generation += 1;
        let call = Call {
            generation: self.generation,
            task: 0,
            location: 0,
            values: case.values.clone(),
            left_ns: Arc::default(),
            timeout_ns: u64::MAX,
            is_single: false,
        };
        self.executor.order(0, place, Orders::Call(call));
    }

    fn accept(&self) -> TcpStream {
        let (stream, _) = self.listener.accept().expect("a client");
        stream.set_nodelay(true).expect("a socket");
        stream.set_nonblocking(true).expect("a socket");
        stream
    }

    /// Runs one pass of the event loop, which waits for a socket event for at most `within_ms`. Returns the calls that
    /// ended in this pass.
    fn turn(&mut self, within_ms: u16) -> Vec<Done> {
        let mut events = [EpollEvent::empty(); 8];
        let timeout = EpollTimeout::from(if self.executor.is_busy() {
            0
        } else {
            within_ms
        });
        let count = self.poller.0.wait(&mut events, timeout).expect("edges");
        for event in &events[..count] {
            let has = |flags: EpollFlags| event.events().intersects(flags);
            let end = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
            self.executor.on_edge(Edge {
                data: event.data(),
                readable: has(EpollFlags::EPOLLIN | end),
                writable: has(EpollFlags::EPOLLOUT | end),
                closed: has(end),
            });
        }
        self.executor.go_on();
        let mut done = Vec::new();
        self.executor.take(&mut done);
        done
    }

    /// Returns the result of the call that ends next. Fails if several calls end.
    fn end(&mut self) -> Done {
        loop {
            let mut done = self.turn(PATIENCE_MS);
            assert!(done.len() <= 1, "one call, {} results", done.len());
            if let Some(done) = done.pop() {
                return done;
            }
        }
    }

    /// Sends bytes from the server in pieces of the size `piece`. After each piece, the event loop makes one pass.
    fn say(&mut self, stream: &mut TcpStream, bytes: &[u8], piece: usize) -> Vec<Done> {
        let mut done = Vec::new();
        for piece in bytes.chunks(piece) {
            stream.write_all(piece).expect("a client");
            done.append(&mut self.turn(0));
        }
        done
    }
}

fn task(operation: &Json) -> Task {
    let operation: Operation = serde_json::from_value(operation.clone()).expect("an operation");
    Task {
        number: 0,
        operation,
        keeps_rows: true,
        rows_bytes_at_most: 1 << 20,
        keeps_content: false,
    }
}

fn server(document: &Json) -> Server {
    serde_json::from_value(document.clone()).expect("a server")
}

fn postgresql() -> Case {
    let message = |tag: u8, body: &[u8]| {
        let length = (body.len() + 4) as u32;
        [&[tag][..], &length.to_be_bytes(), body].concat()
    };
    let column = [
        &b"name\0"[..],
        &[0; 6],
        &25_u32.to_be_bytes(),
        &[255; 6],
        &[0; 2],
    ]
    .concat();
    let value = |text: &[u8]| [&(text.len() as u32).to_be_bytes(), text].concat();
    let row = |values: &[Vec<u8>]| {
        let count = (values.len() as u16).to_be_bytes();
        message(b'D', &[&count[..], &values.concat()].concat())
    };
    Case {
        name: "postgresql",
        server: server(&json!({"kind": "postgresql", "user": "u", "database": "d"})),
        task: task(&json!({"kind": "sql", "text": "select a, b from t where c = $1"})),
        values: vec![Some(b"1".to_vec())],
        welcome: [
            message(b'R', &0_u32.to_be_bytes()),
            message(b'S', b"server_version\x0015\0"),
            message(b'Z', b"I"),
        ]
        .concat(),
        answer: [
            message(b'1', b""),
            message(
                b't',
                &[&1_u16.to_be_bytes()[..], &25_u32.to_be_bytes()].concat(),
            ),
            message(b'T', &[&2_u16.to_be_bytes()[..], &column, &column].concat()),
            message(b'2', b""),
            message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mlisten\0\0"),
            row(&[value(b"ann"), u32::MAX.to_be_bytes().to_vec()]),
            row(&[value(b""), value(&[b'x'; 300])]),
            message(b'C', b"SELECT 2\0"),
            message(b'Z', b"I"),
        ]
        .concat(),
        closing_bytes: b"X\0\0\0\x04",
    }
}

/// Returns the case of MySQL: a recorded session with MariaDB 10.11 and a prepared statement that returns two rows.
fn mysql() -> Case {
    let recorded = include_bytes!("data/mysql-session.bin");
    let end_of = |packets: usize| {
        (0..packets).fold(0, |at, _| {
            let length = u32::from_le_bytes([recorded[at], recorded[at + 1], recorded[at + 2], 0]);
            at + 4 + length as usize
        })
    };
    // Number of packets from the server. Login: 2. Preparation: 1 for the statement, 1 for the parameter, 6 for the
    // columns and 2 end packets. Table: 1 for its head, 6 for the columns, 1 end packet, 2 rows and 1 end packet.
    let (welcome, answer) = (end_of(2), end_of(2 + (1 + 2 + 7) + (1 + 6 + 1 + 2 + 1)));
    Case {
        name: "mysql",
        server: server(&json!({"kind": "mysql", "user": "u", "password": "p"})),
        task: task(&json!({"kind": "sql",
            "text": "select id, name, price, made, took, note from thing where id >= $1"})),
        values: vec![Some(b"1".to_vec())],
        welcome: recorded[..welcome].to_vec(),
        answer: recorded[welcome..answer].to_vec(),
        closing_bytes: b"\x01\0\0\0\x01",
    }
}

fn ldap() -> Case {
    let element = |tag: u8, content: &[u8]| [&[tag, content.len() as u8][..], content].concat();
    let message = |tag: u8, content: &[u8]| {
        let inside = [element(2, &[1]), element(tag, content)].concat();
        element(0x30, &inside)
    };
    let entry = |value: &[u8]| {
        let attribute = [element(4, b"v"), element(0x31, &element(4, value))].concat();
        let attributes = element(0x30, &element(0x30, &attribute));
        message(0x64, &[element(4, b"cn=x"), attributes].concat())
    };
    let result = [element(0x0a, &[0]), element(4, b""), element(4, b"")].concat();
    let search = json!({"scope": "base", "filter": {"equal": {"attribute": "v", "value": 1}}, "attributes": ["v"]});
    Case {
        name: "ldap",
        server: server(&json!({"kind": "ldap"})),
        task: task(&json!({"kind": "ldap", "request": {"search": search}})),
        values: vec![Some(b"dc=x".to_vec()), Some(b"1".to_vec())],
        welcome: Vec::new(),
        answer: [entry(b"one"), entry(b"two"), message(0x65, &result)].concat(),
        // The expected closing bytes are an unbind request with message number 2.
        closing_bytes: b"\x30\x05\x02\x01\x02\x42\x00",
    }
}

fn tcp() -> Case {
    Case {
        name: "tcp",
        server: server(&json!({"kind": "tcp"})),
        task: task(&json!({"kind": "tcp"})),
        values: vec![Some(b"10".to_vec()), None, Some(b"400".to_vec())],
        welcome: Vec::new(),
        answer: vec![b'y'; 400],
        closing_bytes: b"",
    }
}

fn cases() -> [Case; 4] {
    [postgresql(), mysql(), ldap(), tcp()]
}

/// Returns the response of a server that sends all its bytes at once.
fn answer_of(case: &Case) -> Answer {
    let mut bench = Bench::new(case);
    bench.call(case, 0);
    let mut stream = bench.accept();
    stream.write_all(&case.welcome).expect("a client");
    stream.write_all(&case.answer).expect("a client");
    let done = bench.end();
    assert!(done.is_open && done.connect_ns.is_some(), "{}", case.name);
    done.result.expect(case.name)
}

#[test]
fn an_answer_that_comes_byte_by_byte_is_the_one_that_comes_at_once() {
    for case in cases() {
        let whole = answer_of(&case);
        assert!(case.name == "tcp" || whole.row_count == 2, "{whole:?}");
        let mut bench = Bench::new(&case);
        bench.call(&case, 0);
        let mut stream = bench.accept();
        assert_eq!(
            bench.executor.is_opening(0),
            !case.welcome.is_empty(),
            "{}",
            case.name
        );
        let early = bench.say(&mut stream, &case.welcome, 1);
        assert!(early.is_empty(), "{}", case.name);
        let (last, others) = case.answer.split_last().expect("an answer");
        let early = bench.say(&mut stream, others, 1);
        assert!(early.is_empty(), "{}: {early:?}", case.name);
        stream.write_all(&[*last]).expect("a client");
        let done = bench.end();
        assert_eq!(done.result.as_ref().expect(case.name), &whole);
        // Bytes that arrive before the session is open are not part of the response to a call, so they are not counted.
        assert_eq!(
            done.meter.bytes_in,
            case.answer.len() as u64,
            "{}",
            case.name
        );
    }
}

#[test]
fn a_server_that_closes_anywhere_ends_the_call_and_the_next_one_has_a_new_session() {
    for case in cases() {
        let said = [&case.welcome[..], &case.answer].concat();
        for length in 0..said.len() {
            let mut bench = Bench::new(&case);
            bench.call(&case, 0);
            let mut stream = bench.accept();
            stream.write_all(&said[..length]).expect("a client");
            drop(stream);
            let done = bench.end();
            let failed = done.result.expect_err("no whole answer");
            let during = if length < case.welcome.len() {
                FailureKind::Connect
            } else {
                FailureKind::Closed
            };
            // Closing a socket with unread bytes sends a reset (RST). The reset may arrive before bytes that the client
            // has already sent.
            let is_so = failed.kind == during
                || (failed.kind == FailureKind::Closed && length == case.welcome.len());
            assert!(is_so, "{} after {length}: {failed:?}", case.name);
            assert!(!done.is_open && !done.is_held);
            if length % 64 != 0 {
                continue;
            }
            bench.call(&case, 0);
            let mut stream = bench.accept();
            stream.write_all(&said).expect("a client");
            assert!(bench.end().result.is_ok(), "{}", case.name);
        }
    }
}

#[test]
fn a_call_that_is_given_up_takes_its_session_along() {
    for case in cases() {
        let whole = answer_of(&case);
        let said = [&case.welcome[..], &case.answer].concat();
        for length in (0..said.len()).step_by(7) {
            let mut bench = Bench::new(&case);
            bench.call(&case, 0);
            let mut stream = bench.accept();
            assert!(bench.say(&mut stream, &said[..length], 64).is_empty());
            let meter = bench.executor.meter(0);
            if case.name == "tcp" && length > 0 {
                assert_eq!((meter.bytes_out, meter.bytes_in), (10, length as u64));
                assert!(meter.first_byte_ns.is_some());
            }
            bench.executor.order(0, 0, Orders::Abandon);
            bench.call(&case, 0);
            let mut next = bench.accept();
            // The rest of the response to a discarded call must not be taken for the response to another call.
            let _ = stream.write_all(&said[length..]);
            assert!(bench.turn(0).is_empty());
            next.write_all(&said).expect("a client");
            let done = bench.end();
            assert_eq!(done.generation, 2);
            assert_eq!(done.result.as_ref().expect(case.name), &whole);
        }
    }
}

#[test]
fn a_session_that_ends_says_farewell() {
    for case in cases() {
        let mut bench = Bench::new(&case);
        bench.call(&case, 0);
        let mut stream = bench.accept();
        stream.write_all(&case.welcome).expect("a client");
        stream.write_all(&case.answer).expect("a client");
        assert!(bench.end().result.is_ok());
        bench.executor.order(0, 0, Orders::Close);
        stream.set_nonblocking(false).expect("a socket");
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("the end");
        assert!(
            heard.ends_with(case.closing_bytes),
            "{}: {heard:?}",
            case.name
        );
    }
}

/// A session that is being closed has no time limit, so it must not wait for the response to a rollback.
#[test]
fn a_session_that_ends_behind_a_rollback_without_an_answer_ends_at_once() {
    let case = postgresql();
    let mut bench = Bench::new(&case);
    bench.call(&case, 0);
    let mut stream = bench.accept();
    stream.write_all(&case.welcome).expect("a client");
    let (status, before) = case.answer.split_last().expect("an answer");
    assert_eq!(*status, b'I');
    stream.write_all(before).expect("a client");
    stream.write_all(b"T").expect("a client");
    assert!(bench.end().is_held);
    bench.executor.order(0, 0, Orders::Reset);
    // A call that waits for the end of a rollback has neither sent nor received bytes.
    bench.call(&case, 0);
    assert_eq!(bench.executor.meter(0), Meter::default());
    bench.executor.order(0, 0, Orders::Close);
    stream.set_nonblocking(false).expect("a socket");
    let patience = Duration::from_millis(PATIENCE_MS.into());
    stream.set_read_timeout(Some(patience)).expect("a socket");
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("the end");
    assert!(
        heard.windows(8).any(|bytes| bytes == b"ROLLBACK"),
        "{heard:?}"
    );
}

/// A response without a request is counted, and ends the session before the next call.
#[test]
fn an_answer_that_comes_twice_is_not_taken_for_the_next_one() {
    for case in [postgresql(), mysql()] {
        let mut bench = Bench::new(&case);
        bench.call(&case, 0);
        let mut stream = bench.accept();
        stream.write_all(&case.welcome).expect("a client");
        stream.write_all(&case.answer).expect("a client");
        assert!(!bench.end().unasked, "{}", case.name);
        stream.write_all(&case.answer).expect("a client");
        bench.turn(PATIENCE_MS);
        bench.call(&case, 0);
        let mut again = bench.accept();
        again.write_all(&case.welcome).expect("a client");
        again.write_all(&case.answer).expect("a client");
        let done = bench.end();
        assert!(done.unasked && done.connect_ns.is_some(), "{}", case.name);
        assert!(done.result.is_ok(), "{}", case.name);
    }
}

/// A notice, or the error with which a server ends a session, is not counted as a response without a request.
#[test]
fn what_a_server_may_say_at_any_time_is_not_counted() {
    let message = |tag: u8, body: &[u8]| {
        let length = (body.len() + 4) as u32;
        [&[tag][..], &length.to_be_bytes(), body].concat()
    };
    let notices = [
        message(b'N', b"SNOTICE\0\0"),
        message(b'S', b"TimeZone\0UTC\0"),
    ]
    .concat();
    let case = postgresql();
    let mut bench = Bench::new(&case);
    bench.call(&case, 0);
    let mut stream = bench.accept();
    stream.write_all(&case.welcome).expect("a client");
    stream.write_all(&case.answer).expect("a client");
    bench.end();
    stream.write_all(&notices).expect("a client");
    bench.turn(PATIENCE_MS);
    bench.call(&case, 0);
    stream.write_all(&case.answer).expect("a client");
    let done = bench.end();
    assert!(
        done.result.is_ok() && !done.unasked && done.connect_ns.is_none(),
        "{done:?}"
    );
}

/// A server that sends without end does not delay the responses of other servers. Its session is polled once per pass
/// of the event loop.
#[test]
fn a_session_that_is_flooded_takes_turns() {
    let flood = tcp();
    let mut bench = Bench::new(&flood);
    let endless = Case {
        values: vec![None, None, Some((1_u64 << 40).to_string().into_bytes())],
        ..tcp()
    };
    bench.call(&endless, 0);
    let mut stream = bench.accept();
    bench.call(&flood, 1);
    let mut other = bench.accept();
    bench.turn(0);
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let flooding = std::thread::spawn(move || {
        stream.set_nonblocking(false).expect("a socket");
        let block = vec![b'z'; 64 << 10];
        // The thread that sends without end stops when the session is closed.
        while stream.write_all(&block).is_ok() {
            counted.fetch_add(block.len() as u64, Ordering::Relaxed);
        }
    });
    let mut after = [0; 2];
    for sum in &mut after {
        let mut turns = 0;
        while turns < 400 {
            turns += usize::from(bench.turn(PATIENCE_MS).is_empty());
        }
        *sum = sent.load(Ordering::Relaxed);
    }
    // One turn (poll of a session) reads at most 256 KiB. The remaining bytes are in the socket buffers.
    let moved = after[1] - after[0];
    assert!(
        moved <= 400 * (256 << 10) + (32 << 20),
        "{moved} bytes in 400 turns"
    );
    other.write_all(&flood.answer).expect("a client");
    let ended = (0..3).find_map(|_| bench.turn(PATIENCE_MS).pop());
    let done = ended.expect("an answer within three turns");
    assert_eq!((done.place, done.result.is_ok()), (1, true));
    bench.executor.order(0, 0, Orders::Abandon);
    flooding.join().expect("the server");
}
