//! The limits of product code: files of a folder, lines of a file, lines of a function.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const FILES_OF_A_FOLDER: usize = 25;
const LINES_OF_A_FILE: usize = 450;
const LINES_OF_A_FUNCTION: usize = 70;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "rs")
}

/// All sources of the workspace, by folder.
fn folders() -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let mut folders = BTreeMap::new();
    let mut open = vec![root()];
    while let Some(folder) = open.pop() {
        let entries: Vec<PathBuf> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let is_ours = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules"
        };
        open.extend(entries.iter().filter(is_ours).cloned());
        folders.insert(
            folder,
            entries.into_iter().filter(|path| is_source(path)).collect(),
        );
    }
    folders
}

/// Product code: no tests, benches or fuzz targets. Tests at the end of a file are cut off.
fn product() -> Vec<(PathBuf, String)> {
    let is_product = |path: &PathBuf| {
        let path = path.strip_prefix(root()).unwrap();
        let is_left_out = |folder| ["tests", "benches", "fuzz"].iter().any(|name| folder == *name);
        !path.iter().any(is_left_out) && !path.to_string_lossy().ends_with("tests.rs")
    };
    let files = folders().into_values().flatten().filter(is_product);
    files
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
            (path, code.to_owned())
        })
        .collect()
}

/// Names and lengths of the functions: each ends with the first line that closes its indentation.
fn functions(code: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let begins = lines.iter().enumerate().filter_map(|(start, line)| {
        let signature = line.trim_start();
        let (qualifiers, rest) = signature.split_once("fn ")?;
        let is_qualifier = |word: &str| {
            word.starts_with("pub")
                || word.ends_with(')')
                || ["async", "const", "default", "unsafe"].contains(&word)
        };
        let name = rest.split(['(', '<']).next()?;
        let is_function = qualifiers.split_whitespace().all(is_qualifier) && !line.ends_with(['}', ';']);
        is_function.then_some((start, line.len() - signature.len(), name))
    });
    begins
        .map(|(start, indent, name)| {
            let indent = " ".repeat(indent);
            let goes_on = |line: &&&str| {
                let rest = line.strip_prefix(&indent);
                !rest.is_some_and(|rest| rest == "}" || (rest.starts_with(')') && rest.ends_with(';')))
            };
            let body = lines.iter().skip(start + 1).take_while(goes_on);
            (name, body.count() + 2)
        })
        .collect()
}

#[test]
fn no_folder_has_too_many_files() {
    let wide: Vec<_> = folders()
        .into_iter()
        .filter(|(_, files)| files.len() > FILES_OF_A_FOLDER)
        .map(|(folder, files)| (folder, files.len()))
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn no_file_of_product_code_is_too_long() {
    let long: Vec<_> = product()
        .into_iter()
        .map(|(path, code)| (path, code.lines().count()))
        .filter(|(_, lines)| *lines > LINES_OF_A_FILE)
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn no_function_of_product_code_is_too_long() {
    let files = product();
    let functions: Vec<_> = files
        .iter()
        .flat_map(|(path, code)| {
            functions(code)
                .into_iter()
                .map(move |(name, lines)| (path, name, lines))
        })
        .collect();
    assert!(functions.len() > 3_000, "{}", functions.len());
    let long: Vec<_> = functions
        .iter()
        .filter(|(_, _, lines)| *lines > LINES_OF_A_FUNCTION)
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_function_is_measured_to_the_line_that_closes_it() {
    let code = "pub async fn a(\n    b: u8,\n) -> u8 {\n    b\n}\n\nfn c() {}\n\nimpl D {\n    fn e(&self) {\n        if true {\n        }\n    }\n}\n";
    assert_eq!(functions(code), [("a", 5), ("e", 4)]);
}
