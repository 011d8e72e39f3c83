use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{ServerName, UnixTime};
use rustls::{
    CertRevocationListError, ContentType, EncryptedClientHelloError, ExtendedKeyPurpose,
    HandshakeType, InconsistentKeys, InvalidMessage, PeerIncompatible, PeerMisbehaved,
};

use super::*;

/// An error whose name is that of an error in the certificate library.
#[derive(Debug)]
enum Foreign {
    CaUsedAsEndEntity,
    EndEntityUsedAsCa,
    InvalidCertValidity,
}

impl fmt::Display for Foreign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

impl std::error::Error for Foreign {}

fn other(name: Foreign) -> OtherError {
    OtherError(Arc::new(name))
}

fn time() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(1_700_000_000))
}

#[allow(deprecated, reason = "the library still names it")]
fn certificate_faults() -> Vec<CertificateError> {
    use CertificateError as Fault;
    let expected = ServerName::try_from("127.0.0.1").expect("a name");
    vec![
        Fault::BadEncoding,
        Fault::Expired,
        Fault::ExpiredContext {
            time: time(),
            not_after: time(),
        },
        Fault::NotValidYet,
        Fault::NotValidYetContext {
            time: time(),
            not_before: time(),
        },
        Fault::Revoked,
        Fault::UnhandledCriticalExtension,
        Fault::UnknownIssuer,
        Fault::UnknownRevocationStatus,
        Fault::ExpiredRevocationList,
        Fault::ExpiredRevocationListContext {
            time: time(),
            next_update: time(),
        },
        Fault::BadSignature,
        Fault::UnsupportedSignatureAlgorithm,
        Fault::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![1],
            supported_algorithms: Vec::new(),
        },
        Fault::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id: vec![1],
            public_key_algorithm_id: vec![2],
        },
        Fault::NotValidForName,
        Fault::NotValidForNameContext {
            expected: expected.clone(),
            presented: vec!["DnsName(\"shop.example\")".into(), "IpAddress(::1)".into()],
        },
        Fault::NotValidForNameContext {
            expected,
            presented: Vec::new(),
        },
        Fault::InvalidPurpose,
        Fault::InvalidPurposeContext {
            required: ExtendedKeyPurpose::ServerAuth,
            presented: vec![ExtendedKeyPurpose::ClientAuth],
        },
        Fault::InvalidOcspResponse,
        Fault::ApplicationVerificationFailure,
        Fault::Other(other(Foreign::CaUsedAsEndEntity)),
        Fault::Other(other(Foreign::EndEntityUsedAsCa)),
        Fault::Other(other(Foreign::InvalidCertValidity)),
    ]
}

fn others() -> Vec<Error> {
    vec![
        Error::InappropriateMessage {
            expect_types: vec![ContentType::Handshake],
            got_type: ContentType::Alert,
        },
        Error::InappropriateHandshakeMessage {
            expect_types: vec![HandshakeType::ServerHello],
            got_type: HandshakeType::Finished,
        },
        Error::InvalidEncryptedClientHello(EncryptedClientHelloError::NoCompatibleConfig),
        Error::InvalidMessage(InvalidMessage::InvalidContentType),
        Error::InvalidMessage(InvalidMessage::MissingData("Random")),
        Error::NoCertificatesPresented,
        Error::UnsupportedNameType,
        Error::DecryptError,
        Error::EncryptError,
        Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
        Error::PeerMisbehaved(PeerMisbehaved::IllegalTlsInnerPlaintext),
        Error::InvalidCertRevocationList(CertRevocationListError::BadSignature),
        Error::InvalidCertRevocationList(CertRevocationListError::Other(other(
            Foreign::InvalidCertValidity,
        ))),
        Error::General("more than 256 KiB without any content".to_owned()),
        Error::FailedToGetCurrentTime,
        Error::FailedToGetRandomBytes,
        Error::HandshakeNotComplete,
        Error::PeerSentOversizedRecord,
        Error::NoApplicationProtocol,
        Error::BadMaxFragmentSize,
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch),
        Error::InconsistentKeys(InconsistentKeys::Unknown),
        Error::Other(other(Foreign::InvalidCertValidity)),
    ]
}

/// Returns every failure that the library can report, including known and unknown alerts.
fn all() -> Vec<Error> {
    let alerts = (0..=255).map(|code| Error::AlertReceived(Alert::from(code)));
    let faults = certificate_faults()
        .into_iter()
        .map(Error::InvalidCertificate);
    others().into_iter().chain(alerts).chain(faults).collect()
}

/// Returns `true` for a word such as `CaUsedAsEndEntity`, with a capital letter after a small one.
fn is_camel(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    letters
        .windows(2)
        .any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase())
}

/// Words with an inner capital letter that messages may contain: proper names, and keys of configuration files.
const PROPER: [&str; 6] = [
    "serverAuth",
    "subjectAltName",
    "subjectAltName=DNS:NAME",
    "basicConstraints=critical,CA:FALSE",
    "ChaCha20",
    "KiB",
];

#[test]
fn each_failure_has_a_fact_and_a_next_step_and_no_name_of_the_library() {
    for error in all() {
        let sentence = sentence(&error);
        let parts = sentence.splitn(3, ": ").collect::<Vec<_>>();
        assert_eq!((parts.len(), parts[0]), (3, "TLS"), "{sentence}");
        let trimmed = |each: char| matches!(each, '(' | ')' | ',' | '?' | ':' | '`');
        for word in sentence
            .split_whitespace()
            .map(|word| word.trim_matches(trimmed))
        {
            assert!(
                !is_camel(word) || PROPER.contains(&word),
                "{word}: {sentence}"
            );
        }
        for raw in ["Error", "{", "}", "::", "([", "(\""] {
            assert!(
                !sentence.replace("::1", "").contains(raw),
                "{raw}: {sentence}"
            );
        }
    }
}

#[test]
fn no_alert_and_no_fault_of_a_certificate_that_is_known_falls_through() {
    let known = |code: &u8| !matches!(Alert::from(*code), Alert::Unknown(_));
    for code in (0..=255).filter(known) {
        let (fact, _) = alert_of(Alert::from(code));
        assert!(!fact.contains("not known") || code == 112, "{code}: {fact}");
    }
    for fault in certificate_faults() {
        let (fact, _) = certificate(&fault);
        assert!(!fact.ends_with("server was refused"), "{fact}");
    }
    for error in others() {
        assert!(
            !sentence(&error).contains("the handshake failed"),
            "{error}"
        );
    }
}

#[test]
fn the_usual_faults_are_said_in_words() {
    let cases = [
        (
            CertificateError::UnknownIssuer,
            "not signed by an authority that this machine trusts",
        ),
        (
            CertificateError::Other(other(Foreign::CaUsedAsEndEntity)),
            "CA:FALSE",
        ),
        (
            CertificateError::Other(other(Foreign::InvalidCertValidity)),
            "(invalid cert validity)",
        ),
        (
            certificate_faults()[16].clone(),
            "not valid for 127.0.0.1, only for shop.example, ::1",
        ),
        (
            certificate_faults()[17].clone(),
            "names no host in subjectAltName (clients no longer accept a common name alone): create one with",
        ),
    ];
    for (fault, words) in cases {
        let sentence = sentence(&Error::InvalidCertificate(fault));
        assert!(sentence.contains(words), "{sentence}");
    }
}

/// The server has no part in this fault, which is found before the first connection.
#[test]
fn a_key_of_another_certificate_names_both_options_and_not_the_server() {
    let sentence = sentence(&Error::InconsistentKeys(InconsistentKeys::KeyMismatch));
    for words in ["key does not belong to its certificate", "--cert", "--key"] {
        assert!(sentence.contains(words), "{sentence}");
    }
    assert!(!sentence.contains("server"), "{sentence}");
}

/// The sentence names two causes, because a server of TLS 1.2 uses the same alert for both. Such a server refuses the
/// handshake if it accepts no offered suite, or if it requires a certificate of the client.
#[test]
fn a_refused_handshake_has_two_causes() {
    let sentence = sentence(&Error::AlertReceived(
        rustls::AlertDescription::HandshakeFailure,
    ));
    for words in [
        "none of the offered suites",
        "certificate of the client",
        "--cert",
    ] {
        assert!(sentence.contains(words), "{sentence}");
    }
}
