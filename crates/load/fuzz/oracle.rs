//! Compares this project's scanner with hyper on the same bytes. If both accept a response, its status, fields and body
//! must agree. If only one of them accepts it, a known reason in this module must explain the difference.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use towtank_load::http::response::{Limits, Progress, ProtocolError, ResponseScanner, Wanted};

/// Limits of the scanner. They are high; responses that exceed them are not compared.
pub const LIMITS: Limits = Limits {
    header_bytes: 64 << 10,
    body_bytes: 1 << 20,
    capture_bytes: 1 << 20,
};

/// Maximum number of fields that hyper reads.
const HYPER_FIELDS: usize = 100;

/// A response in the form that both parsers report.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
    /// Header fields (name in lower case, value) in the order of arrival.
    pub fields: Vec<(String, Vec<u8>)>,
}

/// Results of the two parsers that differ without a known reason.
#[derive(Debug)]
pub struct Disagreement {
    pub ours: Result<Response, ProtocolError>,
    pub hyper: Result<Response, String>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ours {:?}, hyper {:?}", self.ours, self.hyper)
    }
}

/// Compares the results of both parsers for a connection that ends after these bytes.
pub fn compare(bytes: &[u8], head: bool) -> Result<(), Box<Disagreement>> {
    let hyper = by_hyper(bytes, head);
    let names = hyper.as_ref().map_or_else(
        |_| Vec::new(),
        |part| part.fields.iter().map(|(name, _)| name.clone()).collect(),
    );
    let ours = by_scanner(bytes, head, &names);
    let fine = match (&ours, &hyper) {
        (Ok(ours), Ok(hyper)) => ours == hyper,
        (Err(error), Ok(hyper)) => stricter(*error, hyper, &bytes.to_ascii_lowercase()),
        (Ok(ours), Err(_)) => laxer(bytes, ours),
        (Err(_), Err(_)) => true,
    };
    if fine {
        Ok(())
    } else {
        Err(Box::new(Disagreement { ours, hyper }))
    }
}

/// Returns `true` if the scanner has a known reason to refuse a response that hyper accepts; `bytes` are in lower case.
fn stricter(error: ProtocolError, hyper: &Response, bytes: &[u8]) -> bool {
    // The search covers all bytes, because the reason may be in the head of an informational response, which hyper does
    // not report.
    let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    match error {
        // If a response has both a length and chunks, hyper ignores the length. If `chunked` is not the last encoding,
        // hyper reads to the end of the connection. Hyper also accepts control characters in chunk extensions.
        ProtocolError::LengthAndEncoding
        | ProtocolError::BadEncoding
        | ProtocolError::BadChunk
        | ProtocolError::BadField => has(b"transfer-encoding"),
        // For a list of lengths such as `5, 5`, hyper uses the value if all are equal. For responses without a body,
        // hyper ignores the list.
        ProtocolError::BadLength => has(b"content-length"),
        // For responses that cannot have a body, hyper reads only the head.
        ProtocolError::Upgrade => hyper.status == 101,
        // The scanner limits the length of the head in bytes; hyper has other limits.
        ProtocolError::HeaderTooLarge => true,
        ProtocolError::BodyTooLarge => hyper.body.len() as u64 > LIMITS.body_bytes,
        // Hyper skips empty lines before a status line, even after an informational response.
        ProtocolError::NotHttp => {
            let plain: Vec<u8> = bytes
                .iter()
                .copied()
                .filter(|byte| *byte != b'\r')
                .collect();
            plain.starts_with(b"\n") || plain.windows(3).any(|part| part == b"\n\n\n")
        }
        ProtocolError::Truncated => false,
    }
}

/// Returns `true` if the scanner has a known reason to accept a response that hyper refuses.
fn laxer(bytes: &[u8], ours: &Response) -> bool {
    // Hyper limits the number of fields; the scanner limits only the number of bytes.
    bytes.split(|byte| *byte == b'\n').count() > HYPER_FIELDS
        // Hyper accepts only a status that `http::StatusCode` can represent.
        || !(100..1000).contains(&ours.status)
        // Hyper refuses any transfer encoding in a response of HTTP/1.0. It also refuses minor versions above 1, which
        // RFC 9110 (section 6.2) requires a recipient to read as the highest version that it supports.
        || bytes.windows(8).any(|part| part.starts_with(b"HTTP/1.") && part[7] != b'1')
}

fn by_scanner(bytes: &[u8], head: bool, names: &[String]) -> Result<Response, ProtocolError> {
    let mut scanner = ResponseScanner::new(LIMITS);
    scanner.begin(Wanted {
        head: true,
        body: true,
        method_is_head: head,
    });
    if scanner.feed(bytes)? == Progress::More {
        scanner.end_of_stream()?;
    }
    let mut unique = names.to_vec();
    unique.dedup();
    let mut taken = std::collections::HashMap::<&str, usize>::new();
    let fields = names.iter().map(|name| {
        let place = taken.entry(name).or_default();
        let value = scanner.answer().headers(name).nth(*place);
        *place += 1;
        (name.clone(), value.unwrap_or(b"<missing>").to_vec())
    });
    let fields = fields.collect();
    Ok(Response {
        status: scanner.answer().status(),
        body: scanner.answer().body().to_vec(),
        fields,
    })
}

/// Returns the response that hyper's client reads from the bytes. All bytes are available from the start, so repeated
/// polling completes the future.
fn by_hyper(bytes: &[u8], head: bool) -> Result<Response, String> {
    let text = |error: hyper::Error| format!("{error:?}");
    let stream = Stream {
        bytes: bytes.to_vec(),
        asked: false,
    };
    let exchange = async {
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .handshake::<_, Empty<Bytes>>(stream)
            .await
            .map_err(text)?;
        let request = hyper::Request::builder()
            .method(if head { "HEAD" } else { "GET" })
            .uri("/")
            .header("host", "x")
            .body(Empty::new())
            .map_err(|error| error.to_string())?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(text)?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(text)?.to_bytes().to_vec();
            let fields = parts.headers.iter();
            let fields = fields.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
            Ok(Response {
                status: parts.status.as_u16(),
                body,
                fields: fields.collect(),
            })
        };
        both(answer, connection).await
    };
    complete(exchange).unwrap_or_else(|| Err("hyper waits for more".to_owned()))
}

/// Polls the connection and the response until the response is complete.
async fn both<T>(answer: impl Future<Output = T>, connection: impl Future) -> T {
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    let mut open = true;
    std::future::poll_fn(move |context| {
        if open && connection.as_mut().poll(context).is_ready() {
            open = false;
        }
        answer.as_mut().poll(context)
    })
    .await
}

/// Returns the result of a future; `None` if the future is not ready after `POLLS` polls.
fn complete<T>(future: impl Future<Output = T>) -> Option<T> {
    const POLLS: usize = 10_000;
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..POLLS).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    })
}

/// A connection whose input is `bytes`, available once the request has been written. The input then ends.
struct Stream {
    bytes: Vec<u8>,
    asked: bool,
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            return Poll::Pending;
        }
        let count = self.bytes.len().min(into.remaining());
        into.put_slice(&self.bytes[..count]);
        self.bytes.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
