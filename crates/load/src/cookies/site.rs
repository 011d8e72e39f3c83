//! Decides whether a cookie matches the host and path of a request.

use std::net::IpAddr;

/// Host of a request, and a flag that is `true` if the request uses TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    host: Box<[u8]>,
    is_address: bool,
    secure: bool,
}

impl Site {
    /// Creates the site of an authority, such as `shop.example:8080` or `[::1]:80`. The port is dropped, as cookies do
    /// not depend on it (RFC 6265, section 8.5). `secure` is `true` with TLS.
    #[must_use]
    pub fn new(authority: &str, secure: bool) -> Self {
        let host = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(rest),
            None => authority.split(':').next().unwrap_or(authority),
        };
        let host = host.trim().to_ascii_lowercase();
        Self {
            is_address: host.parse::<IpAddr>().is_ok(),
            host: host.into_bytes().into(),
            secure,
        }
    }

    /// Returns the host in lower case, without port and brackets.
    #[must_use]
    #[inline]
    pub fn host(&self) -> &[u8] {
        &self.host
    }

    /// Returns `true` if requests to the site use TLS.
    #[must_use]
    #[inline]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Returns `true` if the host domain-matches `domain`, which is in lower case (RFC 6265, section 5.1.3).
    #[inline]
    pub(super) fn is_in(&self, domain: &[u8]) -> bool {
        match self.host.strip_suffix(domain) {
            Some(b"") => true,
            Some(rest) => rest.ends_with(b".") && !self.is_address,
            None => false,
        }
    }
}

/// Returns the path of a cookie without the attribute Path (RFC 6265, section 5.1.4).
pub(super) fn default_path(request_path: &[u8]) -> &[u8] {
    let path = request_path
        .split(|byte| *byte == b'?')
        .next()
        .unwrap_or(b"/");
    match memchr::memrchr(b'/', path) {
        Some(last) if last > 0 => &path[..last],
        _ => b"/",
    }
}

/// Returns `true` if `path` path-matches `prefix` (RFC 6265, section 5.1.4).
pub(super) fn covers(prefix: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with(b"/") || rest.starts_with(b"/"))
}
