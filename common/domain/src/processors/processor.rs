//! A program's account at its payment processor, and the signing secret of its webhooks.

use std::str::FromStr;

use chrono::TimeDelta;

use crate::ids::ProgramId;
use crate::text::Text;

/// The processor's id of an account or of a webhook endpoint.
pub type ProcessorId = Text<255>;

crate::text_enum! {
    pub enum ConnectionStatus {
        /// Started, but not finished.
        Pending = "pending",
        Connected = "connected",
        /// Ended by the advertiser or by the processor.
        Disconnected = "disconnected",
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 16 to 255 visible ASCII characters")]
pub struct WebhookSecretError;

impl WebhookSecret {
    const LENGTH: std::ops::RangeInclusive<usize> = 16..=255;

    pub fn parse(text: &str) -> Result<Self, WebhookSecretError> {
        let text = text.trim();
        if Self::LENGTH.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(WebhookSecretError)
        }
    }

    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The last characters, which lists show to distinguish two secrets.
    pub fn last_four(&self) -> &str {
        self.0.get(self.0.len().saturating_sub(4)..).unwrap_or_default()
    }

    /// Context under which a program's secret is [sealed](crate::sealed).
    pub fn purpose(program_id: ProgramId) -> Vec<u8> {
        format!("webhook secret of program {program_id}").into_bytes()
    }
}

impl FromStr for WebhookSecret {
    type Err = WebhookSecretError;

    fn from_str(text: &str) -> Result<Self, WebhookSecretError> {
        Self::parse(text)
    }
}

crate::redacted!(WebhookSecret);

/// How long a rotation keeps the previous secret valid, because webhooks in flight are signed with it.
/// 0..=168 hours, by default 24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    hours: u8,
}

impl Overlap {
    pub const DEFAULT: Self = Self { hours: 24 };

    pub const fn new(hours: u8) -> Option<Self> {
        if hours <= 168 { Some(Self { hours }) } else { None }
    }

    pub const fn is_none(self) -> bool {
        self.hours == 0
    }

    pub fn duration(self) -> TimeDelta {
        TimeDelta::hours(i64::from(self.hours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_visible_ascii_of_some_length() {
        assert_eq!(
            WebhookSecret::parse(" whsec_0123456789\n").unwrap().last_four(),
            "6789"
        );
        for text in ["", "whsec_012345678", "whsec_0123456789 x", "whsec_012345678ä"] {
            assert_eq!(WebhookSecret::parse(text), Err(WebhookSecretError), "{text:?}");
        }
        assert!(WebhookSecret::parse(&"x".repeat(256)).is_err());
    }

    #[test]
    fn debug_shows_no_secret() {
        let secret = WebhookSecret::parse("whsec_0123456789").unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
    }

    #[test]
    fn an_overlap_is_a_week_at_most() {
        assert_eq!(Overlap::DEFAULT.duration(), TimeDelta::days(1));
        assert_eq!(Overlap::new(168).unwrap().duration(), TimeDelta::weeks(1));
        assert!(Overlap::new(0).unwrap().is_none() && Overlap::new(169).is_none());
    }
}
