//! `Authorization`: a simple parser finds the same credential, and its hash is that of the token as sent.

use axum::http::{HeaderMap, HeaderValue, header};
use domain::token::{ManagementKey, ProgramToken, SessionToken};
use ingest::reading::Credential;
use sha2::{Digest, Sha256};

/// The header's bytes; `{program}`, `{management}` and `{session}` are replaced by valid tokens, which fuzzing would not find.
pub fn run(bytes: &[u8]) {
    let tokens = [
        ("{program}", ProgramToken::generate([7; 32]).expose().to_owned()),
        (
            "{management}",
            ManagementKey::generate([7; 32]).expose().to_owned(),
        ),
        ("{session}", SessionToken::generate([7; 32]).expose().to_owned()),
    ];
    let mut bytes = bytes.to_vec();
    if let Ok(mut text) = String::from_utf8(bytes.clone()) {
        for (name, token) in &tokens {
            text = text.replace(name, token);
        }
        bytes = text.into_bytes();
    }
    let Ok(value) = HeaderValue::from_bytes(&bytes) else {
        return;
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, value);
    let token = token(&bytes);
    let hashed = |token: Option<String>| -> [u8; 32] { Sha256::digest(token.unwrap_or_default()).into() };
    match Credential::of(&headers) {
        Credential::MissingOrMalformed => assert_eq!(token, None),
        Credential::EmptyToken => assert_eq!(token.as_deref(), Some("")),
        Credential::Unusable => {
            let token = token.expect("a token is there");
            assert!(!token.is_empty() && tokens.iter().all(|(_, good)| *good != token));
        }
        Credential::Program(hash) => {
            assert!(token.clone().is_some_and(|token| token.starts_with("aff_")));
            assert_eq!(*hash.as_bytes(), hashed(token));
        }
        Credential::Management(hash) => {
            assert!(token.clone().is_some_and(|token| token.starts_with("affk_")));
            assert_eq!(*hash.as_bytes(), hashed(token));
        }
        Credential::Session(hash) => {
            assert!(token.clone().is_some_and(|token| token.starts_with("affs_")));
            assert_eq!(*hash.as_bytes(), hashed(token));
        }
    }
    // Two headers are never a credential.
    let again = headers[header::AUTHORIZATION].clone();
    headers.append(header::AUTHORIZATION, again);
    assert_eq!(Credential::of(&headers), Credential::MissingOrMalformed);
}

/// The text after `Bearer`; `None` for another scheme.
fn token(bytes: &[u8]) -> Option<String> {
    let printable = |byte: &u8| *byte == b'\t' || (32..127).contains(byte);
    if bytes.len() < 6 || !bytes.iter().all(printable) || !bytes[..6].eq_ignore_ascii_case(b"bearer") {
        return None;
    }
    if bytes.len() > 6 && bytes[6] != b' ' {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes[6..]).trim().to_owned())
}
