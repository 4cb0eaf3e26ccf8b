//! Keys of a development environment, created once and kept with its data.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};

use crate::area::Area;
use crate::env_file::EnvFile;

const NAMES: [&str; 3] = ["CLICK_ID_KEYS", "EMAIL_HASH_KEY", "SECRETS_KEYS"];

/// The services' keys. They are stored in a file, because issued click ids and sealed secrets are readable
/// only with them.
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
    Ok(hex::encode(bytes))
}
