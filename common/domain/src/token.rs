//! Tokens: a prefix for the kind, 43 base62 digits of 256 random bits, and 6 base62 digits of CRC-32.
//!
//! The checksum is no protection. It lets ingest refuse typing errors and junk without a database query, and
//! lets secret scanners recognise a leaked token.

use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// 62⁴³ is the first power of 62 above 2²⁵⁶.
const SECRET_DIGITS: usize = 43;
/// 62⁶ is the first power of 62 above 2³².
const CHECKSUM_DIGITS: usize = 6;

pub trait TokenKind {
    const PREFIX: &'static str;
    /// Text that `Debug` shows instead of the secret.
    const NAME: &'static str;
}

macro_rules! token_kinds {
    ($($(#[$doc:meta])* $token:ident = $kind:ident, $prefix:literal;)+) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}
        impl TokenKind for $kind {
            const PREFIX: &'static str = $prefix;
            const NAME: &'static str = stringify!($token);
        }
        $(#[$doc])*
        pub type $token = Token<$kind>;
    )+};
}

token_kinds! {
    /// Authenticates tracking calls of one program.
    ProgramToken = Program, "aff_";
    /// Authenticates management calls, within the key's scopes.
    ManagementKey = Management, "affk_";
    /// Authenticates a signed-in user, in a dashboard or at the command line.
    SessionToken = Session, "affs_";
    /// Belongs to a one-time invitation.
    InvitationToken = Invitation, "affi_";
    /// Belongs to a one-time link that replaces a forgotten password.
    PasswordResetToken = PasswordReset, "affr_";
    /// Belongs to a one-time link that proves that an address belongs to the account's owner.
    AddressVerificationToken = AddressVerification, "affv_";
    /// Identifies a passkey challenge. The device's answer comes with it.
    PasskeyChallengeToken = PasskeyChallenge, "affw_";
    /// Identifies a command line that waits for its sign-in.
    CliLoginToken = CliLogin, "affl_";
}

/// The kind of credential that a bearer value claims to be. The wrong kind is a 401.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CredentialKind {
    ProgramToken,
    ManagementKey,
    Session,
}

impl CredentialKind {
    /// `None` for any other prefix.
    pub fn of(credential: &str) -> Option<Self> {
        [
            (Program::PREFIX, Self::ProgramToken),
            (Management::PREFIX, Self::ManagementKey),
            (Session::PREFIX, Self::Session),
        ]
        .into_iter()
        .find_map(|(prefix, kind)| credential.starts_with(prefix).then_some(kind))
    }
}

/// A well-formed token. Printing it with `Debug` shows only the type's name.
pub struct Token<K> {
    text: String,
    kind: PhantomData<K>,
}

impl<K: TokenKind> Token<K> {
    const LEN: usize = K::PREFIX.len() + SECRET_DIGITS + CHECKSUM_DIGITS;

    /// Makes a token from 256 bits of a cryptographic source.
    pub fn generate(random: [u8; 32]) -> Self {
        let mut text = String::with_capacity(Self::LEN);
        text.push_str(K::PREFIX);
        push_base62::<SECRET_DIGITS>(&mut text, random);
        let checksum = crc32fast::hash(text.as_bytes());
        push_base62::<CHECKSUM_DIGITS>(&mut text, checksum.to_be_bytes());
        Self::of(text)
    }

    /// `None` unless prefix, length, alphabet and checksum are right.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(K::PREFIX)?;
        if text.len() != Self::LEN || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let (signed, checksum) = text.split_at_checked(Self::LEN - CHECKSUM_DIGITS)?;
        let mut expected = String::with_capacity(CHECKSUM_DIGITS);
        push_base62::<CHECKSUM_DIGITS>(&mut expected, crc32fast::hash(signed.as_bytes()).to_be_bytes());
        (checksum == expected).then(|| Self::of(text.to_owned()))
    }

    const fn of(text: String) -> Self {
        Self {
            text,
            kind: PhantomData,
        }
    }

    /// The hash that is stored and looked up instead of the token.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.text.as_bytes()).into())
    }

    /// The secret itself, for the only answer that shows it.
    pub fn expose(&self) -> &str {
        &self.text
    }

    fn head(&self, digits: usize) -> &str {
        self.text.get(..K::PREFIX.len() + digits).unwrap_or_default()
    }

    /// The last four digits.
    fn tail(&self) -> &str {
        self.text.get(Self::LEN - 4..).unwrap_or_default()
    }
}

impl ProgramToken {
    /// The form in read endpoints: `aff_abcdefgh****wxyz`.
    pub fn masked(&self) -> String {
        format!("{}****{}", self.head(8), self.tail())
    }
}

impl ManagementKey {
    /// The part that identifies a key in lists: `affk_1a2b3c4d`.
    pub fn prefix(&self) -> &str {
        self.head(8)
    }

    /// The masked form in lists: `affk_1a2b3c…c4d5`.
    pub fn masked(&self) -> String {
        format!("{}…{}", self.head(6), self.tail())
    }
}

impl<K> Clone for Token<K> {
    fn clone(&self) -> Self {
        Self {
            text: self.text.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> PartialEq for Token<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<K> Eq for Token<K> {}

impl<K: TokenKind> fmt::Debug for Token<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::NAME)
    }
}

/// SHA-256 of the whole token text, whose 256 random bits need neither salt nor stretching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Appends exactly `DIGITS` digits of a big-endian number, most significant first, padded with zeros.
fn push_base62<const DIGITS: usize>(text: &mut String, mut number: impl AsMut<[u8]>) {
    let mut digits = [0; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = divide_by_62(number.as_mut());
    }
    text.extend(digits.map(base62_digit));
}

/// Long division in place. Returns the remainder, which is the next digit.
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

    /// A separate implementation computed these. Tokens in use must stay valid.
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
        let key = ManagementKey::generate([255; 32]);
        assert_eq!(key.prefix(), "affk_yhjskwdA");
        let tail = &key.expose()[key.expose().len() - 4..];
        assert_eq!(key.masked(), format!("affk_yhjskw…{tail}"));
    }

    #[test]
    fn a_token_of_one_kind_is_none_of_another() {
        let key = ManagementKey::generate([7; 32]);
        assert_eq!(ManagementKey::parse(key.expose()), Some(key.clone()));
        assert_eq!(ProgramToken::parse(key.expose()), None);
        assert_eq!(SessionToken::parse(key.expose()), None);
        assert_eq!(
            ProgramToken::parse(&key.expose().replacen("affk_", "aff_", 1)),
            None
        );
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", ProgramToken::generate([1; 32])), "ProgramToken");
    }

    #[test]
    fn the_prefix_tells_the_kinds_apart() {
        assert_eq!(CredentialKind::of("aff_x"), Some(CredentialKind::ProgramToken));
        assert_eq!(CredentialKind::of("affk_x"), Some(CredentialKind::ManagementKey));
        assert_eq!(CredentialKind::of("affs_x"), Some(CredentialKind::Session));
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
            prop_assert_eq!(token.expose().len(), ProgramToken::LEN);
            prop_assert_eq!(ProgramToken::parse(token.expose()), Some(token));
        }

        #[test]
        fn distinct_randomness_gives_distinct_tokens(a: [u8; 32], b: [u8; 32]) {
            prop_assert_eq!(a == b, ProgramToken::generate(a) == ProgramToken::generate(b));
        }

        #[test]
        fn one_wrong_digit_is_refused(
            random: [u8; 32],
            at in Program::PREFIX.len()..ProgramToken::LEN,
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
