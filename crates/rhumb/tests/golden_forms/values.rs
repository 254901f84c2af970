//! Manifests of version 3, with values in value files, are read for ever.
//!
//! `golden/format-3` is laid out as `golden/format-1`, see `files.rs`. It was written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_forms made
//! ```

#[allow(dead_code, reason = "this test uses a part of it")]
use crate::golden;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use golden::decode_values::{NamedTable, is_log, record, tables, uses, walk};
use golden::{Content, check_tables, copy_in_memory, decode, expected};
use golden::{file_list, files, listing, options, read_all, write};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Options, inspect};

const FORMAT: u32 = 3;

/// A keyspace for each way in which values come to lie apart.
const KEYSPACES: [(&str, &str); 5] = [
    ("moved by flushes", "partition=bytes(1024),compression=none"),
    ("left in the log", "partition=predicted(8),compression=none"),
    ("collected", "partition=predicted,compression=lz4"),
    ("mixed", "partition=bytes(700),compression=lz4"),
    ("in groups", "partition=predicted,compression=none,groups=3"),
];

/// A store being written, with what it holds.
struct Writer {
    disk: MemoryFileSystem,
    content: Content,
}

impl Writer {
    fn open(&self, over_provision_percent: u32) -> Db {
        let with = Options {
            over_provision_percent,
            index: "plr:boundary=16".parse().unwrap(),
            ..options(&self.disk)
        };
        Db::open("store", with).unwrap()
    }

    fn put(&mut self, db: &Db, name: &str, n: u64, len: usize, round: u8) {
        let value = vec![n as u8 ^ round; len];
        let key = key(n);
        db.keyspace(name).unwrap().put(&key, &value).unwrap();
        self.content.get_mut(name).unwrap().insert(key, value);
    }

    fn delete(&mut self, db: &Db, name: &str, n: u64) {
        db.keyspace(name).unwrap().delete(key(n)).unwrap();
        self.content.get_mut(name).unwrap().remove(&key(n));
    }
}

fn key(n: u64) -> Vec<u8> {
    (n * n * 1_000_003).to_be_bytes().to_vec()
}

/// The numbers below `count` in another order.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |n| n * 37 % count)
}

/// A closed store, and what it holds.
fn make() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let mut writer = Writer {
        disk,
        content: Content::new(),
    };
    let db = writer.open(70);
    writer
        .content
        .insert(rhumb::DEFAULT_KEYSPACE.to_string(), BTreeMap::new());
    for (name, table) in KEYSPACES {
        let table = Some(format!("values=64,{table},filter=10").parse().unwrap());
        let with = rhumb::KeyspaceOptions { index: None, table };
        db.create_keyspace_with(name, with).unwrap();
        writer.content.insert(name.to_string(), BTreeMap::new());
    }
    let [moved, logged, collected, mixed, grouped] = KEYSPACES.map(|(name, _)| name);
    for n in shuffled(60) {
        writer.put(&db, grouped, n, 75, 9);
    }
    db.keyspace(grouped).unwrap().flush().unwrap();
    // Two tables, the second one with keys that hide values of the first.
    for (round, step) in [(1, 1), (2, 3)] {
        for n in shuffled(200).filter(|n| n % step == 0) {
            writer.put(&db, moved, n, 70, round);
        }
        db.keyspace(moved).unwrap().flush().unwrap();
    }
    db.close().unwrap();

    // In the log until the end: values of several lengths, in the order of their arrival.
    let db = writer.open(u32::MAX);
    for n in shuffled(100) {
        writer.put(&db, logged, n, 64 + (n % 5) as usize, 3);
    }
    db.keyspace(logged).unwrap().flush().unwrap();
    db.close().unwrap();

    // What is overwritten is garbage, with the file that it is in; others are moved out of that.
    let db = writer.open(70);
    let handle = db.keyspace(collected).unwrap();
    for (round, step) in [(4, 1), (5, 2)] {
        for n in shuffled(300).filter(|n| n % step == 0) {
            writer.put(&db, collected, n, 80, round);
        }
        handle.flush().unwrap();
    }
    handle.compact_range(None, None).unwrap();
    db.settle();
    assert!(db.stats().unwrap().writes.collections > 0);
    drop(handle);
    db.close().unwrap();

    // Deletes, short values and pointers into two files in one block.
    let db = writer.open(u32::MAX);
    for round in [6, 7] {
        for n in shuffled(150).filter(|n| n % 2 == u64::from(round) % 2) {
            match n % 10 {
                0 => writer.delete(&db, mixed, n),
                1 => writer.put(&db, mixed, n, (n % 50) as usize, round),
                _ => writer.put(&db, mixed, n, 100 + (n % 30) as usize, round),
            }
        }
        db.keyspace(mixed).unwrap().flush().unwrap();
    }
    let snapshot = db.snapshot();
    (0..20).for_each(|n| writer.delete(&db, mixed, n));
    let handle = db.keyspace(mixed).unwrap();
    handle.flush().unwrap();
    handle.compact_range(None, None).unwrap();
    drop((snapshot, handle));
    // Some values that only a log has.
    (0..10).for_each(|n| writer.put(&db, mixed, 1_000 + n, 90, 8));
    db.close().unwrap();
    (writer.disk, writer.content)
}

fn opened(disk: &MemoryFileSystem) -> Db {
    Db::open_read_only("store", options(disk)).unwrap()
}

fn number_of(name: &str) -> u64 {
    name.split('.').next().unwrap().parse().unwrap()
}

/// Checks by the reader that was written from docs/format.md alone that each pointer leads to the value of its key, and
/// that everything is there that was meant to be.
fn check_values(disk: &MemoryFileSystem) {
    let files = files(disk);
    let (name, manifest) = files
        .iter()
        .rfind(|(name, _)| name.ends_with(".manifest"))
        .unwrap();
    let mut found = BTreeSet::new();
    for (
        table,
        NamedTable {
            keyspace,
            uses: named,
            hides,
        },
    ) in tables(manifest, number_of(name))
    {
        let decoded = decode::table(&files[&format!("{table:06}.table")]);
        let section = decoded.sections.get(&8).map(|bytes| uses(&mut &bytes[..]));
        assert_eq!(section.unwrap_or_default(), named);
        let property = decoded.properties.get("hides").map(|text| text.to_vec());
        assert_eq!(
            property,
            (hides > 0).then(|| hides.to_string().into_bytes())
        );
        if hides > 0 {
            found.insert("a table that hides values");
        }
        let mut used: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let group_of = |file| {
            named
                .iter()
                .find(|used| used[0] == file)
                .map(|used| (used[4], used[5]))
        };
        for block in &decoded.blocks {
            let mut into = BTreeSet::new();
            for entry in &block.entries {
                let Some((file, offset, len)) = entry.pointer else {
                    continue;
                };
                let bytes = &files[&format!("{file:06}.values")];
                let (of, key, value, record_bytes) = record(bytes, file, offset);
                assert_eq!(
                    (of, key, value.len() as u64),
                    (keyspace, entry.key.clone(), len)
                );
                if let Some((groups @ 1.., group)) = group_of(file) {
                    let hash = u128::from(xxhash_rust::xxh3::xxh3_64(&entry.key));
                    assert_eq!((hash * u128::from(groups)) >> 64, u128::from(group));
                }
                let sums = used.entry(file).or_default();
                *sums = (sums.0 + 1, sums.1 + record_bytes);
                into.insert(file);
            }
            found.extend(match (into.len(), block.has(5)) {
                (0, _) => None,
                (1, true) => Some("a block of pointers into one file"),
                (_, true) => Some("a block of pointers into several files"),
                (_, false) => Some("a block of pointers and others"),
            });
        }
        for [file, file_bytes, entries, bytes, groups, group] in &named {
            let values = &files[&format!("{file:06}.values")];
            assert_eq!(values.len() as u64, *file_bytes);
            assert_eq!(used.remove(file), Some((*entries, *bytes)));
            if *groups > 0 {
                assert!(group < groups);
                found.insert("a file of a group");
            }
            found.insert(match is_log(values, *file) {
                true => "a log",
                false if walk(values, *file) > *entries => "a file with garbage",
                false => "a file that is in use as a whole",
            });
        }
        assert!(used.is_empty(), "{used:?}");
    }
    let expected = [
        "a block of pointers and others",
        "a block of pointers into one file",
        "a file of a group",
        "a file that is in use as a whole",
        "a log",
        "a table that hides values",
    ];
    println!("{found:?}");
    assert!(
        expected.iter().all(|form| found.contains(form)),
        "{found:?}"
    );
}

/// Makes the files if asked to; in any case what makes them is run.
#[test]
fn the_golden_values_are_made() {
    let (disk, content) = make();
    assert_eq!(read_all(&opened(&disk)).unwrap(), content);
    check_values(&disk);
    check_tables(&disk);
    if std::env::var("RHUMB_WRITE_GOLDEN").as_deref() == Ok("1") {
        write(FORMAT, &disk, &content);
    }
    assert_eq!(listing(&content), expected(FORMAT, "expected.tsv"));
}

#[test]
fn the_golden_files_of_format_3_are_as_they_were_written() {
    let disk = copy_in_memory(FORMAT);
    assert_eq!(file_list(&files(&disk)), expected(FORMAT, "files.tsv"));
    check_tables(&disk);
    check_values(&disk);
}

#[test]
fn format_3_is_read_sound_and_written_on() {
    let disk = copy_in_memory(FORMAT);
    let db = opened(&disk);
    let mut content = read_all(&db).unwrap();
    assert_eq!(listing(&content), expected(FORMAT, "expected.tsv"));
    db.close().unwrap();
    let report = inspect::verify(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);

    let db = Db::open("store", options(&disk)).unwrap();
    for (name, map) in &mut content {
        let keyspace = db.keyspace(name).unwrap();
        keyspace.put("new", [1; 100]).unwrap();
        keyspace.compact_range(None, None).unwrap();
        map.insert(b"new".to_vec(), vec![1; 100]);
    }
    db.settle();
    db.close().unwrap();
    let db = opened(&disk);
    assert_eq!(read_all(&db).unwrap(), content);
}
