//! The release before must run on the database of the one after (`docs/upgrade.md`), so migrations only add.
//!
//! What takes something away from those who still read it, or demands of those who still write what they do not know, must say in its
//! file, in a comment that begins with `contract:`, which release used it last.

use std::fs;
use std::path::Path;

/// The last one of the first release: no other process ever met what those up to it have changed.
const OF_FIRST_RELEASE: &str = "20261122000021";

/// Words that stand in a row in one statement; `*` stands for any one.
const TAKES_AWAY: [&[&str]; 10] = [
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

/// What in a migration a process of the release before could stumble over.
fn stumbling_blocks(sql: &str) -> Vec<String> {
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
        let taken = TAKES_AWAY.iter().filter(|wanted| has(&words, wanted));
        found.extend(taken.map(|wanted| wanted.join(" ")));
        // One column at a time: another one's default is none of this one.
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
        let found = stumbling_blocks(&sql);
        assert!(
            found.is_empty() || sql.lines().any(|line| line.starts_with("-- contract:")),
            "{name}: {found:?}; see docs/upgrade.md"
        );
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn what_takes_away_or_demands_is_told_from_what_adds() {
    for adds in [
        "CREATE TABLE t (id bigint NOT NULL, name text NOT NULL);",
        "ALTER TABLE t ADD COLUMN note text, ADD COLUMN kind text NOT NULL DEFAULT 'api';",
        "-- DROP TABLE t;\nCREATE INDEX i ON t (id);",
        "ALTER TABLE t ALTER COLUMN name DROP NOT NULL;",
        "DROP INDEX i;",
    ] {
        assert_eq!(stumbling_blocks(adds), Vec::<String>::new(), "{adds}");
    }
    for takes in [
        "ALTER TABLE t\n    DROP COLUMN name;",
        "alter table t rename column a to b;",
        "ALTER TABLE t ALTER COLUMN name SET NOT NULL;",
        "ALTER TABLE t ALTER COLUMN name TYPE bigint;",
        "ALTER TABLE t ADD COLUMN kind text NOT NULL, ADD COLUMN note text DEFAULT '';",
        "DROP VIEW IF EXISTS v;",
    ] {
        assert_eq!(stumbling_blocks(takes).len(), 1, "{takes}");
    }
}
