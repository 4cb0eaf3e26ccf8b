//! What a release contains is never edited (`docs/upgrade.md`). `cargo xtask deploy-check` checks what later migrations do.

use super::git;

#[test]
fn migrations_of_a_release_are_never_edited() {
    for tag in git(&["tag", "--list", "v*"]).lines() {
        let edited = git(&["diff", "--name-only", "--diff-filter=a", tag, "--", "migrations"]);
        assert_eq!(edited, "", "edited since {tag}; see docs/upgrade.md");
    }
}
