//! The part of a plan that describes the servers to load (targets), and the connections to them.

use serde::Deserialize;
use towtank_drivers::Server;

/// A target: one or more server addresses among which requests are distributed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name of the target, for display.
    pub name: String,
    /// Protocol of the target.
    pub scheme: Scheme,
    /// Server addresses, each as `host:port` or `unix:/path`. Empty if the driver needs no address.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// For each address, the further addresses that its host name resolves to. They are tried in this order if the
    /// address itself accepts no connection. The list is empty if no host name has further addresses.
    #[serde(default)]
    pub fallbacks: Vec<Vec<String>>,
    /// Rule by which one of the addresses is chosen when a connection is opened.
    #[serde(default)]
    pub balance: Balance,
    /// Name of the service behind each address, for display. Empty if the target has only one service.
    #[serde(default)]
    pub services: Vec<String>,
    /// Value of the Host header in requests.
    #[serde(default)]
    pub host: String,
    /// TLS settings, allowed only with `https`; `None` stands for the defaults.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Version of HTTP that requests use.
    #[serde(default)]
    pub http: HttpVersion,
    /// Server settings for the driver; only with scheme `driver`.
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
    /// HTTP/2, RFC 9113. With `http` the client assumes that the server supports HTTP/2; with `https` it negotiates the
    /// version by ALPN.
    #[serde(rename = "2")]
    V2,
}

/// Protocol of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// HTTP without encryption.
    Http,
    /// HTTP over TLS.
    Https,
    /// Another protocol than HTTP, implemented by a driver.
    Driver,
}

/// Rule by which an address of a target is chosen for a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// Each load thread uses the addresses in rotation. Different threads start at different addresses.
    #[default]
    RoundRobin,
    /// A random address, chosen with the random generator of the user.
    Random,
    /// Each user keeps one address. The users of a group are assigned to the addresses in rotation.
    User,
}

/// Settings of the TLS connections to a target.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// `true` if the server must present a valid certificate for its name.
    pub verify: bool,
    /// PEM file of the certificate authorities to trust, instead of the authorities that the operating system trusts.
    pub ca: Option<String>,
    /// Server name that is sent (SNI) and verified, instead of the name in `host`.
    pub server_name: Option<String>,
    /// PEM file of the client's certificate and its intermediate certificates.
    pub client_certificate: Option<String>,
    /// PEM file of the client's key.
    pub client_key: Option<String>,
    /// `true` if a new connection resumes the TLS session of an earlier connection.
    pub resumption: bool,
    /// TLS versions to offer to the server.
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

/// Rules by which the users open and share connections.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Rule by which connections are assigned to users.
    pub mode: ConnectionMode,
    /// Total number of connections to each target, summed over all load threads; only with mode `pool`.
    #[serde(default)]
    pub size: Option<usize>,
    /// Limit on concurrent requests over each HTTP/2 connection; only with mode `pool`. The default is 100.
    #[serde(default)]
    pub streams: Option<u32>,
    /// Local addresses from which connections are opened, used in rotation. If empty, the operating system chooses.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// Rules by which connections are assigned to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// Every user keeps one connection to each target that it uses.
    PerUser,
    /// The users of a load thread share connections. The `size` connections are divided among the threads.
    Pool,
    /// Every request opens a new connection.
    NewEachTime,
}
