//! A certificate authority for tests, and certificates signed by it.

use std::sync::{Arc, OnceLock};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::support::Folder;

/// The two versions of TLS that are supported.
pub const BOTH: [&rustls::SupportedProtocolVersion; 2] =
    [&rustls::version::TLS12, &rustls::version::TLS13];

/// Certificates signed by one authority. They are created once per test process.
pub struct Certificates {
    _folder: Folder,
    pub ca: String,
    pub client: String,
    pub client_key: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Returns the certificates of this test process, which the first call creates.
pub fn certificates() -> &'static Certificates {
    static MADE: OnceLock<Certificates> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(authority, key).expect("an authority");
        let folder = Folder::new();
        std::fs::create_dir_all(&folder.0).expect("a folder");
        let write = |name: &str, text: String| {
            let path = folder.0.join(name);
            std::fs::write(&path, text).expect("a file");
            path.to_str().expect("a path").to_owned()
        };
        let key = KeyPair::generate().expect("a key");
        let mut client = CertificateParams::new(vec!["client".to_owned()]).expect("parameters");
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let client = client.signed_by(&key, &issuer).expect("a certificate");
        Certificates {
            ca: write("ca.pem", issuer.pem()),
            client: write("client.pem", client.pem()),
            client_key: write("client.key", key.serialize_pem()),
            issuer,
            _folder: folder,
        }
    })
}

/// Returns the TLS configuration of a server that has a certificate for `test.example`.
pub fn server_tls(
    client_certificates: bool,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Arc<ServerConfig> {
    let made = certificates();
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["test.example".to_owned()]).expect("parameters");
    let certificate = params.signed_by(&key, &made.issuer).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("versions");
    let builder = if client_certificates {
        let mut roots = RootCertStore::empty();
        roots.add(made.issuer.der().clone()).expect("a root");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = builder
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a configuration");
    config.ticketer = rustls::crypto::ring::Ticketer::new().expect("tickets");
    Arc::new(config)
}
