//! The visitor of a click: software from the user agent, location from the IP address.
//!
//! The click step derives them once and stores them with the click event. They do not affect money, except
//! that a program may exclude bots from its counters and its attribution.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::Label;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visitor {
    /// Shared, because the same user agents occur again and again.
    pub software: Arc<Software>,
    pub place: Place,
}

impl Visitor {
    pub fn is_bot(&self) -> bool {
        self.software.device_type == Some(DeviceType::Bot)
    }
}

/// Parsed from a user agent; `None` if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Software {
    pub device_type: Option<DeviceType>,
    /// Family without version, such as `iOS`.
    pub device_os: Option<Label>,
    /// Family without version, such as `Mobile Safari`.
    pub browser_name: Option<Label>,
}

crate::text_enum! {
    pub enum DeviceType {
        Desktop = "desktop",
        Mobile = "mobile",
        Tablet = "tablet",
        Tv = "tv",
        /// Crawlers, and services that fetch a page for a link preview.
        Bot = "bot",
    }
}

/// The place of an IP address. Parts that the source does not know are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub country: Option<CountryCode>,
    /// English name of the largest subdivision.
    pub region: Option<Label>,
    /// English name.
    pub city: Option<Label>,
}

/// ISO 3166-1 alpha-2, upper-case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CountryCode([u8; 2]);

/// The text is not two letters, or the code for an unknown country.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a country must be two letters of ISO 3166-1")]
pub struct CountryCodeError;

impl CountryCode {
    /// Accepts lower case. `None` for the codes that content delivery networks send instead of a country:
    /// `XX` for an unknown country, `T1` for Tor.
    pub fn parse(text: &str) -> Option<Self> {
        let letters: [u8; 2] = text.as_bytes().try_into().ok()?;
        let code = letters.map(|letter| letter.to_ascii_uppercase());
        (code.iter().all(u8::is_ascii_uppercase) && code != *b"XX").then_some(Self(code))
    }

    pub fn as_str(&self) -> &str {
        // Two ASCII letters are always valid UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl TryFrom<String> for CountryCode {
    type Error = CountryCodeError;

    fn try_from(text: String) -> Result<Self, CountryCodeError> {
        Self::parse(&text).ok_or(CountryCodeError)
    }
}

impl From<CountryCode> for String {
    fn from(country: CountryCode) -> Self {
        country.as_str().to_owned()
    }
}

/// The visitor's IP address, on its way to the location lookup: never stored, never in debug output.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientIp(IpAddr);

impl ClientIp {
    pub const fn new(address: IpAddr) -> Self {
        Self(address)
    }

    /// The IPv4 address, even if it arrived as an IPv4-mapped IPv6 address.
    pub fn canonical(self) -> IpAddr {
        self.0.to_canonical()
    }
}

crate::redacted!(ClientIp);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_country_is_two_letters_that_name_one() {
        assert_eq!(CountryCode::parse("de").unwrap().as_str(), "DE");
        for text in ["", "D", "DEU", "T1", "XX", "xx", "é", "D\0"] {
            assert_eq!(CountryCode::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_address_is_not_shown() {
        let ip = ClientIp::new("203.0.113.9".parse().unwrap());
        assert_eq!(format!("{ip:?}"), "ClientIp");
    }

    #[test]
    fn ipv4_within_ipv6_is_ipv4() {
        let ip = ClientIp::new("::ffff:203.0.113.9".parse().unwrap());
        assert_eq!(ip.canonical().to_string(), "203.0.113.9");
    }

    proptest! {
        #[test]
        fn a_country_survives_the_wire(text in "[a-zA-Z]{2}") {
            if let Some(country) = CountryCode::parse(&text) {
                let wire = serde_json::to_string(&country).unwrap();
                prop_assert_eq!(serde_json::from_str::<CountryCode>(&wire).unwrap(), country);
            }
        }
    }
}
