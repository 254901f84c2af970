//! Files of each version of the format can be read for ever.
//!
//! `golden/format-1/store` is the directory of a store that was cut off while it was open,
//! `expected.tsv` lists its contents and `files.tsv` its files. They are never changed, and only
//! copies of them are opened. A new version of the format gets a directory of its own, written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_forms made
//! ```
//!
//! which refuses to write into an existing one. What version 2 of the manifest adds is in `options.rs`, version 3
//! (values in value files) in `values.rs`, and what was added to tables in `tables.rs`, `ingested.rs` and `blocks.rs`.

#[allow(dead_code, reason = "this test uses a part of it")]
use crate::golden;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use golden::make::{KEYSPACES, make};
use golden::{FORMAT, check_tables, copy_in_memory, decode, directory, dumped, file_list};
use golden::{files, listing, options, read_all, write};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Error, Options, Result, inspect};

/// The parts of the current manifest as `dump` names them: one for each tag of an edit.
const EDITS: &[&str] = &[
    "next file number",
    "last sequence",
    "create keyspace",
    "drop keyspace",
    "add table",
    "remove table",
    "lowest unflushed sequence",
    "ends at",
    "remove log",
    "key map",
    "next keyspace id",
    "begins",
];

fn opened_read_only(disk: &MemoryFileSystem) -> Result<Db> {
    Db::open_read_only("store", options(disk))
}

/// All files of a kind as text, in order of name.
fn dumps(disk: &MemoryFileSystem, kind: &str) -> Vec<String> {
    let names = files(disk).into_keys().filter(|name| name.ends_with(kind));
    names.map(|name| dumped(disk, &name)).collect()
}

/// Checks that the files have all forms that a golden set must have, so that none is lost
/// unnoticed.
fn check_forms(disk: &MemoryFileSystem) {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, bytes) in files(disk) {
        if name.ends_with(".table") {
            for form in decode::table(&bytes).forms() {
                found.entry(form).or_default().push(name.clone());
            }
        }
    }
    for (form, tables) in &found {
        println!("{form}: {}", tables.join(" "));
    }
    let missing: Vec<_> = decode::FORMS
        .iter()
        .filter(|form| !found.contains_key(**form))
        .collect();
    assert!(missing.is_empty(), "no table has {missing:?}");

    let manifest = dumps(disk, ".manifest").concat();
    for edit in EDITS {
        assert!(manifest.contains(edit), "{edit} is not in {manifest}");
    }
    let logs = dumps(disk, ".log");
    assert!(logs.iter().any(|log| log.contains("clean end")));
    let torn = logs.last().unwrap();
    assert!(torn.trim_end().ends_with("bytes that are no frame"));
    for operation in ["put \"", "delete \"", "delete range \""] {
        assert!(torn.contains(operation), "{operation}");
    }
}

/// Always runs the code that makes golden files; writes the files of a new version if asked to.
#[test]
fn the_golden_store_has_all_forms_when_made() {
    let (disk, content) = make();
    assert_eq!(
        read_all(&opened_read_only(&disk).unwrap()).unwrap(),
        content
    );
    check_forms(&disk);
    let fenced = |(name, bytes): (String, Vec<u8>)| {
        name.ends_with(".table") && decode::table(&bytes).form == 4
    };
    assert!(files(&disk).into_iter().any(fenced));
    if std::env::var("RHUMB_WRITE_GOLDEN").as_deref() == Ok("1") {
        write(FORMAT, &disk, &content);
    }
}

fn expected(name: &str) -> String {
    std::fs::read_to_string(directory(1).join(name)).unwrap()
}

#[test]
fn the_golden_files_of_format_1_are_as_they_were_written() {
    let disk = copy_in_memory(1);
    assert_eq!(file_list(&files(&disk)), expected("files.tsv"));
    check_forms(&disk);
}

/// Reads a copy on a real disk, as a user would.
#[test]
fn format_1_is_read_and_sound() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files(&copy_in_memory(1)) {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let db = Db::open_read_only(dir.path(), Options::default()).unwrap();
    let content = read_all(&db).unwrap();
    assert_eq!(listing(&content), expected("expected.tsv"));
    let recovery = db.stats().unwrap().recovery;
    assert!(recovery.log_operations > 300, "{recovery:?}");
    assert_eq!(recovery.torn_bytes, 100);
    db.close().unwrap();

    let report = inspect::verify(dir.path(), &Options::default(), &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("torn tail of 100 bytes"));
    assert!(report.tables > 15 && report.logs == 2 && report.entries > 2_000);
}

/// Uses the reader that was written from docs/format.md alone.
#[test]
fn the_tables_of_format_1_are_as_the_document_says() {
    let disk = copy_in_memory(1);
    check_tables(&disk);
}

#[test]
fn format_1_is_written_on() {
    let disk = copy_in_memory(1);
    let with = Options {
        index: "plr:boundary=16".parse().unwrap(),
        table: "compression=lz4".parse().unwrap(),
        ..options(&disk)
    };
    let db = Db::open("store", with).unwrap();
    let mut content = read_all(&db).unwrap();
    assert_eq!(listing(&content), expected("expected.tsv"));
    let names: BTreeSet<String> = content.keys().cloned().collect();
    assert!(KEYSPACES.iter().all(|name| names.contains(*name)));
    for name in names {
        let keyspace = db.keyspace(&name).unwrap();
        keyspace.put("new", "1").unwrap();
        keyspace.compact_range(None, None).unwrap();
        let map = content.get_mut(&name).unwrap();
        map.insert(b"new".to_vec(), b"1".to_vec());
    }
    assert_eq!(read_all(&db).unwrap(), content);
    db.close().unwrap();
    let db = opened_read_only(&disk).unwrap();
    assert_eq!(read_all(&db).unwrap(), content);
}

/// Writes a version into a file, and the checksum of the bytes before it.
fn claim(bytes: &mut [u8], version_at: usize, crc: (usize, usize), version: u32) {
    bytes[version_at..][..4].copy_from_slice(&version.to_le_bytes());
    let right = crc32c::crc32c(&bytes[crc.0..crc.1]);
    bytes[crc.1..][..4].copy_from_slice(&right.to_le_bytes());
}

#[test]
fn other_versions_are_refused_by_name() {
    let names: Vec<String> = files(&copy_in_memory(1)).into_keys().collect();
    let mut kinds = BTreeSet::new();
    // A table may be of version 2 too, and a manifest of this store of version 2 or 3.
    let later = |name: &str| match name.rsplit('.').next() {
        Some("CURRENT") => 2,
        Some("table") => 3,
        _ => 4,
    };
    let versions = |name: &str| [0, later(name)];
    for (name, version) in names
        .iter()
        .flat_map(|name| versions(name).map(|v| (name, v)))
    {
        let disk = copy_in_memory(1);
        let path = Path::new("store").join(name);
        let mut bytes = files(&disk).remove(name).unwrap();
        let footer = bytes.len().saturating_sub(48);
        match name.rsplit('.').next().unwrap() {
            "CURRENT" => claim(&mut bytes, 8, (0, 20), version),
            "manifest" => claim(&mut bytes, 8, (0, 12), version),
            "table" => claim(&mut bytes, footer + 32, (footer, footer + 36), version),
            _ => continue,
        }
        kinds.insert(name.rsplit('.').next().unwrap());
        disk.set_bytes(&path, bytes).unwrap();
        let read = opened_read_only(&disk).and_then(|db| read_all(&db));
        let verified = inspect::verify(Path::new("store"), &options(&disk), &mut |_| {});
        let before = files(&disk);
        let repaired = inspect::repair(Path::new("store"), &options(&disk), &mut |_| {});
        assert_eq!(files(&disk), before, "repair changed {name}");
        for refused in [read.map(|_| ()), verified.map(|_| ()), repaired.map(|_| ())] {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            let text = error.to_string();
            assert!(text.starts_with(&path.display().to_string()), "{text}");
            assert!(
                text.contains(&format!("format version {version}")),
                "{text}"
            );
            let known =
                ["version 1", "versions 1 to 2", "versions 1 to 3"][later(name) as usize - 2];
            assert!(text.contains(&format!("reads {known}")), "{text}");
        }
    }
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}
