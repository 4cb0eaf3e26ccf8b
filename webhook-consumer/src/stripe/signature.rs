//! `Stripe-Signature`: proves that the sender knows the endpoint's secret, and that the request is not a
//! replay.
//!
//! `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, where each v1 is HMAC-SHA-256 over `<t>.<body>`. Its key is the
//! secret as written, including `whsec_`. During a rotation there are several secrets and signatures, and one
//! match is enough. Other schemes (v0, of test events) are ignored.

use chrono::{DateTime, TimeDelta, Utc};
use domain::processors::processor::WebhookSecret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Applies in both directions: clocks differ, and an older request may be a replay.
const TOLERANCE: TimeDelta = TimeDelta::seconds(300);
/// One signature for each secret in rotation. More would be guesses.
const MAX_SIGNATURES: usize = 8;
/// Digits of seconds since 1970, well beyond any clock.
const MAX_TIMESTAMP_DIGITS: usize = 12;
const DIGEST_BYTES: usize = 32;

/// Why a signature is rejected. The answer depends only on the request, never on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("Stripe-Signature header is required")]
    Missing,
    #[error("Stripe-Signature header is malformed")]
    Malformed,
    #[error("Stripe-Signature header has no v1 signature")]
    NoSignature,
    #[error("Stripe-Signature header has too many signatures")]
    TooManySignatures,
    #[error("Stripe-Signature header is older or newer than 300 seconds")]
    OutsideTolerance,
    #[error("Stripe-Signature does not match the request body")]
    Mismatch,
}

/// A well-formed header, not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureHeader<'a> {
    /// As sent, because this text is part of the signed payload.
    timestamp: &'a str,
    signed_at: DateTime<Utc>,
    signatures: Vec<[u8; DIGEST_BYTES]>,
}

impl<'a> SignatureHeader<'a> {
    pub fn parse(header: &'a str) -> Result<Self, SignatureError> {
        let mut timestamp = None;
        let mut signatures = Vec::new();
        for item in header.split(',') {
            let (scheme, value) = item.split_once('=').ok_or(SignatureError::Malformed)?;
            match scheme {
                "t" if timestamp.is_some() => return Err(SignatureError::Malformed),
                "t" => timestamp = Some(value),
                "v1" if signatures.len() == MAX_SIGNATURES => return Err(SignatureError::TooManySignatures),
                "v1" => signatures.push(digest(value).ok_or(SignatureError::Malformed)?),
                _ => {}
            }
        }
        let timestamp = timestamp.ok_or(SignatureError::Malformed)?;
        if signatures.is_empty() {
            return Err(SignatureError::NoSignature);
        }
        Ok(Self {
            timestamp,
            signed_at: instant(timestamp).ok_or(SignatureError::Malformed)?,
            signatures,
        })
    }

    /// Verifies that the body was signed recently with one of `secrets`.
    pub fn verify(
        &self,
        body: &[u8],
        secrets: &[WebhookSecret],
        now: DateTime<Utc>,
    ) -> Result<(), SignatureError> {
        self.is_recent(now)?;
        let matches = |secret: &str| self.matches(body, secret);
        let known = if secrets.is_empty() {
            // Does the same work as for an endpoint that exists.
            matches("");
            false
        } else {
            secrets.iter().any(|secret| matches(secret.expose()))
        };
        known.then_some(()).ok_or(SignatureError::Mismatch)
    }

    /// Whether the signature is recent. Checked before any secret is looked up.
    pub fn is_recent(&self, now: DateTime<Utc>) -> Result<(), SignatureError> {
        if (now - self.signed_at).abs() > TOLERANCE {
            return Err(SignatureError::OutsideTolerance);
        }
        Ok(())
    }

    fn matches(&self, body: &[u8], secret: &str) -> bool {
        // HMAC takes keys of any length, so this never fails.
        let Ok(keyed) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
            return false;
        };
        let signed = keyed
            .chain_update(self.timestamp)
            .chain_update(b".")
            .chain_update(body);
        // Compares in constant time.
        self.signatures
            .iter()
            .any(|signature| signed.clone().verify_slice(signature).is_ok())
    }
}

fn instant(timestamp: &str) -> Option<DateTime<Utc>> {
    let is_number = (1..=MAX_TIMESTAMP_DIGITS).contains(&timestamp.len())
        && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    DateTime::from_timestamp(timestamp.parse().ok()?, 0)
}

fn digest(hex: &str) -> Option<[u8; DIGEST_BYTES]> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if pairs.len() != DIGEST_BYTES || !rest.is_empty() {
        return None;
    }
    let nibble = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let mut digest = [0; DIGEST_BYTES];
    for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests;
