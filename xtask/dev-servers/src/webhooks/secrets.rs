//! The signing secrets of endpoints, each with the path that the endpoint calls: lines of a file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The file. It is read each time: `cargo xtask dev` writes to it, too.
pub struct Secrets {
    file: PathBuf,
}

pub struct Secret {
    pub path: String,
    pub key: Vec<u8>,
}

impl Secrets {
    pub const fn of(file: PathBuf) -> Self {
        Self { file }
    }

    /// Adds one to those of the path: while a secret is replaced, there are two.
    pub fn add(&self, path: &str, secret: &str) -> Result<()> {
        ensure!(
            is_for_webhooks(path) && !path.contains(char::is_whitespace),
            "the path must be /webhooks or below it, without blanks"
        );
        ensure!(
            key(secret).is_some(),
            "the secret must be `whsec_` and its key in base64, as the dashboard shows it"
        );
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&self.file);
        file.and_then(|mut file| writeln!(file, "{path} {secret}"))
            .with_context(|| format!("cannot write {}", self.file.display()))
    }

    /// A file that cannot be read has none.
    pub fn read(&self) -> Vec<Secret> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let each = text.lines().filter_map(|line| {
            let (path, secret) = line.split_once(' ')?;
            let (path, key) = (path.to_owned(), key(secret)?);
            Some(Secret { path, key })
        });
        each.collect()
    }
}

/// Webhooks are taken there.
fn is_for_webhooks(path: &str) -> bool {
    path.strip_prefix("/webhooks")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// As the specification has it.
fn key(secret: &str) -> Option<Vec<u8>> {
    let decoded = STANDARD.decode(secret.strip_prefix("whsec_")?).ok()?;
    (!decoded.is_empty()).then_some(decoded)
}
