//! Tests of connections over TLS: handshakes, resumed sessions, and certificates of servers and clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::certificates::{BOTH, certificates, server_tls};
use super::support::{Reply, Results, Server, answer, closed, get, plan_of, run};
use super::{kinds, models, total, twice};

/// Runs two users that make two requests each over TLS. `config` is for the server, `tls` for the target in the plan.
fn tls_run(config: Arc<ServerConfig>, model: &Value, tls: Value) -> Results {
    let server = Server::start_tls(config, |_| answer(200, "", "hello"));
    let mut plan = plan_of(server.address, &twice());
    plan["connections"] = model.clone();
    plan["targets"][0]["scheme"] = json!("https");
    plan["targets"][0]["tls"] = tls;
    plan["load"] = closed(2, 0.4);
    run(plan)
}

fn handshakes(results: &Results) -> (u64, u64) {
    let counts = &results.engine["handshakes"];
    let count = |key: &str| counts[key].as_u64().expect("a count");
    (count("full"), count("resumed"))
}

#[test]
fn handshakes_are_timed_and_sessions_go_on_with_every_version() {
    for (version, offered) in [
        ("1.2", &rustls::version::TLS12),
        ("1.3", &rustls::version::TLS13),
    ] {
        let model = json!({"mode": "new_each_time"});
        let tls = |resumption: bool| json!({"ca": certificates().ca, "versions": [version], "resumption": resumption});
        let results = tls_run(server_tls(false, &[offered]), &model, tls(true));
        assert_eq!(kinds(&results), Vec::<String>::new(), "{version}");
        assert_eq!(
            handshakes(&results),
            (2, 2),
            "{version}: the first of each user is full"
        );
        let timed = results.intervals().filter(|line| line.get("tls").is_some());
        assert!(timed.count() > 0);
        let results = tls_run(server_tls(false, &[offered]), &model, tls(false));
        assert_eq!(handshakes(&results), (4, 0), "{version}");
        let kept = tls_run(
            server_tls(false, &[offered]),
            &json!({"mode": "per_user"}),
            tls(true),
        );
        assert_eq!(handshakes(&kept), (2, 0), "{version}");
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_connect_unless_nobody_looks() {
    let model = json!({"mode": "per_user"});
    let other = json!({"ca": certificates().ca, "server_name": "other.example"});
    let results = tls_run(server_tls(false, &BOTH), &model, other);
    assert_eq!(kinds(&results), ["connect"]);
    let reasons = results.engine["connect_failures"].to_string();
    assert!(
        reasons.contains(
            "TLS: the certificate of the server is not valid for other.example, only for"
        ),
        "{reasons}"
    );
    let blind = json!({"verify": false, "server_name": "other.example"});
    let results = tls_run(server_tls(false, &BOTH), &model, blind);
    assert_eq!(kinds(&results), Vec::<String>::new());
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_it_or_refuses() {
    let made = certificates();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for model in models() {
            let with = json!({"ca": made.ca, "client_certificate": made.client, "client_key": made.client_key});
            let results = tls_run(server_tls(true, &[version]), &model, with);
            assert_eq!(kinds(&results), Vec::<String>::new(), "{model}");
            let results = tls_run(server_tls(true, &[version]), &model, json!({"ca": made.ca}));
            assert_eq!(kinds(&results), ["connect"], "{model}");
        }
    }
}

#[test]
fn versions_that_do_not_meet_and_servers_without_tls_are_connect() {
    let model = json!({"mode": "per_user"});
    let old = json!({"ca": certificates().ca, "versions": ["1.2"]});
    let results = tls_run(server_tls(false, &[&rustls::version::TLS13]), &model, old);
    assert_eq!(kinds(&results), ["connect"]);
    let unsecured = Server::start(|_| Reply::Close(b"HTTP/1.1 400 Bad\r\n\r\n".to_vec()));
    let mut plan = plan_of(unsecured.address, &twice());
    plan["targets"][0]["scheme"] = json!("https");
    plan["targets"][0]["tls"] = json!({"verify": false});
    plan["timeouts"]["connect_s"] = json!(0.2);
    let results = run(plan);
    assert_eq!(kinds(&results), ["connect"]);
    let reasons = results.engine["connect_failures"].to_string();
    assert!(reasons.contains("TLS"), "{reasons}");
}

/// Starts a server that answers once per connection. After 50 ms it sends the bytes `behind` and closes the connection
/// with `close_notify`.
fn closing(behind: &'static [u8]) -> SocketAddr {
    let config = server_tls(false, &BOTH);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let serve = move |stream: TcpStream, config: Arc<ServerConfig>| {
        let tls = ServerConnection::new(config).expect("a session");
        let mut tls = StreamOwned::new(tls, stream);
        let _ = tls.read(&mut [0; 1024]);
        let _ = tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        std::thread::sleep(Duration::from_millis(50));
        let _ = tls.write_all(behind);
        tls.conn.send_close_notify();
        let _ = tls.flush();
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || serve(stream, config));
        }
    });
    address
}

#[test]
fn a_farewell_on_a_connection_that_idles_is_nothing_unasked() {
    for (behind, is_unasked) in [(&b""[..], false), (b"more", true)] {
        let ops = json!([get(0, &json!(["/"]))]);
        let mut plan = plan_of(closing(behind), &ops);
        plan["targets"][0]["scheme"] = json!("https");
        plan["targets"][0]["tls"] = json!({"ca": certificates().ca});
        // With 20 users, `close_notify` and the end of the stream arrive together on at least some connections.
        plan["load"] = closed(20, 1.5);
        let results = run(plan);
        assert_eq!(kinds(&results), Vec::<String>::new());
        assert_eq!(total(&results, "ok"), 20);
        let counts = results
            .intervals()
            .filter_map(|line| line["framing"]["unasked"].as_u64());
        assert_eq!(counts.sum::<u64>() > 0, is_unasked, "{behind:?}");
    }
}
