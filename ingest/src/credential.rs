//! The `Authorization` header of the tracking routes.

use axum::http::{HeaderMap, header};

/// What a caller put into `Authorization`.
#[derive(Debug, PartialEq, Eq)]
pub enum BearerHeader<'a> {
    /// No header, another scheme, several headers, or bytes that are no text.
    MissingOrMalformed,
    /// `Bearer` and nothing after it.
    EmptyToken,
    Token(&'a str),
}

impl<'a> BearerHeader<'a> {
    pub fn of(headers: &'a HeaderMap) -> Self {
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
            (true, token) => Self::Token(token),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&'static str]) -> BearerHeader<'static> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        BearerHeader::of(Box::leak(Box::new(headers)))
    }

    #[test]
    fn scheme_token_and_their_absence_are_told_apart() {
        assert_eq!(of(&[]), BearerHeader::MissingOrMalformed);
        assert_eq!(of(&["Basic abc"]), BearerHeader::MissingOrMalformed);
        assert_eq!(of(&["Bearerabc"]), BearerHeader::MissingOrMalformed);
        assert_eq!(of(&["Bearer a", "Bearer b"]), BearerHeader::MissingOrMalformed);
        assert_eq!(of(&["Bearer"]), BearerHeader::EmptyToken);
        assert_eq!(of(&["Bearer   "]), BearerHeader::EmptyToken);
        assert_eq!(of(&["bearer abc"]), BearerHeader::Token("abc"));
    }
}
