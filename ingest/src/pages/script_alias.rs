//! Another name of the browser script: `SCRIPT_ALIASES`.

use std::str::FromStr;

/// Another name of the script. The page also has a global of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptAlias(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has a letter and up to 31 more letters or digits, in lower case, and is not `tracker`")]
pub struct ScriptAliasError;

impl ScriptAlias {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ScriptAlias {
    type Err = ScriptAliasError;

    fn from_str(text: &str) -> Result<Self, ScriptAliasError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_good = text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.len() <= 32
            && text.bytes().all(is_plain)
            && text != "tracker";
        is_good.then(|| Self(text.to_owned())).ok_or(ScriptAliasError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_fit_for_an_address_and_a_global() {
        for name in ["acme", "a", "a2", "abcdefghijklmnopqrstuvwxyz012345"] {
            assert!(name.parse::<ScriptAlias>().is_ok(), "{name}");
        }
        for name in [
            "",
            "2a",
            "Acme",
            "ac-me",
            "ac_me",
            "acme.js",
            "acme/",
            " acme",
            "\u{e4}cme",
            "<script>",
            "tracker",
            "abcdefghijklmnopqrstuvwxyz0123456",
        ] {
            assert_eq!(name.parse::<ScriptAlias>(), Err(ScriptAliasError), "{name}");
        }
    }
}
