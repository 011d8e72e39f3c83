//! Tests with recorded and damaged messages of a server. None of them may crash the functions that read packets.

use bytes::BytesMut;

use super::entry::{self, Greeting};
use super::messages::{self, Among, Beginning, Definition};
use super::packets::{self, Malformed};
use super::values::{self, Kind};
use towtank_damaging::{Damaging, rounds};

/// All bytes that MariaDB 10.11 sent in one session:
///
/// * greeting and login;
/// * responses to preparing and executing `select id, name, price, made, took, note from thing where id >= ?`, with two
///   rows;
/// * the error of a statement on a missing table;
/// * the same two rows for a statement that was sent as text.
const RECORDED: &[u8] = include_bytes!("../../../tests/data/mysql-session.bin");

/// Returns the complete packets at the start of `bytes`, whatever their sequence numbers.
fn packets_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut received, mut found) = (BytesMut::from(bytes), Vec::new());
    while let Some(mut number) = received.get(3).copied() {
        match packets::take(&mut received, &mut number) {
            Ok(Some(packet)) => found.push(packet.to_vec()),
            Ok(None) | Err(_) => break,
        }
    }
    found
}

/// Number of functions with which the test tries to read each packet.
const WAYS: usize = 8;

/// Reads a packet with every function that can read packets. Returns the number of functions that succeed.
fn readings(packet: &[u8], kinds: &[Kind]) -> usize {
    let ways: [bool; WAYS] = [
        Greeting::read(packet).is_ok(),
        entry::auth_step(packet).is_ok(),
        messages::beginning(packet).is_ok(),
        messages::prepared(packet).is_ok(),
        messages::among(packet).is_ok_and(|among| !matches!(among, Among::Row(_))),
        Definition::read(packet).is_ok(),
        values::binary_row(packet, kinds).is_ok(),
        values::text_row(packet, kinds.len()).is_ok(),
    ];
    ways.into_iter().filter(|is_read| *is_read).count()
}

/// Reads the table that begins with the first packet. Returns the names of its columns, their kinds, the texts of its
/// rows, and the number of its packets.
fn table(packets: &[Vec<u8>], is_binary: bool) -> (Vec<String>, Vec<Vec<String>>, usize) {
    let Ok(Beginning::Table(count)) = messages::beginning(&packets[0]) else {
        panic!("no table: {:?}", packets[0]);
    };
    let definitions = packets[1..=count]
        .iter()
        .map(|packet| Definition::read(packet));
    let definitions: Result<Vec<_>, Malformed> = definitions.collect();
    let definitions = definitions.expect("definitions");
    assert!(messages::is_end(&packets[count + 1]));
    let names = definitions
        .iter()
        .map(|each| String::from_utf8_lossy(each.name).into_owned());
    let kinds: Vec<Kind> = definitions.iter().map(|each| each.kind).collect();
    let mut rows = Vec::new();
    for (place, packet) in packets.iter().enumerate().skip(count + 2) {
        match messages::among(packet) {
            Ok(Among::Row(row)) => {
                let row = if is_binary {
                    values::binary_row(row, &kinds)
                } else {
                    values::text_row(row, count)
                };
                let shown = |value: Option<Vec<u8>>| {
                    value.map_or("NULL".to_owned(), |text| {
                        String::from_utf8_lossy(&text).into_owned()
                    })
                };
                rows.push(row.expect("a row").into_iter().map(shown).collect());
            }
            Ok(Among::End(_)) => return (names.collect(), rows, place + 1),
            other => panic!("{other:?}"),
        }
    }
    panic!("no end of the rows");
}

#[test]
fn a_recorded_session_is_read_as_the_server_meant_it() {
    let packets = packets_of(RECORDED);
    let greeting = Greeting::read(&packets[0]).expect("a greeting");
    assert_eq!(greeting.challenge().plugin, b"mysql_native_password");
    assert!(matches!(
        messages::beginning(&packets[1]),
        Ok(Beginning::Done { .. })
    ));
    let prepared = messages::prepared(&packets[2])
        .expect("an answer")
        .expect("a yes");
    assert_eq!((prepared.parameters, prepared.packets), (1, 2 + 7));
    let at = 3 + prepared.packets;
    let (names, binary, taken) = table(&packets[at..], true);
    assert_eq!(names, ["id", "name", "price", "made", "took", "note"]);
    let expected = [
        [
            "1",
            "bolt",
            "0.25",
            "2024-02-29 12:34:56.789000",
            "-25:00:01",
            "NULL",
        ],
        [
            "18446744073709551615",
            "nut é",
            "-1.50",
            "1999-12-31 00:00:00.000000",
            "00:00:00",
            "",
        ],
    ];
    assert_eq!(binary, expected);
    let at = at + taken;
    let Ok(Beginning::Refused(refusal)) = messages::beginning(&packets[at]) else {
        panic!("no refusal: {:?}", packets[at]);
    };
    assert_eq!(refusal.code(), "42S02");
    let (_, text, taken) = table(&packets[at + 1..], false);
    assert_eq!(
        text, binary,
        "rows in binary form are shown as the server itself shows them"
    );
    assert_eq!(at + 1 + taken, packets.len());
}

#[test]
fn no_bytes_make_it_panic() {
    let kinds = [0x08, 0xfd, 0xf6, 0x0c, 0x0b, 0xfd].map(|code| Kind::new(code, 0x20, 6));
    let mut damaging = Damaging::new();
    let (mut read, mut refused) = (0_usize, 0_usize);
    for _ in rounds(20_000) {
        let mut bytes = RECORDED.to_vec();
        damaging.damage(&mut bytes, 8);
        for packet in packets_of(&bytes) {
            let readings = readings(&packet, &kinds);
            read += readings;
            refused += WAYS - readings;
        }
    }
    assert!(
        read > 1_000 && refused > 1_000,
        "{read} read, {refused} refused"
    );
}
