//! `Idempotency-Key`: a caller's own name for an order, so that the same order sent again has the first answer.

use axum::http::HeaderMap;
use domain::text::Text;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::http::error::ApiError;
use crate::http::field::refused;

/// The name, and the hash of what was ordered under it.
#[derive(Debug)]
pub struct IdempotencyKey {
    pub key: Text<200>,
    pub request_hash: [u8; 32],
}

impl IdempotencyKey {
    /// `asked` is the same for requests that ask for the same, however they are written.
    pub fn read(headers: &HeaderMap, asked: &Value) -> Result<Option<Self>, ApiError> {
        let Some(key) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let key = key.to_str().ok().and_then(|key| Text::parse(key).ok());
        let key = key.ok_or_else(|| refused("Idempotency-Key", "must be 1 to 200 plain characters"))?;
        let request_hash = Sha256::digest(asked.to_string()).into();
        Ok(Some(Self { key, request_hash }))
    }

    /// Refuses another order than the one that was made under the key; of an old one the hash may be unknown.
    pub fn check(&self, made: Option<&[u8]>) -> Result<(), ApiError> {
        if made.is_some_and(|hash| hash != self.request_hash) {
            return Err(ANOTHER_REQUEST);
        }
        Ok(())
    }
}

pub const ANOTHER_REQUEST: ApiError = ApiError::Conflict("This Idempotency-Key was used for another request");
