//! Tables whose index knows the blocks: fenced directories, models of blocks, and trees of strings.
//!
//! `golden/format-2-blocks`, `golden/format-2-strings` and `golden/format-2-fence-keys` are laid out as `golden/format-1`, see `files.rs`. They were written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_forms made
//! ```

#[allow(dead_code, reason = "this test uses a part of it")]
use crate::golden;

use std::collections::{BTreeMap, BTreeSet};

use golden::{Content, check_made, check_unchanged, check_written_on, decode, files, options};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, KeyspaceOptions};

/// A golden set.
struct Golden {
    format: &'static str,
    /// Keyspaces: name, index, how blocks are cut.
    keyspaces: &'static [(&'static str, &'static str, &'static str)],
    /// Whether its blocks have fence keys.
    has_fence_keys: bool,
    /// Kind of the index, its flags if it has two forms, form of the directory, and whether any block has a slot hint.
    forms: &'static [(u8, u8, u8, bool)],
    key: fn(u64) -> Vec<u8>,
}

const BLOCKS: Golden = Golden {
    format: "2-blocks",
    keyspaces: &[
        ("fences", "fp", "bytes(400)"),
        ("raw", "fp-raw", "bytes(400)"),
        ("pla", "pla:error=2", "dual(600)"),
        ("pra", "pra", "dual(600)"),
        ("bytes", "pla", "bytes(300)"),
    ],
    has_fence_keys: false,
    forms: &[
        (1, 0, 4, false),
        (2, 0, 4, false),
        (17, 0, 4, true),
        (18, 0, 4, true),
    ],
    key: |n| (n * n * 1_000_003).to_be_bytes().to_vec(),
};

const STRINGS: Golden = Golden {
    format: "2-strings",
    keyspaces: &[
        ("bounds", "rss", "dual(300)"),
        ("short", "rss:chunk=8", "bytes(300)"),
        ("keys", "rss:over=keys,error=4", "dual(300)"),
        ("shortkeys", "rss:over=keys,chunk=8", "bytes(300)"),
    ],
    has_fence_keys: false,
    forms: &[
        (RSS, 2, 4, false),
        (RSS, 0, 4, false),
        (RSS, 3, 0, false),
        (RSS, 1, 0, false),
    ],
    // Some are prefixes of others, and some end with zeros.
    key: |n| {
        let directory = format!("usr/share/{}/of-a-long-name-{}/", n % 3, n / 20);
        [
            directory.as_bytes(),
            &b"file\0\0\0\0\0\0\0\0\0"[..(n % 13) as usize],
        ]
        .concat()
    },
};

/// Blocks with fence keys, placed ones too.
const FENCE_KEYS: Golden = Golden {
    format: "2-fence-keys",
    keyspaces: &[
        ("fences", "fp", "bytes(400)"),
        ("slots", "pla:error=2", "dual(600)"),
        ("placed", "plr:boundary=16", "predicted(4)"),
    ],
    has_fence_keys: true,
    forms: &[(1, 0, 4, false), (17, 0, 4, true), (3, 0, 1, true)],
    key: |n| match n % 5 {
        0 => (n * n * 1_000_003).to_be_bytes().to_vec(),
        _ => (n * n * 1_000_003).to_be_bytes()[..7].to_vec(),
    },
};

const ALL: [Golden; 3] = [BLOCKS, STRINGS, FENCE_KEYS];

/// The numbers of the kinds `plr` and `rss`.
const PLR: u8 = 3;
const RSS: u8 = 19;

fn made(golden: &Golden) -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk)).unwrap();
    let mut content = Content::new();
    content.insert("default".to_string(), BTreeMap::new());
    for (name, index, partition) in golden.keyspaces {
        let with = KeyspaceOptions {
            index: Some(index.parse().unwrap()),
            table: Some(format!("partition={partition},filter=0").parse().unwrap()),
        };
        let keyspace = db.create_keyspace_with(name, with).unwrap();
        let map = content.entry(name.to_string()).or_default();
        let mut put = |n: u64, value: String| {
            let key = (golden.key)(n);
            keyspace.put(&key, &value).unwrap();
            map.insert(key, value.into_bytes());
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

fn check_forms(golden: &Golden, disk: &MemoryFileSystem) {
    let mut found = BTreeSet::new();
    for (name, bytes) in files(disk) {
        if name.ends_with(".table") {
            let table = decode::table(&bytes);
            let index = &table.sections[&2];
            let flags = if index[0] == RSS { index[4] } else { 0 };
            let form = (index[0], flags, table.form);
            let has_hint = table.blocks.iter().any(|block| block.hint.is_some());
            let goes_on = table.blocks.iter().filter(|block| block.has(7)).count();
            println!("{name}: {form:?}, {has_hint}, {goes_on}");
            found.insert((form.0, form.1, form.2, has_hint));
            // Versions of a key stay in their cell.
            assert!(goes_on > 1 || index[0] == PLR, "{name}");
            let mut fenced = table.blocks.iter().map(|block| block.fence_keys.is_some());
            assert!(
                !golden.has_fence_keys || fenced.all(|fenced| fenced),
                "{name}"
            );
        }
    }
    let all = golden.forms.iter().all(|form| found.contains(form));
    assert!(all, "{found:?}");
}

/// Makes the files if asked to; in any case what makes them is run.
#[test]
fn the_golden_blocks_are_made() {
    for golden in ALL {
        check_made(golden.format, &made(&golden), |disk| {
            check_forms(&golden, disk);
        });
    }
}

#[test]
fn the_golden_blocks_are_as_they_were_written() {
    for golden in ALL {
        check_unchanged(golden.format, |disk| check_forms(&golden, disk));
    }
}

#[test]
fn golden_blocks_are_read_sound_and_written_on() {
    for golden in ALL {
        check_written_on(golden.format);
    }
}
