//! Creates TLS clients from the settings of a plan. A load thread moves bytes between the TLS sessions and the sockets.

mod sessions;
mod trust;
mod words;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, SupportedProtocolVersion};

use crate::plan::{Fault, HttpVersion, Target, Tls, TlsVersion};

pub use sessions::Sessions;
pub use words::sentence;

/// Name of HTTP/2 in ALPN (RFC 9113, section 3.2).
pub const HTTP2: &[u8] = b"h2";

/// TLS settings of one target, shared by all load threads.
#[derive(Debug, Clone)]
pub struct Secured {
    config: ClientConfig,
    /// Server name to send (SNI) and to verify.
    pub name: ServerName<'static>,
    resumption: bool,
}

impl Secured {
    /// Loads certificates and keys.
    ///
    /// # Errors
    /// All faults of the certificates and keys.
    pub fn new(place: &str, target: &Target) -> Result<Self, Vec<Fault>> {
        let tls = target.tls.clone().unwrap_or_default();
        let mut loading = Loading {
            place,
            faults: Vec::new(),
        };
        let name = loading.server_name(&tls, &target.host);
        let protocol: &[u8] = match target.http {
            HttpVersion::V11 => b"http/1.1",
            HttpVersion::V2 => HTTP2,
        };
        let config = loading.config(&tls, protocol);
        match (name, config) {
            (Some(name), Some(config)) if loading.faults.is_empty() => Ok(Self {
                config,
                name,
                resumption: tls.resumption,
            }),
            _ => Err(loading.faults),
        }
    }

    /// Creates the TLS configuration for one load thread, with a separate store of sessions to resume.
    #[must_use]
    pub fn for_thread(&self) -> (Arc<ClientConfig>, Arc<Sessions>) {
        let sessions = Arc::new(Sessions::default());
        let mut config = self.config.clone();
        config.resumption = if self.resumption {
            Resumption::store(Arc::clone(&sessions) as _)
        } else {
            Resumption::disabled()
        };
        (Arc::new(config), sessions)
    }
}

/// A certificate with its chain, and its private key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Error type without content: the fault has already been added to the list of faults.
struct Faulty;

struct Loading<'a> {
    place: &'a str,
    faults: Vec<Fault>,
}

impl Loading<'_> {
    fn fault(&mut self, key: &str, message: String) {
        self.faults.push(Fault {
            place: format!("{}.tls.{key}", self.place),
            message,
        });
    }

    fn server_name(&mut self, tls: &Tls, host: &str) -> Option<ServerName<'static>> {
        let name = tls
            .server_name
            .clone()
            .unwrap_or_else(|| without_port(host).to_owned());
        let found = ServerName::try_from(name.clone()).ok();
        if found.is_none() {
            let message = format!("must be a host name or an IP address, got {name:?}");
            self.fault("server_name", message);
        }
        found
    }

    fn config(&mut self, tls: &Tls, protocol: &[u8]) -> Option<ClientConfig> {
        let provider = Arc::new(ring::default_provider());
        let versions: Vec<&SupportedProtocolVersion> =
            tls.versions.iter().map(|name| version(*name)).collect();
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions);
        let identity = self.identity(tls);
        let verifier = self.verifier(tls, &provider);
        let builder = match builder {
            Ok(builder) => builder,
            Err(error) => {
                self.fault("versions", sentence(&error));
                return None;
            }
        };
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier?);
        let mut config = match identity.ok()? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => match builder.with_client_auth_cert(chain, key) {
                Ok(config) => config,
                Err(error) => {
                    self.fault(
                        "client_key",
                        format!("cannot be used: {}", sentence(&error)),
                    );
                    return None;
                }
            },
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        Some(config)
    }

    fn verifier(
        &mut self,
        tls: &Tls,
        provider: &Arc<CryptoProvider>,
    ) -> Option<Arc<dyn rustls::client::danger::ServerCertVerifier>> {
        if !tls.verify {
            return Some(trust::everybody(provider));
        }
        let authorities = match &tls.ca {
            Some(path) => self.certificates("ca", path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        match trust::authorities(authorities, provider) {
            Ok(verifier) => Some(verifier),
            Err(reason) => {
                let path = tls.ca.as_deref();
                let what = path.map_or_else(
                    || "must be given: this host has no certificates of authorities".to_owned(),
                    |path| format!("{path:?} cannot be used: {reason}"),
                );
                self.fault("ca", what);
                None
            }
        }
    }

    /// Loads the client's certificate and key, if the settings contain them.
    fn identity(&mut self, tls: &Tls) -> Result<Option<Identity>, Faulty> {
        let (Some(certificate), Some(key)) = (&tls.client_certificate, &tls.client_key) else {
            return Ok(None);
        };
        let chain = self.certificates("client_certificate", certificate);
        match PrivateKeyDer::from_pem_file(key) {
            Ok(key) => Ok(Some((chain.ok_or(Faulty)?, key))),
            Err(error) => {
                let message = format!("{key:?} cannot be read as PEM: {error}");
                self.fault("client_key", message);
                Err(Faulty)
            }
        }
    }

    fn certificates(&mut self, key: &str, path: &str) -> Option<Vec<CertificateDer<'static>>> {
        let found: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        match found {
            Ok(found) if found.is_empty() => {
                self.fault(key, format!("{path:?} contains no certificate"));
                None
            }
            Ok(found) => Some(found),
            Err(error) => {
                self.fault(key, format!("{path:?} cannot be read as PEM: {error}"));
                None
            }
        }
    }
}

fn version(version: TlsVersion) -> &'static SupportedProtocolVersion {
    match version {
        TlsVersion::V12 => &rustls::version::TLS12,
        TlsVersion::V13 => &rustls::version::TLS13,
    }
}

/// Returns the name in a Host header without the port, and without the brackets of an IPv6 address.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::without_port;

    #[test]
    fn the_name_of_a_host_header_has_no_port() {
        let cases = [
            ("shop.test", "shop.test"),
            ("shop.test:8443", "shop.test"),
            ("127.0.0.1:8443", "127.0.0.1"),
            ("[::1]:8443", "::1"),
            ("[::1]", "::1"),
        ];
        for (host, name) in cases {
            assert_eq!(without_port(host), name);
        }
    }
}
