//! `dump` shows each kind of file as text, damaged or not, and refuses files that are not part of a
//! store.

use std::fs;
use std::path::Path;

use crate::damage::{Store, flip, options, truncate};
use rhumb::inspect;

fn dump(path: &Path) -> rhumb::Result<String> {
    let mut out = Vec::new();
    inspect::dump(path, &options(), &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn every_kind_of_file_is_shown() {
    let store = Store::new();
    let current = dump(&store.path().join("CURRENT")).unwrap();
    let manifest = store.files("manifest").pop().unwrap();
    assert!(
        current.contains(manifest.file_name().unwrap().to_str().unwrap()),
        "{current}"
    );
    let manifest = dump(&manifest).unwrap();
    assert!(
        manifest.contains("create keyspace 0 \"default\""),
        "{manifest}"
    );
    assert!(manifest.contains("level 1, run 0: add table"), "{manifest}");
    let log = dump(&store.files("log").pop().unwrap()).unwrap();
    assert!(
        log.contains("put \"key") && log.contains("clean end"),
        "{log}"
    );
    let table = dump(&store.files("table").pop().unwrap()).unwrap();
    assert!(
        table.contains("index.kind = ") && table.contains("\"key0"),
        "{table}"
    );
    assert!(
        table.contains(" deleted") || table.contains(" = \""),
        "{table}"
    );
}

#[test]
fn it_says_how_blocks_are_placed() {
    let dir = tempfile::tempdir().unwrap();
    let db = rhumb::Db::open(dir.path(), rhumb::Options::default()).unwrap();
    let mut batch = rhumb::WriteBatch::new();
    for n in 0..2_000u64 {
        batch.put(&db, (n * n).to_be_bytes(), [7; 100]).unwrap();
    }
    db.write(batch).unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    let files = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
    let tables: Vec<_> = files
        .filter(|f| f.extension().is_some_and(|e| e == "table"))
        .collect();
    let text = dump(&tables[0]).unwrap();
    for line in [
        "partition = predicted(",
        "blocks: placed by the model",
        "predicted ranks a cell, 0 extra blocks, 0 empty cells",
        "entries a block: min ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn it_says_how_full_blocks_are() {
    let dir = tempfile::tempdir().unwrap();
    let options = rhumb::Options {
        index: "pla".parse().unwrap(),
        table: "partition=dual(1KiB)".parse().unwrap(),
        ..rhumb::Options::default()
    };
    let db = rhumb::Db::open(dir.path(), options).unwrap();
    for n in 0..1_000u64 {
        db.put(n.to_be_bytes(), [7; 12]).unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    let files = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
    let is_table = |f: &std::path::PathBuf| f.extension().is_some_and(|e| e == "table");
    let text = dump(&files.filter(is_table).last().unwrap()).unwrap();
    let fill = text
        .split("fill: ")
        .nth(1)
        .unwrap_or_else(|| panic!("{text}"));
    let percent: f64 = fill.split(' ').next().unwrap().parse().unwrap();
    assert!(percent > 90.0 && percent <= 100.0, "{text}");
}

#[test]
fn damage_is_named_and_passed_over() {
    let store = Store::new();
    let table = store.files("table").pop().unwrap();
    flip(&table, 30);
    assert!(dump(&table).unwrap().contains("a damaged block"));
    let log = store.files("log").pop().unwrap();
    flip(&log, 30);
    assert!(dump(&log).unwrap().contains("bytes that are no frame"));
    let manifest = store.files("manifest").pop().unwrap();
    flip(&manifest, 40);
    assert!(
        dump(&manifest)
            .unwrap()
            .contains("bytes that are no record")
    );
}

#[test]
fn no_damage_makes_it_panic() {
    let store = Store::new();
    let (image, mut kinds) = (store.image(), std::collections::BTreeSet::new());
    // One file of each kind is enough.
    for (path, bytes) in image.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        if !kinds.insert(path.extension()) {
            continue;
        }
        let step = (bytes.len() / 60).max(1);
        for at in (0..bytes.len()).step_by(step) {
            flip(path, at);
            let _ = dump(path);
            truncate(path, at);
            let _ = dump(path);
            fs::write(path, bytes).unwrap();
        }
    }
    assert_eq!(kinds.len(), 4);
}

#[test]
fn other_files_are_none() {
    let store = Store::new();
    let notes = store.path().join("notes");
    fs::write(&notes, "x").unwrap();
    let error = dump(&notes).unwrap_err().to_string();
    assert!(error.contains("is not a file of a store"), "{error}");
    let missing = dump(&store.path().join("999999.log"))
        .unwrap_err()
        .to_string();
    assert!(missing.contains("999999.log"), "{missing}");
}
