//! Cookies of one user: the storage model of RFC 6265 (sections 5.1 to 5.4) and the name prefixes `__Secure-` and
//! `__Host-` of its successor (draft-ietf-httpbis-rfc6265bis). Time is an argument of every operation.

mod date;
mod set_cookie;
mod site;

use set_cookie::SetCookie;
pub use site::Site;

/// Limit on the cookies of one domain per user, as in browsers. Without it, a server could increase the memory of users
/// without bound.
pub const MOST: usize = 50;

/// Expiry time of a cookie that has neither Max-Age nor Expires. [ms since 1970]
const NEVER: i64 = i64::MAX;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    domain: Box<[u8]>,
    /// `true` if the cookie is also sent to hosts below its domain, such as `a.shop.example` for `shop.example`.
    below: bool,
    secure: bool,
    path: Box<[u8]>,
    name: Box<[u8]>,
    value: Box<[u8]>,
    /// Time from which the cookie is no longer sent. [ms since 1970]
    expires_ms: i64,
    /// Value of the jar's use counter when this cookie was last sent or stored. A cookie with a smaller value was used
    /// less recently.
    used: u64,
}

/// The cookies of one user, in the order of sending: longer paths first, then earlier creation (RFC 6265, section 5.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jar {
    cookies: Vec<Cookie>,
    /// `true` if any cookie in the jar has an expiry time. Otherwise requests do not need the current time.
    ages: bool,
    uses: u64,
}

impl Jar {
    /// Returns `true` if the jar has no cookies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Returns the values of all cookies.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.cookies.iter().map(|cookie| &*cookie.value)
    }

    /// Replaces the content of the jar by `given`: the cookies that the load plan gives each user at its start.
    pub fn restart(&mut self, given: &Self) {
        self.cookies.clone_from(&given.cookies);
        (self.ages, self.uses) = (given.ages, given.uses);
    }

    /// Adds a cookie from the plan, which no server has set, for one host. It is sent with and without TLS. A cookie
    /// with the same name, host and path is replaced.
    pub fn give(&mut self, site: &Site, path: &[u8], name: &[u8], value: &[u8]) {
        self.keep(Cookie {
            domain: site.host().into(),
            below: false,
            secure: false,
            path: path.into(),
            name: name.into(),
            value: value.into(),
            expires_ms: NEVER,
            used: self.uses,
        });
    }

    /// Stores one Set-Cookie field of the response to a request of `request_path` (RFC 6265, section 5.3). A cookie
    /// that has already expired at `now_ms` [ms since 1970] deletes the stored cookie.
    pub fn store(&mut self, site: &Site, request_path: &[u8], field: &[u8], now_ms: i64) {
        let Some(set) = SetCookie::parse(field, now_ms) else {
            return;
        };
        let Some((domain, below)) = set.domain_for(site) else {
            return;
        };
        if !set.keeps_its_prefix(site) {
            return;
        }
        self.uses += 1;
        let cookie = Cookie {
            domain: domain.into(),
            below,
            secure: set.secure,
            path: set
                .path
                .unwrap_or_else(|| site::default_path(request_path))
                .into(),
            name: set.name.into(),
            value: set.value.into(),
            expires_ms: set.expires_ms.unwrap_or(NEVER),
            used: self.uses,
        };
        self.evict_expired(now_ms);
        if cookie.expires_ms <= now_ms {
            self.cookies.retain(|old| !old.is_same(&cookie));
        } else {
            self.keep(cookie);
        }
    }

    /// Adds a cookie, or replaces the cookie with the same name, domain and path. A cookie that replaces another takes
    /// over its position in the order of creation.
    fn keep(&mut self, cookie: Cookie) {
        self.ages |= cookie.expires_ms != NEVER;
        if let Some(old) = self.cookies.iter_mut().find(|old| old.is_same(&cookie)) {
            *old = cookie;
            return;
        }
        self.make_room_at(&cookie.domain);
        let shorter = |old: &Cookie| old.path.len() < cookie.path.len();
        let at = self.cookies.iter().position(shorter);
        self.cookies
            .insert(at.unwrap_or(self.cookies.len()), cookie);
    }

    /// If a domain already has the largest allowed number of cookies, removes the least recently used of them (RFC
    /// 6265, section 5.3).
    fn make_room_at(&mut self, domain: &[u8]) {
        let of_domain = |(_, old): &(usize, &Cookie)| *old.domain == *domain;
        let all = self.cookies.iter().enumerate();
        if all.clone().filter(of_domain).count() < MOST {
            return;
        }
        if let Some((oldest, _)) = all.filter(of_domain).min_by_key(|(_, old)| old.used) {
            self.cookies.remove(oldest);
        }
    }

    fn evict_expired(&mut self, now_ms: i64) {
        if self.ages {
            self.cookies.retain(|cookie| cookie.expires_ms > now_ms);
            self.ages = self.cookies.iter().any(|cookie| cookie.expires_ms != NEVER);
        }
    }

    /// Appends the stored cookies that match the request to its Cookie header, whose value begins at `start` of `out`.
    /// A request has only one Cookie header (RFC 6265, section 5.4).
    ///
    /// The header may already contain cookies from the plan step. A stored cookie with the name of one of them is not
    /// sent. The clock function `now_ms` [ms since 1970] is called only if a stored cookie has an expiry time.
    pub fn join(
        &mut self,
        site: &Site,
        path: &[u8],
        start: usize,
        out: &mut Vec<u8>,
        now_ms: impl FnOnce() -> i64,
    ) {
        if self.ages {
            self.evict_expired(now_ms());
        }
        let path = path.split(|byte| *byte == b'?').next().unwrap_or(path);
        let given = start..out.len();
        self.uses += 1;
        let uses = self.uses;
        let all = self.cookies.iter_mut();
        for cookie in all.filter(|cookie| cookie.goes_to(site, path)) {
            cookie.used = uses;
            if names(&out[given.clone()], &cookie.name) {
                continue;
            }
            if out.len() > start {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
    }
}

impl Cookie {
    /// Returns `true` if the other cookie has the same name, domain and path (RFC 6265, section 5.3, step 11).
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
    }

    /// Returns `true` if the request's site and path permit sending the cookie (RFC 6265, section 5.4, step 1). The
    /// expiry time is not checked.
    #[inline]
    fn goes_to(&self, site: &Site, path: &[u8]) -> bool {
        let of_host = if self.below {
            site.is_in(&self.domain)
        } else {
            *self.domain == *site.host()
        };
        of_host && (site.is_secure() || !self.secure) && site::covers(&self.path, path)
    }
}

/// Returns `true` if the value of a Cookie header contains a cookie with this name.
fn names(value: &[u8], name: &[u8]) -> bool {
    let mut pairs = value.split(|byte| *byte == b';');
    pairs.any(|pair| split_once(pair, b'=').is_some_and(|(own, _)| own.trim_ascii() == name))
}

fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(separator, bytes)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

#[cfg(test)]
mod tests;
