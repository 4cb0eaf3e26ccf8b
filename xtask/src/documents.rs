//! What the documents name must be there: `docs/contract.md` names a test for each rule, `docs/architecture.md` the files
//! a sale walks through.

use std::fs;
use std::path::Path;

/// `file.rs::test`, as the table writes it.
fn named_tests(table: &str) -> Vec<(&str, &str)> {
    table
        .split('`')
        .filter_map(|code| code.split_once(".rs::"))
        .collect()
}

#[test]
fn every_test_the_contract_table_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table = fs::read_to_string(root.join("docs/contract.md")).unwrap();
    let named = named_tests(&table);
    assert!(!named.is_empty());
    let missing: Vec<_> = named
        .iter()
        .filter(|(file, test)| {
            let path = root.join(format!("ingest/tests/it/{file}.rs"));
            let source = fs::read_to_string(path).unwrap_or_default();
            !source.contains(&format!("fn {test}()"))
        })
        .collect();
    assert!(missing.is_empty(), "named, but not there: {missing:?}");
}

#[test]
fn only_names_of_tests_are_looked_for() {
    let table = "| `a.rs::b` | `clicks`, see `docs/x.md` and `c_d.rs::e_f` |";
    assert_eq!(named_tests(table), [("a", "b"), ("c_d", "e_f")]);
}

/// Paths of the tree, as the text writes them: with a slash, and an ending or a trailing slash.
fn named_paths(text: &str) -> Vec<&str> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(|code| code.split("::").next().unwrap_or(code))
        .filter(|code| !code.contains([' ', '…']) && code.contains('/'))
        .filter(|code| code.ends_with('/') || Path::new(code).extension().is_some())
        .collect()
}

#[test]
fn every_file_the_architecture_names_is_where_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let named = named_paths(&text);
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|path| !root.join(path).exists()).collect();
    assert!(missing.is_empty(), "named, but not there: {missing:?}");
}
