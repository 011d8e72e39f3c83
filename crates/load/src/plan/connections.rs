//! Targets of requests, and the connections to them.

use serde::Deserialize;
use towtank_drivers::Server;

/// A set of addresses that requests may go to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name, for display.
    pub name: String,
    /// Scheme of the target.
    pub scheme: Scheme,
    /// Addresses, each as `host:port` or `unix:/path`; empty if the driver needs no address.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// For each address, the further addresses that its name resolves to. They are tried in this order if the address
    /// accepts no connection. Empty if no name has further addresses.
    #[serde(default)]
    pub fallbacks: Vec<Vec<String>>,
    /// Choice of an address when a connection is opened.
    #[serde(default)]
    pub balance: Balance,
    /// Name of the service at each address, for display; empty if there is only one service.
    #[serde(default)]
    pub services: Vec<String>,
    /// Value of the Host header.
    #[serde(default)]
    pub host: String,
    /// Settings of TLS; only with `https`. Optional, since all settings have defaults.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Version of HTTP.
    #[serde(default)]
    pub http: HttpVersion,
    /// Server behind a driver, with scheme `driver`.
    #[serde(default)]
    pub driver: Option<Server>,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.1, RFC 9112.
    #[default]
    #[serde(rename = "1.1")]
    V11,
    /// HTTP/2, RFC 9113: by prior knowledge with `http`, by ALPN with `https`.
    #[serde(rename = "2")]
    V2,
}

/// Protocol of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Without encryption.
    Http,
    /// Over TLS.
    Https,
    /// A protocol other than HTTP, by a driver.
    Driver,
}

/// Choice of an address of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// The addresses in turn, by a counter of the load thread that starts at the thread's number.
    #[default]
    RoundRobin,
    /// A random address, chosen with the random generator of the user.
    Random,
    /// Each user keeps one address; the users of a group are assigned to the addresses in turn.
    User,
}

/// Settings of TLS with a target.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// `true` if the certificate of the server must be valid for its name.
    pub verify: bool,
    /// PEM file of the certificate authorities to trust, instead of the authorities that this host trusts.
    pub ca: Option<String>,
    /// Server name to request and to verify, instead of the name in `host`.
    pub server_name: Option<String>,
    /// PEM file of the client's certificate and its intermediate certificates.
    pub client_certificate: Option<String>,
    /// PEM file of the client's key.
    pub client_key: Option<String>,
    /// `true` if a connection resumes the session of the previous connection.
    pub resumption: bool,
    /// Versions to offer.
    pub versions: Vec<TlsVersion>,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            verify: true,
            ca: None,
            server_name: None,
            client_certificate: None,
            client_key: None,
            resumption: true,
            versions: vec![TlsVersion::V12, TlsVersion::V13],
        }
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    #[serde(rename = "1.2")]
    V12,
    /// TLS 1.3, RFC 8446.
    #[serde(rename = "1.3")]
    V13,
}

/// Assignment of connections to users.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Owner of a connection.
    pub mode: ConnectionMode,
    /// Total number of connections to each target over all threads, with `pool`.
    #[serde(default)]
    pub size: Option<usize>,
    /// Limit on concurrent requests over each connection of a `pool` that speaks HTTP/2; 100 if left out.
    #[serde(default)]
    pub streams: Option<u32>,
    /// Source addresses of connections, used in turn; if empty, the system chooses.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// Owners of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// Every user keeps one connection to each target that it uses.
    PerUser,
    /// The users of a thread share its part of the `size` connections.
    Pool,
    /// Every request opens a new connection.
    NewEachTime,
}
