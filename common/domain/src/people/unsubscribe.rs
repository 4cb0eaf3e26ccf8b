//! The token in the link that ends weekly summaries. It is the sealed id of the user. Nothing is stored: the
//! token works while the key that sealed it is configured. An invented token cannot be opened.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ids::UserId;
use crate::sealed::{NONCE_BYTES, SealError, SealingKeys};

const PURPOSE: &[u8] = b"end of weekly summaries";

/// `nonce` must be random and used once.
pub fn unsubscribe_token(
    keys: &SealingKeys,
    user_id: UserId,
    nonce: [u8; NONCE_BYTES],
) -> Result<String, SealError> {
    let sealed = keys.seal(&user_id.get().to_be_bytes(), PURPOSE, nonce)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// The user whose summaries the token ends; `None` if the token is not ours.
pub fn unsubscribes(keys: &SealingKeys, token: &str) -> Option<UserId> {
    let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
    let id = keys.open(&sealed, PURPOSE).ok()?;
    Some(UserId::new(i64::from_be_bytes(id.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(of: u8) -> SealingKeys {
        SealingKeys::new(&[of; 32], &[])
    }

    #[test]
    fn a_token_is_of_one_user_and_one_installation() {
        let token = unsubscribe_token(&keys(1), UserId::new(7), [9; NONCE_BYTES]).unwrap();
        assert_eq!(unsubscribes(&keys(1), &token), Some(UserId::new(7)));
        assert_eq!(unsubscribes(&keys(2), &token), None);
        let rotated = SealingKeys::new(&[2; 32], &[[1; 32]]);
        assert_eq!(unsubscribes(&rotated, &token), Some(UserId::new(7)));
        let plain = token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        assert!(plain && token.len() < 120, "{token}");
    }

    #[test]
    fn an_altered_token_and_another_secret_open_nothing() {
        let token = unsubscribe_token(&keys(1), UserId::new(7), [9; NONCE_BYTES]).unwrap();
        for at in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(unsubscribes(&keys(1), &altered), None, "{altered}");
        }
        let other = keys(1)
            .seal(&7_i64.to_be_bytes(), b"another", [9; NONCE_BYTES])
            .unwrap();
        assert_eq!(unsubscribes(&keys(1), &URL_SAFE_NO_PAD.encode(other)), None);
        assert_eq!(unsubscribes(&keys(1), ""), None);
    }
}
