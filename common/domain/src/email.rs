//! E-mail addresses are hashed before they go anywhere: with a key, so that a list of known addresses cannot be
//! tried against the table.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::tracking::lead::EmailHash;

/// Prefix of every hash, so that the key can be rotated.
const KEY_VERSION: &str = "v1";

#[derive(Clone)]
pub struct EmailHasher([u8; 32]);

impl std::fmt::Debug for EmailHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EmailHasher")
    }
}

impl EmailHasher {
    pub fn new(key: &[u8; 32]) -> Self {
        Self(*key)
    }

    /// HMAC-SHA-256 of the trimmed, lower-cased address, as `v1:<hex>`.
    pub fn hash(&self, address: &str) -> Option<EmailHash> {
        // HMAC takes keys of any length, so this is always some.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(address.trim().to_lowercase().as_bytes());
        let mut text = format!("{KEY_VERSION}:");
        // Writing to a String cannot fail.
        mac.finalize()
            .into_bytes()
            .iter()
            .try_for_each(|byte| write!(text, "{byte:02x}"))
            .ok()?;
        EmailHash::try_from(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_and_the_key_does() {
        let hasher = EmailHasher::new(&[1; 32]);
        assert_eq!(hasher.hash(" Jane@Example.com "), hasher.hash("jane@example.com"));
        assert_ne!(
            hasher.hash("jane@example.com"),
            EmailHasher::new(&[2; 32]).hash("jane@example.com")
        );
        assert_eq!(
            hasher.hash("jane@example.com").unwrap().as_str().len(),
            "v1:".len() + 64
        );
    }
}
