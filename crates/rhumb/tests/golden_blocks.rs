//! Tables whose index answers with blocks: fenced directories, and models of blocks.
//!
//! `golden/format-2-blocks` is laid out as `golden/format-1`, see `golden_files`. It was written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_blocks made
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[allow(dead_code, reason = "this test uses a part of it")]
mod golden;

use std::collections::{BTreeMap, BTreeSet};

use golden::{Content, check_made, check_unchanged, check_written_on, decode, files, options};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, KeyspaceOptions};

const FORMAT: &str = "2-blocks";

/// Keyspaces: name, index, how blocks are cut.
const KEYSPACES: [(&str, &str, &str); 5] = [
    ("fences", "fp", "bytes(400)"),
    ("raw", "fp-raw", "bytes(400)"),
    ("pla", "pla:error=2", "dual(600)"),
    ("pra", "pra", "dual(600)"),
    ("bytes", "pla", "bytes(300)"),
];

/// Kind of the index, form of the directory, and whether any block has a slot hint.
const FORMS: [(u64, u8, bool); 4] = [(1, 4, false), (2, 4, false), (17, 4, true), (18, 4, true)];

fn made() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk)).unwrap();
    let mut content = Content::new();
    content.insert("default".to_string(), BTreeMap::new());
    for (name, index, partition) in KEYSPACES {
        let with = KeyspaceOptions {
            index: Some(index.parse().unwrap()),
            table: Some(format!("partition={partition},filter=0").parse().unwrap()),
        };
        let keyspace = db.create_keyspace_with(name, with).unwrap();
        let map = content.entry(name.to_string()).or_default();
        let mut put = |n: u64, value: String| {
            let key = (n * n * 1_000_003).to_be_bytes();
            keyspace.put(key, &value).unwrap();
            map.insert(key.to_vec(), value.into_bytes());
        };
        (0..200).for_each(|n| put(n, format!("value {n}")));
        // The versions of one key go on through several blocks.
        let snapshots: Vec<_> = (0..40)
            .map(|version| {
                put(77, format!("version {version:030}"));
                db.snapshot()
            })
            .collect();
        keyspace.compact_range(None, None).unwrap();
        drop(snapshots);
    }
    db.close().unwrap();
    (disk, content)
}

fn check_forms(disk: &MemoryFileSystem) {
    let mut found = BTreeSet::new();
    for (name, bytes) in files(disk) {
        if name.ends_with(".table") {
            let table = decode::table(&bytes);
            let kind = table.sections[&2][0].into();
            let has_hint = table.blocks.iter().any(|block| block.hint.is_some());
            let goes_on = table.blocks.iter().filter(|block| block.has(7)).count();
            println!("{name}: {kind}, {}, {has_hint}, {goes_on}", table.form);
            found.insert((kind, table.form, has_hint));
            assert!(goes_on > 1, "{name}");
        }
    }
    assert!(FORMS.iter().all(|form| found.contains(form)), "{found:?}");
}

/// Makes the files if asked to; in any case what makes them is run.
#[test]
fn the_golden_blocks_are_made() {
    check_made(FORMAT, &made(), check_forms);
}

#[test]
fn the_golden_blocks_are_as_they_were_written() {
    check_unchanged(FORMAT, check_forms);
}

#[test]
fn golden_blocks_are_read_sound_and_written_on() {
    check_written_on(FORMAT);
}
