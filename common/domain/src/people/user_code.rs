//! The code that a command line shows during sign-in, compared or typed in a browser (RFC 8628): it
//! confirms a login and collects nothing.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::token::TokenHash;

/// No vowels, so no words; none that is mistaken for another.
const LETTERS: [char; 20] = [
    'B', 'C', 'D', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Z',
];
pub const LETTERS_OF_A_CODE: usize = 8;

/// Eight letters: 34 bits, for five minutes, and guesses are counted.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

impl UserCode {
    pub fn generate(random: [u8; LETTERS_OF_A_CODE]) -> Self {
        let letter = |byte: u8| LETTERS.get(usize::from(byte) * LETTERS.len() / 256).copied();
        Self(random.into_iter().filter_map(letter).collect())
    }

    /// However it was typed. `None` for what is no code.
    pub fn parse(text: &str) -> Option<Self> {
        let plain: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-')
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let is_code = plain.len() == LETTERS_OF_A_CODE && plain.chars().all(|c| LETTERS.contains(&c));
        is_code.then_some(Self(plain))
    }

    /// As it is shown: `BCDF-GHJK`.
    pub fn expose(&self) -> String {
        let (first, second) = self.0.split_at_checked(LETTERS_OF_A_CODE / 2).unwrap_or_default();
        format!("{first}-{second}")
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash::from_bytes(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode")
    }
}

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
