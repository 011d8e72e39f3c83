//! Computes length and SHA-256 digest of an object or file while it is transmitted.

use std::fmt;

use ring::digest::{Context, SHA256};

/// Computes length and SHA-256 digest of data that arrive in pieces.
#[derive(Clone)]
pub struct Digest {
    context: Context,
    bytes: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            context: Context::new(&SHA256),
            bytes: 0,
        }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest of {} bytes", self.bytes)
    }
}

impl Digest {
    /// Adds the next piece of the data.
    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the length of all pieces so far. [B]
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the SHA-256 digest of all pieces so far, in hexadecimal.
    #[must_use]
    pub fn hex(&self) -> String {
        use std::fmt::Write as _;
        let digest = self.context.clone().finish();
        let mut hex = String::with_capacity(64);
        for byte in digest.as_ref() {
            // Writing to a `String` cannot fail, so the result is ignored.
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    /// The digest of data added in pieces equals the digest of the same data added at once. The expected digests are
    /// those of FIPS 180-2, appendices B.1 and B.2.
    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let mut digest = Digest::default();
        digest.update(b"abc");
        assert_eq!(digest.bytes(), 3);
        assert_eq!(
            digest.hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let mut digest = Digest::default();
        for piece in [
            &b"abcdbcdecdefdefgefghfghighij"[..],
            b"",
            b"hijkijkljklmklmnlmnomnopnopq",
        ] {
            digest.update(piece);
        }
        assert_eq!(digest.bytes(), 56);
        assert_eq!(
            digest.hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }
}
