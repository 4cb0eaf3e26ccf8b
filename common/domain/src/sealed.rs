//! Secrets that must be readable again, sealed for the database: XChaCha20-Poly1305 under a key of the
//! installation.
//!
//! A sealed secret consists of a version, the name of its key, a nonce, and the ciphertext with its tag. It
//! opens only for its purpose (a program, for example). So a row copied to another program is useless there.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

const VERSION: u8 = 1;
const NAME_BYTES: usize = 4;
pub const NONCE_BYTES: usize = 24;

/// The installation's keys. The first key seals. All keys open, so a key can be replaced while old secrets
/// remain.
#[derive(Clone)]
pub struct SealingKeys {
    current: SealingKey,
    earlier: Vec<SealingKey>,
}

#[derive(Clone)]
struct SealingKey {
    /// The start of the key's hash. It shows which key opens a secret.
    name: [u8; NAME_BYTES],
    cipher: XChaCha20Poly1305,
}

/// Sealing or opening failed. The error hides the reason from callers without the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret cannot be sealed or opened with the keys of this installation")]
pub struct SealError;

impl From<([u8; 32], Vec<[u8; 32]>)> for SealingKeys {
    fn from((current, earlier): ([u8; 32], Vec<[u8; 32]>)) -> Self {
        Self::new(&current, &earlier)
    }
}

impl SealingKeys {
    pub fn new(current: &[u8; 32], earlier: &[[u8; 32]]) -> Self {
        Self {
            current: SealingKey::new(current),
            earlier: earlier.iter().map(SealingKey::new).collect(),
        }
    }

    /// `purpose` names the secret's use, the same on opening. `nonce` must be random and used once.
    pub fn seal(
        &self,
        secret: &[u8],
        purpose: &[u8],
        nonce: [u8; NONCE_BYTES],
    ) -> Result<Vec<u8>, SealError> {
        let key = &self.current;
        let mut sealed = Vec::from([VERSION]);
        sealed.extend_from_slice(&key.name);
        let associated = associated(&sealed, purpose);
        let payload = Payload {
            msg: secret,
            aad: &associated,
        };
        let ciphertext = key
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SealError)?;
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&ciphertext);
        Ok(sealed)
    }

    /// Seals the same secret with the current key; `None` if the current key sealed it already.
    pub fn reseal(
        &self,
        sealed: &[u8],
        purpose: &[u8],
        nonce: [u8; NONCE_BYTES],
    ) -> Result<Option<Vec<u8>>, SealError> {
        let secret = self.open(sealed, purpose)?;
        let is_current = sealed.get(1..=NAME_BYTES) == Some(self.current.name.as_slice());
        if is_current {
            return Ok(None);
        }
        self.seal(&secret, purpose, nonce).map(Some)
    }

    pub fn open(&self, sealed: &[u8], purpose: &[u8]) -> Result<Vec<u8>, SealError> {
        let (head, rest) = sealed.split_at_checked(1 + NAME_BYTES).ok_or(SealError)?;
        let (version, name) = head.split_first().ok_or(SealError)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(SealError)?;
        if *version != VERSION {
            return Err(SealError);
        }
        let mut keys = std::iter::once(&self.current).chain(&self.earlier);
        let key = keys.find(|key| key.name == name).ok_or(SealError)?;
        let associated = associated(head, purpose);
        let payload = Payload {
            msg: ciphertext,
            aad: &associated,
        };
        key.cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| SealError)
    }
}

impl SealingKey {
    fn new(bytes: &[u8; 32]) -> Self {
        let hash: [u8; 32] = Sha256::new()
            .chain_update(b"name of a sealing key")
            .chain_update(bytes)
            .finalize()
            .into();
        Self {
            name: std::array::from_fn(|at| hash.get(at).copied().unwrap_or_default()),
            cipher: XChaCha20Poly1305::new(&(*bytes).into()),
        }
    }
}

fn associated(head: &[u8], purpose: &[u8]) -> Vec<u8> {
    [head, purpose].concat()
}

crate::redacted!(SealingKeys);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: [u8; 32] = [1; 32];
    const NEW: [u8; 32] = [2; 32];

    #[test]
    fn a_resealed_secret_needs_its_earlier_key_no_more() {
        let sealed = SealingKeys::new(&OLD, &[])
            .seal(b"secret", b"p", [1; 24])
            .unwrap();
        let during = SealingKeys::new(&NEW, &[OLD]);
        let resealed = during.reseal(&sealed, b"p", [2; 24]).unwrap().unwrap();
        assert_eq!(
            SealingKeys::new(&NEW, &[]).open(&resealed, b"p"),
            Ok(b"secret".to_vec())
        );
        assert_eq!(during.reseal(&resealed, b"p", [3; 24]), Ok(None));
        assert_eq!(during.reseal(&sealed, b"another", [3; 24]), Err(SealError));
        assert_eq!(
            SealingKeys::new(&NEW, &[]).reseal(&sealed, b"p", [3; 24]),
            Err(SealError)
        );
    }

    #[test]
    fn what_is_sealed_shows_nothing_and_opens_for_its_purpose_only() {
        let keys = SealingKeys::new(&NEW, &[]);
        let sealed = keys.seal(b"whsec_123", b"program 1", [7; 24]).unwrap();
        assert!(!sealed.windows(5).any(|window| window == b"whsec"));
        assert_eq!(keys.open(&sealed, b"program 1").unwrap(), b"whsec_123");
        assert_eq!(keys.open(&sealed, b"program 2"), Err(SealError));
    }

    #[test]
    fn the_first_key_seals_and_all_of_them_open() {
        let before = SealingKeys::new(&OLD, &[]);
        let during = SealingKeys::new(&NEW, &[OLD]);
        let after = SealingKeys::new(&NEW, &[]);
        let old = before.seal(b"secret", b"p", [1; 24]).unwrap();
        let new = during.seal(b"secret", b"p", [2; 24]).unwrap();
        assert!(during.open(&old, b"p").is_ok() && during.open(&new, b"p").is_ok());
        assert!(after.open(&new, b"p").is_ok());
        assert_eq!(after.open(&old, b"p"), Err(SealError));
        assert_eq!(before.open(&new, b"p"), Err(SealError));
    }

    /// Stored values must stay readable.
    #[test]
    fn the_form_is_fixed() {
        let sealed = SealingKeys::new(&OLD, &[]).seal(b"", b"", [0; 24]).unwrap();
        assert_eq!(sealed.len(), 1 + 4 + 24 + 16);
        assert_eq!(sealed[0], 1);
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", SealingKeys::new(&OLD, &[])), "SealingKeys");
    }

    proptest! {
        #[test]
        fn one_changed_byte_opens_nothing(secret: Vec<u8>, nonce: [u8; 24], at: prop::sample::Index, flip in 1u8..) {
            let keys = SealingKeys::new(&NEW, &[OLD]);
            let mut sealed = keys.seal(&secret, b"p", nonce).unwrap();
            prop_assert_eq!(keys.open(&sealed, b"p").unwrap(), secret);
            let at = at.index(sealed.len());
            sealed[at] ^= flip;
            prop_assert_eq!(keys.open(&sealed, b"p"), Err(SealError));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            prop_assert_eq!(SealingKeys::new(&NEW, &[]).open(&bytes, b"p"), Err(SealError));
        }
    }
}
