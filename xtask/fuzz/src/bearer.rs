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
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.clone())]);
    let mut two_headers = headers.clone();
    two_headers.append(header::AUTHORIZATION, value);
    assert_eq!(Credential::of(&two_headers), Credential::MissingOrMalformed);
    let token = token(&bytes);
    let (prefix, hash) = match Credential::of(&headers) {
        Credential::MissingOrMalformed => return assert_eq!(token, None),
        Credential::EmptyToken => return assert_eq!(token.as_deref(), Some("")),
        Credential::Unusable => {
            let token = token.expect("a token is there");
            return assert!(!token.is_empty() && tokens.iter().all(|(_, good)| *good != token));
        }
        Credential::Program(hash) => ("aff_", hash),
        Credential::Management(hash) => ("affk_", hash),
        Credential::Session(hash) => ("affs_", hash),
    };
    let token = token.expect("a token is there");
    assert!(token.starts_with(prefix));
    let expected: [u8; 32] = Sha256::digest(token).into();
    assert_eq!(*hash.as_bytes(), expected);
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
