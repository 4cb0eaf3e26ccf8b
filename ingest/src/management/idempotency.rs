//! `Idempotency-Key`: a caller's own name for a request. The same request sent again gets the first answer.

use axum::http::HeaderMap;
use domain::text::Text;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::http::field::refused;
use crate::management::prelude::*;

#[derive(Debug)]
pub struct IdempotencyKey {
    pub key: Text<200>,
    pub request_hash: [u8; 32],
}

impl IdempotencyKey {
    /// `asked` must be equal for requests that ask for the same, however their bodies are written.
    pub fn read(headers: &HeaderMap, asked: &Value) -> Result<Option<Self>, ApiError> {
        let Some(key) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let key = key.to_str().ok().and_then(|key| Text::parse(key).ok());
        let key = key.ok_or_else(|| refused("Idempotency-Key", "must be 1 to 200 plain characters"))?;
        let request_hash = Sha256::digest(asked.to_string()).into();
        Ok(Some(Self { key, request_hash }))
    }

    /// Refuses a request that differs from the first one under the key. The hash of an old request may be
    /// unknown.
    pub fn check(&self, made: Option<&[u8]>) -> Result<(), ApiError> {
        if made.is_some_and(|hash| hash != self.request_hash) {
            return Err(ANOTHER_REQUEST);
        }
        Ok(())
    }
}

pub const ANOTHER_REQUEST: ApiError = ApiError::Conflict("This Idempotency-Key was used for another request");
