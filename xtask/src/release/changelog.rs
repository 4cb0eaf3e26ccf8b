//! The sections of `CHANGELOG.md`: `## Unreleased`, then one for each version, `## 0.1.0 (2026-11-27)`.

use anyhow::{Result, bail, ensure};
use chrono::NaiveDate;

const UNRELEASED: &str = "## Unreleased";

/// The section of a heading, from it to the next.
fn section(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("## ") {
            if let Some(start) = start {
                return text.get(start..at);
            }
            if is_wanted(line.trim_end()) {
                start = Some(at);
            }
        }
        at += line.len();
    }
    text.get(start?..)
}

fn of_version<'a>(text: &'a str, version: &str) -> Option<&'a str> {
    section(text, |heading| {
        heading
            .strip_prefix("## ")
            .is_some_and(|words| words.split(' ').next() == Some(version))
    })
}

/// Whether something under "Unreleased" is in no release yet.
fn has_unreleased(text: &str) -> bool {
    section(text, |heading| heading == UNRELEASED)
        .is_some_and(|section| section.lines().skip(1).any(|line| !line.trim().is_empty()))
}

/// The section of a version that "Unreleased" was turned into.
pub(super) fn released<'a>(text: &'a str, version: &str) -> Result<&'a str> {
    match (of_version(text, version), has_unreleased(text)) {
        (Some(section), false) => Ok(section.trim_end()),
        (Some(_), true) => bail!(
            "CHANGELOG.md has a section {version} and entries under Unreleased: {version} is out already. \
             `cargo xtask release --prepare` with the next version turns them into its section"
        ),
        (None, _) => bail!(
            "CHANGELOG.md has no section {version}: `cargo xtask release --prepare {version}` turns Unreleased into it"
        ),
    }
}

/// The changelog with "Unreleased" as the section of a version, and an empty "Unreleased" before it.
pub(super) fn turned(text: &str, version: &str, day: NaiveDate) -> Result<String> {
    ensure!(
        of_version(text, version).is_none(),
        "CHANGELOG.md has a section {version} already: choose a later version"
    );
    ensure!(has_unreleased(text), "CHANGELOG.md has nothing under Unreleased");
    let heading = format!("{UNRELEASED}\n\n## {version} ({day})\n");
    Ok(text.replacen(&format!("{UNRELEASED}\n"), &heading, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "# Changelog\n\n## Unreleased\n\n### Tracking\n\n- Faster.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n";

    fn day() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 2, 3).unwrap()
    }

    #[test]
    fn unreleased_becomes_the_section_of_the_version() {
        let after = turned(BEFORE, "0.2.0", day()).unwrap();
        assert_eq!(
            released(&after, "0.2.0").unwrap(),
            "## 0.2.0 (2026-02-03)\n\n### Tracking\n\n- Faster."
        );
        assert!(after.contains("## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n### Tracking"));
        assert!(after.ends_with("## 0.1.0 (2026-01-02)\n\n- First.\n"));
    }

    #[test]
    fn a_version_that_is_out_is_neither_prepared_nor_released_again() {
        let error = turned(BEFORE, "0.1.0", day()).unwrap_err().to_string();
        assert!(error.contains("has a section 0.1.0 already"), "{error}");
        let error = released(BEFORE, "0.1.0").unwrap_err().to_string();
        assert!(error.contains("0.1.0 is out already"), "{error}");
    }

    #[test]
    fn a_version_without_a_section_is_not_released() {
        let error = released(BEFORE, "0.2.0").unwrap_err().to_string();
        assert!(error.contains("--prepare 0.2.0"), "{error}");
        let nothing = turned("## Unreleased\n\n## 0.1.0\n\n- First.\n", "0.2.0", day());
        assert!(
            nothing
                .unwrap_err()
                .to_string()
                .contains("nothing under Unreleased")
        );
    }

    /// `0.1.0` is no section of `0.1.0-rc.1`, nor of `0.1.01`.
    #[test]
    fn a_version_is_a_whole_word() {
        assert_eq!(of_version("## 0.1.0-rc.1\n\n- Try.\n", "0.1.0"), None);
    }
}
