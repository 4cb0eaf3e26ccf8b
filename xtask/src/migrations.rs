//! The previous release must run on the next one's database (`docs/upgrade.md`), so migrations only add.
//!
//! A migration that removes something, or adds a column that the previous release does not fill, must say in a comment that begins
//! with `contract:` which release used the old form last.

use std::fs;
use std::path::Path;

/// The last migration of the first release: no earlier release runs beside it.
const OF_FIRST_RELEASE: &str = "20261122000021";

/// Words in sequence in one statement; `*` matches any word.
const REMOVES: [&[&str]; 10] = [
    &["DROP", "TABLE"],
    &["DROP", "VIEW"],
    &["DROP", "FUNCTION"],
    &["DROP", "TRIGGER"],
    &["DROP", "COLUMN"],
    &["RENAME"],
    &["SET", "NOT", "NULL"],
    &["ALTER", "COLUMN", "*", "TYPE"],
    &["SET", "DATA", "TYPE"],
    &["DROP", "DEFAULT"],
];

/// Parts of a migration that the previous release is incompatible with.
fn incompatible(sql: &str) -> Vec<String> {
    let code: String = sql
        .lines()
        .map(|line| line.split("--").next().unwrap_or(line).to_uppercase() + "\n")
        .collect();
    let has = |words: &[&str], wanted: &[&str]| {
        words.windows(wanted.len()).any(|there| {
            let mut pairs = there.iter().zip(wanted);
            pairs.all(|(there, wanted)| *wanted == "*" || there == wanted)
        })
    };
    let mut found = Vec::new();
    for statement in code.split(';') {
        let words: Vec<&str> = statement
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .collect();
        let taken = REMOVES.iter().filter(|wanted| has(&words, wanted));
        found.extend(taken.map(|wanted| wanted.join(" ")));
        // One column at a time: another column's default does not count.
        found.extend(
            statement
                .split(',')
                .filter(|part| part.contains("ADD COLUMN"))
                .filter(|part| {
                    part.contains("NOT NULL") && !part.contains("DEFAULT") && !part.contains("GENERATED")
                })
                .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")),
        );
    }
    found
}

#[test]
fn the_release_before_runs_on_the_database_of_the_one_after() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
    let mut seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        seen += 1;
        if name.split('_').next() <= Some(OF_FIRST_RELEASE) {
            continue;
        }
        let sql = fs::read_to_string(&path).unwrap();
        let found = incompatible(&sql);
        assert!(
            found.is_empty() || sql.lines().any(|line| line.starts_with("-- contract:")),
            "{name}: {found:?}; see docs/upgrade.md"
        );
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn removals_and_required_columns_are_incompatible_and_additions_are_not() {
    for adds in [
        "CREATE TABLE t (id bigint NOT NULL, name text NOT NULL);",
        "ALTER TABLE t ADD COLUMN note text, ADD COLUMN kind text NOT NULL DEFAULT 'api';",
        "-- DROP TABLE t;\nCREATE INDEX i ON t (id);",
        "ALTER TABLE t ALTER COLUMN name DROP NOT NULL;",
        "DROP INDEX i;",
    ] {
        assert_eq!(incompatible(adds), Vec::<String>::new(), "{adds}");
    }
    for takes in [
        "ALTER TABLE t\n    DROP COLUMN name;",
        "alter table t rename column a to b;",
        "ALTER TABLE t ALTER COLUMN name SET NOT NULL;",
        "ALTER TABLE t ALTER COLUMN name TYPE bigint;",
        "ALTER TABLE t ADD COLUMN kind text NOT NULL, ADD COLUMN note text DEFAULT '';",
        "DROP VIEW IF EXISTS v;",
    ] {
        assert_eq!(incompatible(takes).len(), 1, "{takes}");
    }
}
