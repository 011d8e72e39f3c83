//! Login to MySQL and MariaDB: <https://mariadb.com/kb/en/connection/>.

use bytes::{BufMut, BytesMut};
use ring::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::packets::{Fields, Malformed, put_terminated, put_text};
use crate::answer::{Failed, FailureKind};

const PROTOCOL_VERSION: u8 = 10;
/// Length of the challenge: random bytes from the server that the client combines with the password. [B]
const NONCE_BYTES: usize = 20;
/// Length of the part of the challenge that the server sends at the start of its greeting. [B]
const FIRST_PART_BYTES: usize = 8;
/// Number of the character set `utf8mb4_general_ci`, which all servers support.
const UTF8: u8 = 45;
/// Size of the longest packet that the client accepts. [B]
const PACKET_BYTES: u32 = 0xff_ffff;

/// Capability: an update reports the number of rows that it matched, as in other databases, and not only the rows that
/// it changed.
const FOUND_ROWS: u32 = 1 << 1;
const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const WITH_DATABASE: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const MULTI_RESULTS_PREPARED: u32 = 1 << 18;
const PLUGINS: u32 = 1 << 19;
const PLUGIN_TEXT: u32 = 1 << 21;
/// Capabilities that a server must have. All servers have had them since 2004 (MySQL 4.1).
const NEEDED: u32 = PROTOCOL_41 | SECURE;
/// Capabilities that the client requests if the server offers them.
const WANTED: u32 = NEEDED
    | FOUND_ROWS
    | LONG_PASSWORD
    | LONG_FLAG
    | TRANSACTIONS
    | MULTI_RESULTS
    | MULTI_RESULTS_PREPARED
    | PLUGINS
    | PLUGIN_TEXT;

const NATIVE: &[u8] = b"mysql_native_password";
const SHA2: &[u8] = b"caching_sha2_password";

/// User, password and database with which a session logs in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) user: &'a str,
    pub(super) password: Option<&'a str>,
    pub(super) database: Option<&'a str>,
    /// `true` for a Unix socket, which cannot be intercepted, so that the password may be sent in clear text.
    pub(super) is_private: bool,
}

/// An authentication method, with the challenge (random bytes) that the client combines with the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Challenge<'a> {
    pub(super) plugin: &'a [u8],
    nonce: &'a [u8],
}

/// First message of the server, which starts the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    capabilities: u32,
    plugin: Vec<u8>,
    nonce: Vec<u8>,
}

impl Greeting {
    pub(super) fn read(packet: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(packet);
        if fields.byte()? != PROTOCOL_VERSION {
            return Err(Malformed(
                "a packet that is not the greeting of a MySQL server",
            ));
        }
        let _version = fields.terminated()?;
        fields.take(4)?;
        let mut nonce = fields.take(FIRST_PART_BYTES)?.to_vec();
        fields.take(1)?;
        let low = fields.number(2)?;
        // Skips the character set and the status of the server.
        fields.take(1 + 2)?;
        let capabilities = (low | (fields.number(2)? << 16)) as u32;
        if capabilities & NEEDED != NEEDED {
            return Err(Malformed("a server older than MySQL 4.1"));
        }
        // Skips the length of the challenge, which is known, and the reserved bytes.
        fields.take(1 + 10)?;
        nonce.extend_from_slice(fields.take(NONCE_BYTES - FIRST_PART_BYTES)?);
        // After a zero byte, the packet contains the name of the authentication method. The name ends at another zero
        // byte or at the end of the packet.
        let rest = fields.0.get(1..).unwrap_or_default();
        let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self {
            capabilities,
            plugin: if name.is_empty() { NATIVE } else { name }.to_vec(),
            nonce,
        })
    }

    pub(super) fn challenge(&self) -> Challenge<'_> {
        Challenge {
            plugin: &self.plugin,
            nonce: &self.nonce,
        }
    }

    /// Writes the response to the greeting of the server, with the first proof that the client knows the password.
    pub(super) fn write_answer(&self, login: &Login<'_>, proof: &[u8], out: &mut BytesMut) {
        let database = login.database.map_or(0, |_| WITH_DATABASE);
        let capabilities = (WANTED & self.capabilities) | database;
        out.put_u32_le(capabilities);
        out.put_u32_le(PACKET_BYTES);
        out.put_u8(UTF8);
        out.put_bytes(0, 23);
        put_terminated(out, login.user.as_bytes());
        // A proof is shorter than 251 bytes, so its length takes one byte in both possible encodings.
        put_text(out, proof);
        if let Some(database) = login.database {
            put_terminated(out, database.as_bytes());
        }
        if capabilities & PLUGINS != 0 {
            put_terminated(out, &self.plugin);
        }
    }
}

/// A message of the server during authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthStep<'a> {
    /// The server requests a proof by another method of authentication, which the challenge names.
    Proof(Challenge<'a>),
    /// The server accepted the proof; an OK packet follows.
    Nothing,
    /// The server requests the password in clear text.
    Password,
}

/// Reads a packet of the authentication that is neither an OK packet nor an error packet.
pub(super) fn auth_step(packet: &[u8]) -> Result<AuthStep<'_>, Malformed> {
    match packet {
        [0xfe] => Err(Malformed(
            "a request for a password in the form used before MySQL 4.1",
        )),
        [0xfe, rest @ ..] => {
            let mut fields = Fields(rest);
            let plugin = fields.terminated()?;
            let nonce = fields.0.get(..NONCE_BYTES).unwrap_or(fields.0);
            Ok(AuthStep::Proof(Challenge { plugin, nonce }))
        }
        [1, 3] => Ok(AuthStep::Nothing),
        [1, 4] => Ok(AuthStep::Password),
        _ => Err(Malformed("an unexpected packet")),
    }
}

/// Returns the password in clear text, if the connection cannot be intercepted.
///
/// # Errors
/// A failure of the kind `connect`, if the connection could be intercepted.
pub(super) fn plain(login: &Login<'_>) -> Result<Vec<u8>, Failed> {
    if !login.is_private {
        let reason = "the server requests the password in clear text: connect over a Unix socket";
        return Err(Failed::new(FailureKind::Connect, reason));
    }
    Ok([login.password.unwrap_or_default().as_bytes(), &[0]].concat())
}

/// Returns the proof of the password for a challenge of the server.
///
/// # Errors
/// A failure of the kind `connect`, if the authentication method is not supported.
pub(super) fn proof(challenge: Challenge<'_>, login: &Login<'_>) -> Result<Vec<u8>, Failed> {
    let password = login.password.unwrap_or_default().as_bytes();
    match challenge.plugin {
        NATIVE | SHA2 if password.is_empty() => Ok(Vec::new()),
        NATIVE => Ok(native(password, challenge.nonce)),
        SHA2 => Ok(sha2(password, challenge.nonce)),
        b"mysql_clear_password" => plain(login),
        // The proof is empty: on a Unix socket, the server gets the operating-system user of the client from the
        // kernel.
        b"unix_socket" | b"auth_socket" => Ok(Vec::new()),
        other => {
            let name = String::from_utf8_lossy(other.get(..64).unwrap_or(other)).into_owned();
            let reason = format!(
                "the server requires the authentication method {name}, which is not supported"
            );
            Err(Failed::new(FailureKind::Connect, reason))
        }
    }
}

fn digest(algorithm: &'static Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    context.finish().as_ref().to_vec()
}

fn mixed(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter()
        .zip(other)
        .map(|(one, other)| one ^ other)
        .collect()
}

/// Returns the proof of `mysql_native_password`: SHA1(password) xor SHA1(nonce + SHA1(SHA1(password))).
fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let algorithm = &SHA1_FOR_LEGACY_USE_ONLY;
    let once = digest(algorithm, &[password]);
    let twice = digest(algorithm, &[&once]);
    mixed(&once, &digest(algorithm, &[nonce, &twice]))
}

/// Returns the proof of `caching_sha2_password`: SHA256(password) xor SHA256(SHA256(SHA256(password)) + nonce).
fn sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = digest(&SHA256, &[password]);
    let twice = digest(&SHA256, &[&once]);
    mixed(&once, &digest(&SHA256, &[&twice, nonce]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &[u8; NONCE_BYTES] = b"0123456789abcdefghij";

    fn login(password: Option<&'static str>, is_private: bool) -> Login<'static> {
        Login {
            user: "u",
            password,
            database: Some("d"),
            is_private,
        }
    }

    fn proven(plugin: &'static [u8], password: &'static str) -> Vec<u8> {
        let challenge = Challenge {
            plugin,
            nonce: NONCE,
        };
        proof(challenge, &login(Some(password), false)).expect("a proof")
    }

    fn greeting() -> Vec<u8> {
        let mut out = BytesMut::new();
        out.put_u8(PROTOCOL_VERSION);
        put_terminated(&mut out, b"5.5.5-10.11.6-MariaDB");
        out.put_u32_le(7);
        out.put_slice(&NONCE[..FIRST_PART_BYTES]);
        out.put_u8(0);
        out.put_u16_le((WANTED & 0xffff) as u16);
        out.put_u8(UTF8);
        out.put_u16_le(2);
        out.put_u16_le((WANTED >> 16) as u16);
        out.put_u8(21);
        out.put_bytes(0, 10);
        put_terminated(&mut out, &NONCE[FIRST_PART_BYTES..]);
        put_terminated(&mut out, NATIVE);
        out.to_vec()
    }

    #[test]
    fn a_password_is_kept_by_servers_as_the_manual_shows() {
        // The expected hash is that of PASSWORD('password') in MySQL and MariaDB:
        // 2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19.
        let kept: [u8; 20] = [
            0x24, 0x70, 0xc0, 0xc0, 0x6d, 0xee, 0x42, 0xfd, 0x16, 0x18, 0xbb, 0x99, 0x00, 0x5a,
            0xdc, 0xa2, 0xec, 0x9d, 0x1e, 0x19,
        ];
        // Checks the proof like the server: extracts SHA1(password) from the proof by means of the stored hash, hashes
        // it again, and compares the result with the stored hash.
        let algorithm = &SHA1_FOR_LEGACY_USE_ONLY;
        let mask = digest(algorithm, &[NONCE, &kept]);
        let once = mixed(&proven(NATIVE, "password"), &mask);
        assert_eq!(digest(algorithm, &[&once]), kept);
    }

    #[test]
    fn the_newer_proof_is_taken_apart_in_the_same_way() {
        let kept = digest(&SHA256, &[&digest(&SHA256, &[b"password"])]);
        let mask = digest(&SHA256, &[&kept, NONCE]);
        let once = mixed(&proven(SHA2, "password"), &mask);
        assert_eq!(digest(&SHA256, &[&once]), kept);
        assert!(proven(SHA2, "").is_empty());
    }

    #[test]
    fn a_password_goes_as_it_is_only_where_nobody_can_listen() {
        assert_eq!(plain(&login(Some("x"), true)), Ok(b"x\0".to_vec()));
        assert!(plain(&login(Some("x"), false)).is_err());
    }

    #[test]
    fn a_way_that_is_not_known_is_told_by_its_name() {
        let challenge = Challenge {
            plugin: b"client_ed25519",
            nonce: NONCE,
        };
        let failed = proof(challenge, &login(Some("x"), true)).expect_err("a refusal");
        assert_eq!(failed.kind, FailureKind::Connect);
        assert!(failed.reason.contains("client_ed25519"), "{failed:?}");
    }

    #[test]
    fn a_greeting_gives_the_way_and_the_bytes_and_is_answered() {
        let read = Greeting::read(&greeting()).expect("a greeting");
        assert_eq!(read.challenge().plugin, NATIVE);
        assert_eq!(read.challenge().nonce, NONCE);
        let mut out = BytesMut::new();
        read.write_answer(&login(None, false), &[], &mut out);
        // Expected fields: capabilities, size of the longest packet, character set, 23 zeros, user, empty proof,
        // database, authentication method.
        assert_eq!(&out[..4], (WANTED | WITH_DATABASE).to_le_bytes());
        assert_eq!(&out[32..], b"u\0\0d\0mysql_native_password\0");
    }

    #[test]
    fn what_is_no_greeting_is_refused() {
        let whole = greeting();
        for end in 0..whole.len() - NATIVE.len() - 2 {
            assert!(Greeting::read(&whole[..end]).is_err(), "{end}");
        }
        assert!(Greeting::read(b"SSH-2.0-OpenSSH_9.2").is_err());
        let mut old = whole;
        let low = 1 + 22 + 4 + 8 + 1;
        old[low..low + 2].fill(0);
        assert!(Greeting::read(&old).is_err());
    }

    #[test]
    fn the_server_may_ask_for_another_proof_or_for_the_password() {
        let switch = [&[0xfe][..], SHA2, &[0], NONCE, &[0]].concat();
        let expected = Challenge {
            plugin: SHA2,
            nonce: NONCE,
        };
        assert_eq!(auth_step(&switch), Ok(AuthStep::Proof(expected)));
        assert_eq!(auth_step(&[1, 3]), Ok(AuthStep::Nothing));
        assert_eq!(auth_step(&[1, 4]), Ok(AuthStep::Password));
        assert!(auth_step(&[0xfe]).is_err());
        assert!(auth_step(&[]).is_err());
    }
}
