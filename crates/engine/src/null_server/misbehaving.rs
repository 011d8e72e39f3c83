//! Servers that violate the protocol. Each connection has a separate thread, which is slow but sufficient for tests.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use super::answering::Answer;
use super::bomb;
use super::options::Kind;
use super::requests::RequestReader;

/// Number of header bytes that the server sends for `HeaderFlood`. [B]
const FLOOD_BYTES: usize = 100_000_000;
/// Number of pieces of the gzip bomb. Each decompresses to 4 MiB: 10 MB are transferred, and decompress to 10 GB.
const BOMB_PIECES: usize = 2_500;
const SLOW_EVERY: Duration = Duration::from_millis(100);
/// Stack size of the thread of a connection. It is small, since there may be thousands of connections. [B]
const STACK_BYTES: usize = 256 << 10;

/// Accepts connections in a separate thread until the program ends.
pub fn start(listener: TcpListener, kind: Kind, body_bytes: usize) {
    let payload = Arc::new(payload(kind, body_bytes));
    thread::spawn(move || {
        for stream in listener.incoming() {
            // The client closed the connection before it was accepted, so the loop continues with the next connection.
            let Ok(stream) = stream else { continue };
            let payload = Arc::clone(&payload);
            let connection = thread::Builder::new().stack_size(STACK_BYTES);
            // The client is expected to close the connection early, so errors are ignored. If no thread can be started,
            // the connection is closed.
            let _ = connection.spawn(move || serve(stream, kind, &payload));
        }
    });
}

/// Returns the bytes that the server sends in response to a request.
fn payload(kind: Kind, body_bytes: usize) -> Vec<u8> {
    match kind {
        Kind::Rubbish => b"\x16\x03\x01\x00 this is no HTTP \xff\xfe\r\n\r\n".repeat(20),
        Kind::Half | Kind::HalfSilent => {
            let mut whole = Answer::ok(body_bytes.max(1_000)).bytes().to_vec();
            whole.truncate(whole.len() / 2);
            whole
        }
        Kind::Slow => Answer::ok(body_bytes).bytes().to_vec(),
        Kind::HeaderFlood => {
            b"X-Flood: 0123456789012345678901234567890123456789012345678901\r\n".repeat(1_000)
        }
        Kind::GzipBomb => {
            let file = bomb::gzip(BOMB_PIECES);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                file.len()
            );
            [head.into_bytes(), file].concat()
        }
        Kind::ChunkGarbage => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nno chunk size\r\n"
                .to_vec()
        }
        Kind::Silent | Kind::Close | Kind::Reset | Kind::Status500 | Kind::RedirectLoop => {
            Vec::new()
        }
    }
}

fn serve(mut stream: TcpStream, kind: Kind, payload: &[u8]) -> io::Result<()> {
    if kind == Kind::Close {
        return Ok(());
    }
    stream.set_nodelay(true)?;
    let mut reader = RequestReader::default();
    while wait_for_request(&mut stream, &mut reader)? {
        match kind {
            Kind::Half => return stream.write_all(payload),
            Kind::Reset => {
                // With a linger time of zero, closing the socket sends a reset (RST).
                setsockopt(
                    &stream,
                    sockopt::Linger,
                    &libc::linger {
                        l_onoff: 1,
                        l_linger: 0,
                    },
                )?;
                return Ok(());
            }
            Kind::HeaderFlood => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
                for _ in 0..FLOOD_BYTES / payload.len() {
                    stream.write_all(payload)?;
                }
                return Ok(());
            }
            Kind::Slow => {
                for byte in payload {
                    stream.write_all(&[*byte])?;
                    thread::sleep(SLOW_EVERY);
                }
            }
            _ => stream.write_all(payload)?,
        }
        if matches!(kind, Kind::HalfSilent | Kind::Rubbish | Kind::ChunkGarbage) {
            // The connection is held open until the client closes it.
            return io::copy(&mut stream, &mut io::sink()).map(drop);
        }
    }
    Ok(())
}

/// Returns `true` if a request arrived before the client closed the connection.
fn wait_for_request(stream: &mut TcpStream, reader: &mut RequestReader) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    let mut requests = 0;
    while requests == 0 {
        let length = stream.read(&mut buffer)?;
        if length == 0 || reader.feed(&buffer[..length], |_| requests += 1).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
