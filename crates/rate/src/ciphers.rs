//! Kernels for ciphers and digests, which determine the CPU time per byte of a secure connection.

use ring::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};

use crate::kernel::{Failed, Threaded, Work};

/// Number of bytes that one batch encrypts or digests, in pieces of any size. [B]
const BATCH_BYTES: usize = 1 << 16;

/// Encrypts pieces of data of one size in place.
pub struct Sealing {
    key: LessSafeKey,
    pieces: u64,
    piece: Vec<u8>,
}

impl Sealing {
    /// Creates the work of one thread: the encryption of pieces of `size` bytes with a fixed key.
    ///
    /// # Errors
    /// If the key cannot be created.
    pub fn new(algorithm: &'static Algorithm, size: usize) -> Result<Self, Failed> {
        let key = UnboundKey::new(algorithm, &[7; 32]).map_err(|_| "a key could not be created")?;
        Ok(Self {
            key: LessSafeKey::new(key),
            pieces: 0,
            piece: vec![0; size],
        })
    }

    /// Returns a nonce that was not used before with this key.
    fn nonce(&mut self) -> Nonce {
        let mut bytes = [0; 12];
        bytes[4..].copy_from_slice(&self.pieces.to_be_bytes());
        self.pieces += 1;
        Nonce::assume_unique_for_key(bytes)
    }
}

impl Work for Sealing {
    fn batch(&mut self) -> Result<f64, Failed> {
        for _ in 0..BATCH_BYTES / self.piece.len() {
            let nonce = self.nonce();
            let tag = self
                .key
                .seal_in_place_separate_tag(nonce, Aad::empty(), &mut self.piece);
            let tag = tag.map_err(|_| "a piece of data could not be encrypted")?;
            std::hint::black_box(tag.as_ref());
        }
        Ok(BATCH_BYTES as f64)
    }

    /// Checks that decryption of an encrypted piece returns the original data.
    fn check(&mut self) -> Result<(), Failed> {
        let before = self.piece.clone();
        let (sealing, opening) = (self.nonce(), self.pieces - 1);
        let mut sealed = before.clone();
        self.key
            .seal_in_place_append_tag(sealing, Aad::empty(), &mut sealed)
            .map_err(|_| "a piece of data could not be encrypted")?;
        let mut bytes = [0; 12];
        bytes[4..].copy_from_slice(&opening.to_be_bytes());
        let nonce = Nonce::assume_unique_for_key(bytes);
        let opened = self.key.open_in_place(nonce, Aad::empty(), &mut sealed);
        match opened {
            Ok(opened) if opened == before => Ok(()),
            _ => Err("decrypted data differs from the original data".to_owned()),
        }
    }
}

/// Computes digests of pieces of data of one size. Each piece begins with the digest of the previous piece.
pub struct Digesting {
    piece: Vec<u8>,
}

impl Digesting {
    /// Creates the work of one thread: digests of pieces of `size` bytes, at least 32.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            piece: vec![0; size],
        }
    }
}

impl Work for Digesting {
    fn batch(&mut self) -> Result<f64, Failed> {
        for _ in 0..BATCH_BYTES / self.piece.len() {
            let value = digest(&SHA256, &self.piece);
            self.piece[..32].copy_from_slice(value.as_ref());
        }
        Ok(BATCH_BYTES as f64)
    }
}

/// Returns the six kernels of this module.
#[must_use]
pub fn kernels() -> Vec<Threaded> {
    vec![
        Threaded::new("aes_256_gcm_1k", |_| Sealing::new(&AES_256_GCM, 1 << 10)),
        Threaded::new("aes_256_gcm_16k", |_| Sealing::new(&AES_256_GCM, 1 << 14)),
        Threaded::new("chacha20_poly1305_1k", |_| {
            Sealing::new(&CHACHA20_POLY1305, 1 << 10)
        }),
        Threaded::new("chacha20_poly1305_16k", |_| {
            Sealing::new(&CHACHA20_POLY1305, 1 << 14)
        }),
        Threaded::new("sha_256_1k", |_| Ok(Digesting::new(1 << 10))),
        Threaded::new("sha_256_16k", |_| Ok(Digesting::new(1 << 14))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let value = |digit: u8| char::from(digit).to_digit(16).expect("a digit") as u8;
        digits
            .chunks(2)
            .map(|pair| value(pair[0]) * 16 + value(pair[1]))
            .collect()
    }

    fn sealed(
        algorithm: &'static Algorithm,
        key: &str,
        nonce: &str,
        text: &[u8],
        aad: &str,
    ) -> Vec<u8> {
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &hex(key)).expect("a key"));
        let nonce = Nonce::try_assume_unique_for_key(&hex(nonce)).expect("a nonce");
        let mut bytes = text.to_vec();
        key.seal_in_place_append_tag(nonce, Aad::from(hex(aad)), &mut bytes)
            .expect("sealed");
        bytes
    }

    /// Compares the encryption with D. A. `McGrew` and J. Viega, *The Galois/Counter Mode of Operation*, appendix B,
    /// test case 14.
    #[test]
    fn aes_256_gcm_seals_as_published() {
        let zeros = "00".repeat(32);
        let got = sealed(&AES_256_GCM, &zeros, &"00".repeat(12), &[0; 16], "");
        assert_eq!(
            got,
            hex("cea7403d4d606b6e074ec5d3baf39d18 d0d1c8a799996bf0265b98b5d48ab919")
        );
    }

    /// Compares the first bytes of the encrypted text and its tag with RFC 8439, section 2.8.2.
    #[test]
    fn chacha20_poly1305_seals_as_published() {
        let text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
        let key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f";
        let got = sealed(
            &CHACHA20_POLY1305,
            key,
            "070000004041424344454647",
            text,
            "50515253c0c1c2c3c4c5c6c7",
        );
        assert_eq!(got[..16], hex("d31a8d34648e60db7b86afbc53ef7ec2"));
        assert_eq!(got[text.len()..], hex("1ae10b594f09e26a7e902ecbd0600691"));
    }

    /// Compares the digest with the example of FIPS 180-4 for the one-block message "abc".
    #[test]
    fn sha_256_digests_as_published() {
        let got = digest(&SHA256, b"abc");
        let expected = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(got.as_ref(), expected);
    }

    #[test]
    fn a_batch_seals_its_bytes_and_what_it_sealed_opens() {
        for (algorithm, size) in [(&AES_256_GCM, 1024), (&CHACHA20_POLY1305, 16384)] {
            let mut work = Sealing::new(algorithm, size).expect("work");
            assert_eq!(work.batch(), Ok(65536.0));
            assert_eq!(work.pieces, 65536 / size as u64);
            assert_ne!(work.piece, vec![0; size]);
            work.check().expect("it opens");
        }
    }

    #[test]
    fn a_batch_of_digests_chains_them() {
        let mut work = Digesting::new(16384);
        assert_eq!(work.batch(), Ok(65536.0));
        let mut expected = vec![0; 16384];
        for _ in 0..4 {
            let value = digest(&SHA256, &expected);
            expected[..32].copy_from_slice(value.as_ref());
        }
        assert_eq!(work.piece, expected);
    }
}
