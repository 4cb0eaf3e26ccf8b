//! Second factors: a code of an authenticator app (RFC 6238), or a recovery code for users who lost the app.

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Secret, TotpError};

use crate::ids::UserId;
use crate::people::account::plain_digit;
use crate::sealed::{NONCE_BYTES, SealError, SealingKeys};
use crate::token::TokenHash;

/// Name that authenticator apps show above the code.
const ISSUER: &str = "Referral tracker";
pub const SECRET_BYTES: usize = 20;

/// The secret that an authenticator app and the service share. Codes have six digits and change every 30
/// seconds. The previous and the next code are valid too, because clocks differ.
#[derive(Clone, Copy)]
pub struct AuthenticatorSecret([u8; SECRET_BYTES]);

impl AuthenticatorSecret {
    /// `random` must come from a cryptographic source.
    pub const fn new(random: [u8; SECRET_BYTES]) -> Self {
        Self(random)
    }

    /// The content of the QR code: `otpauth://totp/…`. The app shows `account` beside the codes.
    pub fn uri(&self, account: &str) -> Result<String, TotpError> {
        // The app splits issuer and account at the colon.
        let account = account.replace(':', " ");
        let builder = self.builder().with_issuer(Some(ISSUER));
        builder.with_account_name(account).build()?.to_url()
    }

    /// The secret as text, to type into an app that cannot scan the QR code.
    pub fn text(&self) -> String {
        Secret::from(self.0).to_base32()
    }

    /// The number of the 30-second step since 1970 that the code belongs to; `None` if the code is not valid
    /// now. The caller keeps the latest step, so that no code is used twice.
    pub fn step_of(&self, code: &str, now: DateTime<Utc>) -> Option<i64> {
        let digits: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        let seconds = u64::try_from(now.timestamp()).ok()?;
        let step = self.builder().build().ok()?.check(&digits, seconds)?;
        i64::try_from(step).ok()
    }

    fn builder(&self) -> Builder {
        Builder::new().with_secret(self.0)
    }

    /// Context under which a user's secret is [sealed](crate::sealed).
    pub fn purpose(user_id: UserId) -> Vec<u8> {
        format!("second factor of user {user_id}").into_bytes()
    }

    /// The sealed form for storage: the installation's keys open it for this user. `nonce` must be random.
    pub fn seal(
        &self,
        keys: &SealingKeys,
        user_id: UserId,
        nonce: [u8; NONCE_BYTES],
    ) -> Result<Vec<u8>, SealError> {
        keys.seal(&self.0, &Self::purpose(user_id), nonce)
    }

    pub fn open(sealed: &[u8], keys: &SealingKeys, user_id: UserId) -> Result<Self, SealError> {
        let opened = keys.open(sealed, &Self::purpose(user_id))?;
        <[u8; SECRET_BYTES]>::try_from(opened.as_slice())
            .map(Self)
            .map_err(|_| SealError)
    }
}

crate::redacted!(AuthenticatorSecret);

/// A recovery code replaces the app once. It has 80 random bits, so its hash needs no stretching.
pub struct RecoveryCode(String);

impl RecoveryCode {
    pub const RANDOM_BYTES: usize = 16;
    /// Number of codes on a list.
    pub const ON_A_LIST: usize = 10;

    pub fn generate(random: [u8; Self::RANDOM_BYTES]) -> Self {
        Self(random.map(plain_digit).iter().collect())
    }

    /// Parses a code with blanks, hyphens or capitals. `None` if the length is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let plain: String = text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        (plain.len() == Self::RANDOM_BYTES).then_some(Self(plain))
    }

    /// Four groups of four, for people: `abcd-efgh-ijkm-npqr`.
    pub fn expose(&self) -> String {
        let digits: Vec<char> = self.0.chars().collect();
        let fours: Vec<String> = digits.chunks(4).map(|four| four.iter().collect()).collect();
        fours.join("-")
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash::from_bytes(Sha256::digest(self.0.as_bytes()).into())
    }
}

crate::redacted!(RecoveryCode);

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const fn secret() -> AuthenticatorSecret {
        AuthenticatorSecret::new(*b"12345678901234567890")
    }

    /// The last six digits of the test values in RFC 6238, appendix B.
    #[test]
    fn codes_are_those_of_the_standard() {
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
        ] {
            let at = DateTime::from_timestamp(seconds, 0).unwrap();
            assert_eq!(secret().step_of(code, at), Some(seconds / 30), "{code}");
        }
    }

    #[test]
    fn a_code_is_good_for_the_half_minute_beside_its_own_and_no_longer() {
        let at = DateTime::from_timestamp(1_234_567_890, 0).unwrap();
        let step = Some(1_234_567_890 / 30);
        assert_eq!(secret().step_of("005 924", at + TimeDelta::seconds(30)), step);
        assert_eq!(secret().step_of("005924", at - TimeDelta::seconds(30)), step);
        assert_eq!(secret().step_of("005924", at + TimeDelta::seconds(60)), None);
        assert_eq!(secret().step_of("005924", at - TimeDelta::seconds(60)), None);
        for wrong in ["", "5924", "005925", "0059240", "abcdef", "００５９２４"] {
            assert_eq!(secret().step_of(wrong, at), None, "{wrong}");
        }
    }

    #[test]
    fn an_app_reads_whose_codes_these_are() {
        let uri = secret().uri("olive@shop.example").unwrap();
        assert!(
            uri.starts_with("otpauth://totp/Referral%20tracker:olive"),
            "{uri}"
        );
        assert!(uri.contains(&format!("secret={}", secret().text())), "{uri}");
        assert!(secret().uri("\"a:b\"@shop.example").is_ok());
    }

    #[test]
    fn what_is_sealed_opens_for_its_user_only() {
        let keys = SealingKeys::new(&[1; 32], &[]);
        let sealed = secret().seal(&keys, UserId::new(4), [7; 24]).unwrap();
        let open = |user_id| AuthenticatorSecret::open(&sealed, &keys, UserId::new(user_id));
        assert_eq!(open(4).unwrap().text(), secret().text());
        assert!(open(5).is_err());
    }

    #[test]
    fn a_recovery_code_is_read_however_it_was_typed() {
        let code = RecoveryCode::generate(std::array::from_fn(|at| u8::try_from(at).unwrap()));
        assert_eq!(code.expose(), "abcd-efgh-ijkm-npqr");
        for typed in ["abcd-efgh-ijkm-npqr", " ABCD EFGH IJKM NPQR ", "abcdefghijkmnpqr"] {
            assert_eq!(RecoveryCode::parse(typed).unwrap().hash(), code.hash(), "{typed}");
        }
        assert!(RecoveryCode::parse("005924").is_none());
        assert!(RecoveryCode::parse("abcd-efgh-ijkm-npqrs").is_none());
    }

    #[test]
    fn debug_output_shows_neither() {
        assert_eq!(format!("{:?}", secret()), "AuthenticatorSecret");
        assert_eq!(format!("{:?}", RecoveryCode::generate([1; 16])), "RecoveryCode");
    }
}
