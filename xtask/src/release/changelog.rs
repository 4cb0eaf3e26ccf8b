//! The sections of `CHANGELOG.md`: `## Unreleased`, then one for each version, `## 0.1.0 (2026-11-27)`.

use anyhow::{Result, bail, ensure};
use chrono::NaiveDate;

const UNRELEASED: &str = "Unreleased";

/// The section of a version, or of "Unreleased", without the mark of its heading.
fn section<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut sections = text.split("\n## ").skip(1);
    sections.find(|section| section.split_whitespace().next() == Some(name))
}

/// Whether something under "Unreleased" is in no release yet.
fn has_unreleased(text: &str) -> bool {
    section(text, UNRELEASED).is_some_and(|section| section.trim() != UNRELEASED)
}

/// The section of a version that "Unreleased" was turned into.
pub(super) fn released(text: &str, version: &str) -> Result<String> {
    match (section(text, version), has_unreleased(text)) {
        (Some(section), false) => Ok(format!("## {}\n", section.trim_end())),
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
        section(text, version).is_none(),
        "CHANGELOG.md has a section {version} already: choose a later version"
    );
    ensure!(has_unreleased(text), "CHANGELOG.md has nothing under Unreleased");
    let heading = format!("\n## {UNRELEASED}\n\n## {version} ({day})\n");
    Ok(text.replacen(&format!("\n## {UNRELEASED}\n"), &heading, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "# Changelog\n\n## Unreleased\n\n### Tracking\n\n- Faster.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n";

    #[test]
    fn unreleased_becomes_the_section_of_the_version() {
        let day = NaiveDate::from_ymd_opt(2026, 2, 3).unwrap();
        let after = turned(BEFORE, "0.2.0", day).unwrap();
        assert_eq!(
            released(&after, "0.2.0").unwrap(),
            "## 0.2.0 (2026-02-03)\n\n### Tracking\n\n- Faster.\n"
        );
        assert!(after.contains("## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n### Tracking"));
        assert!(after.ends_with("## 0.1.0 (2026-01-02)\n\n- First.\n"));
    }

    /// `0.1.0` is no section of `0.1.0-rc.1`.
    #[test]
    fn what_is_out_already_or_has_no_section_is_refused() {
        let turned = |text: &str, version: &str| turned(text, version, NaiveDate::MIN).map(drop);
        let released = |text: &str, version: &str| released(text, version).map(drop);
        let empty = "\n## Unreleased\n\n## 0.1.0-rc.1\n\n- First.\n";
        for (refused, why) in [
            (turned(BEFORE, "0.1.0"), "has a section 0.1.0 already"),
            (turned(empty, "0.1.0"), "nothing under Unreleased"),
            (released(BEFORE, "0.1.0"), "0.1.0 is out already"),
            (released(BEFORE, "0.2.0"), "--prepare 0.2.0"),
            (released(empty, "0.1.0"), "--prepare 0.1.0"),
        ] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
