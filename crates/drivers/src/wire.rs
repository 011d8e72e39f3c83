//! A socket with what came over it, for drivers that speak a protocol.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::answer::{Failed, FailureKind, Meter};
use crate::clock::monotonic_ns;
use crate::server::Location;

/// Space to read into at once. [B]
const READ_BYTES: usize = 16 * 1024;

/// What is taken in while nothing was asked; the rest waits in the socket until somebody reads. [B]
const UNASKED_BYTES: usize = 64 * 1024;

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
    /// What came and was not taken yet.
    pub(crate) received: BytesMut,
    /// What is to be sent.
    pub(crate) out: BytesMut,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// Kind `connect` with what the system said.
    pub(crate) async fn connect(location: &Location) -> Result<Self, Failed> {
        let connected = match location {
            Location::Tcp(address) => TcpStream::connect(address).await.map(|socket| {
                // What is sent is whole; waiting for more of it would only delay it. A refusal costs time, not truth.
                let _ = socket.set_nodelay(true);
                Socket::Tcp(socket)
            }),
            Location::Unix(path) => UnixStream::connect(path).await.map(Socket::Unix),
        };
        let socket =
            connected.map_err(|error| Failed::new(FailureKind::Connect, error.to_string()))?;
        Ok(Self {
            socket,
            received: BytesMut::new(),
            out: BytesMut::new(),
        })
    }

    /// Sends what is to be sent.
    pub(crate) async fn flush(&mut self, meter: &mut Meter) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(socket) => socket.write_all(&self.out).await,
            Socket::Unix(socket) => socket.write_all(&self.out).await,
        }?;
        meter.bytes_out += self.out.len() as u64;
        self.out.clear();
        Ok(())
    }

    /// Sends what is to be sent as far as that goes at once, as the last thing.
    pub(crate) fn say_now(&mut self) {
        // Nobody is left to be told of a failure.
        let _ = match &self.socket {
            Socket::Tcp(socket) => socket.try_write(&self.out),
            Socket::Unix(socket) => socket.try_write(&self.out),
        };
    }

    /// Waits for more of the answer.
    ///
    /// # Errors
    /// The end of the connection among them.
    pub(crate) async fn receive(&mut self, meter: &mut Meter) -> io::Result<()> {
        self.received.reserve(READ_BYTES);
        let count = match &mut self.socket {
            Socket::Tcp(socket) => socket.read_buf(&mut self.received).await,
            Socket::Unix(socket) => socket.read_buf(&mut self.received).await,
        }?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "closed by the server",
            ));
        }
        meter.first_byte_ns.get_or_insert_with(monotonic_ns);
        meter.bytes_in += count as u64;
        Ok(())
    }

    /// Whether the other side has closed. Bytes that it has sent are kept. The read stops after some of them, so that a server
    /// cannot fill the memory of a session that asks for nothing.
    pub(crate) fn is_closed(&mut self) -> bool {
        while self.received.len() < UNASKED_BYTES {
            self.received.reserve(READ_BYTES);
            let read = match &self.socket {
                Socket::Tcp(socket) => socket.try_read_buf(&mut self.received),
                Socket::Unix(socket) => socket.try_read_buf(&mut self.received),
            };
            match read {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn what_comes_unasked_fills_no_memory_and_is_there_to_be_read() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let location = Location::Tcp(listener.local_addr().expect("an address"));
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut wire = Wire::connect(&location).await.expect("a connection");
            let (mut server, _) = listener.accept().expect("a client");
            server.set_nonblocking(true).expect("a socket");
            let mut said = 0;
            for _ in 0..16 {
                while let Ok(count) = server.write(&[b'x'; READ_BYTES]) {
                    said += count;
                }
                // Lets the runtime hear of it.
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(!wire.is_closed());
            }
            assert!(said > 4 * UNASKED_BYTES, "{said}");
            let kept = wire.received.len();
            assert!((1..4 * UNASKED_BYTES).contains(&kept), "{kept}");
            drop(server);
            let meter = &mut Meter::default();
            while wire.receive(meter).await.is_ok() {}
            assert_eq!(wire.received.len(), said);
            wire.received.clear();
            assert!(wire.is_closed());
        });
    }
}
