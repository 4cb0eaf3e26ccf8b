//! The signing secrets of endpoints, each with the path that the endpoint calls: lines of a file.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub struct Secret {
    pub path: String,
    pub key: Vec<u8>,
}

/// A file that cannot be read has none. It is read each time: others write to it.
pub fn read(file: &Path) -> Vec<Secret> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let each = text.lines().filter_map(|line| {
        let (path, secret) = line.split_once(' ')?;
        let key = STANDARD.decode(secret.strip_prefix("whsec_")?).ok()?;
        let path = path.to_owned();
        Some(Secret { path, key })
    });
    each.collect()
}
