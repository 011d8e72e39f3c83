//! Tests the null server as a process. The HTTP scanner of the engine reads the responses.

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use towtank_load::http::response::{Limits, Progress, ProtocolError, ResponseScanner, Wanted};

const ENGINE: &str = env!("CARGO_BIN_EXE_towtank-engine");
const LIMITS: Limits = Limits {
    header_bytes: 65_536,
    body_bytes: 1 << 30,
    capture_bytes: 1_000,
};
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: null\r\n\r\n";
/// Time limit of a wait. Only a test that fails, or that uses an intentionally silent server, waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    process: Child,
    address: String,
    /// All addresses of the server, beginning with `address`.
    addresses: Vec<String>,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let mut process = Command::new(ENGINE)
            .args(["null-server", "--until-stdin-closes"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let ports = options.iter().position(|option| *option == "--ports");
        let ports = ports.map_or(1, |at| options[at + 1].parse().expect("a number"));
        let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let addresses: Vec<String> = lines
            .take(ports)
            .map(|line| {
                let line = line.expect("a line");
                line.strip_prefix("listening on ")
                    .expect("the address")
                    .to_owned()
            })
            .collect();
        let address = addresses[0].clone();
        Self {
            process,
            address,
            addresses,
        }
    }

    fn misbehaving(kind: &str) -> Self {
        Self::start(&["--misbehave", kind])
    }

    fn connect(&self) -> Client {
        Self::connect_to(&self.address)
    }

    fn connect_to(address: &str) -> Client {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        Client {
            stream,
            scanner: ResponseScanner::new(LIMITS),
            unread: Vec::new(),
        }
    }

    fn stop(mut self) -> Option<i32> {
        drop(self.process.stdin.take());
        self.process.wait().expect("the server ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already, so errors are ignored.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reason why no response was received.
#[derive(Debug)]
enum Failed {
    Stream(io::Error),
    Protocol(ProtocolError),
}

struct Client {
    stream: TcpStream,
    scanner: ResponseScanner,
    /// Bytes of the next response that were received together with the previous response.
    unread: Vec<u8>,
}

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Reads one response and returns its status.
    fn receive(&mut self, method_is_head: bool) -> Result<u16, Failed> {
        self.scanner.begin(Wanted {
            head: true,
            body: true,
            method_is_head,
        });
        let mut buffer = vec![0; 64 << 10];
        let mut bytes = std::mem::take(&mut self.unread);
        loop {
            if let Progress::Complete { consumed } =
                self.scanner.feed(&bytes).map_err(Failed::Protocol)?
            {
                self.unread = bytes.split_off(consumed);
                return Ok(self.scanner.answer().status());
            }
            // If the test process is stopped and continued, a read with a time limit is interrupted and must be
            // repeated.
            let length = loop {
                match self.stream.read(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => break read.map_err(Failed::Stream)?,
                }
            };
            bytes = buffer[..length].to_vec();
            if length == 0 {
                self.scanner.end_of_stream().map_err(Failed::Protocol)?;
                return Ok(self.scanner.answer().status());
            }
        }
    }

    fn get(&mut self) -> Result<u16, Failed> {
        self.send(GET);
        self.receive(false)
    }

    fn protocol_error(mut self) -> ProtocolError {
        match self.get() {
            Err(Failed::Protocol(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0))
    }

    /// Returns `true` if no bytes arrive within the next 200 ms.
    fn is_silent(&mut self) -> bool {
        self.stream
            .set_read_timeout(Some(Duration::from_millis(200)))
            .expect("a socket option");
        let read = self.stream.read(&mut [0]);
        matches!(read, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }
}

/// Returns the arrival time and the response time of each request in the log of a server. [ns]
fn log_of(path: &PathBuf) -> Vec<(u64, u64)> {
    let text = fs::read_to_string(path).expect("the log is there");
    fs::remove_file(path).expect("the log is ours");
    text.lines()
        .map(|line| {
            let (arrival, answer) = line.split_once(' ').expect("two numbers");
            (
                arrival.parse().expect("a number"),
                answer.parse().expect("a number"),
            )
        })
        .collect()
}

fn log_path(test: &str) -> PathBuf {
    std::env::temp_dir().join(format!("towtank-null-server-{}-{test}", std::process::id()))
}

#[test]
fn a_connection_carries_many_requests() {
    let server = Server::start(&["--body", "100"]);
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get().unwrap(), 200);
        assert_eq!(
            (
                client.scanner.answer().body_bytes(),
                client.scanner.keep_alive()
            ),
            (100, true)
        );
    }
    client.send(b"HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(client.receive(true).unwrap(), 200);
    client.send(b"POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n");
    client.send(&vec![b'x'; 70_000]);
    assert_eq!(client.receive(false).unwrap(), 200);
    client.send(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(client.receive(false).unwrap(), 200);
    assert!(client.unread.is_empty() && client.is_closed());
}

#[test]
fn pipelined_requests_are_all_answered() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(&GET.repeat(3_000));
    for _ in 0..3_000 {
        assert_eq!(client.receive(false).unwrap(), 200);
    }
    client.send(GET);
    client.stream.shutdown(Shutdown::Write).expect("still open");
    assert_eq!(client.receive(false).unwrap(), 200);
    assert!(client.is_closed());
}

#[test]
fn bodies_larger_than_the_socket_takes_arrive_whole() {
    let server = Server::start(&["--body", "20000000"]);
    let mut client = server.connect();
    for _ in 0..2 {
        assert_eq!(client.get().unwrap(), 200);
        assert_eq!(client.scanner.answer().body_bytes(), 20_000_000);
    }
}

#[test]
fn several_threads_share_many_connections() {
    let server = Server::start(&["--threads", "2"]);
    let mut clients: Vec<Client> = (0..300).map(|_| server.connect()).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.send(GET);
        }
        for client in &mut clients {
            assert_eq!(client.receive(false).unwrap(), 200);
        }
    }
    drop(clients);
    assert_eq!(server.connect().get().unwrap(), 200);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn rubbish_is_answered_by_closing() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(b"rubbish\r\n\r\n");
    assert!(client.is_closed());
}

#[test]
fn an_answer_is_never_before_its_delay_and_all_are_logged() {
    let path = log_path("delay");
    let server = Server::start(&["--delay", "15.5", "--log", path.to_str().expect("text")]);
    let mut clients: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    for _ in 0..3 {
        for client in &mut clients {
            client.send(&GET.repeat(2));
        }
        for client in &mut clients {
            assert_eq!(
                (
                    client.receive(false).unwrap(),
                    client.receive(false).unwrap()
                ),
                (200, 200)
            );
        }
    }
    // A delayed response to a client that has closed its connection must not reach another client.
    clients.remove(0).send(GET);
    assert_eq!(server.connect().get().unwrap(), 200);
    assert_eq!(server.stop(), Some(0));
    let log = log_of(&path);
    assert!((31..=32).contains(&log.len()), "{} requests", log.len());
    assert!(
        log.iter()
            .all(|(arrival, answer)| answer - arrival >= 15_500_000)
    );
}

#[test]
fn a_stall_holds_answers_back() {
    let path = log_path("stall");
    let options = [
        "--stall-every",
        "0.3",
        "--stall-for",
        "0.2",
        "--log",
        path.to_str().expect("text"),
    ];
    let server = Server::start(&options);
    let mut client = server.connect();
    for _ in 0..100 {
        assert_eq!(client.get().unwrap(), 200);
        std::thread::sleep(Duration::from_millis(7));
    }
    assert_eq!(server.stop(), Some(0));
    let log = log_of(&path);
    assert_eq!(log.len(), 100);
    assert!(
        log.iter()
            .any(|(arrival, answer)| answer - arrival >= 100_000_000),
        "one came early in a stall"
    );
}

#[test]
fn good_http_with_bad_news() {
    let server = Server::misbehaving("status-500");
    let mut client = server.connect();
    assert_eq!((client.get().unwrap(), client.get().unwrap()), (500, 500));
    let server = Server::misbehaving("redirect-loop");
    let mut client = server.connect();
    assert_eq!(client.get().unwrap(), 302);
    assert_eq!(
        client.scanner.answer().header("location"),
        Some(b"/".as_slice())
    );
}

#[test]
fn broken_http_of_every_kind() {
    for (kind, error) in [
        ("rubbish", ProtocolError::NotHttp),
        ("half", ProtocolError::Truncated),
        ("header-flood", ProtocolError::HeaderTooLarge),
        ("chunk-garbage", ProtocolError::BadChunk),
    ] {
        let server = Server::misbehaving(kind);
        for _ in 0..2 {
            assert_eq!(server.connect().protocol_error(), error, "{kind}");
        }
    }
}

#[test]
fn connections_that_are_closed_or_reset() {
    let server = Server::misbehaving("close");
    assert!(server.connect().is_closed());
    let server = Server::misbehaving("reset");
    match server.connect().get() {
        Err(Failed::Stream(error)) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_that_fall_silent() {
    let server = Server::misbehaving("silent");
    let mut client = server.connect();
    client.send(GET);
    assert!(client.is_silent());

    let server = Server::misbehaving("half-silent");
    let mut client = server.connect();
    client.send(GET);
    client.scanner.begin(Wanted::default());
    let mut buffer = [0; 2_000];
    while client.scanner.answer().body_bytes() == 0 {
        let length = client.stream.read(&mut buffer).expect("half an answer");
        assert!(length > 0);
        assert_eq!(client.scanner.feed(&buffer[..length]), Ok(Progress::More));
    }
    assert!(client.is_silent());
}

#[test]
fn a_slow_answer_comes_byte_by_byte() {
    let server = Server::start(&["--misbehave", "slow", "--body", "1"]);
    let mut client = server.connect();
    client.send(GET);
    client.scanner.begin(Wanted::default());
    let mut buffer = [0; 100];
    for _ in 0..5 {
        let length = client.stream.read(&mut buffer).expect("a byte");
        assert_eq!(client.scanner.feed(&buffer[..length]), Ok(Progress::More));
    }
}

#[test]
fn a_gzip_bomb_is_small_on_the_wire() {
    let server = Server::misbehaving("gzip-bomb");
    let mut client = server.connect();
    assert_eq!(client.get().unwrap(), 200);
    assert_eq!(
        client.scanner.answer().header("content-encoding"),
        Some(b"gzip".as_slice())
    );
    let bytes = client.scanner.answer().body_bytes();
    assert!((5_000_000..15_000_000).contains(&bytes), "{bytes}");
    assert!(client.scanner.answer().body_truncated());
}

#[test]
fn it_ends_when_asked() {
    assert_eq!(Server::start(&[]).stop(), Some(0));
    assert_eq!(Server::misbehaving("silent").stop(), Some(0));
    let mut server = Server::start(&[]);
    let stdin = server.process.stdin.take();
    kill(
        Pid::from_raw(server.process.id().cast_signed()),
        Signal::SIGTERM,
    )
    .expect("it is there");
    assert_eq!(server.process.wait().expect("it ends").code(), Some(0));
    drop(stdin);
}

#[test]
fn what_cannot_be_is_told() {
    let server = Server::start(&[]);
    for (options, status, part) in [
        (vec!["--listen", &server.address], 1, "cannot listen on"),
        (vec!["--listen", "nonsense"], 1, "cannot listen on"),
        (
            vec!["--log", "/nowhere/at/all"],
            1,
            "cannot write /nowhere/at/all",
        ),
        (
            vec!["--misbehave", "politely"],
            2,
            "--misbehave must be one of",
        ),
    ] {
        let output = Command::new(ENGINE)
            .arg("null-server")
            .args(&options)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(status), "{options:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn every_port_answers_whatever_the_number_of_threads() {
    for threads in ["1", "2", "3", "5"] {
        let server = Server::start(&["--ports", "3", "--threads", threads]);
        assert_eq!(server.addresses.len(), 3);
        let mut clients: Vec<Client> = (server.addresses.iter().cycle().take(12))
            .map(|address| Server::connect_to(address))
            .collect();
        for client in &mut clients {
            client.send(GET);
            assert_eq!(client.receive(false).expect("an answer"), 200);
        }
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn threads_hold_more_connections_than_one_table_of_open_files() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 100; exec \"$0\" \"$@\"", ENGINE]);
    let options = "null-server --until-stdin-closes --ports 4 --threads 4";
    let mut process = command
        .args(options.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
    let addresses: Vec<String> = (lines.take(4))
        .map(|line| line.expect("a line").replace("listening on ", ""))
        .collect();
    let mut clients: Vec<Client> = (addresses.iter().cycle().take(240))
        .map(|address| Server::connect_to(address))
        .collect();
    for client in &mut clients {
        client.send(GET);
        assert_eq!(client.receive(false).expect("an answer"), 200);
    }
    drop(process.stdin.take());
    assert_eq!(process.wait().expect("an end").code(), Some(0));
}
