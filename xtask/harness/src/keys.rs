//! Keys of a development environment, created once and kept with its data.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};

use crate::area::Area;
use crate::env_file::EnvFile;

const NAMES: [&str; 3] = ["CLICK_ID_KEYS", "EMAIL_HASH_KEY", "SECRETS_KEYS"];

/// The services' keys. They are stored in a file, because issued click ids and sealed secrets are readable only with them.
pub fn read_or_create(area: &Area) -> Result<EnvFile> {
    let mut keys = EnvFile::read(&area.keys())?;
    for name in NAMES {
        if keys.get(name).is_none() {
            keys.set(name, random_hex::<32>()?);
        }
    }
    keys.write(&area.keys())?;
    Ok(keys)
}

/// `N` random bytes in hexadecimal.
pub fn random_hex<const N: usize>() -> Result<String> {
    let mut bytes = [0_u8; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(hex(&bytes))
}

pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_two_digits_each() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa5, 0xff]), "000fa5ff");
    }

    #[test]
    fn keys_are_long_and_differ() {
        let (one, other) = (random_hex::<32>().unwrap(), random_hex::<32>().unwrap());
        assert_eq!(one.len(), 64);
        assert_ne!(one, other);
    }
}
