//! Counts of failed connections and unsendable requests by reason.

use std::collections::BTreeMap;
use std::io;

use rustls::AlertDescription;
use towtank_drivers::{sentence_of, sentence_of_number};

use crate::http::response::ProtocolError;
use crate::outcome::Failure;
use crate::tls;

use super::user::Exchange;

/// Limit on the number of different reasons. Without it, a server that causes ever new reasons would fill the memory.
const REASONS_AT_MOST: usize = 64;

const LATE: &str = "no connection within the connect time-out: is the host up, does a firewall drop packets to this port, \
                    and is the accept queue of the server long enough?";
const HANDSHAKE_LATE: &str = "no TLS handshake within the connect time-out: does the port speak TLS, and does the server have idle CPU time?";
const HANDSHAKE_CLOSED: &str = "the server closed the connection during the TLS handshake: does the port speak TLS? See the log of the server";
const NO_HTTP2: &str = "no HTTP/2: load the target with HTTP/1.1, or enable HTTP/2 at the server";
const NO_SETTINGS: &str = "the server closed the connection before it had sent its HTTP/2 settings: does the port speak \
                           HTTP/2 without TLS? See the log of the server";
/// The advice in this message follows RFC 9112, section 9.6, and RFC 9110, section 9.2.2.
const CROSSED: &str = "the server closed an idle connection while the request was on its way, and sent no response: a \
                       browser would send a GET again, but the load engine does not; let the server keep idle \
                       connections longer, or shorten the pauses";
const UNANSWERED: &str = "the server closed the connection before any byte of a response: see the log of the server for \
                          the reason, such as a crash or a limit on connections";
const CUT: &str = "the server closed the connection within its response: see the logs of the server and of proxies for the reason";
const BROKEN_FRAMES: &str = "the server violates the HTTP/2 protocol: load the target with HTTP/1.1, or see the log of the server";
const BROKEN_TLS: &str = "the server violates the TLS protocol within its response: see the logs of the server and of proxies";

/// Describes a response that is not valid HTTP, and gives the next step.
fn protocol(fault: ProtocolError) -> &'static str {
    match fault {
        ProtocolError::Truncated => CUT,
        ProtocolError::NotHttp => {
            "the response is not HTTP/1.x: does the port speak HTTP, or does it require TLS (https://)?"
        }
        ProtocolError::BadField => {
            "the head of the response has a malformed field line: see its bytes (curl -v), and fix the server"
        }
        ProtocolError::HeaderTooLarge => {
            "the head of the response is larger than allowed: raise the plan's limit `header_bytes`, or let the server send less"
        }
        ProtocolError::BadLength => {
            "the response has a malformed or contradictory Content-Length: see its head (curl -v), and fix the server"
        }
        ProtocolError::BadEncoding => {
            "the response has a Transfer-Encoding that does not end with a single chunked coding: see its head (curl -v), \
             and fix the server"
        }
        ProtocolError::LengthAndEncoding => {
            "the response has both Content-Length and Transfer-Encoding: see its head (curl -v), and fix the server"
        }
        ProtocolError::Upgrade => {
            "the response is an upgrade that was not requested: is the path for WebSocket clients only?"
        }
        ProtocolError::BadChunk => {
            "the response has a malformed chunk: see its bytes (curl --raw -v), and fix the server"
        }
        ProtocolError::BodyTooLarge => {
            "the body of the response is larger than allowed: raise the plan's limit `body_bytes`, or request less"
        }
    }
}

/// Reason why a connection could not be made, or a request could not be sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Error of the operating system, by its number (errno).
    System(i32),
    /// Error that the engine itself detected on a connection.
    Own(String),
    /// The connection was not established within the connect time-out.
    Late,
    /// None of the addresses of a host name accepted the connection. The values are the addresses, and the reason for
    /// the failure of the last address.
    Tried(String, Box<Reason>),
    /// Reason why a response is incomplete.
    Broken(&'static str),
    /// The TLS handshake did not end within the connect time-out.
    HandshakeLate,
    /// The server closed the connection during the handshake.
    HandshakeClosed,
    /// Description of a TLS failure.
    Tls(String),
    /// The server does not speak HTTP/2.
    NoHttp2,
    /// The server closed the connection before it had sent its HTTP/2 settings.
    NoSettings,
    /// Error message of a driver.
    Driver(String),
    /// Reason why a request cannot be sent.
    Unsendable(String),
    /// Any reason that occurs after [`REASONS_AT_MOST`] different reasons.
    Other,
}

impl Reason {
    pub(super) fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::System(number),
            None => Self::Own(sentence_of(error)),
        }
    }

    /// Creates the reason for a failed handshake. The alert `no_application_protocol` means that the server does not
    /// speak HTTP/2.
    pub(super) fn tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => Self::NoHttp2,
            other => Self::Tls(tls::sentence(other)),
        }
    }

    /// Returns the reason for the failure of an exchange whose response was incomplete; `None` for other failures.
    pub(super) fn of_answer(failure: Failure, exchange: &Exchange, is_http2: bool) -> Option<Self> {
        match failure {
            Failure::Closed if exchange.bytes_in > 0 => Some(Self::Broken(CUT)),
            Failure::Closed if exchange.reused => Some(Self::Broken(CROSSED)),
            Failure::Closed => Some(Self::Broken(UNANSWERED)),
            Failure::Protocol if is_http2 => Some(Self::Broken(BROKEN_FRAMES)),
            Failure::Protocol => {
                let fault = exchange.scanner.fault();
                Some(Self::Broken(fault.map_or(BROKEN_TLS, protocol)))
            }
            _ => None,
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::System(number) => sentence_of_number(*number),
            Self::Tried(addresses, last) => format!("at {addresses}: {}", last.text()),
            Self::Late => LATE.to_owned(),
            Self::HandshakeLate => HANDSHAKE_LATE.to_owned(),
            Self::HandshakeClosed => HANDSHAKE_CLOSED.to_owned(),
            Self::NoHttp2 => NO_HTTP2.to_owned(),
            Self::NoSettings => NO_SETTINGS.to_owned(),
            Self::Broken(text) => (*text).to_owned(),
            Self::Own(text) | Self::Tls(text) | Self::Driver(text) | Self::Unsendable(text) => {
                text.clone()
            }
            Self::Other => "other".to_owned(),
        }
    }
}

/// Number of failures for each reason.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<Reason, u64>);

impl Reasons {
    pub(super) fn count(&mut self, reason: Reason) {
        let known = self.0.len() < REASONS_AT_MOST || self.0.contains_key(&reason);
        let reason = if known { reason } else { Reason::Other };
        *self.0.entry(reason).or_default() += 1;
    }

    pub(super) fn texts(&self) -> BTreeMap<String, u64> {
        let each = self.0.iter();
        each.map(|(reason, count)| (reason.text(), *count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::response::{Limits, Wanted};

    #[test]
    fn reasons_are_bounded() {
        let mut reasons = Reasons::default();
        for number in 0..1000 {
            reasons.count(Reason::Tls(number.to_string()));
        }
        let texts = reasons.texts();
        assert_eq!(texts.len(), REASONS_AT_MOST + 1);
        assert_eq!(texts["other"], 1000 - REASONS_AT_MOST as u64);
        assert_eq!(texts["7"], 1);
    }

    #[test]
    fn each_reason_is_a_fact_with_a_next_step() {
        let mut all = vec![
            Reason::of(&io::Error::from_raw_os_error(111)),
            Reason::of(&io::Error::from(io::ErrorKind::InvalidInput)),
            Reason::Late,
            Reason::HandshakeLate,
            Reason::HandshakeClosed,
            Reason::NoHttp2,
            Reason::NoSettings,
            Reason::Tried(
                "[::1]:80, 127.0.0.1:80".to_owned(),
                Box::new(Reason::System(111)),
            ),
            Reason::tls(&rustls::Error::DecryptError),
            Reason::tls(&rustls::Error::AlertReceived(
                AlertDescription::NoApplicationProtocol,
            )),
        ];
        let faults = [
            ProtocolError::Truncated,
            ProtocolError::NotHttp,
            ProtocolError::BadField,
            ProtocolError::HeaderTooLarge,
            ProtocolError::BadLength,
            ProtocolError::BadEncoding,
            ProtocolError::LengthAndEncoding,
            ProtocolError::Upgrade,
            ProtocolError::BadChunk,
            ProtocolError::BodyTooLarge,
        ];
        all.extend(faults.map(|fault| Reason::Broken(protocol(fault))));
        all.extend([CROSSED, UNANSWERED, CUT, BROKEN_FRAMES, BROKEN_TLS].map(Reason::Broken));
        for reason in all {
            let text = reason.text();
            assert!(text.contains(": "), "{text}");
            assert!(
                !text.contains("Error") && !text.contains("os error"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_answer_that_did_not_come_whole_says_when_the_server_closed() {
        let limits = Limits {
            header_bytes: 100,
            body_bytes: 100,
            capture_bytes: 100,
        };
        let mut exchange = Exchange::new(limits);
        let text = |failure, exchange: &Exchange| {
            Reason::of_answer(failure, exchange, false).map(|reason| reason.text())
        };
        assert_eq!(
            text(Failure::Closed, &exchange).as_deref(),
            Some(UNANSWERED)
        );
        exchange.reused = true;
        assert_eq!(text(Failure::Closed, &exchange).as_deref(), Some(CROSSED));
        exchange.bytes_in = 1;
        assert_eq!(text(Failure::Closed, &exchange).as_deref(), Some(CUT));
        assert_eq!(
            text(Failure::Protocol, &exchange).as_deref(),
            Some(BROKEN_TLS)
        );
        exchange.scanner.begin(Wanted::default());
        exchange.scanner.feed(b"SSH-2.0").expect_err("no HTTP");
        let expected = protocol(ProtocolError::NotHttp);
        assert_eq!(
            text(Failure::Protocol, &exchange).as_deref(),
            Some(expected)
        );
        let http2 = Reason::of_answer(Failure::Protocol, &exchange, true);
        assert_eq!(http2, Some(Reason::Broken(BROKEN_FRAMES)));
        assert_eq!(text(Failure::Timeout, &exchange), None);
    }
}
