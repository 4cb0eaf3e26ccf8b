//! `SHA256SUMS` of everything in the directory, for `sha256sum --check`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::Release;

const NAME: &str = "SHA256SUMS";

pub(super) fn write(release: &Release<'_>) -> Result<String> {
    let sums = sums(&release.out)?;
    fs::write(release.out.join(NAME), &sums)?;
    Ok(format!("{} files", sums.lines().count()))
}

fn sums(dir: &Path) -> Result<String> {
    let mut files = Vec::new();
    find(dir, &mut files)?;
    files.sort();
    let lines = files.iter().map(|file| {
        let name = file.strip_prefix(dir)?.to_str().context("a name is no text")?;
        Ok(format!("{}  {name}\n", sum(file)?))
    });
    lines.collect()
}

fn find(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// By parts: an image does not have to fit in memory.
fn sum(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut reader = BufReader::with_capacity(1 << 20, File::open(file)?);
    loop {
        let part = reader.fill_buf()?;
        if part.is_empty() {
            return Ok(hex::encode(hash.finalize()));
        }
        hash.update(part);
        let length = part.len();
        reader.consume(length);
    }
}
