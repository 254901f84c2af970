//! Tables whose sequence the manifest gives are read for ever.
//!
//! `golden/format-2-ingested` is laid out as `golden/format-1`, see `files.rs`. It was written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_forms made
//! ```

#[allow(dead_code, reason = "this test uses a part of it")]
use crate::golden;

use std::collections::BTreeMap;
use std::path::Path;

use golden::{Content, check_made, check_unchanged, check_written_on};
use golden::{copy_in_memory, decode, files, options, read_all};
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Options, TableWriter, inspect};

const FORMAT: &str = "2-ingested";

/// The section that says that the manifest gives the sequence.
const GIVEN: u64 = 7;

/// The layouts of ingested tables: with a key map and without, placed, in blocks and in units.
const LAYOUTS: [(&str, &str, &str); 4] = [
    (
        "placed",
        "plr:boundary=16",
        "partition=predicted(4),filter=10",
    ),
    (
        "blocks",
        "fp",
        "partition=bytes(512),filter=0,compression=lz4",
    ),
    ("units", "fp-raw", "partition=entries(8),filter=0"),
    ("exact", "pgm:boundary=16", "partition=entries(1),filter=0"),
];

fn key(n: u64) -> [u8; 8] {
    (n * n * 1_000_003).to_be_bytes()
}

/// A store with older and newer entries above and below ingested ones, and deletes among these.
fn made() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk)).unwrap();
    let mut content = Content::from([("default".to_string(), BTreeMap::new())]);
    for (name, index, table) in LAYOUTS {
        let layout = Options {
            index: index.parse().unwrap(),
            table: table.parse().unwrap(),
            ..options(&disk)
        };
        let keyspace = db.create_keyspace(name).unwrap();
        let map = content.entry(name.to_string()).or_default();
        let mut note = |n: u64, value: String| {
            map.insert(key(n).to_vec(), value.clone().into_bytes());
            (key(n), value)
        };
        for n in 0..30 {
            let (key, value) = note(n, format!("older {n:04}"));
            keyspace.put(key, value).unwrap();
        }
        keyspace.compact_range(None, None).unwrap();
        let mut outside = TableWriter::create("outside", &layout).unwrap();
        for n in 20..50 {
            let (key, value) = note(n, format!("given {n:04}"));
            outside.put(key, value).unwrap();
        }
        outside.finish().unwrap();
        keyspace.ingest(&["outside"]).unwrap();
        disk.remove("outside".as_ref()).unwrap();
        let sorted = (60..70).map(|n| note(n, format!("sorted {n}")));
        keyspace.ingest_sorted(sorted.collect::<Vec<_>>()).unwrap();
        let mut deletes = keyspace.sorted_ingest().unwrap();
        for n in [5, 25, 65] {
            deletes.delete(key(n)).unwrap();
        }
        deletes.finish().unwrap();
        let (newer, value) = note(30, "newer".to_string());
        keyspace.put(newer, value).unwrap();
        for n in [5, 25, 65] {
            map.remove(&key(n)[..]);
        }
    }
    db.close().unwrap();
    (disk, content)
}

/// Checks that ingested tables of all forms are there, without sequences of their own.
fn check_forms(disk: &MemoryFileSystem) {
    let mut given = Vec::new();
    for (name, bytes) in files(disk) {
        if !name.ends_with(".table") {
            continue;
        }
        let table = decode::table(&bytes);
        let Some(section) = table.sections.get(&GIVEN) else {
            continue;
        };
        assert!(section.is_empty());
        let mut entries = table.blocks.iter().flat_map(|block| &block.entries);
        assert!(entries.all(|entry| entry.sequence == 0), "{name}");
        let deletes = table.properties["deletes"] != b"0";
        let named = table.properties.contains_key("keyspace");
        // Fence pointers had directories of form 0 before there was form 4.
        let form = if table.form == 4 { 0 } else { table.form };
        given.push((table.version, form, named, deletes));
    }
    for form in [
        (1, 1, true, false),
        (1, 2, true, true),
        (1, 2, false, false),
        (1, 3, false, false),
        (2, 0, false, false),
        (2, 3, false, false),
    ] {
        assert!(given.contains(&form), "no {form:?} in {given:?}");
    }
}

/// Makes the files if asked to; in any case what makes them is run.
#[test]
fn the_golden_ingest_is_made() {
    check_made(FORMAT, &made(), check_forms);
}

#[test]
fn the_golden_ingest_is_as_it_was_written() {
    check_unchanged(FORMAT, check_forms);
}

#[test]
fn golden_ingested_tables_are_read_sound_and_written_on() {
    check_written_on(FORMAT);
}

/// Only the manifest knows how old ingested tables are: without it they are put aside, and the report says so.
#[test]
fn ingested_tables_without_a_manifest_are_reported_as_lost() {
    let disk = copy_in_memory(FORMAT);
    let given = files(&disk).into_iter().filter(|(name, bytes)| {
        name.ends_with(".table") && decode::table(bytes).sections.contains_key(&GIVEN)
    });
    let given: Vec<String> = given.map(|(name, _)| name).collect();
    for name in files(&disk).into_keys() {
        if name.ends_with(".manifest") || name == "CURRENT" {
            disk.remove(&Path::new("store").join(name)).unwrap();
        }
    }
    let report = inspect::repair(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
    let lost = disk.list(Path::new("store/lost")).unwrap();
    for name in &given {
        let lists = |lost: &inspect::LostData| lost.path.ends_with(name);
        assert!(report.lost.iter().any(lists), "{name}: {:?}", report.lost);
        assert!(lost.contains(name), "{name}: {lost:?}");
    }
    let db = Db::open("store", options(&disk)).unwrap();
    // What was not ingested is there.
    let content = read_all(&db).unwrap();
    let full = content.values().filter(|map| !map.is_empty());
    for map in full.clone() {
        assert!(map.contains_key(&key(0)[..]) && !map.contains_key(&key(60)[..]));
    }
    assert_eq!(full.count(), LAYOUTS.len());
}
