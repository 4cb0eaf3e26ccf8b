//! The program tracking token: `aff_`, 43 base62 digits of 256 random bits, 6 base62 digits of CRC-32.
//!
//! The checksum is no secret and no proof. It lets the edge refuse typing errors and junk without asking the
//! database, and lets secret scanners recognise a leaked token.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const PROGRAM_PREFIX: &str = "aff_";
const MANAGEMENT_PREFIX: &str = "affk_";
/// 62⁴³ is the first power of 62 above 2²⁵⁶.
const SECRET_DIGITS: usize = 43;
/// 62⁶ is the first power of 62 above 2³².
const CHECKSUM_DIGITS: usize = 6;
const TOKEN_LEN: usize = PROGRAM_PREFIX.len() + SECRET_DIGITS + CHECKSUM_DIGITS;

/// Which kind of credential a bearer value claims to be, told by its prefix alone. The wrong kind is a 401.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CredentialKind {
    /// `aff_`: tracking calls of one program.
    ProgramToken,
    /// `affk_`: management endpoints, within the key's scopes.
    ManagementKey,
}

impl CredentialKind {
    /// `None` for anything else, a dashboard session among them.
    pub fn of(credential: &str) -> Option<Self> {
        if credential.starts_with(PROGRAM_PREFIX) {
            Some(Self::ProgramToken)
        } else if credential.starts_with(MANAGEMENT_PREFIX) {
            Some(Self::ManagementKey)
        } else {
            None
        }
    }
}

/// A well-formed program tracking token. Printing it with `Debug` shows only the type's name.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgramToken(String);

impl ProgramToken {
    /// A new token out of 256 bits from a cryptographic source.
    pub fn generate(random: [u8; 32]) -> Self {
        let mut token = String::with_capacity(TOKEN_LEN);
        token.push_str(PROGRAM_PREFIX);
        push_base62::<SECRET_DIGITS>(&mut token, random);
        let checksum = crc32fast::hash(token.as_bytes());
        push_base62::<CHECKSUM_DIGITS>(&mut token, checksum.to_be_bytes());
        Self(token)
    }

    /// `None` unless prefix, length, alphabet and checksum are right.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PROGRAM_PREFIX)?;
        if text.len() != TOKEN_LEN || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let (signed, checksum) = text.split_at_checked(TOKEN_LEN - CHECKSUM_DIGITS)?;
        let mut expected = String::with_capacity(CHECKSUM_DIGITS);
        push_base62::<CHECKSUM_DIGITS>(&mut expected, crc32fast::hash(signed.as_bytes()).to_be_bytes());
        (checksum == expected).then(|| Self(text.to_owned()))
    }

    /// What is stored and looked up in place of the token.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The form that read endpoints show: `aff_abcdefgh****wxyz`.
    pub fn masked(&self) -> String {
        let head = self.0.get(..PROGRAM_PREFIX.len() + 8).unwrap_or_default();
        let tail = self.0.get(TOKEN_LEN - 4..).unwrap_or_default();
        format!("{head}****{tail}")
    }

    /// The secret itself, for the one answer that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProgramToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgramToken")
    }
}

/// SHA-256 over the whole token text. With 256 random bits behind it, it needs neither salt nor stretching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Appends exactly `DIGITS` digits of a big-endian number, most significant first, zero-padded.
fn push_base62<const DIGITS: usize>(text: &mut String, mut number: impl AsMut<[u8]>) {
    let mut digits = [0; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = divide_by_62(number.as_mut());
    }
    text.extend(digits.map(base62_digit));
}

/// Long division in place; the remainder is the next digit.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a remainder below 62 keeps quotients and digits below 256"
)]
fn divide_by_62(number: &mut [u8]) -> u8 {
    let remainder = number.iter_mut().fold(0_u16, |remainder, byte| {
        let dividend = remainder << 8 | u16::from(*byte);
        *byte = (dividend / 62) as u8;
        dividend % 62
    });
    remainder as u8
}

const fn base62_digit(value: u8) -> char {
    let byte = match value {
        0..=9 => b'0' + value,
        10..=35 => b'A' + (value - 10),
        _ => b'a' + (value - 36),
    };
    byte as char
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computed by a separate implementation: tokens in advertisers' hands must stay readable.
    #[test]
    fn tokens_stay_what_they_are() {
        let counting: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        for (random, token) in [
            ([0; 32], "aff_00000000000000000000000000000000000000000000v01U5"),
            (counting, "aff_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf0ZS9KH"),
            ([255; 32], "aff_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp12oYRGH"),
        ] {
            assert_eq!(ProgramToken::generate(random).expose(), token);
        }
    }

    #[test]
    fn the_hash_covers_the_whole_text() {
        let hash = ProgramToken::generate([0; 32]).hash();
        let hex = hash
            .as_bytes()
            .iter()
            .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(
            hex,
            "9abb3433b5f2682552a11999950fe5316d00b67a11718049df301e0893d2a7be"
        );
    }

    #[test]
    fn masking_shows_eight_digits_and_four() {
        let token = ProgramToken::parse("aff_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp12oYRGH").unwrap();
        assert_eq!(token.masked(), "aff_yhjskwdA****YRGH");
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", ProgramToken::generate([1; 32])), "ProgramToken");
    }

    #[test]
    fn the_prefix_tells_the_kinds_apart() {
        assert_eq!(CredentialKind::of("aff_x"), Some(CredentialKind::ProgramToken));
        assert_eq!(CredentialKind::of("affk_x"), Some(CredentialKind::ManagementKey));
        for other in ["", "aff", "affk", "AFF_x", "eyJhbGciOi", " aff_x"] {
            assert_eq!(CredentialKind::of(other), None, "{other:?}");
        }
    }

    #[test]
    fn an_altered_prefix_or_length_is_refused() {
        let token = ProgramToken::generate([5; 32]);
        let text = token.expose();
        for altered in [
            text.replacen("aff_", "affk_", 1),
            text.replacen("aff_", "afg_", 1),
            format!("{text}0"),
            text[..text.len() - 1].to_owned(),
            format!(" {}", &text[..text.len() - 1]),
        ] {
            assert_eq!(ProgramToken::parse(&altered), None, "{altered:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_generated_parses(random: [u8; 32]) {
            let token = ProgramToken::generate(random);
            prop_assert_eq!(token.expose().len(), TOKEN_LEN);
            prop_assert_eq!(ProgramToken::parse(token.expose()), Some(token));
        }

        #[test]
        fn distinct_randomness_gives_distinct_tokens(a: [u8; 32], b: [u8; 32]) {
            prop_assert_eq!(a == b, ProgramToken::generate(a) == ProgramToken::generate(b));
        }

        #[test]
        fn one_wrong_digit_is_refused(
            random: [u8; 32],
            at in PROGRAM_PREFIX.len()..TOKEN_LEN,
            digit in 0u8..62,
        ) {
            let token = ProgramToken::generate(random);
            let mut altered: Vec<char> = token.expose().chars().collect();
            prop_assume!(altered[at] != base62_digit(digit));
            altered[at] = base62_digit(digit);
            prop_assert_eq!(ProgramToken::parse(&altered.iter().collect::<String>()), None);
        }

        #[test]
        fn no_string_panics(text in "\\PC*|aff_\\PC{49}|aff_[0-9A-Za-z]{49}") {
            let _ = (ProgramToken::parse(&text), CredentialKind::of(&text));
        }
    }
}
