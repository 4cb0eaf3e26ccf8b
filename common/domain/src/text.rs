//! Text from callers. PostgreSQL cannot store NUL in text, and each type has a maximum length.

use std::fmt;

use serde::{Deserialize, Serialize};

/// At least 1 and at most `MAX` characters (not bytes), without NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Text<const MAX: usize>(String);

/// Why a string is not a [`Text`]. Displayed after the name of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("must not be empty")]
    Empty,
    #[error("must not contain NUL characters")]
    Nul,
    #[error("must be at most {max} characters")]
    TooLong { max: usize },
}

impl<const MAX: usize> Text<MAX> {
    pub fn parse(text: &str) -> Result<Self, TextError> {
        Self::check(text)?;
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn check(text: &str) -> Result<(), TextError> {
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        if text.as_bytes().contains(&0) {
            return Err(TextError::Nul);
        }
        // A text has at least as many bytes as characters: characters are counted only beyond `MAX` bytes.
        if text.len() > MAX && text.chars().count() > MAX {
            return Err(TextError::TooLong { max: MAX });
        }
        Ok(())
    }
}

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        Self::check(&text)?;
        Ok(Self(text))
    }
}

impl<const MAX: usize> From<Text<MAX>> for String {
    fn from(text: Text<MAX>) -> Self {
        text.0
    }
}

#[cfg(feature = "sqlx")]
mod stored {
    use sqlx::postgres::{PgTypeInfo, PgValueRef};
    use sqlx::{Decode, Postgres, Type, error::BoxDynError};

    use super::Text;

    impl<const MAX: usize> Type<Postgres> for Text<MAX> {
        fn type_info() -> PgTypeInfo {
            <str as Type<Postgres>>::type_info()
        }

        fn compatible(stored: &PgTypeInfo) -> bool {
            <str as Type<Postgres>>::compatible(stored)
        }
    }

    impl<const MAX: usize> Decode<'_, Postgres> for Text<MAX> {
        fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
            Ok(Self::parse(<&str as Decode<Postgres>>::decode(value)?)?)
        }
    }
}

impl<const MAX: usize> AsRef<str> for Text<MAX> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text may be personal data (a customer key, the URL of a page): debug output shows only its size.
impl<const MAX: usize> fmt::Debug for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} bytes)", self.0.len())
    }
}

/// The advertiser's stable id of a user.
pub type CustomerKey = Text<255>;
/// The idempotency key of a sale, unique across all programs.
pub type TransactionId = Text<255>;
/// The processor's id of a subscription.
pub type SubscriptionId = Text<255>;
/// The advertiser's id of a product; selects a commission policy.
pub type ProductId = Text<255>;
/// The caller's idempotency key of one refund.
pub type RefundId = Text<255>;
pub type RefundReason = Text<1000>;
/// Short descriptive fields: session, language, screen size, event name.
pub type Label = Text<255>;
/// URLs, titles and user agents. The limit fits what browsers send, and keeps a caller from filling the disk.
pub type LongText = Text<8192>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_characters() {
        assert!(Text::<3>::parse("äöü").is_ok());
        assert_eq!(Text::<3>::parse("äöüß"), Err(TextError::TooLong { max: 3 }));
    }

    #[test]
    fn nul_and_nothing_are_refused() {
        assert_eq!(Text::<9>::parse("a\0b"), Err(TextError::Nul));
        assert_eq!(Text::<9>::parse(""), Err(TextError::Empty));
        assert!(serde_json::from_str::<Text<9>>("\"a\\u0000b\"").is_err());
    }

    #[test]
    fn debug_output_does_not_show_the_text() {
        assert_eq!(
            format!("{:?}", CustomerKey::parse("jane@example.com").unwrap()),
            "Text(16 bytes)"
        );
    }
}
