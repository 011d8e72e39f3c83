//! A kernel for full handshakes of TLS 1.3. Client and server run in one thread and exchange bytes in memory, without a
//! network.

use std::io::Cursor;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, ProtocolVersion,
    RootCertStore, ServerConfig, ServerConnection,
};

use crate::kernel::{Failed, Threaded, Work};

/// Host name in the certificate of the server.
const NAME: &str = "rate.test";
/// Maximum number of round trips of a handshake. A handshake that needs more round trips fails.
const FLIGHTS_AT_MOST: usize = 10;
/// Number of handshakes in one batch.
const BATCH: usize = 4;

/// Makes full handshakes with X25519 and AES-128-GCM. The client trusts the authority that signed the ECDSA P-256
/// certificate of the server.
pub struct Handshakes {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    wire: Vec<u8>,
}

impl Handshakes {
    /// Creates a certificate authority, the certificate of the server, and the TLS settings of client and server.
    ///
    /// # Errors
    /// If one of them cannot be created.
    pub fn new() -> Result<Self, Failed> {
        let failed = |error: rcgen::Error| format!("a certificate cannot be made: {error}");
        let authority_key = KeyPair::generate().map_err(failed)?;
        let mut authority = CertificateParams::new(Vec::new()).map_err(failed)?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key).map_err(failed)?;
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().map_err(failed)?;
        let leaf = CertificateParams::new(vec![NAME.to_owned()])
            .and_then(|parameters| parameters.signed_by(&key, &issuer))
            .map_err(failed)?;

        let wrong = |error: rustls::Error| format!("TLS cannot be set up: {error}");
        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).map_err(wrong)?;
        let provider = Arc::new(provider());
        let versions = &[&rustls::version::TLS13];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(wrong)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.resumption = Resumption::disabled();
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(wrong)?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], secret)
            .map_err(wrong)?;
        server.send_tls13_tickets = 0;
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
            wire: Vec::new(),
        })
    }

    /// Makes one complete handshake between client and server.
    ///
    /// # Errors
    /// If it is not a full handshake of TLS 1.3.
    pub fn handshake(&mut self) -> Result<(), Failed> {
        let wrong = |error: rustls::Error| format!("a handshake failed: {error}");
        let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
        let mut client = ClientConnection::new(Arc::clone(&self.client), name).map_err(wrong)?;
        let mut server = ServerConnection::new(Arc::clone(&self.server)).map_err(wrong)?;
        for _ in 0..FLIGHTS_AT_MOST {
            if !(client.is_handshaking() || server.is_handshaking()) {
                break;
            }
            pass(&mut self.wire, &mut client, &mut server)?;
            pass(&mut self.wire, &mut server, &mut client)?;
        }
        let full = Some(HandshakeKind::Full);
        let version = Some(ProtocolVersion::TLSv1_3);
        let right = !client.is_handshaking()
            && !server.is_handshaking()
            && client.protocol_version() == version
            && client.handshake_kind() == full
            && server.handshake_kind() == full;
        if right {
            Ok(())
        } else {
            Err("a handshake was not a complete full handshake of TLS 1.3".to_owned())
        }
    }
}

/// Allows only one cipher suite and one key exchange, so that all machines do the same work.
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![ring::kx_group::X25519];
    provider
}

/// Passes the TLS records that `from` has produced to `to`.
fn pass<A, B>(
    wire: &mut Vec<u8>,
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
) -> Result<(), Failed> {
    wire.clear();
    while from.wants_write() {
        from.write_tls(wire).map_err(|error| error.to_string())?;
    }
    let mut rest = Cursor::new(&wire[..]);
    while (rest.position() as usize) < wire.len() {
        to.read_tls(&mut rest).map_err(|error| error.to_string())?;
        to.process_new_packets()
            .map_err(|error| format!("a handshake failed: {error}"))?;
    }
    Ok(())
}

impl Work for Handshakes {
    fn batch(&mut self) -> Result<f64, Failed> {
        for _ in 0..BATCH {
            self.handshake()?;
        }
        Ok(BATCH as f64)
    }
}

/// Returns the kernel of this module.
#[must_use]
pub fn kernel() -> Threaded {
    Threaded::new("tls_handshake", |_| Handshakes::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_end_as_full_ones() {
        let mut work = Handshakes::new().expect("both sides");
        assert_eq!(work.batch(), Ok(4.0));
        assert_eq!(work.batch(), Ok(4.0), "a second one is full again");
    }

    #[test]
    fn a_certificate_of_a_stranger_is_refused() {
        let (mut work, other) = (
            Handshakes::new().expect("sides"),
            Handshakes::new().expect("sides"),
        );
        work.server = other.server;
        let failed = work.handshake().unwrap_err();
        assert!(failed.contains("invalid peer certificate"), "{failed}");
    }
}
