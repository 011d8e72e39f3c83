//! Counts the reasons of failed connections and of requests that could not be sent.

use std::collections::BTreeMap;
use std::io;

/// Limit on distinct reasons of connect failures; a server that invents new ones must not fill the memory.
const REASONS_AT_MOST: usize = 64;

/// Reason why a connection could not be made, or a request could not be sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Error of the system, by its number.
    System(i32),
    /// The connect time-out passed before the connection was established.
    Late,
    /// The connect time-out passed before the handshake was done.
    HandshakeLate,
    /// The server closed within the handshake.
    HandshakeClosed,
    /// Fault of TLS.
    Tls(String),
    /// The server does not speak HTTP/2.
    NoHttp2,
    /// The server closed before it had sent its HTTP/2 settings.
    NoSettings,
    /// Message of a driver.
    Driver(String),
    /// A request that cannot be sent.
    Unsendable(String),
    /// Anything beyond [`REASONS_AT_MOST`].
    Other,
}

impl Reason {
    pub(super) fn of(error: &io::Error) -> Self {
        error.raw_os_error().map_or(Self::Other, Self::System)
    }

    fn text(&self) -> String {
        match self {
            Self::System(number) => io::Error::from_raw_os_error(*number).to_string(),
            Self::Late => "no connection within the time".to_owned(),
            Self::HandshakeLate => "no TLS handshake within the time".to_owned(),
            Self::HandshakeClosed => "closed within the TLS handshake".to_owned(),
            Self::Tls(text) => format!("TLS: {text}"),
            Self::NoHttp2 => "no HTTP/2".to_owned(),
            Self::NoSettings => "closed before the settings of HTTP/2".to_owned(),
            Self::Driver(text) | Self::Unsendable(text) => text.clone(),
            Self::Other => "other".to_owned(),
        }
    }
}

/// Counts by reason.
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

    #[test]
    fn reasons_are_bounded() {
        let mut reasons = Reasons::default();
        for number in 0..1000 {
            reasons.count(Reason::Tls(number.to_string()));
        }
        let texts = reasons.texts();
        assert_eq!(texts.len(), REASONS_AT_MOST + 1);
        assert_eq!(texts["other"], 1000 - REASONS_AT_MOST as u64);
        assert_eq!(texts["TLS: 7"], 1);
    }
}
