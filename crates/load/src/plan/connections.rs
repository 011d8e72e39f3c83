//! Where requests go, and over which connections.

use serde::Deserialize;
use towtank_drivers::Server;

/// A set of addresses that requests may go to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name, for people.
    pub name: String,
    /// How it is spoken to.
    pub scheme: Scheme,
    /// `host:port` or `unix:/path` each; none where the driver needs none.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// How an address is picked when a connection is opened.
    #[serde(default)]
    pub balance: Balance,
    /// Name of the service at each address, for people; empty where there is one.
    #[serde(default)]
    pub services: Vec<String>,
    /// Value of the Host header.
    #[serde(default)]
    pub host: String,
    /// How TLS is spoken; only with `https`, where all of it has defaults.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Which HTTP is spoken.
    #[serde(default)]
    pub http: HttpVersion,
    /// What speaks with it, with scheme `driver`.
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
    /// By a driver; not HTTP.
    Driver,
}

/// How an address of a target is picked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// By a counter of the thread that starts at the thread's number.
    #[default]
    RoundRobin,
    /// From the user's generator.
    Random,
    /// Each user stays with one: those of a group are dealt over the addresses in turn.
    User,
}

/// How TLS is spoken with a target.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// Whether the server's certificate must be good for its name.
    pub verify: bool,
    /// PEM file of the authorities to trust, in place of those of this host.
    pub ca: Option<String>,
    /// Name to ask for and to verify, in place of that in `host`.
    pub server_name: Option<String>,
    /// PEM file of the client's certificate and those between it and its authority.
    pub client_certificate: Option<String>,
    /// PEM file of the client's key.
    pub client_key: Option<String>,
    /// Whether a connection goes on with the session of the one before it.
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

/// How users get connections.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Who owns a connection.
    pub mode: ConnectionMode,
    /// Connections to each target of all threads together, with `pool`.
    #[serde(default)]
    pub size: Option<usize>,
    /// Requests at once over each connection of a `pool` that speaks HTTP/2; 100 if left out.
    #[serde(default)]
    pub streams: Option<u32>,
    /// Addresses of this host that connections leave from in turn; empty: the system chooses.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// Who owns a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// Every user keeps one connection to each target it talks to.
    PerUser,
    /// All users of a thread share its part of `size` connections.
    Pool,
    /// Every request opens a connection of its own.
    NewEachTime,
}
