//! Messages about TLS failures. They state the cause and the next step for their reader, without names of the TLS
//! library.

use rustls::{AlertDescription as Alert, CertificateError, Error, OtherError};

/// Next step if a certificate is not trusted.
const TRUST: &str = "give the certificate of its authority (--cacert FILE, key `ca`), or disable verification (--insecure, `verify: false`)";
/// Next step if the server's certificate is wrong.
const RENEW: &str =
    "give the server another certificate, or disable verification (--insecure, `verify: false`)";
/// Next step if the server refuses the certificate of the client.
const OWN: &str =
    "check the client's certificate and key (--cert, --key) and the log of the server";
/// Next step if the client's certificate and key do not belong together.
const PAIR: &str =
    "give the key of this certificate (--cert, --key; `client_certificate`, `client_key`)";
/// Next step if the server does not speak TLS.
const PORT: &str =
    "does the port speak TLS, without a proxy that changes bytes? See the log of the server";
/// Next step if client and server support no common TLS version or cipher.
const OFFERED: &str =
    "let the server offer TLS 1.2 or 1.3 with a cipher suite of ECDHE and AES-GCM or ChaCha20";

/// Describes a TLS failure and gives the next step.
#[must_use]
pub fn sentence(error: &Error) -> String {
    let (fact, step) = match error {
        Error::InvalidCertificate(fault) => certificate(fault),
        Error::AlertReceived(alert) => alert_of(*alert),
        Error::NoCertificatesPresented => (
            "the server has sent no certificate".to_owned(),
            "configure a certificate at the server",
        ),
        Error::PeerIncompatible(why) => (
            format!(
                "server and client have no option in common ({})",
                named(why)
            ),
            OFFERED,
        ),
        Error::NoApplicationProtocol => (
            "the server supports none of the offered versions of HTTP".to_owned(),
            "load the target with HTTP/1.1, or enable HTTP/2 at the server",
        ),
        Error::InvalidMessage(why) => (
            format!("the bytes from the server are not TLS ({})", named(why)),
            PORT,
        ),
        Error::PeerMisbehaved(why) => (
            format!("the server violates the TLS protocol ({})", named(why)),
            PORT,
        ),
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => (
            "the server sent a TLS message in the wrong order".to_owned(),
            PORT,
        ),
        Error::DecryptError => (
            "bytes from the server could not be decrypted".to_owned(),
            PORT,
        ),
        Error::PeerSentOversizedRecord => (
            "the server sent a record longer than TLS allows".to_owned(),
            PORT,
        ),
        Error::UnsupportedNameType => (
            "certificates cannot contain a server name of this kind".to_owned(),
            "give a host name or an IP address (`server_name`)",
        ),
        Error::InvalidEncryptedClientHello(why) => (
            format!("the encrypted client hello was refused ({})", named(why)),
            PORT,
        ),
        Error::InvalidCertRevocationList(why) => (
            format!("a certificate revocation list is invalid ({})", named(why)),
            RENEW,
        ),
        Error::InconsistentKeys(_) => (
            "the client's key does not belong to its certificate".to_owned(),
            PAIR,
        ),
        Error::FailedToGetCurrentTime => (
            "the time of this machine cannot be read".to_owned(),
            "set its clock",
        ),
        Error::FailedToGetRandomBytes => (
            "this machine provides no random bytes".to_owned(),
            "allow the system call getrandom in its sandbox",
        ),
        Error::General(why) => (why.clone(), PORT),
        Error::Other(why) => (format!("an operation failed ({})", named(why)), PORT),
        Error::EncryptError | Error::HandshakeNotComplete | Error::BadMaxFragmentSize => (
            "the load engine used TLS incorrectly".to_owned(),
            "please report this with the plan",
        ),
        _ => ("the handshake failed".to_owned(), PORT),
    };
    format!("TLS: {fact}: {step}")
}

/// Describes a fault of the server's certificate and gives the next step.
fn certificate(fault: &CertificateError) -> (String, &'static str) {
    use CertificateError as Fault;
    let (fact, step) = match fault {
        Fault::UnknownIssuer => (
            "is not signed by an authority that this machine trusts",
            TRUST,
        ),
        Fault::BadSignature => (
            "is not signed by the key of the authority that it names",
            TRUST,
        ),
        Fault::Expired | Fault::ExpiredContext { .. } => ("has expired", RENEW),
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => (
            "is not valid yet",
            "set the clocks of both machines, or disable verification (--insecure, `verify: false`)",
        ),
        Fault::Revoked => ("is revoked", RENEW),
        Fault::NotValidForName => ("is not valid for the name", NAME),
        Fault::NotValidForNameContext {
            expected,
            presented,
        } => {
            if presented.is_empty() {
                return (WITHOUT_NAME.to_owned(), ADD_NAME);
            }
            let valid = presented.iter().map(|name| bare(name)).collect::<Vec<_>>();
            let valid = valid.join(", ");
            let fact = format!("is not valid for {}, only for {valid}", expected.to_str());
            return (format!("the certificate of the server {fact}"), NAME);
        }
        Fault::InvalidPurpose | Fault::InvalidPurposeContext { .. } => (
            "is not for servers (extended key usage without serverAuth)",
            RENEW,
        ),
        Fault::BadEncoding => ("is malformed", RENEW),
        Fault::UnhandledCriticalExtension => ("has an unknown critical extension", RENEW),
        Fault::UnknownRevocationStatus
        | Fault::ExpiredRevocationList
        | Fault::ExpiredRevocationListContext { .. } => (
            "may be revoked, since its revocation list is out of date",
            RENEW,
        ),
        #[allow(deprecated, reason = "the library still names it")]
        Fault::UnsupportedSignatureAlgorithm
        | Fault::UnsupportedSignatureAlgorithmContext { .. }
        | Fault::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => (
            "has a signature that is not supported, such as SHA-1 or an unusual curve",
            RENEW,
        ),
        Fault::InvalidOcspResponse => (
            "has an invalid OCSP response, which should prove that it is not revoked",
            RENEW,
        ),
        Fault::ApplicationVerificationFailure => ("was refused by this client", TRUST),
        Fault::Other(why) => return of_chain(why),
        _ => ("was refused", RENEW),
    };
    (format!("the certificate of the server {fact}"), step)
}

/// Next step if a certificate is for a different name than the requested one.
const NAME: &str = "use a name of its certificate (--connect-to ADDRESS connects to another address, `server_name` requests \
                    another name), or disable verification (--insecure, `verify: false`)";

/// Cause and next step if a certificate has no host names in subjectAltName. A common name does not count as a host
/// name (RFC 9525, section 2).
const WITHOUT_NAME: &str = "the certificate of the server names no host in subjectAltName (clients no longer accept a \
                            common name alone)";
const ADD_NAME: &str = "create one with `openssl req -addext subjectAltName=DNS:NAME` (`IP:NUMBER` for an address), or \
                        disable verification (--insecure, `verify: false`)";

/// Describes a certificate fault that the library does not classify.
fn of_chain(why: &OtherError) -> (String, &'static str) {
    let name = format!("{why:?}");
    if name.contains("CaUsedAsEndEntity") {
        return (
            "the certificate of the server is a certificate of an authority (CA:TRUE), as `openssl req -x509` creates it"
                .to_owned(),
            "create one for the server with -addext basicConstraints=critical,CA:FALSE, or disable verification (--insecure, \
             `verify: false`)",
        );
    }
    if name.contains("EndEntityUsedAsCa") {
        return (
            "the certificate of the server is signed with a certificate that does not belong to an authority (CA:FALSE)"
                .to_owned(),
            "sign it with the certificate of an authority, or disable verification (--insecure, `verify: false`)",
        );
    }
    (
        format!(
            "the certificate of the server is malformed ({})",
            named(why)
        ),
        RENEW,
    )
}

/// Describes an alert that the server sent during the handshake (RFC 8446, section 6.2; RFC 5246, section 7.2.2).
fn alert_of(alert: Alert) -> (String, &'static str) {
    let (fact, step) = match alert {
        Alert::CloseNotify | Alert::UserCanceled => ("has ended the handshake", PORT),
        // A server of TLS 1.2 also sends this alert if the client has no certificate (RFC 5246, section 7.4.6).
        Alert::HandshakeFailure => (
            "refuses the handshake: it accepts none of the offered suites, or requires a certificate of the client",
            "let the server offer TLS 1.2 or 1.3 with a suite of AES-GCM or ChaCha20, or give a certificate with --cert \
             and --key (`client_certificate`, `client_key`)",
        ),
        Alert::InsufficientSecurity | Alert::ExportRestriction => {
            ("accepts none of the offered suites", OFFERED)
        }
        Alert::ProtocolVersion | Alert::InappropriateFallback => {
            ("accepts none of the offered versions of TLS", OFFERED)
        }
        Alert::CertificateRequired | Alert::NoCertificate => (
            "requires a certificate of the client",
            "give one with --cert and --key (`client_certificate`, `client_key`)",
        ),
        Alert::BadCertificate | Alert::UnsupportedCertificate | Alert::CertificateUnknown => {
            ("refuses the client's certificate", OWN)
        }
        Alert::CertificateRevoked => ("reports that the client's certificate is revoked", OWN),
        Alert::CertificateExpired => ("reports that the client's certificate has expired", OWN),
        Alert::UnknownCA => (
            "does not trust the authority of the client's certificate",
            OWN,
        ),
        Alert::AccessDenied => ("denies access to the client's certificate", OWN),
        Alert::CertificateUnobtainable | Alert::BadCertificateHashValue => {
            ("could not get the client's certificate", OWN)
        }
        Alert::UnrecognisedName => (
            "does not serve the requested name",
            "use a name that it serves (`server_name` requests another name)",
        ),
        Alert::NoApplicationProtocol => (
            "supports none of the offered versions of HTTP",
            "load the target with HTTP/1.1, or enable HTTP/2 at the server",
        ),
        Alert::InternalError => ("has an internal fault", "see the log of the server"),
        Alert::UnexpectedMessage
        | Alert::BadRecordMac
        | Alert::DecryptionFailed
        | Alert::RecordOverflow
        | Alert::DecompressionFailure
        | Alert::IllegalParameter
        | Alert::DecodeError
        | Alert::DecryptError => ("could not read a message of the client", PORT),
        Alert::NoRenegotiation | Alert::MissingExtension | Alert::UnsupportedExtension => {
            ("does not support an option of the client", PORT)
        }
        Alert::BadCertificateStatusResponse => {
            ("has no proof that its certificate is valid", RENEW)
        }
        Alert::UnknownPSKIdentity => (
            "does not know the session that was resumed",
            "switch resumption off (`resumption: false`)",
        ),
        Alert::EncryptedClientHelloRequired => ("requires an encrypted client hello", PORT),
        _ => (
            "has ended the handshake with an alert that is not known",
            PORT,
        ),
    };
    (format!("the server {fact}"), step)
}

/// Extracts the name from `DnsName("shop.example")` or `IpAddress(127.0.0.1)`.
fn bare(presented: &str) -> &str {
    let inner = presented
        .split_once('(')
        .map_or(presented, |(_, rest)| rest);
    inner.trim_matches(|each| matches!(each, '"' | ')'))
}

/// Converts the innermost name in the debug form of a value to words: `Other(NoCipherSuitesInCommon)` becomes `no
/// cipher suites in common`.
fn named(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let is_name = |part: &&str| {
        !part.is_empty()
            && part.starts_with(char::is_uppercase)
            && part.chars().all(char::is_alphanumeric)
    };
    let parts = text.split(|each: char| !each.is_alphanumeric());
    let found = parts.filter(is_name).find(|part| !WRAPPERS.contains(part));
    let mut words = String::new();
    for letter in found.unwrap_or("Unknown").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// Names of error variants that only contain another error. The name of the inner error is used instead.
const WRAPPERS: [&str; 2] = ["Other", "OtherError"];

#[cfg(test)]
mod tests;
