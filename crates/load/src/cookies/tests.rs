//! Tests cookies by cases of RFC 6265 in the order of its sections, without sockets and with a fixed time.

use super::*;

/// Current time in the tests: Tue, 14 Nov 2023 22:13:20 GMT. [ms since 1970]
const NOW: i64 = 1_700_000_000_000;

fn plain(host: &str) -> Site {
    Site::new(host, false)
}

fn sent(jar: &mut Jar, site: &Site, path: &str, now_ms: i64) -> String {
    let mut out = Vec::new();
    jar.join(site, path.as_bytes(), 0, &mut out, || now_ms);
    String::from_utf8(out).expect("text")
}

fn header(jar: &mut Jar, path: &str) -> String {
    sent(jar, &plain("a.test"), path, NOW)
}

fn set(jar: &mut Jar, path: &str, field: &str) {
    jar.store(&plain("a.test"), path.as_bytes(), field.as_bytes(), NOW);
}

/// URL of the response that sets the cookie, its Set-Cookie field, URL of a later request, and `true` if this request
/// sends the cookie.
type Case = (&'static str, &'static str, &'static str, bool);

#[rustfmt::skip]
const GOES: &[Case] = &[
        // Host-only cookies (RFC 6265, section 5.3, step 6) are sent only to the host that set them. The port does not
        // matter (section 8.5).
        ("http://a.test/", "c=1", "http://a.test/x", true),
        ("http://a.test:81/", "c=1", "http://A.TEST:82/", true),
        ("http://a.test/", "c=1", "http://www.a.test/", false),
        ("http://www.a.test/", "c=1", "http://a.test/", false),
        ("http://[::1]:81/", "c=1", "http://[::1]:82/", true),
        // Cases of the attribute Domain (RFC 6265, sections 5.1.3 and 5.2.3).
        (
            "http://w.a.test/",
            "c=1; Domain=a.test",
            "http://a.test/",
            true,
        ),
        (
            "http://w.a.test/",
            "c=1; Domain=.A.Test",
            "http://v.a.test/",
            true,
        ),
        (
            "http://a.test/",
            "c=1; domain=a.test",
            "http://x.y.a.test/",
            true,
        ),
        (
            "http://a.test/",
            "c=1; Domain=a.test",
            "http://ba.test/",
            false,
        ),
        ("http://a.test/", "c=1; Domain=", "http://a.test/", true),
        ("http://a.test/", "c=1; Domain=", "http://w.a.test/", false),
        (
            "http://w.a.test/",
            "c=1; Domain=b.test; Domain=a.test",
            "http://a.test/",
            true,
        ),
        // Refused cookies: a domain that does not contain the host (RFC 6265, section 5.3, step 6), and a public suffix
        // (step 5).
        (
            "http://a.test/",
            "c=1; Domain=b.test",
            "http://b.test/",
            false,
        ),
        (
            "http://a.test/",
            "c=1; Domain=b.test",
            "http://a.test/",
            false,
        ),
        (
            "http://a.test/",
            "c=1; Domain=w.a.test",
            "http://a.test/",
            false,
        ),
        (
            "http://a.test/",
            "c=1; Domain=test",
            "http://a.test/",
            false,
        ),
        ("http://shop/", "c=1; Domain=shop", "http://shop/", true),
        ("http://shop/", "c=1; Domain=shop", "http://w.shop/", false),
        (
            "http://10.0.0.1/",
            "c=1; Domain=0.0.1",
            "http://10.0.0.1/",
            false,
        ),
        (
            "http://10.0.0.1/",
            "c=1; Domain=10.0.0.1",
            "http://10.0.0.1/",
            true,
        ),
        // Cases of the default path, for cookies without the attribute Path (RFC 6265, section 5.1.4).
        (
            "http://a.test/app/login?x=/y",
            "c=1",
            "http://a.test/app/docs",
            true,
        ),
        (
            "http://a.test/app/login",
            "c=1",
            "http://a.test/application",
            false,
        ),
        ("http://a.test/app/login", "c=1", "http://a.test/", false),
        ("http://a.test/app", "c=1", "http://a.test/other", true),
        ("http://a.test/app/", "c=1", "http://a.test/app", true),
        (
            "http://a.test/app/x",
            "c=1; Path=relative",
            "http://a.test/app/y",
            true,
        ),
        (
            "http://a.test/app/x",
            "c=1; Path=/; Path=",
            "http://a.test/",
            false,
        ),
        // Cases of the path match between cookie and request (RFC 6265, section 5.1.4).
        (
            "http://a.test/",
            "c=1; Path=/app",
            "http://a.test/app",
            true,
        ),
        (
            "http://a.test/",
            "c=1; path=/app",
            "http://a.test/app/x?y",
            true,
        ),
        (
            "http://a.test/",
            "c=1; Path=/app",
            "http://a.test/apps",
            false,
        ),
        (
            "http://a.test/",
            "c=1; Path=/app",
            "http://a.test/App",
            false,
        ),
        (
            "http://a.test/",
            "c=1; Path=/app/",
            "http://a.test/app/x",
            true,
        ),
        (
            "http://a.test/",
            "c=1; Path=/app/",
            "http://a.test/app",
            false,
        ),
        // Cases of the attribute Secure (RFC 6265, section 5.4). Attributes such as HttpOnly do not change which
        // requests send the cookie.
        ("https://a.test/", "c=1; Secure", "https://a.test/", true),
        ("https://a.test/", "c=1; secure=no", "http://a.test/", false),
        ("http://a.test/", "c=1; Secure", "https://a.test/", true),
        (
            "https://a.test/",
            "c=1; HttpOnly; SameSite=Lax; x",
            "http://a.test/",
            true,
        ),
        // Cases of the name prefixes `__Secure-` and `__Host-` (draft-ietf-httpbis-rfc6265bis, section 4.1.3).
        (
            "https://a.test/",
            "__Secure-c=1; Secure",
            "https://a.test/",
            true,
        ),
        ("https://a.test/", "__Secure-c=1", "https://a.test/", false),
        (
            "http://a.test/",
            "__secure-c=1; Secure",
            "https://a.test/",
            false,
        ),
        (
            "https://a.test/",
            "__Host-c=1; Secure; Path=/",
            "https://a.test/x",
            true,
        ),
        (
            "https://a.test/",
            "__Host-c=1; Secure",
            "https://a.test/",
            false,
        ),
        (
            "https://a.test/",
            "__Host-c=1; Secure; Path=/x",
            "https://a.test/x",
            false,
        ),
        (
            "https://a.test/",
            "__Host-c=1; Path=/",
            "https://a.test/",
            false,
        ),
        (
            "https://a.test/",
            "__Host-c=1; Secure; Path=/; Domain=a.test",
            "https://a.test/",
            false,
        ),
        // Cases of names and values (RFC 6265, section 5.2).
        ("http://a.test/", "=1", "http://a.test/", false),
        ("http://a.test/", "nameless", "http://a.test/", false),
        ("http://a.test/", " c = 1 ;Path=/", "http://a.test/", true),
];

/// Each case gives the URL of the response that sets a cookie, the cookie, the URL of a later request, and `true` if
/// this request sends the cookie.
#[test]
fn a_cookie_goes_where_rfc_6265_says() {
    for &(from, field, to, goes) in GOES {
        let mut jar = Jar::default();
        let (site, path) = url(from);
        jar.store(&site, path.as_bytes(), field.as_bytes(), NOW);
        let (site, path) = url(to);
        let found = sent(&mut jar, &site, path, NOW);
        let right = if goes { "c=1" } else { "" };
        let found = found.rsplit('-').next().unwrap_or_default();
        assert_eq!(found, right, "{field:?} of {from} at {to}");
    }
}

fn url(text: &str) -> (Site, &str) {
    let (scheme, rest) = text.split_once("://").expect("a scheme");
    let slash = rest.find('/').expect("a path");
    let site = Site::new(&rest[..slash], scheme == "https");
    (site, &rest[slash..])
}

/// Each case gives the attributes of a cookie, the time since it was set [ms], and `true` if it is still sent.
#[test]
fn a_cookie_lives_as_long_as_max_age_and_expires_say() {
    let cases = [
        ("", i64::MAX - NOW - 1, true),
        ("Max-Age=2", 1_999, true),
        ("Max-Age=2", 2_000, false),
        ("max-age = 2 ", 3_000, false),
        ("Max-Age=0", 0, false),
        ("Max-Age=-5", 0, false),
        ("Max-Age=9; Max-Age=2", 3_000, false),
        // A Max-Age that is not a number is ignored (RFC 6265, section 5.2.2).
        ("Max-Age=2; Max-Age=+9", 3_000, false),
        ("Max-Age=2s", 3_000, true),
        ("Max-Age=-", 3_000, true),
        ("Max-Age=", 3_000, true),
        ("Max-Age=99999999999999999999", 1 << 50, true),
        ("Max-Age=-99999999999999999999", 0, false),
        // The cookies are set at 22:13:20 (`NOW`), so Expires values before this time delete them.
        ("Expires=Tue, 14 Nov 2023 22:13:22 GMT", 1_999, true),
        ("Expires=Tue, 14 Nov 2023 22:13:22 GMT", 2_000, false),
        ("expires=Tue, 14-Nov-23 22:13:22 GMT", 2_000, false),
        ("Expires=Tue, 14 Nov 2023 22:13:20 GMT", 0, false),
        ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", 0, false),
        ("Expires=Mon, 01 Jan 1601 00:00:00 GMT", 0, false),
        ("Expires=rubbish", 3_000, true),
        (
            "Expires=Tue, 14 Nov 2023 22:13:22 GMT; Expires=rubbish",
            3_000,
            false,
        ),
        // Max-Age has precedence over Expires in either order (RFC 6265, section 5.3, step 3).
        (
            "Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            8_000,
            true,
        ),
        (
            "Expires=Fri, 31 Dec 9999 23:59:59 GMT; Max-Age=1",
            1_000,
            false,
        ),
    ];
    for (attributes, after_ms, goes) in cases {
        let mut jar = Jar::default();
        set(&mut jar, "/", &format!("c=1; {attributes}"));
        let found = sent(&mut jar, &plain("a.test"), "/", NOW + after_ms);
        let right = if goes { "c=1" } else { "" };
        assert_eq!(found, right, "{attributes:?} after {after_ms} ms");
        assert_eq!(jar.is_empty(), !goes, "evicted: {attributes:?}");
    }
}

#[test]
fn longer_paths_go_first_then_earlier_creation() {
    let mut jar = Jar::default();
    for field in [
        "a=1; Path=/",
        "b=1; Path=/x/y",
        "c=1; Path=/x",
        "d=1; Path=/",
        "e=1; Path=/x",
    ] {
        set(&mut jar, "/", field);
    }
    assert_eq!(header(&mut jar, "/x/y/z"), "b=1; c=1; e=1; a=1; d=1");
    set(&mut jar, "/", "a=2; Path=/; Max-Age=5");
    assert_eq!(
        header(&mut jar, "/"),
        "a=2; d=1",
        "a replaced cookie keeps its time of creation (5.3, step 11)"
    );
}

#[test]
fn an_expired_cookie_deletes_that_of_its_name_domain_and_path_only() {
    let mut jar = Jar::default();
    for field in [
        "a=1; Path=/",
        "a=2; Path=/x",
        "a=3; Path=/; Domain=a.test",
        "b=4; Path=/",
    ] {
        jar.store(&plain("w.a.test"), b"/", field.as_bytes(), NOW);
    }
    let all = |jar: &mut Jar| sent(jar, &plain("w.a.test"), "/x", NOW);
    assert_eq!(all(&mut jar), "a=2; a=1; a=3; b=4");
    let old = "Expires=Wed, 21-Oct-2015 07:28:00 GMT";
    let at_host = plain("w.a.test");
    jar.store(&at_host, b"/", format!("a=; Path=/; {old}").as_bytes(), NOW);
    assert_eq!(all(&mut jar), "a=2; a=3; b=4");
    jar.store(&plain("a.test"), b"/", b"a=; Domain=a.test; Max-Age=0", NOW);
    assert_eq!(all(&mut jar), "a=2; b=4");
    jar.store(&at_host, b"/x/y", b"a=; Max-Age=-1", NOW);
    assert_eq!(all(&mut jar), "b=4");
}

#[test]
fn the_time_is_read_only_if_a_cookie_may_expire() {
    let mut jar = Jar::default();
    set(&mut jar, "/", "a=1");
    let mut out = Vec::new();
    jar.join(&plain("a.test"), b"/", 0, &mut out, || {
        panic!("no cookie expires")
    });
    set(&mut jar, "/", "b=1; Max-Age=1");
    assert_eq!(sent(&mut jar, &plain("a.test"), "/", NOW + 1_000), "a=1");
    jar.join(&plain("a.test"), b"/", 0, &mut out, || {
        panic!("no remaining cookie expires")
    });
}

#[test]
fn cookies_of_the_step_come_first_and_win_over_those_of_their_name() {
    let joined = |jar: &mut Jar, given: &str| {
        let mut out = format!("Cookie: {given}").into_bytes();
        let start = "Cookie: ".len();
        jar.join(&plain("a.test"), b"/app/x", start, &mut out, || NOW);
        String::from_utf8(out).expect("text")
    };
    let mut jar = Jar::default();
    set(&mut jar, "/app/login", "id=jar");
    set(&mut jar, "/app/login", "id=root; Path=/");
    set(&mut jar, "/app/login", "theme=dark; Path=/");
    assert_eq!(joined(&mut jar, ""), "Cookie: id=jar; id=root; theme=dark");
    assert_eq!(
        joined(&mut jar, "a=1;id =mine"),
        "Cookie: a=1;id =mine; theme=dark"
    );
    assert_eq!(
        joined(&mut jar, "xid=2; ids=3"),
        "Cookie: xid=2; ids=3; id=jar; id=root; theme=dark"
    );
}

#[test]
fn what_a_user_is_given_is_replaced_and_deleted_by_servers_and_comes_back() {
    let mut given = Jar::default();
    given.give(&plain("a.test:80"), b"/", b"own", b"1");
    given.give(&plain("a.test"), b"/app", b"theme", b"dark");
    let mut jar = Jar::default();
    jar.restart(&given);
    set(&mut jar, "/app/x", "own=2; Path=/; Max-Age=9");
    set(&mut jar, "/app/x", "theme=light; Path=/");
    set(&mut jar, "/app/x", "sid=s; Path=/");
    assert_eq!(
        header(&mut jar, "/app/x"),
        "theme=dark; own=2; theme=light; sid=s",
        "cookies with different paths are different cookies"
    );
    set(&mut jar, "/app/x", "own=; Path=/; Max-Age=0");
    assert_eq!(header(&mut jar, "/"), "theme=light; sid=s");
    jar.restart(&given);
    assert_eq!(jar, given);
    assert_eq!(header(&mut jar, "/app"), "theme=dark; own=1");
}

#[test]
fn a_server_cannot_fill_a_user_and_the_cookie_unused_for_longest_goes() {
    let mut jar = Jar::default();
    set(&mut jar, "/", "rare=1; Path=/rare");
    set(&mut jar, "/", "session=1; Path=/often");
    for number in 0..1000 {
        assert_eq!(
            header(&mut jar, "/often"),
            "session=1",
            "before cookie {number}"
        );
        set(&mut jar, "/", &format!("c{number}=1; Path=/never"));
    }
    assert_eq!(header(&mut jar, "/rare"), "");
    assert_eq!(jar.cookies.len(), MOST);
    jar.store(&plain("b.test"), b"/", b"other=1", NOW);
    assert_eq!(
        jar.cookies.len(),
        MOST + 1,
        "each domain has a separate limit"
    );
    set(&mut jar, "/", &format!("long={}", "x".repeat(100_000)));
    assert_eq!(jar.cookies.len(), MOST + 1);
}
