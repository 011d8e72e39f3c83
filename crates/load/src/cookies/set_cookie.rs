//! Parses one Set-Cookie header field into name, value and attributes of the cookie.

use super::{Site, date, split_once};

/// Limit on the length of a Set-Cookie field. Longer fields are ignored. [bytes]
const LONGEST: usize = 4096;

/// Expiry time that is always in the past: a cookie with this time deletes the stored cookie of the same name. [ms
/// since 1970]
const EARLIEST: i64 = i64::MIN;

/// A parsed Set-Cookie field. If an attribute occurs twice, the last one counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SetCookie<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    /// Value of the attribute Path; `None` if it is missing or does not begin with `/`.
    pub(super) path: Option<&'a [u8]>,
    pub(super) secure: bool,
    /// Expiry time, calculated from Max-Age if present, otherwise from Expires. [ms since 1970]
    pub(super) expires_ms: Option<i64>,
    /// Value of the attribute Domain in lower case, without a leading dot.
    domain: Option<Vec<u8>>,
}

impl<'a> SetCookie<'a> {
    /// Parses a Set-Cookie field (RFC 6265, section 5.2) that arrived at `now_ms` [ms since 1970]. Returns `None` if
    /// the cookie has no name or the field is too long.
    pub(super) fn parse(field: &'a [u8], now_ms: i64) -> Option<Self> {
        if field.len() > LONGEST {
            return None;
        }
        let mut parts = field.split(|byte| *byte == b';');
        let (name, value) = split_once(parts.next()?, b'=')?;
        let mut set = Self {
            name: name.trim_ascii(),
            value: value.trim_ascii(),
            path: None,
            secure: false,
            expires_ms: None,
            domain: None,
        };
        if set.name.is_empty() {
            return None;
        }
        let (mut max_age, mut expires) = (None, None);
        for attribute in parts {
            let (key, setting) = split_once(attribute, b'=').unwrap_or((attribute, b""));
            let (key, setting) = (key.trim_ascii(), setting.trim_ascii());
            if key.eq_ignore_ascii_case(b"expires") {
                expires = date::parse(setting).or(expires);
            } else if key.eq_ignore_ascii_case(b"max-age") {
                max_age = seconds(setting).or(max_age);
            } else if key.eq_ignore_ascii_case(b"domain") && !setting.is_empty() {
                let domain = setting.strip_prefix(b".").unwrap_or(setting);
                set.domain = Some(domain.to_ascii_lowercase());
            } else if key.eq_ignore_ascii_case(b"path") {
                set.path = Some(setting).filter(|path| path.starts_with(b"/"));
            } else if key.eq_ignore_ascii_case(b"secure") {
                set.secure = true;
            }
        }
        // Max-Age has precedence over Expires (RFC 6265, section 5.3, step 3).
        let by_age = max_age.map(|age| match age {
            ..=0 => EARLIEST,
            _ => now_ms.saturating_add(age.saturating_mul(1000)),
        });
        set.expires_ms = by_age.or_else(|| expires.map(|date_s| date_s * 1000));
        Some(set)
    }

    /// Returns the domain of the cookie, and `true` if hosts below the domain receive the cookie too. Returns `None` if
    /// the host is not in the domain, or the domain is a top-level name other than the host (RFC 6265, section 5.3,
    /// steps 4 to 6). No other public suffixes are known.
    pub(super) fn domain_for<'s>(&'s self, site: &'s Site) -> Option<(&'s [u8], bool)> {
        let Some(domain) = self.domain.as_deref().filter(|domain| !domain.is_empty()) else {
            return Some((site.host(), false));
        };
        if !domain.contains(&b'.') {
            return (domain == site.host()).then_some((domain, false));
        }
        site.is_in(domain).then_some((domain, true))
    }

    /// Returns `true` if the cookie fulfils the requirements that the prefix of its name states. `__Secure-` and
    /// `__Host-` require Secure and a response over TLS. `__Host-` also requires `Path=/` and no Domain
    /// (draft-ietf-httpbis-rfc6265bis, section 4.1.3).
    pub(super) fn keeps_its_prefix(&self, site: &Site) -> bool {
        let begins = |prefix: &[u8]| {
            let start = self.name.get(..prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let protected = self.secure && site.is_secure();
        if begins(b"__Host-") {
            return protected && self.domain.is_none() && self.path == Some(b"/");
        }
        protected || !begins(b"__Secure-")
    }
}

/// Parses the value of Max-Age as seconds; `None` if it is not a number (RFC 6265, section 5.2.2). A number outside
/// the range of `i64` becomes the end of the range with the same sign.
fn seconds(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0_i64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
    });
    Some(if negative { -number } else { number })
}
