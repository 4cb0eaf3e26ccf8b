//! Credentials of an account: an address and a password.

use argon2::password_hash::phc::PasswordHash as Phc;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use zxcvbn::{Score, zxcvbn};

use unicode_normalization::UnicodeNormalization;

use crate::name::{Name, is_hidden};
use crate::text::{Text, TextError};

pub type PersonName = Name;

/// An e-mail address, trimmed and in lower case, so that one address has one spelling. It is converted here,
/// because PostgreSQL's `lower` depends on the database's collation. Only a message to the address can show
/// whether it exists.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailAddress(Text<254>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an e-mail address")]
pub struct EmailError;

crate::stored!(redacted EmailAddress: &str, |text| Self::parse(text).ok());

impl EmailAddress {
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        let text = text.trim();
        let (local, domain) = text.rsplit_once('@').ok_or(EmailError)?;
        let plain = |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || is_hidden(c));
        if !plain(local) || !plain(domain) || domain.starts_with('.') || domain.ends_with('.') {
            return Err(EmailError);
        }
        Text::try_from(folded(text))
            .map(Self)
            .map_err(|_: TextError| EmailError)
    }

    /// An address for outgoing e-mail. It must not be a list, a quoted text or a name with an address. Stored
    /// addresses and search terms are checked less strictly.
    pub fn for_sending(text: &str) -> Result<Self, EmailError> {
        let address = Self::parse(text)?;
        let (local, domain) = address.as_str().rsplit_once('@').ok_or(EmailError)?;
        let is_atom = |atom: &str| {
            let mut characters = atom.chars();
            !atom.is_empty() && characters.all(|c| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c))
        };
        let is_label = |label: &str| {
            let is_dashed = label.starts_with('-') || label.ends_with('-');
            let is_plain = label.chars().all(|c| c.is_alphanumeric() || c == '-');
            (1..=63).contains(&label.len()) && is_plain && !is_dashed
        };
        if local.len() <= 64 && local.split('.').all(is_atom) && domain.split('.').all(is_label) {
            Ok(address)
        } else {
            Err(EmailError)
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Lower case by character: the lower case of a character must not depend on its neighbours.
fn folded(text: &str) -> String {
    text.nfc().flat_map(char::to_lowercase).nfc().collect()
}

crate::redacted!(EmailAddress);

#[derive(Clone)]
pub struct Password(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("must have 10 to 128 characters")]
    Length,
    #[error("is too easy to guess: take several words that have nothing to do with each other")]
    Guessable,
}

impl Password {
    const LENGTH: std::ops::RangeInclusive<usize> = 10..=128;

    /// A new password: long, and not among the passwords that attackers try first. The kinds of its
    /// characters do not matter.
    ///
    /// `personal` holds words that an attacker may know about the owner, such as name and address. They do
    /// not make a password stronger.
    pub fn choose(text: String, personal: &[&str]) -> Result<Self, PasswordError> {
        if !Self::LENGTH.contains(&text.chars().count()) {
            return Err(PasswordError::Length);
        }
        let words = personal
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        let known: Vec<&str> = personal.iter().copied().chain(words).collect();
        // The crate has lists of common passwords, names and words. `Three` means at least 10^8 guesses.
        if zxcvbn(&text, &known).score() < Score::Three {
            return Err(PasswordError::Guessable);
        }
        Ok(Self(text))
    }

    /// A password for verification, without the rules for new ones. `None` if it is longer than any password
    /// can be: hashing takes time in proportion to the length.
    pub fn claim(text: String) -> Option<Self> {
        (text.chars().count() <= *Self::LENGTH.end()).then_some(Self(text))
    }

    /// A generated password: 120 random bits, in letters and digits that are not mistaken for each other.
    pub fn generate(random: [u8; 24]) -> Self {
        Self(random.map(plain_digit).iter().collect())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Maps five bits to a letter or digit that is not mistaken for another.
pub fn plain_digit(byte: u8) -> char {
    const DIGITS: [char; 32] = [
        'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'm', 'n', 'p', 'q', 'r', 's', 't', 'u', 'v',
        'w', 'x', 'y', 'z', '2', '3', '4', '5', '6', '7', '8', '9',
    ];
    DIGITS.get(usize::from(byte % 32)).copied().unwrap_or('a')
}

crate::redacted!(Password);

/// The argon2id hash of a password (19 MiB, two passes), in the PHC string format with salt and parameters.
///
/// This takes tens of milliseconds of a core: never make or check a hash on a thread that others wait for.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct PasswordHash(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the password could not be hashed")]
pub struct HashingFailed;

impl PasswordHash {
    /// `salt` must come from a cryptographic source.
    pub fn of(password: &Password, salt: [u8; 16]) -> Result<Self, HashingFailed> {
        let hash: Phc = Argon2::default()
            .hash_password_with_salt(password.expose().as_bytes(), &salt)
            .map_err(|_| HashingFailed)?;
        Ok(Self(hash.to_string()))
    }

    /// A hash that no password matches. Checking it takes as long as checking a hash made by [`Self::of`].
    pub fn decoy() -> Self {
        let (salt, hash) = ("A".repeat(22), "A".repeat(43));
        Self(format!("$argon2id$v=19$m=19456,t=2,p=1${salt}${hash}"))
    }

    pub const fn stored(phc: String) -> Self {
        Self(phc)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn matches(&self, password: &Password) -> bool {
        Argon2::default()
            .verify_password(password.expose().as_bytes(), self.0.as_str())
            .is_ok()
    }
}

crate::redacted!(PasswordHash);

crate::text_enum! {
    pub enum UserKind {
        /// Works in workspaces of advertisers.
        Advertiser = "advertiser",
        /// Sees their own links, clicks, commissions and balances.
        Partner = "partner",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_two_plain_sides() {
        for good in [
            "a@b",
            " ada@shop.example ",
            "ada+x@mail.shop.example",
            "\"odd@local\"@shop.example",
        ] {
            assert!(EmailAddress::parse(good).is_ok(), "{good}");
        }
        assert_eq!(
            EmailAddress::parse(" Ada@Shop.example ").unwrap().as_str(),
            "ada@shop.example"
        );
        for same in ["ÄDA@Shop.example", "äda@shop.EXAMPLE", "A\u{308}DA@shop.example"] {
            assert_eq!(EmailAddress::parse(same).unwrap().as_str(), "äda@shop.example");
        }
        assert_eq!(
            EmailAddress::parse("ΟΣ@a").unwrap(),
            EmailAddress::parse("οσ@a").unwrap()
        );
        let long = format!("{}@shop.example", "x".repeat(250));
        for bad in [
            "",
            "ada",
            "@shop.example",
            "ada@",
            "a b@c",
            "a@b c",
            "a@.b",
            "a@b.",
            "a\0@b",
            "a\u{200B}@b",
            "a\u{202E}@b",
            "a@b\u{2060}",
            &long,
        ] {
            assert!(EmailAddress::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn email_is_sent_to_one_plain_address() {
        for good in [
            "a@b",
            "ada+x.y@mail.shop-1.example",
            "o'neill@shop.example",
            "äda@bücher.example",
        ] {
            assert!(EmailAddress::for_sending(good).is_ok(), "{good}");
        }
        let long = format!("{}@shop.example", "x".repeat(65));
        for bad in [
            "a@b.example;c@d.example",
            "a@b.example,c@d.example",
            "\"odd@local\"@shop.example",
            "<a@b.example>",
            "ada.@shop.example",
            "a..b@shop.example",
            "a@shop..example",
            "a@-shop.example",
            "a@[192.0.2.1]",
            "a(b)@shop.example",
            &long,
        ] {
            assert!(EmailAddress::for_sending(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_new_password_is_long_and_hard_to_guess() {
        let choose =
            |text: &str| Password::choose(text.to_owned(), &["Olive Oyl", "olive@shop.example"]).err();
        let words = "kettle ambush violin";
        assert_eq!(choose("kQ7#vX2!p"), Some(PasswordError::Length));
        assert_eq!(choose("ключ-чайник-скрипка"), None);
        assert_eq!(choose(words), None);
        assert_eq!(choose(&words.repeat(7)), Some(PasswordError::Length));
        for guessable in [
            "1234567890",
            "password123",
            "P@ssw0rd123",
            "qwertyuiop",
            "aaaaaaaaaaaaaaaa",
            "abcdefghijkl",
            "iloveyou2024",
            "Summer2026!",
            "olive@shop.example",
            "OliveOlive",
            "ExampleShop",
        ] {
            assert_eq!(choose(guessable), Some(PasswordError::Guessable), "{guessable}");
        }
    }

    #[test]
    fn a_password_that_was_chosen_under_other_rules_still_opens_its_account() {
        assert!(Password::claim("x".repeat(129)).is_none());
        assert!(Password::claim("short".to_owned()).is_some());
    }

    #[test]
    fn a_generated_password_will_do_and_uses_all_that_is_random() {
        let counting: [u8; 24] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        let password = Password::generate(counting);
        assert_eq!(password.expose(), "abcdefghijkmnpqrstuvwxyz");
        assert!(Password::choose(password.expose().to_owned(), &[]).is_ok());
        assert_ne!(
            Password::generate([31; 24]).expose(),
            Password::generate([30; 24]).expose()
        );
    }

    #[test]
    fn a_hash_knows_its_password_and_no_other() {
        let password = |text: &str| Password::claim(text.to_owned()).unwrap();
        let hash = PasswordHash::of(&password("correct horse"), [7; 16]).unwrap();
        assert!(
            hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{}",
            hash.as_str()
        );
        assert!(hash.matches(&password("correct horse")));
        assert!(!hash.matches(&password("correct horsf")));
        assert!(!PasswordHash::stored("nonsense".to_owned()).matches(&password("nonsense")));
    }

    #[test]
    fn a_decoy_costs_as_much_as_a_hash_and_has_no_password() {
        let password = Password::claim("correct horse".to_owned()).unwrap();
        let (made, decoy) = (
            PasswordHash::of(&password, [7; 16]).unwrap(),
            PasswordHash::decoy(),
        );
        // Algorithm, version and parameters; salt and hash follow.
        let cost = |hash: &PasswordHash| hash.as_str().split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(cost(&decoy), cost(&made));
        assert_eq!(decoy.as_str().len(), made.as_str().len());
        assert!(Phc::new(decoy.as_str()).is_ok());
        assert!(!decoy.matches(&password));
    }

    #[test]
    fn debug_output_shows_neither() {
        assert_eq!(
            format!("{:?}", EmailAddress::parse("a@b").unwrap()),
            "EmailAddress"
        );
        assert_eq!(
            format!("{:?}", Password::claim("hunter2".to_owned())),
            "Some(Password)"
        );
    }
}
