//! Cookies of one user: name and value by target and path prefix (the part of RFC 6265 that load needs).

/// Most cookies a user keeps, as browsers do; a server cannot make users grow without end.
pub const MOST: usize = 50;

/// Longest cookie kept. [bytes]
const LONGEST: usize = 4096;

/// Latest year of a cookie date: a date with a longer number is invalid (RFC 6265, section 5.1.1).
const LATEST_YEAR: i64 = 9999;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    target: u32,
    path: Box<[u8]>,
    name: Box<[u8]>,
    value: Box<[u8]>,
}

/// The cookies of one user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jar {
    cookies: Vec<Cookie>,
}

impl Jar {
    /// Returns `true` if there is no cookie.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Resets the jar to the cookies that a user has from its start.
    pub fn restart(&mut self, given: &Self) {
        self.cookies.clone_from(&given.cookies);
    }

    /// Adds a cookie that no server has set; replaces the cookie of the same name, target and path.
    pub fn give(&mut self, target: u32, path: &[u8], name: &[u8], value: &[u8]) {
        let cookie = Cookie {
            target,
            path: path.into(),
            name: name.into(),
            value: value.into(),
        };
        self.replace(cookie, false);
    }

    /// Stores one Set-Cookie field of the answer to a request of `request_path`; `now_s` is seconds since 1970.
    pub fn store(&mut self, target: u32, request_path: &[u8], field: &[u8], now_s: i64) {
        if field.len() > LONGEST {
            return;
        }
        let mut parts = field.split(|byte| *byte == b';');
        let Some((name, value)) = parts.next().and_then(|pair| split_once(pair, b'=')) else {
            return;
        };
        let (name, value) = (name.trim_ascii(), value.trim_ascii());
        if name.is_empty() {
            return;
        }
        let mut path = default_path(request_path);
        let mut expired = None;
        let mut max_age = None;
        for attribute in parts {
            let (key, setting) = split_once(attribute, b'=').unwrap_or((attribute, b""));
            let (key, setting) = (key.trim_ascii(), setting.trim_ascii());
            if key.eq_ignore_ascii_case(b"path") && setting.starts_with(b"/") {
                path = setting;
            } else if key.eq_ignore_ascii_case(b"max-age") {
                max_age = std::str::from_utf8(setting)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok());
            } else if key.eq_ignore_ascii_case(b"expires") {
                expired = parse_date(setting).map(|expires_s| expires_s <= now_s);
            }
        }
        // Max-Age has precedence over Expires (RFC 6265, section 4.1.2.2).
        let gone = max_age.map_or(expired.unwrap_or(false), |seconds| seconds <= 0);
        self.replace(
            Cookie {
                target,
                path: path.into(),
                name: name.into(),
                value: value.into(),
            },
            gone,
        );
    }

    fn replace(&mut self, cookie: Cookie, gone: bool) {
        let same = |old: &Cookie| {
            old.target == cookie.target && old.path == cookie.path && old.name == cookie.name
        };
        let place = self.cookies.iter().position(same);
        match (place, gone) {
            (Some(index), true) => drop(self.cookies.remove(index)),
            (Some(index), false) => self.cookies[index] = cookie,
            (None, true) => {}
            (None, false) => {
                if self.cookies.len() == MOST {
                    self.cookies.remove(0);
                }
                // Longer paths come first in the Cookie header (RFC 6265, section 5.4).
                let longer = |old: &Cookie| old.path.len() >= cookie.path.len();
                let at = self
                    .cookies
                    .iter()
                    .position(|old| !longer(old))
                    .unwrap_or(self.cookies.len());
                self.cookies.insert(at, cookie);
            }
        }
    }

    /// Appends the cookies for this path to the value that begins at `start` of `out`: a request has one Cookie header
    /// (RFC 6265, section 5.4). Cookies already in the value come from the step, and override cookies of the same name.
    pub fn join(&self, target: u32, path: &[u8], start: usize, out: &mut Vec<u8>) {
        let path = path.split(|byte| *byte == b'?').next().unwrap_or(path);
        let given = start..out.len();
        let all = self.cookies.iter();
        for cookie in all.filter(|cookie| cookie.target == target && covers(&cookie.path, path)) {
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

/// Returns `true` if the value of a Cookie header has a cookie of this name.
fn names(value: &[u8], name: &[u8]) -> bool {
    let mut pairs = value.split(|byte| *byte == b';');
    pairs.any(|pair| split_once(pair, b'=').is_some_and(|(own, _)| own.trim_ascii() == name))
}

fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(separator, bytes)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

/// RFC 6265, section 5.1.4.
fn default_path(request_path: &[u8]) -> &[u8] {
    let path = request_path
        .split(|byte| *byte == b'?')
        .next()
        .unwrap_or(b"/");
    match memchr::memrchr(b'/', path) {
        Some(last) if last > 0 => &path[..last],
        _ => b"/",
    }
}

/// RFC 6265, section 5.1.4: path-match.
fn covers(prefix: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with(b"/") || rest.starts_with(b"/"))
}

/// Seconds since 1970 of a cookie date such as `Wed, 21 Oct 2015 07:28:00 GMT`; dashes between day, month and year
/// count as blanks.
fn parse_date(text: &[u8]) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for token in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != ':') {
        if token.contains(':') {
            let mut fields = token.split(':').map(|field| field.parse::<i64>().ok());
            let mut next = |most| fields.next().flatten().filter(|field| *field <= most);
            time = Some(next(23)? * 3600 + next(59)? * 60 + next(59)?);
        } else if let Ok(number) = token.parse::<i64>() {
            if day.is_none() && token.len() <= 2 {
                day = Some(number);
            } else if year.is_none() && number <= LATEST_YEAR {
                year = Some(if number < 70 {
                    number + 2000
                } else if number < 100 {
                    number + 1900
                } else {
                    number
                });
            }
        } else if token.len() >= 3 && month.is_none() {
            month = MONTHS
                .iter()
                .position(|name| token.starts_with(name))
                .map(|index| index as i64 + 1);
        }
    }
    Some(days_since_1970(year?, month?, day?) * 86_400 + time?)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: whole years in days of their 400-year cycle, with the year
/// taken to begin in March so that the leap day is its last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days_before_month = (153 * month + 2) / 5;
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + days_before_month
        + day
        - 1
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000;

    fn header(jar: &Jar, path: &str) -> String {
        joined(jar, path, "")
    }

    fn joined(jar: &Jar, path: &str, given: &str) -> String {
        let mut out = format!("Cookie: {given}").into_bytes();
        jar.join(0, path.as_bytes(), "Cookie: ".len(), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn cookies_go_back_below_their_path_only() {
        let mut jar = Jar::default();
        jar.store(0, b"/app/login?x=1", b"session=abc; HttpOnly; Secure", NOW);
        jar.store(0, b"/app/login", b"all=1; Path=/", NOW);
        assert_eq!(header(&jar, "/app/docs?id=7"), "Cookie: session=abc; all=1");
        assert_eq!(header(&jar, "/application"), "Cookie: all=1");
        let mut out = Vec::new();
        jar.join(1, b"/app", 0, &mut out);
        assert!(out.is_empty(), "another target gets none");
    }

    #[test]
    fn cookies_of_the_step_come_first_and_win_over_those_of_their_name() {
        let mut jar = Jar::default();
        jar.store(0, b"/app/login", b"id=jar", NOW);
        jar.store(0, b"/app/login", b"id=root; Path=/", NOW);
        jar.store(0, b"/app/login", b"theme=dark; Path=/", NOW);
        assert_eq!(
            joined(&jar, "/app/x", ""),
            "Cookie: id=jar; id=root; theme=dark"
        );
        assert_eq!(
            joined(&jar, "/app/x", "a=1;id =mine"),
            "Cookie: a=1;id =mine; theme=dark"
        );
        assert_eq!(
            joined(&jar, "/app/x", "xid=2; ids=3"),
            "Cookie: xid=2; ids=3; id=jar; id=root; theme=dark"
        );
    }

    #[test]
    fn what_a_user_is_given_is_replaced_and_deleted_by_servers_and_comes_back() {
        let mut given = Jar::default();
        given.give(0, b"/", b"own", b"1");
        given.give(0, b"/app", b"theme", b"dark");
        let mut jar = Jar::default();
        jar.restart(&given);
        jar.store(0, b"/app/x", b"own=2; Path=/", NOW);
        jar.store(0, b"/app/x", b"theme=light; Path=/", NOW);
        jar.store(0, b"/app/x", b"sid=s; Path=/", NOW);
        assert_eq!(
            header(&jar, "/app/x"),
            "Cookie: theme=dark; own=2; theme=light; sid=s",
            "a cookie of another path is another one"
        );
        jar.store(0, b"/app/x", b"own=; Path=/; Max-Age=0", NOW);
        assert_eq!(header(&jar, "/"), "Cookie: theme=light; sid=s");
        jar.restart(&given);
        assert_eq!(header(&jar, "/app"), "Cookie: theme=dark; own=1");
    }

    #[test]
    fn a_cookie_is_replaced_and_deleted() {
        let mut jar = Jar::default();
        jar.store(0, b"/", b"a=1", NOW);
        jar.store(0, b"/", b"a=2", NOW);
        assert_eq!(header(&jar, "/"), "Cookie: a=2");
        jar.store(0, b"/", b"a=; Max-Age=0", NOW);
        assert!(jar.is_empty());
        jar.store(0, b"/", b"b=1; Expires=Wed, 21 Oct 2055 07:28:00 GMT", NOW);
        assert_eq!(header(&jar, "/"), "Cookie: b=1");
        jar.store(0, b"/", b"b=1; expires=Wed, 21-Oct-2015 07:28:00 GMT", NOW);
        assert!(jar.is_empty());
    }

    #[test]
    fn dates_count_from_1970() {
        // RFC 9110, section 5.6.7: Sun, 06 Nov 1994 08:49:37 GMT; 784111777 by `date -u -d ... +%s`.
        assert_eq!(
            parse_date(b"Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(784_111_777)
        );
        assert_eq!(parse_date(b"Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(parse_date(b"rubbish"), None);
    }

    #[test]
    fn a_date_of_numbers_without_end_is_none_and_the_cookie_stays() {
        for date in [
            "Wed, 21 Oct 9223372036854775807 07:28:00 GMT",
            "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
            "Wed, 21 Oct 10000 07:28:00 GMT",
            "Wed, 21 Oct 2015 9223372036854775807:28:00 GMT",
            "Wed, 21 Oct 2015 07:9223372036854775807:00 GMT",
            "Wed, 21 Oct 2015 24:00:00 GMT",
            "Wed, 21 Oct 2015 07:28:60 GMT",
        ] {
            assert_eq!(parse_date(date.as_bytes()), None, "{date}");
            let mut jar = Jar::default();
            jar.store(0, b"/", format!("a=1; Expires={date}").as_bytes(), NOW);
            assert_eq!(header(&jar, "/"), "Cookie: a=1", "{date}");
        }
        // By `date -u -d '9999-12-31 23:59:59' +%s`.
        assert_eq!(
            parse_date(b"Fri, 31 Dec 9999 23:59:59 GMT"),
            Some(253_402_300_799)
        );
    }

    #[test]
    fn a_server_cannot_fill_a_user() {
        let mut jar = Jar::default();
        for number in 0..1000 {
            jar.store(0, b"/", format!("c{number}=1").as_bytes(), NOW);
        }
        jar.store(0, b"/", &vec![b'x'; 100_000], NOW);
        jar.store(0, b"/", b"=nameless", NOW);
        assert_eq!(jar.cookies.len(), MOST);
    }
}
