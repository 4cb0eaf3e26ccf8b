//! Secret settings: neither logs nor parse errors show their values.

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use url::Url;

/// Text that must not reach a log, such as a URL with a password.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether this is a server's URL that names another machine and has no password.
    pub fn is_remote_without_password(&self) -> bool {
        let Ok(url) = Url::parse(&self.0) else {
            return false;
        };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_here = host.is_empty()
            || host == "localhost"
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        !is_here && url.password().is_none()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

/// The text is not 64 hex digits. The message does not quote it, because it is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key must be 64 hex digits")]
pub struct SecretKeyError;

impl SecretKey {
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for SecretKey {
    type Err = SecretKeyError;

    fn from_str(text: &str) -> Result<Self, SecretKeyError> {
        let digits = text.trim().as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(SecretKeyError);
        }
        let mut key = [0; 32];
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            *byte = hex_digit(*high)? << 4 | hex_digit(*low)?;
        }
        Ok(Self(key))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

fn hex_digit(digit: u8) -> Result<u8, SecretKeyError> {
    let value = char::from(digit).to_digit(16).ok_or(SecretKeyError)?;
    u8::try_from(value).map_err(|_| SecretKeyError)
}

/// Parses a secret without quoting it in an error. Clap's own parsers quote an invalid value, and a secret
/// with a typo is still a secret.
#[derive(Debug, Clone)]
pub struct SecretParser<T>(PhantomData<fn() -> T>);

impl<T> SecretParser<T> {
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for SecretParser<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> TypedValueParser for SecretParser<T>
where
    T: FromStr<Err: fmt::Display> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        // Invalid UTF-8 becomes U+FFFD, which no secret may contain.
        let parsed = value.to_string_lossy().parse();
        parsed.map_err(|error: T::Err| invalid(command, error))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SecretUrl {
    schemes: &'static [&'static str],
    several: bool,
}

impl SecretUrl {
    pub const fn of(schemes: &'static [&'static str]) -> Self {
        Self {
            schemes,
            several: false,
        }
    }

    /// One or more URLs, separated by commas.
    pub const fn several(schemes: &'static [&'static str]) -> Self {
        Self {
            schemes,
            several: true,
        }
    }

    fn is_one(self, text: &str) -> bool {
        Url::parse(text.trim()).is_ok_and(|url| self.schemes.contains(&url.scheme()))
    }
}

impl TypedValueParser for SecretUrl {
    type Value = SecretText;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<SecretText, clap::Error> {
        let text = value.to_string_lossy();
        let fits = if self.several {
            text.split(',').all(|one| self.is_one(one))
        } else {
            self.is_one(&text)
        };
        if fits {
            Ok(SecretText::new(text))
        } else {
            let schemes = self.schemes.join(":` or `");
            Err(invalid(command, format!("an address must be a `{schemes}:` URL")))
        }
    }
}

fn invalid(command: &Command, reason: impl fmt::Display) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{reason}\n")).with_cmd(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_elsewhere_without_a_password_is_open() {
        for open in [
            "redis://redis:6379/0",
            "postgres://u@10.0.0.1/d",
            "rediss://[2001:db8::1]",
        ] {
            assert!(SecretText::new(open).is_remote_without_password(), "{open}");
        }
        for closed in [
            "redis://:secret@redis:6379/0",
            "postgres://u:p@db/d",
            "postgres://u@127.0.0.1/d",
            "postgres://u@localhost/d",
            "redis://[::1]:6379",
            "postgres:///d",
        ] {
            assert!(!SecretText::new(closed).is_remote_without_password(), "{closed}");
        }
    }
}
