//! Finds the HTTP/1 requests in the bytes that a connection receives.

use memchr::memmem;

/// Length of the longest accepted head of a request. [B]
const HEAD_BYTES: usize = 64 << 10;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Properties of a request that determine the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// `true` for a HEAD request, whose response has no body.
    pub is_head: bool,
    /// `true` if the client wants the connection to be closed after the response.
    pub is_last: bool,
}

/// A request, and the number of bytes of its body that have not been read. [B]
type Head = (Request, u64);

/// Error: the bytes are not a request, or the request does not state the length of its body.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

/// Splits the bytes of one connection into requests. The bytes may arrive in pieces of any size.
#[derive(Debug, Default)]
pub struct RequestReader {
    /// Start of a request head that has not arrived completely.
    head: Vec<u8>,
    /// The request whose body is being read, and the number of bytes that are left to read.
    body: Option<Head>,
    has_begun: bool,
}

impl RequestReader {
    /// Returns `true` if the connection has received at least one byte.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Reads bytes of the connection. Calls `found` with every request that these bytes complete.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut found: impl FnMut(Request),
    ) -> Result<(), Refused> {
        self.has_begun = true;
        loop {
            if let Some((request, remaining)) = &mut self.body {
                let taken = (*remaining).min(bytes.len() as u64);
                *remaining -= taken;
                bytes = &bytes[taken as usize..];
                if *remaining > 0 {
                    return Ok(());
                }
                found(*request);
                self.body = None;
            }
            if bytes.is_empty() {
                return Ok(());
            }
            let Some((parsed, rest)) = self.next_head(bytes)? else {
                return Ok(());
            };
            self.body = Some(parsed);
            bytes = rest;
        }
    }

    /// Parses the request head that these bytes complete, if they complete a head, and returns the bytes after it.
    #[allow(clippy::type_complexity)] // a head with the length of its body, and the bytes after it
    fn next_head<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<Option<((Request, u64), &'a [u8])>, Refused> {
        if self.head.is_empty()
            && let Some(end) = memmem::find(bytes, END_OF_HEAD)
        {
            let parsed = parse(&bytes[..end])?;
            return Ok(Some((parsed, &bytes[end + END_OF_HEAD.len()..])));
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        // The empty line at the end of the head may have begun in the previous bytes, so the search starts a few bytes
        // earlier.
        let from = before.saturating_sub(END_OF_HEAD.len() - 1);
        let Some(end) = memmem::find(&self.head[from..], END_OF_HEAD) else {
            return if self.head.len() > HEAD_BYTES {
                Err(Refused)
            } else {
                Ok(None)
            };
        };
        let end = from + end;
        let parsed = parse(&self.head[..end])?;
        self.head.clear();
        Ok(Some((parsed, &bytes[end + END_OF_HEAD.len() - before..])))
    }
}

fn parse(head: &[u8]) -> Result<Head, Refused> {
    let mut lines = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let start = lines.next().ok_or(Refused)?;
    // In HTTP/1.0, the server closes the connection after the response, unless the client asks to keep it.
    let mut request = Request {
        is_head: start.starts_with(b"HEAD "),
        is_last: start.ends_with(b" HTTP/1.0"),
    };
    if !start.ends_with(b" HTTP/1.1") && !request.is_last {
        return Err(Refused);
    }
    let mut body_bytes = 0;
    for line in lines {
        let colon = memchr::memchr(b':', line).ok_or(Refused)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let digits = std::str::from_utf8(value).map_err(|_| Refused)?;
                body_bytes = digits.parse().map_err(|_| Refused)?;
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                request.is_last |= value.eq_ignore_ascii_case(b"close");
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return Err(Refused),
            _ => {}
        }
    }
    Ok((request, body_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Request = Request {
        is_head: false,
        is_last: false,
    };

    const STREAM: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /x HTTP/1.1\r\nContent-Length: 6\r\n\r\n\r\n\r\nabHEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: Close\r\n\r\n";

    fn found(pieces: &[&[u8]]) -> Result<Vec<Request>, Refused> {
        let mut reader = RequestReader::default();
        let mut requests = Vec::new();
        for piece in pieces {
            reader.feed(piece, |request| requests.push(request))?;
        }
        Ok(requests)
    }

    #[test]
    fn every_split_gives_the_same_requests() {
        let expected = vec![
            PLAIN,
            PLAIN,
            Request {
                is_head: true,
                ..PLAIN
            },
            Request {
                is_last: true,
                ..PLAIN
            },
        ];
        for first in 0..=STREAM.len() {
            for second in first..=STREAM.len() {
                let pieces = [&STREAM[..first], &STREAM[first..second], &STREAM[second..]];
                assert_eq!(found(&pieces).as_ref(), Ok(&expected), "{first} {second}");
            }
        }
    }

    #[test]
    fn an_old_client_gets_one_answer() {
        assert_eq!(
            found(&[b"GET / HTTP/1.0\r\n\r\n"]),
            Ok(vec![Request {
                is_last: true,
                ..PLAIN
            }])
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let endless = vec![b'x'; HEAD_BYTES + 1];
        for bytes in [
            b"rubbish\r\n\r\n".as_slice(),
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            &endless,
        ] {
            assert_eq!(
                found(&[bytes]),
                Err(Refused),
                "{}",
                bytes[..bytes.len().min(50)].escape_ascii()
            );
        }
    }
}
