//! Versions as programs print them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, find_all};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The output of `--version`; `None` if the program cannot be run or prints no version.
    pub fn of(program: &Path) -> Option<Self> {
        Self::parse(&process::output(Command::new(program).arg("--version")).ok()?)
    }

    /// A program on this machine that is not older.
    pub fn find_program(self, name: &str) -> Option<PathBuf> {
        find_all(name).find(|program| Self::of(program).is_some_and(|version| version >= self))
    }

    /// The first word that is a number, where `v15.2`, `v=7.0.15`, `18beta1` are numbers too.
    fn parse(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|word| {
            let mut parts = word.trim_start_matches(['v', '=']).split('.').map(leading_number);
            let major = parts.next()??;
            Some(Self {
                major,
                minor: parts.next().flatten().unwrap_or(0),
            })
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_understood() {
        for (printed, major, minor) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", 15, 18),
            ("postgres (PostgreSQL) 18beta1", 18, 0),
            ("Redis server v=7.0.15 sha=0:0 malloc=jemalloc-5.3.0", 7, 0),
            ("nats-server: v2.15.1", 2, 15),
            ("nats-server: v2.9.10", 2, 9),
            ("v20.19.2", 20, 19),
        ] {
            let version = Some(Version::new(major, minor));
            assert_eq!(Version::parse(printed), version, "{printed}");
        }
        for printed in ["", "command not found", "v= v"] {
            assert_eq!(Version::parse(printed), None, "{printed}");
        }
    }
}
