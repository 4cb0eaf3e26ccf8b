//! A partner's membership of a program, and the referral links whose short codes appear in URLs.

use std::fmt;

use crate::people::account::PersonName;
use crate::programs::outbound_event::OutboundEventType;
use crate::text::Text;

/// The name that the advertiser uses for a partner.
pub type PartnerName = PersonName;

pub type PartnerNote = Text<10_000>;

crate::text_enum! {
    /// The status of a membership. Only an approved membership earns, and only its links accept clicks.
    pub enum MembershipStatus {
        Pending = "pending",
        Approved = "approved",
        Suspended = "suspended",
    }
}

impl MembershipStatus {
    pub const fn event_type(self) -> OutboundEventType {
        match self {
            Self::Pending => OutboundEventType::PartnerApplied,
            Self::Approved => OutboundEventType::PartnerEnrolled,
            Self::Suspended => OutboundEventType::PartnerSuspended,
        }
    }
}

crate::text_enum! {
    pub enum LinkStatus {
        Active = "active",
        Inactive = "inactive",
    }
}

/// The `aff` value of a referral link. Its characters need no encoding in a URL, and case matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortCode(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 3 to 64 letters, digits, hyphens or underscores")]
pub struct ShortCodeError;

impl ShortCode {
    /// Digits that are not mistaken when a code is read aloud: 32 of them, so that bytes map evenly.
    const DIGITS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz123456789";

    pub fn parse(text: &str) -> Result<Self, ShortCodeError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if (3..=64).contains(&text.len()) && text.bytes().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ShortCodeError)
        }
    }

    /// A random code with five bits per digit.
    pub fn generate(random: [u8; 10]) -> Self {
        let digit = |byte: u8| Self::DIGITS.get(usize::from(byte % 32)).copied().map(char::from);
        Self(random.into_iter().filter_map(digit).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShortCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for status in MembershipStatus::ALL {
            assert_eq!(MembershipStatus::parse(status.as_str()), Some(status));
        }
        for status in [LinkStatus::Active, LinkStatus::Inactive] {
            assert_eq!(LinkStatus::parse(status.as_str()), Some(status));
        }
        assert_eq!(MembershipStatus::parse("Approved"), None);
    }

    #[test]
    fn codes_are_plain_and_neither_short_nor_long() {
        for good in ["ada", "Ada_Summer-26", &"x".repeat(64)] {
            assert!(ShortCode::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "ab",
            "a b",
            "a/b",
            "a%b",
            "jörg",
            "a.b",
            "a\0b",
            &"x".repeat(65),
        ] {
            assert!(ShortCode::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_code_made_up_is_one() {
        for random in [[0; 10], [255; 10], [31, 32, 33, 63, 64, 90, 128, 200, 254, 7]] {
            let code = ShortCode::generate(random);
            assert_eq!(ShortCode::parse(code.as_str()), Ok(code));
        }
        assert_ne!(ShortCode::generate([0; 10]), ShortCode::generate([1; 10]));
    }
}
