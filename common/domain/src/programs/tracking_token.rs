//! Scopes of tracking tokens. The program's own token has all; a single server's has what it needs.

use crate::name::Name;

pub type TokenName = Name;

crate::text_enum! {
    /// One kind of request that a token may make. Every token may use test events, readiness and status.
    pub enum TokenScope {
        Sale = "sale",
        Refund = "refund",
        /// Leads in server mode.
        Lead = "lead",
        /// Setting the payment processor's account and webhook secret, while the program has none.
        Connect = "connect",
    }
}

impl TokenScope {
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of scopes. A set parsed from names has at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScopes(u8);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenScopesError {
    #[error("must not be empty")]
    Empty,
    #[error("names no scope: {0}")]
    Unknown(String),
}

crate::stored!(TokenScopes: Vec<String>, |names| Self::parse(names.iter().map(String::as_str)).ok());

impl TokenScopes {
    pub const ALL: Self = Self(
        TokenScope::Sale.bit()
            | TokenScope::Refund.bit()
            | TokenScope::Lead.bit()
            | TokenScope::Connect.bit(),
    );

    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, TokenScopesError> {
        let mut scopes = 0;
        for name in names {
            let scope = TokenScope::ALL.into_iter().find(|scope| scope.as_str() == name);
            scopes |= scope
                .ok_or_else(|| TokenScopesError::Unknown(name.to_owned()))?
                .bit();
        }
        if scopes == 0 {
            return Err(TokenScopesError::Empty);
        }
        Ok(Self(scopes))
    }

    pub const fn contain(self, scope: TokenScope) -> bool {
        self.0 & scope.bit() != 0
    }

    pub fn names(self) -> Vec<&'static str> {
        TokenScope::ALL
            .into_iter()
            .filter(|scope| self.contain(*scope))
            .map(TokenScope::as_str)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_what_was_named_and_no_more() {
        let scopes = TokenScopes::parse(["refund", "sale", "sale"]).unwrap();
        assert_eq!(scopes.names(), ["sale", "refund"]);
        assert!(scopes.contain(TokenScope::Sale) && scopes.contain(TokenScope::Refund));
        assert!(!scopes.contain(TokenScope::Lead) && !scopes.contain(TokenScope::Connect));
        assert_eq!(TokenScopes::parse(TokenScopes::ALL.names()), Ok(TokenScopes::ALL));
    }

    #[test]
    fn a_token_for_nothing_and_an_unknown_scope_are_refused() {
        assert_eq!(TokenScopes::parse([]), Err(TokenScopesError::Empty));
        for unknown in ["*", "SALE", "", "payout"] {
            let error = TokenScopesError::Unknown(unknown.to_owned());
            assert_eq!(TokenScopes::parse(["sale", unknown]), Err(error));
        }
    }
}
