//! Keyed hashes of e-mail addresses. Addresses are hashed before they are stored or sent. Without the key, a
//! list of known addresses cannot be tried against the table. Only a hash's own key finds it again.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::tracking::lead::EmailHash;

/// Prefix of every hash. It names the scheme, not the key.
const SCHEME: &str = "v1";

/// Makes hashes with the current key, and finds the hashes of previous keys.
#[derive(Clone)]
pub struct EmailHasher {
    current: [u8; 32],
    previous: Vec<[u8; 32]>,
}

crate::redacted!(EmailHasher);

impl From<([u8; 32], Vec<[u8; 32]>)> for EmailHasher {
    fn from((current, previous): ([u8; 32], Vec<[u8; 32]>)) -> Self {
        Self { current, previous }
    }
}

impl EmailHasher {
    pub fn hash(&self, address: &str) -> Option<EmailHash> {
        hash(&self.current, address)
    }

    /// Every hash under which the address may be stored: one for each key.
    pub fn hashes(&self, address: &str) -> Vec<EmailHash> {
        let keys = std::iter::once(&self.current).chain(&self.previous);
        keys.filter_map(|key| hash(key, address)).collect()
    }
}

/// HMAC-SHA-256 of the trimmed, lower-cased address, as `v1:<hex>`.
fn hash(key: &[u8; 32], address: &str) -> Option<EmailHash> {
    // HMAC takes keys of any length, so this is always `Some`.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(address.trim().to_lowercase().as_bytes());
    let mut text = format!("{SCHEME}:");
    // Writing to a String cannot fail.
    mac.finalize()
        .into_bytes()
        .iter()
        .try_for_each(|byte| write!(text, "{byte:02x}"))
        .ok()?;
    EmailHash::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_and_the_key_does() {
        let hasher = EmailHasher::from(([1; 32], Vec::new()));
        assert_eq!(hasher.hash(" Jane@Example.com "), hasher.hash("jane@example.com"));
        assert_ne!(
            hasher.hash("jane@example.com"),
            EmailHasher::from(([2; 32], Vec::new())).hash("jane@example.com")
        );
        assert_eq!(
            hasher.hash("jane@example.com").unwrap().as_str().len(),
            "v1:".len() + 64
        );
    }

    #[test]
    fn what_a_previous_key_made_is_known() {
        let (old, new) = ([1; 32], [2; 32]);
        let before = EmailHasher::from((old, Vec::new()))
            .hash("jane@example.com")
            .unwrap();
        let hasher = EmailHasher::from((new, vec![old]));
        assert_ne!(hasher.hash("jane@example.com").unwrap(), before);
        assert!(hasher.hashes("jane@example.com").contains(&before));
    }
}
