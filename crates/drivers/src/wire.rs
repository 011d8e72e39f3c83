//! A socket with its receive and send buffers, for the drivers of network protocols.
//!
//! The load thread polls the session that owns the socket after each event of the socket. Reads and writes never block.
//! When they must wait, they continue at the next event. After [`TURN_BYTES`] bytes in one turn, they continue in the
//! next pass of the event loop.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use bytes::BytesMut;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrLike, SockaddrStorage, UnixAddr, connect, socket,
};

use crate::answer::{Failed, FailureKind, Meter};
use crate::clock::monotonic_ns;
use crate::server::Location;
use crate::turns::{TURN_BYTES, Turn, UNASKED_BYTES};
use crate::words::sentence_of;

/// Largest capacity of each buffer (receive and send) while a session is idle. [B]
const IDLE_BYTES: usize = 512;

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Starts to connect to the address, without waiting for the connection.
    fn start(location: &Location) -> io::Result<Self> {
        let open = |family| {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            socket(family, SockType::Stream, flags, None)
        };
        Ok(match location {
            Location::Tcp(address) => {
                let family = if address.is_ipv4() {
                    AddressFamily::Inet
                } else {
                    AddressFamily::Inet6
                };
                let file = open(family)?;
                begin(&file, &SockaddrStorage::from(*address))?;
                let stream = TcpStream::from(file);
                // `TCP_NODELAY`: requests are written as a whole, so waiting for more bytes would only delay them. If
                // the system refuses this option, requests are slower but still correct.
                let _ = stream.set_nodelay(true);
                Self::Tcp(stream)
            }
            Location::Name(_) => return Err(Errno::EINVAL.into()),
            Location::Unix(path) => {
                let file = open(AddressFamily::Unix)?;
                begin(&file, &UnixAddr::new(path)?)?;
                Self::Unix(UnixStream::from(file))
            }
        })
    }

    /// Returns `true` if the connection is established.
    ///
    /// # Errors
    ///
    /// The reason why the connection failed.
    fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            Self::Tcp(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
            Self::Unix(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
        };
        if let Some(error) = error {
            return Err(error);
        }
        match peer {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).read(bytes),
            Self::Unix(stream) => (&mut &*stream).read(bytes),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).write(bytes),
            Self::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

fn begin(file: &OwnedFd, address: &dyn SockaddrLike) -> io::Result<()> {
    match connect(file.as_raw_fd(), address) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A connection to a server, with buffers.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
    turn: Rc<Turn>,
    /// Bytes that were received but are not processed yet.
    pub(crate) received: BytesMut,
    /// Bytes that are not sent yet.
    pub(crate) out: BytesMut,
}

impl Wire {
    /// Connects to a server. If the server is given by name, connects to the first of its addresses that accepts the
    /// connection.
    ///
    /// # Errors
    ///
    /// A failure of the kind `connect`, with the reason from the operating system and the addresses that were tried.
    pub(crate) async fn connect(location: &Location, turn: &Rc<Turn>) -> Result<Self, Failed> {
        let failed = |text: String| Failed::new(FailureKind::Connect, text);
        let Location::Name(addresses) = location else {
            let connected = Self::establish(location, turn).await;
            return connected.map_err(|error| failed(sentence_of(&error)));
        };
        let mut met = None;
        for address in addresses {
            match Self::establish(&Location::Tcp(*address), turn).await {
                Ok(wire) => return Ok(wire),
                Err(error) => met = Some(error),
            }
        }
        let tried: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let met = met.as_ref().map(sentence_of).unwrap_or_default();
        Err(failed(format!("at {}: {met}", tried.join(", "))))
    }

    async fn establish(location: &Location, turn: &Rc<Turn>) -> io::Result<Self> {
        let socket = Socket::start(location)?;
        // Events that were reported for an earlier socket of this session do not apply to the new socket, so they are
        // cleared.
        turn.forget_edges();
        turn.watch(socket.as_fd())?;
        while !socket.is_connected()? {
            turn.blocked_write();
            turn.until_writable().await;
        }
        turn.allow_write();
        Ok(Self {
            socket,
            turn: Rc::clone(turn),
            received: BytesMut::new(),
            out: BytesMut::new(),
        })
    }

    /// Sends all bytes of `out`, and waits while the socket does not accept bytes.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub(crate) async fn flush(&mut self, meter: &mut Meter) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.out.len() {
            self.turn.until_writable().await;
            let end = self.out.len().min(sent + TURN_BYTES);
            match self.socket.write(&self.out[sent..end]) {
                Ok(count) => {
                    sent += count;
                    self.turn.wrote(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.turn.blocked_write();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        meter.bytes_out += self.out.len() as u64;
        self.out.clear();
        Ok(())
    }

    /// Sends as much of `out` as the kernel accepts immediately. Used for the last bytes of a discarded session.
    pub(crate) fn send_now(&mut self) {
        // The session is discarded, so a failure to send has no consequence.
        let _ = self.socket.write(&self.out);
    }

    /// Counts a message that was read, and yields to other sessions if this session has reached the limit of its turn.
    pub(crate) async fn pace(&self) {
        self.turn.pace().await;
    }

    /// Waits for more bytes of the response.
    ///
    /// # Errors
    ///
    /// The error of the operating system, or the end of the connection.
    pub(crate) async fn receive(&mut self, meter: &mut Meter) -> io::Result<()> {
        loop {
            self.turn.until_readable().await;
            if let Some(count) = self.read()? {
                if count == 0 {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "closed by the server before its answer was complete: see the log of the server for the reason",
                    ));
                }
                meter.first_byte_ns.get_or_insert_with(monotonic_ns);
                meter.bytes_in += count as u64;
                self.turn.arrived(count, meter.first_byte_ns);
                return Ok(());
            }
        }
    }

    /// Reads from the socket once. Returns `None` if no bytes have arrived.
    fn read(&mut self) -> io::Result<Option<usize>> {
        let mut buffer = self.turn.buffer();
        match self.socket.read(&mut buffer) {
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                self.turn.read(count, buffer.len());
                Ok(Some(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.turn.blocked_read();
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns `true` if the peer has closed the connection. Bytes that arrived before the end are kept. The number of
    /// bytes read is limited, so that a server cannot fill the memory of an idle session.
    pub(crate) fn is_closed(&mut self) -> bool {
        while self.turn.is_readable() && self.received.len() < UNASKED_BYTES {
            match self.read() {
                Ok(Some(0)) | Err(_) => return true,
                Ok(_) => {}
            }
        }
        false
    }

    /// Frees the memory of buffers that exceed the size of a typical request or response.
    pub(crate) fn rest(&mut self) {
        for buffer in [&mut self.received, &mut self.out] {
            if buffer.is_empty() && buffer.capacity() > IDLE_BYTES {
                *buffer = BytesMut::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::testing::Loop;

    fn connected() -> (Loop, Wire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let location = Location::Tcp(listener.local_addr().expect("an address"));
        let around = Loop::new();
        let (wire, _) = around.run(Wire::connect(&location, &around.turn));
        let (server, _) = listener.accept().expect("a client");
        (around, wire.expect("a connection"), server)
    }

    #[test]
    fn what_comes_unasked_fills_no_memory_and_can_be_read_later() {
        let (around, mut wire, mut server) = connected();
        server.set_nonblocking(true).expect("a socket");
        let mut said = 0;
        for _ in 0..16 {
            while let Ok(count) = server.write(&[b'x'; 16 * 1024]) {
                said += count;
            }
            around.edges(1);
            assert!(!wire.is_closed());
        }
        assert!(said > 4 * UNASKED_BYTES, "{said}");
        let kept = wire.received.len();
        assert!((1..4 * UNASKED_BYTES).contains(&kept), "{kept}");
        drop(server);
        let meter = &mut Meter::default();
        while around.run(wire.receive(meter)).0.is_ok() {}
        assert_eq!(wire.received.len(), said);
        wire.received.clear();
        assert!(wire.is_closed());
    }

    #[test]
    fn a_large_answer_and_a_large_request_take_several_turns() {
        let (around, mut wire, mut server) = connected();
        let size = 8 * TURN_BYTES;
        let peer = std::thread::spawn(move || {
            let mut bytes = vec![0; size];
            server.read_exact(&mut bytes).expect("a request");
            server.write_all(&bytes).expect("a client");
            bytes.iter().all(|byte| *byte == b'q')
        });
        let meter = &mut Meter::default();
        wire.out.resize(size, b'q');
        let (sent, turns) = around.run(wire.flush(meter));
        sent.expect("a request");
        assert!(turns >= 8, "{turns}");
        let answer = async {
            while wire.received.len() < size {
                wire.receive(meter).await.expect("an answer");
            }
        };
        let ((), turns) = around.run(answer);
        assert!(turns >= 8, "{turns}");
        assert!(peer.join().expect("the server"));
        assert_eq!(
            (meter.bytes_out, meter.bytes_in),
            (size as u64, size as u64)
        );
        wire.received.clear();
        wire.rest();
        assert_eq!(wire.received.capacity(), 0);
    }

    #[test]
    fn a_port_without_a_server_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let location = Location::Tcp(listener.local_addr().expect("an address"));
        drop(listener);
        let around = Loop::new();
        let (refused, _) = around.run(Wire::connect(&location, &around.turn));
        let failed = refused.expect_err("no server");
        assert_eq!(failed.kind, FailureKind::Connect);
        assert!(failed.reason.contains("refused"), "{failed:?}");
    }

    #[test]
    fn a_name_is_tried_at_all_of_its_addresses() {
        let address = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");
            (listener, address)
        };
        let (closed, first) = address();
        let (open, second) = address();
        drop(closed);
        let around = Loop::new();
        let name = Location::Name(vec![first, second]);
        let (connected, _) = around.run(Wire::connect(&name, &around.turn));
        assert!(connected.is_ok());
        assert!(open.accept().is_ok());
        let nobody = Location::Name(vec![first, first]);
        let (refused, _) = around.run(Wire::connect(&nobody, &around.turn));
        let failed = refused.expect_err("no server");
        let expected = format!("at {first}, {first}: connection refused");
        assert!(failed.reason.starts_with(&expected), "{failed:?}");
    }
}
