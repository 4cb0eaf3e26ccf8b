//! When there is no release: what would be made is then not what a commit says.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use harness::process;

use super::{CHANGELOG, changelog, versions};

pub(super) fn check(root: &Path, version: &str) -> Result<()> {
    versions::check(root, version)?;
    changelog::released(&fs::read_to_string(root.join(CHANGELOG))?, version)?;
    is_new_and_committed(root, version)
}

fn is_new_and_committed(root: &Path, version: &str) -> Result<()> {
    let git = |arguments: &[&str]| process::output(Command::new("git").current_dir(root).args(arguments));
    let changes = git(&["status", "--porcelain"])?;
    ensure!(
        changes.is_empty(),
        "a release is made of a commit, and these are in none:\n{}",
        changes.trim_end()
    );
    let tag = format!("v{version}");
    ensure!(
        git(&["tag", "--list", &tag])?.is_empty(),
        "the tag {tag} exists: {version} is out already. `cargo xtask release --prepare` with the next version"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use harness::area::remove;

    use super::*;

    #[test]
    fn what_is_not_committed_or_has_a_tag_is_refused() {
        let dir = std::env::temp_dir().join(format!("release-refusals-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let shell = |line: &str| {
            process::output(Command::new("sh").current_dir(&dir).args(["-euc", line])).unwrap();
        };
        let refused = |version: &str| is_new_and_committed(&dir, version).unwrap_err().to_string();
        shell(
            "git init --quiet; echo one > file; git add file
             git -c user.name=a -c user.email=a@a.example commit --quiet --message=one; git tag v0.1.0",
        );
        is_new_and_committed(&dir, "0.1.1").unwrap();
        assert!(refused("0.1.0").contains("v0.1.0 exists"));
        shell("echo two > file");
        assert!(refused("0.1.1").contains(" M file"));
        shell("git checkout --quiet file; touch new");
        assert!(refused("0.1.1").contains("?? new"));
        remove(&dir).unwrap();
    }
}
