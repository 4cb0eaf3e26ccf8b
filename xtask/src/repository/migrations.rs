//! From the first release on, migrations only add (`docs/upgrade.md`): the previous release must run on the next one's database.
//!
//! Until the first tag the baseline is edited in place, and is the only schema. From then on, what a release contains is never edited,
//! and a migration that removes something, or adds a column that the previous release does not fill, must say in a comment that begins
//! with `contract:` which release used the old form last.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The last migration of the baseline.
const BASELINE: &str = "20261128000008";

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

/// Statements without comments, in capitals, and their words.
fn statements(sql: &str) -> Vec<(String, Vec<String>)> {
    let code: String = sql
        .lines()
        .map(|line| line.split("--").next().unwrap_or(line).to_uppercase() + "\n")
        .collect();
    let words = |statement: &str| {
        statement
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    code.split(';')
        .map(|statement| (statement.to_owned(), words(statement)))
        .collect()
}

/// What of a migration would stop traffic on a large table: an index that is made under a lock, or a wait for a lock in front of which
/// everything else waits.
fn stops_traffic(sql: &str) -> Vec<String> {
    let statements = statements(sql);
    let word = |words: &[String], place: usize| words.get(place).cloned().unwrap_or_default();
    let made: Vec<String> = statements
        .iter()
        .filter(|(_, words)| word(words, 0) == "CREATE" && word(words, 1) == "TABLE")
        .map(|(_, words)| word(words, 2))
        .collect();
    let waits_briefly = statements.iter().any(|(text, _)| text.contains("LOCK_TIMEOUT"));
    let mut found = Vec::new();
    for (_, words) in &statements {
        let has = |wanted: &str| words.iter().any(|word| word == wanted);
        let (verb, noun) = (word(words, 0), word(words, 1));
        // That of an index or a trigger follows `ON`, which may come later in what alters a table, too.
        let on = words.iter().position(|word| word == "ON" && noun != "TABLE");
        let table = on.map_or_else(|| word(words, 2), |on| word(words, on + 1));
        let is_new = made.contains(&table);
        let makes_index = verb == "CREATE" && (noun == "INDEX" || noun == "UNIQUE");
        if makes_index && !is_new && !has("CONCURRENTLY") {
            found.push(format!("an index on {table}, made under a lock"));
        }
        let locks = match (verb.as_str(), noun.as_str()) {
            ("ALTER" | "LOCK" | "DROP", "TABLE") | ("CREATE", "TRIGGER") => true,
            ("DROP", "INDEX") => !has("CONCURRENTLY"),
            _ => false,
        };
        if locks && !is_new && !waits_briefly {
            found.push(format!("{verb} {noun} without lock_timeout"));
        }
    }
    found
}

/// Parts of a migration that the previous release is incompatible with.
fn incompatible(sql: &str) -> Vec<String> {
    let has = |words: &[&str], wanted: &[&str]| {
        words.windows(wanted.len()).any(|there| {
            let mut pairs = there.iter().zip(wanted);
            pairs.all(|(there, wanted)| *wanted == "*" || there == wanted)
        })
    };
    let mut found = Vec::new();
    for (statement, words) in statements(sql) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
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
fn the_previous_release_runs_on_the_next_ones_database() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
    let mut baseline = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.split('_').next() <= Some(BASELINE) {
            baseline += 1;
            continue;
        }
        let sql = fs::read_to_string(&path).unwrap();
        let found = incompatible(&sql);
        assert!(
            found.is_empty() || sql.lines().any(|line| line.starts_with("-- contract:")),
            "{name}: {found:?}; see docs/upgrade.md"
        );
        let found = stops_traffic(&sql);
        assert!(found.is_empty(), "{name}: {found:?}; see docs/upgrade.md");
    }
    assert_eq!(baseline, 8);
}

#[test]
fn migrations_of_a_release_are_never_edited() {
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    for tag in git(&["tag", "--list", "v*"]).lines() {
        let edited = git(&["diff", "--name-only", "--diff-filter=a", tag, "--", "migrations"]);
        assert_eq!(edited, "", "edited since {tag}; see docs/upgrade.md");
    }
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

#[test]
fn what_traffic_would_wait_for_is_found() {
    for stops in [
        "CREATE INDEX i ON t (id);",
        "CREATE UNIQUE INDEX i ON t (id) WHERE id > 1;",
        "ALTER TABLE t ADD COLUMN note text;",
        "DROP INDEX i;",
        "CREATE TABLE u (id bigint);\nCREATE INDEX i ON t (id);",
        "-- lock_timeout\nALTER TABLE t ADD COLUMN note text;",
    ] {
        assert_eq!(stops_traffic(stops).len(), 1, "{stops}");
    }
    for passes in [
        "CREATE INDEX CONCURRENTLY i ON t (id);",
        "CREATE TABLE t (id bigint);\nCREATE INDEX i ON t (id);",
        "CREATE TABLE t (id bigint);\nALTER TABLE t ADD COLUMN u bigint REFERENCES u ON DELETE CASCADE;",
        "SET LOCAL lock_timeout = '100ms';\nALTER TABLE t ADD COLUMN note text;",
        "DROP INDEX CONCURRENTLY i;",
    ] {
        assert_eq!(stops_traffic(passes), Vec::<String>::new(), "{passes}");
    }
}
