//! There is no import cycle between kinds, the registry and the checkers. The registry lists the
//! kinds and the checkers use the registry, so kinds and the modules that describe them must not
//! name the registry or the checkers, except in tests.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of kinds, and those that describe kinds.
const LOWER: [&str; 8] = [
    "kinds",
    "kinds.rs",
    "kind.rs",
    "knob.rs",
    "spec.rs",
    "index.rs",
    "segment",
    "segment.rs",
];

/// The modules that use kinds.
const UPPER: [&str; 2] = ["registry", "check"];

#[test]
fn kinds_name_neither_the_registry_nor_the_checkers() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for part in LOWER {
        collect(&source.join(part), &mut files);
    }
    assert!(files.len() > 100, "{} files", files.len());
    let only_tests: Vec<PathBuf> = files.iter().flat_map(|file| test_files_of(file)).collect();
    files.retain(|file| !only_tests.contains(file));
    for file in files {
        for statement in code_of(&file).split(';') {
            let named = UPPER.into_iter().find(|upper| imports(statement, upper));
            assert_eq!(named, None, "{}:{statement}", file.display());
        }
    }
}

fn imports(statement: &str, module: &str) -> bool {
    let is_use = statement.trim_start().starts_with("use crate::");
    is_use && words(statement).any(|word| word == module)
        || statement.contains(&format!("crate::{module}"))
}

/// The Rust files of a folder and those below it, or a single file.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), files);
        }
    } else if path.extension().is_some_and(|kind| kind == "rs") {
        files.push(path.to_path_buf());
    }
}

/// The files that a module declares for its tests only.
fn test_files_of(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
        let line = rest.lines().next()?;
        let name = line.rsplit_once("mod ")?.1.strip_suffix(';')?;
        Some(file.with_extension("").join(name).with_extension("rs"))
    });
    declared.collect()
}

/// A file's text up to its unit tests, without comments.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("mod tests {").next().unwrap();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap().to_owned() + "\n");
    lines.collect()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}
