//! Tables of units, and tables without a key map (version 2), are read for ever.
//!
//! `golden/format-2-tables` is laid out as `golden/format-1`, see `files.rs`. It was written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_forms made
//! ```

#[allow(dead_code, reason = "this test uses a part of it")]
use crate::golden;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use golden::{Content, check_made, check_unchanged, check_written_on};
use golden::{copy_in_memory, decode, files, options, read_all};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Error, Keyspace, KeyspaceOptions, Options, inspect};

const FORMAT: &str = "2-tables";

/// The forms that the tables of the golden set must contain.
const FORMS: [&str; 12] = [
    "units of one entry",
    "units of 8 entries, the last one short",
    "units without sequences",
    "units with sequences of 1 byte",
    "stretches with sequences of 1 and of 2 bytes",
    "a stretch with sequences behind one without",
    "blocks behind units",
    "a block that goes on with the key of the last unit",
    "a block of entries of one size behind units",
    "no key map, fp",
    "no key map, fp-raw",
    "a key map, plr",
];

/// Keyspaces: name, index, entries a unit.
const KEYSPACES: [(&str, &str, u32); 6] = [
    ("single", "plr:boundary=16", 1),
    ("eights", "fp", 8),
    ("newer", "fp-raw", 8),
    ("odd", "fp", 4),
    ("wider", "plr:boundary=8", 4),
    ("versions", "plr:boundary=16", 2),
];

fn key(n: u64) -> [u8; 8] {
    (n * n * 1_000_003).to_be_bytes()
}

/// Fills a keyspace, and leaves tables of its forms.
fn fill(name: &str, db: &Db, keyspace: &Keyspace, content: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    let mut put = |n: u64, value: &str| {
        keyspace.put(key(n), value).unwrap();
        content.insert(key(n).to_vec(), value.as_bytes().to_vec());
    };
    for n in 0..43 {
        put(n, &format!("value {n:04}"));
    }
    if name == "odd" {
        put(30, "longer than the others");
    }
    let held = (name == "versions").then(|| db.snapshot());
    if held.is_some() {
        put(21, "newer 0021");
    }
    keyspace.compact_range(None, None).unwrap();
    drop(held);
    if name == "newer" || name == "wider" {
        // A flush keeps sequences; those of the second keyspace go from 1 byte to 2.
        for n in 5..40 {
            put(n, &format!("newer {n:04}"));
        }
        keyspace.flush().unwrap();
    }
}

fn made() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let small = Options {
        levels: rhumb::Levels {
            level0_tables: 100,
            ..rhumb::Levels::default()
        },
        ..options(&disk)
    };
    let db = Db::open("store", small).unwrap();
    let mut content = Content::new();
    content.insert("default".to_string(), BTreeMap::new());
    for (name, index, n) in KEYSPACES {
        let with = KeyspaceOptions {
            index: Some(index.parse().unwrap()),
            table: Some(format!("partition=entries({n}),filter=0").parse().unwrap()),
        };
        let keyspace = db.create_keyspace_with(name, with).unwrap();
        fill(
            name,
            &db,
            &keyspace,
            content.entry(name.to_string()).or_default(),
        );
    }
    db.close().unwrap();
    (disk, content)
}

fn forms(table: &decode::Table) -> BTreeSet<&'static str> {
    let widths: Vec<u8> = table.stretches.iter().map(|s| s.1).collect();
    let units: u64 = table.stretches.iter().map(|s| s.0).sum();
    let after = &table.blocks[units as usize..];
    let behind = after.first();
    let kind = table.properties["index.kind"].as_slice();
    let last = units
        .checked_sub(1)
        .map(|last| &table.blocks[last as usize].entries);
    let short = last.is_some_and(|last| last.len() < 8);
    let has_map = table.sections.contains_key(&5);
    assert_eq!(table.version == 1, has_map);
    let some = [
        table.form == 3 && table.cell == 1,
        table.form == 3 && table.cell == 8 && short,
        widths == [0],
        widths == [1],
        widths == [1, 2],
        widths == [0, 2],
        units > 0 && behind.is_some(),
        units > 0 && behind.is_some_and(|block| block.has(7)),
        units > 0 && after.iter().any(|block| block.has(3) && block.has(4)),
        !has_map && kind == b"fp",
        !has_map && kind == b"fp-raw",
        has_map && kind == b"plr",
    ];
    let forms = FORMS.into_iter().zip(some);
    forms
        .filter(|(_, has)| *has)
        .map(|(form, _)| form)
        .collect()
}

fn check_forms(disk: &MemoryFileSystem) {
    let mut found = BTreeSet::new();
    for (name, bytes) in files(disk) {
        if name.ends_with(".table") {
            let forms = forms(&decode::table(&bytes));
            let stretches = &decode::table(&bytes).stretches;
            println!("{name}: {stretches:?}, {forms:?}");
            found.extend(forms);
        }
    }
    let missing: Vec<_> = FORMS.iter().filter(|form| !found.contains(*form)).collect();
    assert!(missing.is_empty(), "no table has {missing:?}");
}

/// Makes the files if asked to; in any case what makes them is run.
#[test]
fn the_golden_tables_are_made() {
    check_made(FORMAT, &made(), check_forms);
}

#[test]
fn the_golden_tables_are_as_they_were_written() {
    check_unchanged(FORMAT, check_forms);
}

#[test]
fn golden_tables_are_read_sound_and_written_on() {
    check_written_on(FORMAT);
}

/// A repair that has lost the manifest has no key maps but those of tables.
#[test]
fn golden_tables_are_repaired_without_a_manifest() {
    let disk = copy_in_memory(FORMAT);
    let content = read_all(&Db::open_read_only("store", options(&disk)).unwrap()).unwrap();
    for name in files(&disk).into_keys() {
        if name.ends_with(".manifest") || name == "CURRENT" {
            rhumb::fs::FileSystem::remove(&disk, &Path::new("store").join(name)).unwrap();
        }
    }
    let opened = Db::open_read_only("store", options(&disk));
    assert!(matches!(opened, Err(Error::Corruption { .. })));
    inspect::repair(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
    let repaired = read_all(&Db::open_read_only("store", options(&disk)).unwrap()).unwrap();
    let values = |content: Content| content.into_values().filter(|map| !map.is_empty());
    let (before, after): (BTreeSet<_>, BTreeSet<_>) =
        (values(content).collect(), values(repaired).collect());
    assert_eq!(before, after);
}
