//! Dotenv files: `NAME=value` lines, readable by a shell and by this command.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EnvFile {
    entries: BTreeMap<String, String>,
}

impl EnvFile {
    /// Skips lines that are not assignments: programs may print other text too.
    pub fn parse(text: &str) -> Self {
        let entries = dotenvy::from_read_iter(text.as_bytes()).flatten().collect();
        Self { entries }
    }

    /// A file that does not exist reads as empty.
    pub fn read(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Replaces the file atomically, readable by its owner only, because it may contain keys.
    pub fn write(&self, path: &Path) -> Result<()> {
        let fresh = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(&fresh)
            .and_then(|mut file| file.write_all(self.render().as_bytes()))
            .and_then(|()| fs::rename(&fresh, path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn render(&self) -> String {
        self.iter()
            .map(|(name, value)| [name, "=", &shell_word(value), "\n"].concat())
            .collect()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.entries.get(name).map(String::as_str)
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.entries.insert(name.to_owned(), value.into());
    }

    pub fn set_all<'a>(&mut self, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, value) in entries {
            self.set(name, value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.entries.iter();
        entries.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The text as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut file = EnvFile::default();
        for (name, value) in [
            ("A", ""),
            ("B", "postgres://u:p@127.0.0.1:5432/db"),
            ("C", "a b"),
            ("D", "it's"),
            ("E", "x=y&z?'"),
            ("F", "\"q\""),
            ("G", "$HOME"),
        ] {
            file.set(name, value);
        }
        assert_eq!(EnvFile::parse(&file.render()), file);
    }

    #[test]
    fn only_assignments_count_and_the_last_of_a_name() {
        let text =
            "seeded\n# a note\n\n DEMO_AFF_A=aff-a \n9X=1\nA B=2\nDEMO_API_KEY=\"j\"\nDEMO_API_KEY=\"k\"\n";
        let file = EnvFile::parse(text);
        let entries: Vec<_> = file.iter().collect();
        assert_eq!(entries, [("DEMO_AFF_A", "aff-a"), ("DEMO_API_KEY", "k")]);
    }

    #[test]
    fn a_shell_reads_words_unchanged() {
        assert_eq!(shell_word("/a/b c"), "'/a/b c'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
