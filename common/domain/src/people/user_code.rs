//! The code that a command line shows during sign-in (RFC 8628). The user compares it or types it in a
//! browser. It confirms a login and is not a credential.

use sha2::{Digest, Sha256};

use crate::token::TokenHash;

/// Without vowels, so that no words arise, and without letters that are mistaken for others.
const LETTERS: [char; 20] = [
    'B', 'C', 'D', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Z',
];
pub const LETTERS_OF_A_CODE: usize = 8;

/// Eight letters have 34 bits. A code is valid for five minutes, and wrong guesses are counted.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

impl UserCode {
    pub fn generate(random: [u8; LETTERS_OF_A_CODE]) -> Self {
        let letter = |byte: u8| LETTERS.get(usize::from(byte) * LETTERS.len() / 256).copied();
        Self(random.into_iter().filter_map(letter).collect())
    }

    /// Parses a code in any spelling: with blanks, hyphens or lower case. `None` if it is not a code.
    pub fn parse(text: &str) -> Option<Self> {
        let plain: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-')
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let is_code = plain.len() == LETTERS_OF_A_CODE && plain.chars().all(|c| LETTERS.contains(&c));
        is_code.then_some(Self(plain))
    }

    /// The displayed form: `BCDF-GHJK`.
    pub fn expose(&self) -> String {
        let (first, second) = self.0.split_at_checked(LETTERS_OF_A_CODE / 2).unwrap_or_default();
        format!("{first}-{second}")
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash::from_bytes(Sha256::digest(self.0.as_bytes()).into())
    }
}

crate::redacted!(UserCode);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_code_is_read_however_it_was_typed() {
        let code = UserCode::generate([0, 13, 26, 39, 52, 65, 78, 255]);
        assert_eq!(code.expose(), "BCDF-GHJZ");
        for typed in ["BCDF-GHJZ", "bcdfghjz", " bcdf ghjz "] {
            assert_eq!(UserCode::parse(typed).as_ref(), Some(&code), "{typed}");
        }
        for other in ["", "BCDF-GHJ", "BCDF-GHJZZ", "ABCD-EFGH", "ＢCDF-GHJZ"] {
            assert_eq!(UserCode::parse(other), None, "{other}");
        }
        assert_eq!(format!("{code:?}"), "UserCode");
    }

    proptest! {
        #[test]
        fn what_is_generated_parses(random: [u8; LETTERS_OF_A_CODE]) {
            let code = UserCode::generate(random);
            prop_assert_eq!(UserCode::parse(&code.expose()), Some(code));
        }
    }
}
