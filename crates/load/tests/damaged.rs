//! Checks that no external input causes a crash, valid or damaged: responses, cookies, documents and plans. Each input
//! is either accepted or refused with an error.

#[path = "../fuzz/hpack.rs"]
mod hpack;
#[path = "../fuzz/http2.rs"]
mod http2;
#[path = "../fuzz/response.rs"]
mod response;
mod support;

use std::path::Path;

use http2::Frame;
use serde_json::{Value, json};
use support::{get, plan_of};
use towtank_damaging::{Damaging, rounds};
use towtank_load::cookies::{Jar, MOST, Site};
use towtank_load::extract::JsonPath;
use towtank_load::http2::hpack::{Encoder, Name};
use towtank_load::plan::{read_stages, read_text};

/// Returns responses that were found by coverage-guided fuzzing. The first byte of each selects options of the test.
fn responses() -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/oracle");
    let entries = std::fs::read_dir(corpus).expect("the corpus is part of the crate");
    let mut found: Vec<Vec<u8>> = entries
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file"))
        .filter(|bytes| bytes.len() > 1)
        .collect();
    // The order of files in a folder depends on the file system, so the responses are sorted.
    found.sort_unstable();
    found
}

#[test]
fn responses_split_anywhere_are_read_as_in_one_piece() {
    let (known, mut damaging) = (responses(), Damaging::new());
    assert!(known.len() > 500);
    for _ in rounds(20_000) {
        let bytes = damaging.one_of(&known, 6);
        let split = damaging.below(bytes.len() + 1) as u16;
        response::check((damaging.below(8) as u8, split, &bytes));
    }
}

/// Returns the HTTP/2 frames of a server that answers two requests.
fn frames() -> Vec<Frame> {
    let mut fields = Vec::new();
    let mut encoder = Encoder::default();
    encoder.begin(&mut fields);
    Encoder::varying(&Name::new(b":status"), b"200", &mut fields);
    Encoder::varying(&Name::new(b"content-length"), b"5", &mut fields);
    vec![
        (4, 1, 0, Vec::new()),
        (4, 0, 0, vec![0, 3, 0, 0, 0, 2]),
        (1, 4, 1, fields.clone()),
        (0, 1, 1, b"hello".to_vec()),
        (8, 0, 0, vec![0, 0, 1, 0]),
        (1, 4, 3, fields),
        (6, 0, 0, vec![7; 8]),
        (0, 1, 3, b"world".to_vec()),
        (3, 0, 5, vec![0, 0, 0, 8]),
        (7, 0, 0, vec![0, 0, 0, 3, 0, 0, 0, 0]),
    ]
}

#[test]
fn frames_split_anywhere_are_read_as_in_one_piece() {
    let mut damaging = Damaging::new();
    for _ in rounds(2_000) {
        let mut sent = frames();
        for _ in 0..=damaging.below(4) {
            let (place, other) = (damaging.below(sent.len()), damaging.below(sent.len()));
            match damaging.below(5) {
                0 => sent.swap(place, other),
                1 => drop(sent.remove(place)),
                2 => sent.insert(place, sent[other].clone()),
                3 => sent[place].1 = damaging.below(256) as u8,
                _ => damaging.damage(&mut sent[place].3, 4),
            }
            if sent.is_empty() {
                sent = frames();
            }
        }
        let mut rest = vec![0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8];
        damaging.damage(&mut rest, 4);
        http2::check((damaging.below(300) as u16, sent, rest));
    }
}

#[test]
fn blocks_of_fields_come_back_as_they_are_encoded() {
    let known: Vec<Vec<u8>> = frames().into_iter().map(|frame| frame.3).collect();
    let mut damaging = Damaging::new();
    for _ in rounds(20_000) {
        let blocks = (0..=damaging.below(4)).map(|_| damaging.one_of(&known, 8));
        hpack::check(&blocks.collect::<Vec<_>>());
    }
}

#[test]
fn cookies_of_any_form_leave_a_jar_that_can_be_sent() {
    const FIELDS: [&[u8]; 6] = [
        b"id=1; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
        b"session=abc; Max-Age=3600; Secure; HttpOnly; SameSite=Lax",
        b"a=b; expires=Wed, 21-Oct-99999999999999999 25:61:61 GMT",
        b"; path=/x; =; =x; max-age=-9223372036854775808",
        b"long=0123456789012345678901234567890123456789; path=/a/b/c",
        b"x=y;Path=\"/\";Domain=.test.example",
    ];
    let mut damaging = Damaging::new();
    let site = Site::new("shop.test.example:8080", true);
    let now_ms = 1_700_000_000_000;
    let mut jar = Jar::default();
    let (mut kept, mut out) = (0_usize, Vec::new());
    for round in rounds(200_000) {
        if round % 100 == 0 {
            jar = Jar::default();
        }
        jar.store(&site, b"/a/b?c", &damaging.one_of(&FIELDS, 6), now_ms);
        out.clear();
        jar.join(&site, b"/a/b", 0, &mut out, || now_ms);
        // The host may set cookies for two domains: its own name and test.example. The Cookie header is therefore at
        // most twice as long as the cookies of one domain.
        assert!(out.len() <= 2 * MOST * 4098);
        kept += usize::from(!out.is_empty());
    }
    assert!(kept > 1_000, "{kept}");
}

#[test]
fn paths_of_any_form_find_something_or_are_refused() {
    const PATHS: [&[u8]; 6] = [
        b"$.a[0]['b c'][-1][*]",
        b"$..a..b[*]",
        b"$",
        b"$['it''s']",
        b"$[9223372036854775807]",
        b"$[-9223372036854775808]..x",
    ];
    let documents = [
        json!({"a": [{"b c": [1, [2, 3]]}], "x": {"x": {"x": 1}}}),
        json!([[[[]]], "text", null, {"": 1}]),
        Value::Null,
    ];
    let mut damaging = Damaging::new();
    let (mut read, mut refused) = (0_usize, 0_usize);
    for _ in rounds(100_000) {
        let bytes = damaging.one_of(&PATHS, 4);
        let text = String::from_utf8_lossy(&bytes);
        match JsonPath::parse(&text) {
            Ok(path) => {
                for document in &documents {
                    assert!(
                        path.select(document, 100)
                            .is_none_or(|found| found.len() <= 100)
                    );
                }
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(
        read > 1_000 && refused > 1_000,
        "{read} read, {refused} refused"
    );
}

/// Returns plans as text, which together contain all kinds of elements.
fn plans() -> Vec<Vec<u8>> {
    let ops = json!([
        get(0, &json!(["/a/", {"var": 0, "encode": "url"}])),
        {"op": "think", "pause": {"dist": "exponential", "mean_s": 1.0}},
        {"op": "repeat", "count": 3, "ops": [get(1, &json!(["/b"]))]},
    ]);
    let address = "127.0.0.1:80".parse().expect("an address");
    let mut plain = plan_of(address, &json!([get(0, &json!(["/"]))]));
    plain["out"] = json!("/tmp/never-made");
    let mut more = plan_of(address, &ops);
    more["connections"] = json!({"mode": "pool", "size": 2});
    more["load"] = json!({"kind": "open", "users_at_most": 10, "arrivals": "poisson", "stages": [
        {"name": "hold", "phase": "steady", "level": 0, "duration_s": 1.0, "rate": 10.0}]});
    [plain, more]
        .iter()
        .map(|plan| plan.to_string().into_bytes())
        .collect()
}

#[test]
fn plans_of_any_form_are_read_or_refused_with_their_faults() {
    let (known, mut damaging) = (plans(), Damaging::new());
    let whole = read_text(&String::from_utf8_lossy(&known[0])).expect("a plan");
    let (mut read, mut refused) = (0_usize, 0_usize);
    for _ in rounds(20_000) {
        let mut bytes = damaging.one_of(&known, 3);
        damaging.another_number(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        match read_text(&text) {
            Ok(_) => read += 1,
            Err(faults) => {
                assert!(!faults.is_empty());
                refused += 1;
            }
        }
        if let Ok(Value::Array(stages)) = serde_json::from_str(&text[text.find('[').unwrap_or(0)..])
        {
            let _ = read_stages(&whole, stages);
        }
    }
    assert!(
        read > 20 && refused > 1_000,
        "{read} read, {refused} refused"
    );
}
