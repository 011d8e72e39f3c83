//! Percent-encodes paths of requests as browsers do.
//!
//! A path may contain only letters, digits and some other ASCII characters (RFC 3986, section 3.3; RFC 9112, section
//! 3.2.1). Browsers encode all other octets with the sets of the URL standard:
//! <https://url.spec.whatwg.org/#percent-encoded-bytes>. A `%` is never encoded, so parts that are already encoded
//! remain unchanged. A `\` in a path counts as a `/`: <https://url.spec.whatwg.org/#path-state>.

/// Octets that are replaced in a path: the path percent-encode set, and `\`. Controls, DEL and all octets above DEL are
/// replaced as well.
const IN_PATH: &[u8] = b" \"#<>^`{}\\";
/// Octets that are replaced in a query (special-query percent-encode set, which applies to http and https).
const IN_QUERY: &[u8] = b" \"#<>'";
const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Bit in [`SETS`] for octets that are replaced in a path.
const PATH: u8 = 1;
/// Bit in [`SETS`] for octets that are replaced in a query.
const QUERY: u8 = 2;
/// For each octet, [`PATH`] if it is replaced in a path, combined with [`QUERY`] if it is replaced in a query.
const SETS: [u8; 256] = sets();

const fn sets() -> [u8; 256] {
    let mut all = [0; 256];
    let mut octet = 0;
    while octet < all.len() {
        if octet < 0x20 || octet > 0x7e {
            all[octet] = PATH | QUERY;
        }
        octet += 1;
    }
    let mut index = 0;
    while index < IN_PATH.len() {
        all[IN_PATH[index] as usize] |= PATH;
        index += 1;
    }
    index = 0;
    while index < IN_QUERY.len() {
        all[IN_QUERY[index] as usize] |= QUERY;
        index += 1;
    }
    all
}

/// Returns `true` if the bytes form the path of a request, in percent-encoded form or not.
pub(super) fn is_path(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'/') && !bytes.iter().any(|byte| *byte <= b' ' || *byte == 0x7f)
}

/// Percent-encodes the path and query that begin at `start` of `out`, and writes each `\` of the path as `/`. Most paths
/// need no encoding and stay unchanged.
pub(super) fn encode(out: &mut Vec<u8>, start: usize) {
    let mark = memchr::memchr(b'?', &out[start..]).map_or(out.len(), |at| start + at);
    let is_in = |from: &[u8], set: u8| from.iter().any(|byte| SETS[usize::from(*byte)] & set != 0);
    if !is_in(&out[start..mark], PATH) && !is_in(&out[mark..], QUERY) {
        return;
    }
    let raw = out.split_off(start);
    for (index, byte) in raw.iter().enumerate() {
        let set = if start + index < mark { PATH } else { QUERY };
        if SETS[usize::from(*byte)] & set == 0 {
            out.push(*byte);
        } else if *byte == b'\\' {
            out.push(b'/');
        } else {
            out.extend_from_slice(&[
                b'%',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(path: &str) -> String {
        let mut out = format!("GET {path}").into_bytes();
        encode(&mut out, 4);
        String::from_utf8(out.split_off(4)).unwrap()
    }

    /// Expected values are the path and query of `new URL(path, "http://host")` in a browser, by the URL standard.
    #[test]
    fn paths_are_sent_as_browsers_send_them() {
        for (path, sent) in [
            ("/plain/a-b_c.d~e?x=1&y=2", "/plain/a-b_c.d~e?x=1&y=2"),
            ("/über/naïve", "/%C3%BCber/na%C3%AFve"),
            ("/日本?q=café", "/%E6%97%A5%E6%9C%AC?q=caf%C3%A9"),
            ("/a\"b<c>d", "/a%22b%3Cc%3Ed"),
            ("/^`{x}", "/%5E%60%7Bx%7D"),
            ("/it's?q=it's", "/it's?q=it%27s"),
            ("/x?q=a\"b<c>^`{d}", "/x?q=a%22b%3Cc%3E^`{d}"),
            ("/a[0]|b?c[]=d|e", "/a[0]|b?c[]=d|e"),
            ("/%E9%ZZ/100%?q=%u2&r=a+b", "/%E9%ZZ/100%?q=%u2&r=a+b"),
            ("/a?b?c=/d", "/a?b?c=/d"),
            ("/a?", "/a?"),
            ("/c#?q=#1", "/c%23?q=%231"),
            ("/?q=\u{7f}", "/?q=%7F"),
            (r"/a\b\\c?q=\d", r"/a/b//c?q=\d"),
            (r"/a\b", "/a/b"),
            ("/a%5Cb", "/a%5Cb"),
        ] {
            assert_eq!(encoded(path), sent, "{path}");
        }
    }

    #[test]
    fn an_encoded_path_stays_as_it_is() {
        for path in ["/%C3%BCber?q=caf%C3%A9", "/a%22b?c=%3C%3E"] {
            assert_eq!(encoded(path), path);
            assert_eq!(encoded(&encoded("/ü\"?é'")), encoded("/ü\"?é'"));
        }
    }

    #[test]
    fn octets_that_are_no_text_are_encoded_one_by_one() {
        let mut out = b"/\xe9\xff?\x80".to_vec();
        assert!(is_path(&out));
        encode(&mut out, 0);
        assert_eq!(out, b"/%E9%FF?%80");
    }
}
