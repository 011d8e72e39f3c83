use super::*;
use crate::rng::Random;

type Field = (Vec<u8>, Vec<u8>);

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("a byte"))
        .collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Field>, HpackError> {
    let mut fields = Vec::new();
    decoder.decode(block, |name, value| {
        fields.push((name.to_vec(), value.to_vec()));
    })?;
    Ok(fields)
}

fn fields(lines: &[&str]) -> Vec<Field> {
    let split = |line: &&str| {
        let (name, value) = line.split_once("= ").expect("a field");
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    };
    lines.iter().map(split).collect()
}

/// Returns the entries of the decoder's dynamic table, newest first.
fn remembered(decoder: &mut Decoder) -> Vec<Field> {
    let entries = (62..127_u8).map_while(|index| decode(decoder, &[0x80 | index]).ok());
    entries.flatten().collect()
}

/// Decodes blocks in sequence. After each block, compares its fields and the dynamic table with the expected ones.
fn check(table_bytes: usize, steps: &[(&str, &[&str], &[&str])]) {
    let mut decoder = Decoder::new(table_bytes);
    for (block, expected, table) in steps {
        assert_eq!(
            decode(&mut decoder, &bytes(block)),
            Ok(fields(expected)),
            "{block}"
        );
        assert_eq!(remembered(&mut decoder), fields(table), "{block}");
    }
}

/// The examples are those of RFC 7541, appendix C.2.
#[test]
fn fields_in_every_form() {
    let custom: &[&str] = &["custom-key= custom-header"];
    check(
        4096,
        &[(
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            custom,
            custom,
        )],
    );
    check(
        4096,
        &[(
            "040c 2f73 616d 706c 652f 7061 7468",
            &[":path= /sample/path"],
            &[],
        )],
    );
    check(
        4096,
        &[(
            "1008 7061 7373 776f 7264 0673 6563 7265 74",
            &["password= secret"],
            &[],
        )],
    );
    check(4096, &[("82", &[":method= GET"], &[])]);
}

/// The examples are those of RFC 7541, appendices C.3 (plain) and C.4 (Huffman).
#[test]
fn requests_of_one_connection() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let (get, authority) = (":method= GET", ":authority= www.example.com");
    let (no_cache, custom) = ("cache-control= no-cache", "custom-key= custom-value");
    for [first, second, third] in [plain, huffman] {
        check(
            4096,
            &[
                (
                    first,
                    &[get, ":scheme= http", ":path= /", authority],
                    &[authority],
                ),
                (
                    second,
                    &[get, ":scheme= http", ":path= /", authority, no_cache],
                    &[no_cache, authority],
                ),
                (
                    third,
                    &[
                        get,
                        ":scheme= https",
                        ":path= /index.html",
                        authority,
                        custom,
                    ],
                    &[custom, no_cache, authority],
                ),
            ],
        );
    }
}

/// The examples are those of RFC 7541, appendices C.5 (plain) and C.6 (Huffman). The table has 256 bytes, so that
/// entries are evicted.
#[test]
fn responses_of_one_connection() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d \
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f \
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b \
         2076 6572 7369 6f6e 3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 \
         8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 \
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    let (private, location) = (
        "cache-control= private",
        "location= https://www.example.com",
    );
    let (first_date, second_date) = (
        "date= Mon, 21 Oct 2013 20:13:21 GMT",
        "date= Mon, 21 Oct 2013 20:13:22 GMT",
    );
    let cookie = "set-cookie= foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    let encoding = "content-encoding= gzip";
    for [first, second, third] in [plain, huffman] {
        check(
            256,
            &[
                (
                    first,
                    &[":status= 302", private, first_date, location],
                    &[location, first_date, private, ":status= 302"],
                ),
                (
                    second,
                    &[":status= 307", private, first_date, location],
                    &[":status= 307", location, first_date, private],
                ),
                (
                    third,
                    &[
                        ":status= 200",
                        private,
                        second_date,
                        location,
                        encoding,
                        cookie,
                    ],
                    &[cookie, encoding, second_date],
                ),
            ],
        );
    }
}

#[test]
fn every_symbol_and_random_texts_come_back_from_huffman_codes() {
    let mut random = Random::from_seed(7);
    let texts = (0..=255)
        .map(|byte| vec![byte])
        .chain((0..2000).map(|round| {
            let length = random.below(80) as usize;
            let draw = |_| {
                if round % 2 == 0 {
                    random.below(256) as u8
                } else {
                    b' ' + random.below(95) as u8
                }
            };
            (0..length).map(draw).collect()
        }));
    for text in texts {
        let mut code = Vec::new();
        huffman::encode(&text, &mut code);
        assert_eq!(code.len(), huffman::encoded_bytes(&text));
        let mut back = b"before".to_vec();
        assert_eq!(huffman::decode(&code, &mut back), Ok(()));
        assert_eq!(back, [b"before", text.as_slice()].concat());
    }
}

#[test]
fn codes_that_end_wrongly_are_refused() {
    for code in [
        vec![0xff],                   // eight bits of padding
        vec![0x00],                   // `0`, then zeroes instead of ones
        vec![0xff, 0xff, 0xff, 0xff], // the end of a string
        vec![0xff, 0xff, 0xff, 0xfc], // the end of a string, then zeroes
        vec![0xfe],                   // the start of a longer code
    ] {
        assert_eq!(
            huffman::decode(&code, &mut Vec::new()),
            Err(HpackError::BadHuffman),
            "{code:x?}"
        );
    }
    // The Huffman code of `0` has five bits, so three padding bits (ones) follow.
    assert_eq!(huffman::decode(&[0x07], &mut Vec::new()), Ok(()));
}

#[test]
fn malformed_blocks_are_refused() {
    let cases = [
        ("80", HpackError::BadIndex),
        ("be", HpackError::BadIndex),
        ("ffff ffff 7f", HpackError::BadIndex),
        ("7f", HpackError::Truncated),
        ("7e 01 61", HpackError::BadIndex),
        ("40 01 61", HpackError::Truncated),
        ("40 01 61 05 61", HpackError::Truncated),
        ("40 7f ff ff ff ff 0f", HpackError::BadInteger),
        ("40 01 61 81 00", HpackError::BadHuffman),
        ("3f e2 1f", HpackError::BadTableSize), // 4097
        ("82 20", HpackError::BadTableSize),    // after a field
    ];
    for (block, error) in cases {
        assert_eq!(
            decode(&mut Decoder::new(4096), &bytes(block)),
            Err(error),
            "{block}"
        );
    }
}

#[test]
fn a_smaller_table_forgets_and_grows_again() {
    let mut decoder = Decoder::new(4096);
    decode(&mut decoder, &bytes("4001 6101 62")).expect("a field");
    assert_eq!(remembered(&mut decoder), fields(&["a= b"]));
    // The size of the table changes twice at the start of a block: to 0 and to 4096.
    assert_eq!(
        decode(&mut decoder, &bytes("20 3f e1 1f 82")),
        Ok(fields(&[":method= GET"]))
    );
    assert_eq!(remembered(&mut decoder), []);
}

/// Encodes a block that consists of constant fields.
fn block_of(encoder: &mut Encoder, constants: &[Constant]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for constant in constants {
        encoder.constant(constant, &mut out);
    }
    out
}

fn constants(fields: &[Field]) -> Vec<Constant> {
    let numbered = fields.iter().enumerate();
    numbered
        .map(|(number, (name, value))| Constant::new(number, name, value))
        .collect()
}

#[test]
fn a_constant_costs_a_byte_once_it_is_remembered() {
    let fields = fields(&[
        ":method= GET",
        ":path= /first",
        ":scheme= https",
        ":authority= a.test",
        "x-own= 1",
    ]);
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    let constants = constants(&fields);
    for round in 0..3 {
        let block = block_of(&mut encoder, &constants);
        assert_eq!(round > 0, block.len() == fields.len(), "{block:x?}");
        assert_eq!(decode(&mut decoder, &block), Ok(fields.clone()));
    }
}

#[test]
fn more_constants_than_the_table_holds_come_through() {
    let fields: Vec<Field> = (0..400)
        .map(|number| (format!("x-{number}").into_bytes(), vec![b'v'; 20]))
        .collect();
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    let constants = constants(&fields);
    for _ in 0..3 {
        assert_eq!(
            decode(&mut decoder, &block_of(&mut encoder, &constants)),
            Ok(fields.clone())
        );
    }
}

#[test]
fn a_table_that_the_other_side_changes_begins_anew() {
    let fields = fields(&["x-one= 1", "x-two= 2"]);
    let constants = constants(&fields);
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    for allowed in [4096, 0, 40, 1 << 20, 0, 4096] {
        encoder.allow(allowed);
        for _ in 0..2 {
            assert_eq!(
                decode(&mut decoder, &block_of(&mut encoder, &constants)),
                Ok(fields.clone())
            );
        }
        assert!(
            remembered(&mut decoder).len()
                == if allowed >= 4096 {
                    2
                } else {
                    usize::from(allowed == 40)
                }
        );
    }
}

#[test]
fn varying_fields_come_through_and_are_not_remembered() {
    let mut decoder = Decoder::new(4096);
    let mut out = Vec::new();
    for (name, value) in [
        (":path", "/a?b=%20"),
        ("cookie", ""),
        ("x-own", "\u{7f}~~~"),
    ] {
        out.clear();
        Encoder::varying(&Name::new(name.as_bytes()), value.as_bytes(), &mut out);
        let expected = vec![(name.as_bytes().to_vec(), value.as_bytes().to_vec())];
        assert_eq!(decode(&mut decoder, &out), Ok(expected));
    }
    assert_eq!(remembered(&mut decoder), []);
}
