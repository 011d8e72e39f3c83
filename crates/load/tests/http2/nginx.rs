//! Tests of runs over HTTP/2 against nginx, if nginx is installed.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::support::{Folder, get, run};
use crate::{busy, checked, over_http2, pool, reasons_of};

struct Nginx {
    child: Child,
    address: SocketAddr,
    folder: Folder,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Waits until nginx accepts connections. Returns `false` if nginx ended instead, since another process had taken
    /// the port.
    fn listens(&mut self) -> bool {
        // nginx writes the file `pid` as soon as it accepts connections.
        let number = self.folder.0.join("pid");
        for _ in 0..6_000 {
            if number.exists() {
                return true;
            }
            if self.child.try_wait().expect("a state").is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nginx neither listens nor ends");
    }
}

/// Starts an nginx that closes each connection after a hundred requests; `None` if nginx is not installed.
fn nginx(listen: &str) -> Option<Nginx> {
    for _ in 0..5 {
        let mut nginx = start(listen)?;
        if nginx.listens() {
            return Some(nginx);
        }
    }
    panic!("nginx ends at once");
}

fn start(listen: &str) -> Option<Nginx> {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let here = folder.0.display();
    let certified =
        rcgen::generate_simple_self_signed(vec!["test.example".to_owned()]).expect("a certificate");
    std::fs::write(folder.0.join("c.pem"), certified.cert.pem()).expect("a file");
    std::fs::write(
        folder.0.join("c.key"),
        certified.signing_key.serialize_pem(),
    )
    .expect("a file");
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a port");
    let configuration = format!(
        "daemon off; master_process off; pid {here}/pid; error_log {here}/log crit; events {{}}
         http {{ access_log off; keepalive_requests 100;
           client_body_temp_path {here}/a; proxy_temp_path {here}/b; fastcgi_temp_path {here}/c;
           uwsgi_temp_path {here}/d; scgi_temp_path {here}/e;
           server {{ listen {address} {listen}; ssl_certificate {here}/c.pem; ssl_certificate_key {here}/c.key;
                     location / {{ default_type text/plain; return 200 \"hello\"; }} }} }}"
    );
    let path = folder.0.join("nginx.conf");
    std::fs::write(&path, configuration).expect("a file");
    let child = Command::new("nginx")
        .arg("-c")
        .arg(&path)
        .arg("-p")
        .arg(&folder.0)
        .env(
            "PATH",
            format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()),
        )
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    Some(Nginx {
        child,
        address,
        folder,
    })
}

#[test]
fn nginx_answers_everything_although_it_ends_connections() {
    for listen in ["http2", "ssl http2"] {
        let Some(server) = nginx(listen) else {
            eprintln!("skipped: nginx is not installed");
            return;
        };
        let mut request = get(0, &json!(["/a"]));
        request["checks"] =
            json!([{"kind": "status", "in": [200]}, {"kind": "contains", "text": ["hello"]}]);
        for model in [json!({"mode": "per_user"}), pool(2, 20)] {
            let mut plan = busy(
                over_http2(server.address, &json!([request]), model),
                30,
                1.0,
            );
            if listen.contains("ssl") {
                plan["targets"][0]["scheme"] = json!("https");
                plan["targets"][0]["tls"] = json!({"ca": server.folder.0.join("c.pem")});
            }
            let results = run(plan);
            assert!(checked(&results) > 100);
        }
    }
}

#[test]
fn a_server_that_does_not_choose_http2_is_a_failure_to_connect() {
    let Some(server) = nginx("ssl") else {
        eprintln!("skipped: nginx is not installed");
        return;
    };
    let mut plan = over_http2(
        server.address,
        &json!([get(0, &json!(["/a"]))]),
        json!({"mode": "per_user"}),
    );
    plan["targets"][0]["scheme"] = json!("https");
    plan["targets"][0]["tls"] = json!({"ca": server.folder.0.join("c.pem")});
    let results = run(plan);
    results.check_identity();
    assert_eq!(reasons_of(&results), ["no HTTP/2"]);
}
