//! The settings of a program and their ranges.

use std::fmt;

use crate::earnings::commission::{HoldPeriod, NeedsApproval, SelfReferrals};
use crate::money::Currency;
use crate::name::Name;
use crate::people::account::EmailAddress;
use crate::text::Text;
use crate::tracking::attribution::{AttributionModel, AttributionWindow};
use crate::tracking::lead::LeadAuth;

pub type ProgramName = Name;
pub type Description = Text<2000>;

/// Everything that an advertiser can set for a program, except commission policies and credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramSettings {
    pub name: ProgramName,
    pub slug: Slug,
    pub description: Option<Description>,
    pub domain: Option<Domain>,
    /// The currency of fixed commissions. Percentage commissions have the sale's currency.
    pub currency: Currency,
    pub attribution_model: AttributionModel,
    pub attribution_window: AttributionWindow,
    pub cookie_window: CookieWindow,
    pub lead_auth: LeadAuth,
    pub hold: HoldPeriod,
    pub needs_approval: NeedsApproval,
    pub self_referrals: SelfReferrals,
    pub partner_link_limit: PartnerLinkLimit,
    /// Crawlers and link previews change neither counters nor attribution. Off by default: in the contract
    /// every recorded click counts.
    pub exclude_bots: bool,
    /// Shown in e-mails to partners and on their pages.
    pub logo_url: Option<LogoUrl>,
    /// Used on the partners' pages.
    pub color: Option<Color>,
    /// The address for replies to e-mails to partners.
    pub reply_to: Option<EmailAddress>,
}

impl ProgramSettings {
    /// The contract's default settings.
    pub fn new(name: ProgramName, slug: Slug) -> Self {
        Self {
            name,
            slug,
            description: None,
            domain: None,
            currency: Currency::default(),
            attribution_model: AttributionModel::LastClick,
            attribution_window: AttributionWindow::DEFAULT,
            cookie_window: CookieWindow::DEFAULT,
            lead_auth: LeadAuth::AnyCaller,
            hold: HoldPeriod::DEFAULT,
            needs_approval: NeedsApproval::None,
            self_referrals: SelfReferrals::Flag,
            partner_link_limit: PartnerLinkLimit::DEFAULT,
            exclude_bots: false,
            logo_url: None,
            color: None,
            reply_to: None,
        }
    }
}

crate::text_enum! {
    pub enum ProgramStatus {
        /// In set-up. A draft accepts events like a live program, so that an integration can be tested.
        Draft = "draft",
        Live = "live",
        /// The program's key and links no longer work. Its debts to partners remain.
        Archived = "archived",
    }
}

/// A program's name in URLs: words of lower-case letters and digits, joined by single hyphens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be lower-case letters and digits joined by single hyphens, at most 80 characters")]
pub struct SlugError;

crate::stored!(Slug: &str, |text| Self::parse(text).ok());

impl Slug {
    const MAX: usize = 80;

    pub fn parse(text: &str) -> Result<Self, SlugError> {
        let word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.len() <= Self::MAX && text.split('-').all(word) {
            Ok(Self(text.to_owned()))
        } else {
            Err(SlugError)
        }
    }

    /// A slug made from a name. The random `digits` at its end distinguish programs of the same name.
    pub fn of_name(name: &str, digits: u32) -> Self {
        let mut slug = String::new();
        for word in name.to_lowercase().split(|c: char| !c.is_ascii_alphanumeric()) {
            if !word.is_empty() && slug.len() + word.len() < 60 {
                slug.push_str(word);
                slug.push('-');
            }
        }
        Self(format!("{slug}{:06}", digits % 1_000_000))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A lower-case host name of the advertiser's website.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct Domain(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a host name such as shop.example")]
pub struct DomainError;

impl Domain {
    /// Parses a host name. People paste whole addresses, so a scheme and a path are removed.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let text = text.trim();
        let text = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"))
            .unwrap_or(text);
        let host = text.split('/').next().unwrap_or_default();
        // The URL parser also converts international names to ASCII.
        let parsed = url::Url::parse(&format!("https://{host}/")).map_err(|_| DomainError)?;
        let name = parsed.domain().ok_or(DomainError)?;
        let plain = parsed.port().is_none() && parsed.username().is_empty() && parsed.password().is_none();
        if plain && parsed.path() == "/" && name.len() <= 253 {
            Ok(Self(name.to_owned()))
        } else {
            Err(DomainError)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The URL of a program's logo, which mail programs load: https, at most 500 ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoUrl(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an https: address of a picture, without user and password, of at most 500 characters")]
pub struct LogoUrlError;

crate::stored!(LogoUrl: &str, |text| Self::parse(text).ok());

impl LogoUrl {
    const MAX: usize = 500;

    pub fn parse(text: &str) -> Result<Self, LogoUrlError> {
        let url = url::Url::parse(text.trim()).map_err(|_| LogoUrlError)?;
        let plain = url.username().is_empty() && url.password().is_none();
        // Check the normalised text: the parser drops line breaks and encodes non-ASCII characters.
        let text = url.as_str();
        let fits = text.len() <= Self::MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        if url.scheme() == "https" && url.domain().is_some() && plain && fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(LogoUrlError)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A colour as `#rrggbb`, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a colour such as #0f6259")]
pub struct ColorError;

crate::stored!(Color: &str, |text| Self::parse(text).ok());

impl Color {
    pub fn parse(text: &str) -> Result<Self, ColorError> {
        let digits = text.strip_prefix('#').ok_or(ColorError)?;
        if digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            u32::from_str_radix(digits, 16).map(Self).map_err(|_| ColorError)
        } else {
            Err(ColorError)
        }
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:06x}", self.0)
    }
}

crate::bounded::bounded! {
    /// Days that a browser keeps the click's cookie.
    CookieWindow { days: u16 }, 1..=365, default 90
}

crate::bounded::bounded! {
    /// Referral links that a partner may create. With 0, partners create none.
    PartnerLinkLimit { links: u8 }, 0..=100, default 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logos_are_fetched_over_https_only() {
        for (given, stored) in [
            ("https://shop.example/logo.png", "https://shop.example/logo.png"),
            (
                " https://shop.example/\r\nlogo.png ",
                "https://shop.example/logo.png",
            ),
            (
                "https://shöp.example/ä.png",
                "https://xn--shp-tna.example/%C3%A4.png",
            ),
            (
                "https://shop.example/\"><script>",
                "https://shop.example/%22%3E%3Cscript%3E",
            ),
        ] {
            assert_eq!(LogoUrl::parse(given).unwrap().as_str(), stored);
        }
        let long = format!("https://shop.example/{}", "a".repeat(500));
        for bad in [
            "",
            "shop.example/logo.png",
            "http://shop.example/logo.png",
            "javascript:alert(1)",
            "data:image/png;base64,AAAA",
            "https://user:pass@shop.example/logo.png",
            "https://192.0.2.7/logo.png",
            &long,
        ] {
            assert_eq!(LogoUrl::parse(bad), Err(LogoUrlError), "{bad}");
        }
    }

    #[test]
    fn colours_are_six_digits_after_a_hash() {
        for (given, shown) in [("#0F6259", "#0f6259"), ("#000000", "#000000")] {
            assert_eq!(Color::parse(given).unwrap().to_string(), shown);
        }
        for bad in [
            "", "0f6259", "#fff", "#0f62590", "#0f625g", "#+f6259", "red", "#éé12",
        ] {
            assert_eq!(Color::parse(bad), Err(ColorError), "{bad}");
        }
    }

    #[test]
    fn slugs_are_plain_words() {
        for good in ["a", "acme-2", "0-1-2"] {
            assert!(Slug::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "a--b", "Acme", "a b", "ä", &"a".repeat(81)] {
            assert!(Slug::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_slug_made_of_a_name_is_one() {
        for name in [
            "Acme & Söhne",
            "",
            "   ",
            "日本",
            &"word ".repeat(100),
            &"x".repeat(300),
        ] {
            let slug = Slug::of_name(name, 4_000_000_007);
            assert_eq!(Slug::parse(slug.as_str()), Ok(slug));
        }
        assert_eq!(Slug::of_name("Acme & Sons", 42).as_str(), "acme-sons-000042");
    }

    #[test]
    fn domains_are_host_names_however_they_are_pasted() {
        for (given, name) in [
            ("shop.example", "shop.example"),
            (" https://Shop.Example/path?x=1 ", "shop.example"),
            ("münchen.example", "xn--mnchen-3ya.example"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(Domain::parse(given).unwrap().as_str(), name);
        }
        for bad in [
            "",
            "a b",
            "user@shop.example",
            "shop.example:8080",
            "127.0.0.1",
            "[::1]",
            "javascript:x",
            "?",
        ] {
            assert!(Domain::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cookie_days_have_a_range() {
        assert_eq!((CookieWindow::new(0), CookieWindow::new(366)), (None, None));
        assert_eq!(CookieWindow::new(365).map(CookieWindow::days), Some(365));
    }
}
