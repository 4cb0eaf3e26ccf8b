//! The `Authorization` header, read and hashed once for each request. The limits count by the hash, and the
//! caller is looked up by it.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use domain::token::{CredentialKind, ManagementKey, ProgramToken, SessionToken, TokenHash};

/// The content of `Authorization`. Only the token's hash leaves this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// No header, another scheme, several headers, or bytes that are not text.
    MissingOrMalformed,
    /// `Bearer` without a token.
    EmptyToken,
    /// A token of no known form: rejected without a lookup.
    Unusable,
    /// A well-formed tracking token of a program.
    Program(TokenHash),
    /// A well-formed management key.
    Management(TokenHash),
    /// A well-formed session token.
    Session(TokenHash),
}

impl Credential {
    pub fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Self::MissingOrMalformed;
        };
        let Ok(value) = value.to_str() else {
            return Self::MissingOrMalformed;
        };
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        match (scheme.eq_ignore_ascii_case("bearer"), token.trim()) {
            (false, _) => Self::MissingOrMalformed,
            (true, "") => Self::EmptyToken,
            (true, token) => Self::of_token(token).unwrap_or(Self::Unusable),
        }
    }

    fn of_token(token: &str) -> Option<Self> {
        Some(match CredentialKind::of(token)? {
            CredentialKind::ProgramToken => Self::Program(ProgramToken::parse(token)?.hash()),
            CredentialKind::ManagementKey => Self::Management(ManagementKey::parse(token)?.hash()),
            CredentialKind::Session => Self::Session(SessionToken::parse(token)?.hash()),
        })
    }

    /// The credential that the rate limit has read.
    pub fn from_extensions(request: &Request) -> Self {
        let read = request.extensions().get().copied();
        read.unwrap_or(Self::MissingOrMalformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Credential {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        Credential::of(&headers)
    }

    #[test]
    fn scheme_token_and_their_absence_are_told_apart() {
        for values in [
            &[][..],
            &["Basic abc"],
            &["Bearerabc"],
            &["Bearer\tabc"],
            &["Bearer a", "Bearer b"],
            &["Bearer \u{e4}"],
        ] {
            assert_eq!(of(values), Credential::MissingOrMalformed, "{values:?}");
        }
        for empty in ["Bearer", "Bearer   ", "bearer \t"] {
            assert_eq!(of(&[empty]), Credential::EmptyToken, "{empty:?}");
        }
        for unusable in ["bearer abc", "Bearer affk_0123456789", "Bearer aff_0 aff_1"] {
            assert_eq!(of(&[unusable]), Credential::Unusable, "{unusable:?}");
        }
    }

    #[test]
    fn a_token_is_the_same_however_it_is_introduced() {
        let token = ProgramToken::generate([7; 32]);
        for scheme in ["Bearer ", "bearer ", "BEARER   ", "Bearer \t"] {
            let value = format!("{scheme}{}", token.expose());
            assert_eq!(of(&[&value]), Credential::Program(token.hash()), "{scheme:?}");
        }
    }

    #[test]
    fn each_kind_is_known_by_its_prefix() {
        let (key, session) = (ManagementKey::generate([7; 32]), SessionToken::generate([7; 32]));
        let of_token = |token: &str| of(&[&format!("Bearer {token}")]);
        assert_eq!(of_token(key.expose()), Credential::Management(key.hash()));
        assert_eq!(of_token(session.expose()), Credential::Session(session.hash()));
    }
}
