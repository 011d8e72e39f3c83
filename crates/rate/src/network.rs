//! Kernels for requests and responses over TCP on loopback: the work of the operating system for each message.
//!
//! Client and server share a CPU, so the result excludes the wake-up time of an idle CPU.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::kernel::{Failed, Threaded, Work};

/// Number of exchanges (request and response) in one batch.
const BATCH: u8 = 16;

/// A client that is connected to a separate server thread.
pub struct Exchanges {
    stream: TcpStream,
    response: Vec<u8>,
    number: u8,
}

impl Exchanges {
    /// Starts a server thread and connects to it. A request is one byte; the response repeats this byte `response`
    /// times.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn new(response: usize) -> Result<Self, Failed> {
        let open = || -> std::io::Result<TcpStream> {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let (server, _) = listener.accept()?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            // The server thread inherits the CPU of the pinned thread that starts it. The server thread ends when the
            // client closes the connection.
            std::thread::Builder::new().spawn(move || answer(server, response))?;
            Ok(client)
        };
        let stream = open().map_err(|error| format!("no connection over loopback: {error}"))?;
        Ok(Self {
            stream,
            response: vec![0; response],
            number: 0,
        })
    }

    fn exchange(&mut self) -> Result<(), Failed> {
        let failed = |error: std::io::Error| format!("an exchange over loopback failed: {error}");
        self.number = self.number.wrapping_add(1);
        self.stream.write_all(&[self.number]).map_err(failed)?;
        self.stream.read_exact(&mut self.response).map_err(failed)?;
        let ends = (self.response[0], self.response[self.response.len() - 1]);
        if ends == (self.number, self.number) {
            return Ok(());
        }
        Err("a response over loopback did not belong to its request".to_owned())
    }
}

fn answer(mut stream: TcpStream, size: usize) {
    let (mut request, mut response) = ([0], vec![0; size]);
    while stream.read_exact(&mut request).is_ok() {
        response.fill(request[0]);
        if stream.write_all(&response).is_err() {
            return;
        }
    }
}

impl Work for Exchanges {
    fn batch(&mut self) -> Result<f64, Failed> {
        for _ in 0..BATCH {
            self.exchange()?;
        }
        Ok(f64::from(BATCH))
    }
}

/// Returns the two kernels of this module.
#[must_use]
pub fn kernels() -> Vec<Threaded> {
    vec![
        Threaded::new("loopback_1b", |_| Exchanges::new(1)),
        Threaded::new("loopback_8k", |_| Exchanges::new(8 << 10)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_response_is_that_of_its_request() {
        for size in [1, 8192] {
            let mut work = Exchanges::new(size).expect("a connection");
            for _ in 0..20 {
                assert_eq!(work.batch(), Ok(16.0));
            }
            assert_eq!(work.number, 64, "320 exchanges, counted in a byte");
            assert_eq!(work.response, vec![64; size]);
        }
    }

    #[test]
    fn a_response_of_another_request_is_told() {
        let mut work = Exchanges::new(4).expect("a connection");
        work.stream.write_all(&[9]).expect("a request too many");
        let failed = work.batch().unwrap_err();
        assert!(failed.contains("did not belong to its request"), "{failed}");
    }
}
