//! Tests the client with TLS servers whose messages contain no application data.

use std::io::Write;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::*;

/// Length of a ticket of the server. Each record ends with a complete ticket, since the TLS library limits the number
/// of incomplete tickets. [B]
const TICKET_BYTES: usize = 81;

/// Length of the record header, which the server counts as a part of the record's content. [B]
const HEAD_BYTES: usize = 5;

/// Returns a TLS session and its server after the handshake, and output of the server that the session has not read:
/// `tickets` session tickets.
fn pair(tickets: usize) -> (Session, ServerConnection, Vec<u8>) {
    let name = "test.example";
    let certified = rcgen::generate_simple_self_signed(vec![name.to_owned()]);
    let certified = certified.expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .expect("a version")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], PrivateKeyDer::from(key))
        .expect("a configuration");
    server.send_tls13_tickets = tickets;
    server.max_fragment_size = Some(100 * TICKET_BYTES + HEAD_BYTES);
    let mut roots = RootCertStore::empty();
    roots.add(certified.cert.der().clone()).expect("a root");
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name).expect("a name");
    let client = ClientConnection::new(Arc::new(client), name).expect("a client");
    let mut server = ServerConnection::new(Arc::new(server)).expect("a server");
    let mut session = Session::new(client, 0, 0);
    loop {
        let mut said = Vec::new();
        while session.tls.wants_write() {
            session.tls.write_tls(&mut said).expect("memory");
        }
        let mut said = &said[..];
        while !said.is_empty() {
            server.read_tls(&mut said).expect("memory");
            server.process_new_packets().expect("a handshake");
        }
        let answer = spoken(&mut server);
        if !session.tls.is_handshaking() {
            return (session, server, answer);
        }
        let taken = session.take_in(&answer, &mut Vec::new());
        assert_eq!(taken, Ok(false));
    }
}

fn spoken(server: &mut ServerConnection) -> Vec<u8> {
    let mut said = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut said).expect("memory");
    }
    said
}

#[test]
fn tickets_without_end_end_the_session() {
    let (mut session, _, said) = pair(10_000);
    assert!(said.len() > 2 * FRUITLESS_BYTES_AT_MOST);
    let mut taken = 0;
    let refused = said.chunks(4096).find_map(|piece| {
        taken += piece.len();
        session.take_in(piece, &mut Vec::new()).err()
    });
    assert!(
        matches!(refused, Some(rustls::Error::General(_))),
        "{refused:?}"
    );
    assert!(taken <= FRUITLESS_BYTES_AT_MOST + 4096, "{taken}");
}

#[test]
fn a_few_tickets_and_a_long_answer_in_small_pieces_are_taken_in() {
    let (mut session, mut server, said) = pair(4);
    let mut plain = Vec::new();
    assert_eq!(session.take_in(&said, &mut plain), Ok(false));
    assert!(plain.is_empty());
    for _ in 0..64 {
        server.writer().write_all(&[7; 16_384]).expect("room");
        for piece in spoken(&mut server).chunks(100) {
            assert_eq!(session.take_in(piece, &mut plain), Ok(false));
        }
    }
    assert_eq!(plain, vec![7; 1 << 20]);
}
