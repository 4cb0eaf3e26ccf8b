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
    is_committed(root)?;
    has_no_tag(root, version)
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    process::output(Command::new("git").current_dir(root).args(arguments))
}

fn is_committed(root: &Path) -> Result<()> {
    let changes = git(root, &["status", "--porcelain"])?;
    ensure!(
        changes.is_empty(),
        "a release is made of a commit, and these are in none:\n{}",
        changes.trim_end()
    );
    Ok(())
}

fn has_no_tag(root: &Path, version: &str) -> Result<()> {
    let tag = format!("v{version}");
    ensure!(
        git(root, &["tag", "--list", &tag])?.is_empty(),
        "the tag {tag} exists: {version} is out already. `cargo xtask release --prepare` with the next version"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use harness::area::remove;

    use super::*;

    struct Repository(PathBuf);

    impl Repository {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("release-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            let repository = Self(dir);
            repository.git(&["init", "--quiet"]);
            fs::write(repository.0.join("file"), "one\n").unwrap();
            repository.git(&["add", "file"]);
            repository.git(&[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@a.example",
                "commit",
                "--quiet",
                "--message=one",
            ]);
            repository
        }

        fn git(&self, arguments: &[&str]) {
            git(&self.0, arguments).unwrap();
        }
    }

    impl Drop for Repository {
        fn drop(&mut self) {
            let _ = remove(&self.0);
        }
    }

    #[test]
    fn what_is_not_committed_is_refused() {
        let repository = Repository::new("committed");
        is_committed(&repository.0).unwrap();
        fs::write(repository.0.join("file"), "two\n").unwrap();
        let error = is_committed(&repository.0).unwrap_err().to_string();
        assert!(error.contains(" M file"), "{error}");
        repository.git(&["checkout", "--quiet", "file"]);
        fs::write(repository.0.join("new"), "").unwrap();
        let error = is_committed(&repository.0).unwrap_err().to_string();
        assert!(error.contains("?? new"), "{error}");
    }

    #[test]
    fn a_version_that_has_a_tag_is_refused() {
        let repository = Repository::new("tag");
        repository.git(&["tag", "v0.1.0"]);
        let error = has_no_tag(&repository.0, "0.1.0").unwrap_err().to_string();
        assert!(error.contains("v0.1.0 exists"), "{error}");
        has_no_tag(&repository.0, "0.1.1").unwrap();
    }
}
