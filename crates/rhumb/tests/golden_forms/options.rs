//! Manifests of version 2, which hold options of keyspaces, are read for ever.
//!
//! `golden/format-2` is laid out as `golden/format-1`, see `files.rs`; `options.tsv` says what is
//! set for each keyspace. Each index kind and each setting of a table stands there, so that texts which
//! were written once are known by every later rhumb. It was written by
//!
//! ```sh
//! RHUMB_WRITE_GOLDEN=1 cargo test --release -p rhumb --test golden_forms made
//! ```

#[allow(dead_code, reason = "this test uses a part of it")]
use crate::golden;

use std::collections::BTreeMap;
use std::path::Path;

use golden::write;
use golden::{Content, copy_in_memory, directory, file_list, files, listing, options, read_all};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, KeyspaceOptions, inspect};

const FORMAT: u32 = 2;

/// Each kind, with its knobs.
const INDEXES: [&str; 16] = [
    "fp",
    "fp-raw",
    "plr",
    "plr:boundary=16,retained=1",
    "fiting-tree:boundary=8,retained=0",
    "pgm:boundary=16,retained=0,eps_recursive=4",
    "rmi:leaves=9,root=cubic,retained=0",
    "rmi:boundary=64",
    "radix-spline:boundary=32,retained=0,radix_bits=5",
    "plex:boundary=64,retained=0",
    "alex:boundary=4,upkeep=published",
    "lipp:boundary=4,upkeep=bounded",
    "dili:boundary=4,upkeep=published",
    "lits:choice=trie,upkeep=published",
    "nfl:boundary=4,flow=never",
    "btree:boundary=4",
];

const TABLES: [&str; 4] = [
    "partition=predicted,filter=10,compression=none,size=67108864",
    "partition=predicted(16),filter=0,compression=lz4,size=1024",
    "partition=bytes(4096),filter=64,compression=none,size=8388608",
    "partition=entries(65535),filter=1,compression=none,size=1048576",
];

fn with(index: Option<&str>, table: Option<&str>) -> KeyspaceOptions {
    KeyspaceOptions {
        index: index.map(|text| text.parse().unwrap()),
        table: table.map(|text| text.parse().unwrap()),
    }
}

/// A store as it lies on the disk when it is cut off, and what it holds.
fn make() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk)).unwrap();
    let mut content = Content::new();
    for (n, index) in INDEXES.iter().enumerate() {
        let table = TABLES.get(n % 5).copied();
        let name = format!("{n:02}");
        db.create_keyspace_with(&name, with(Some(index), table))
            .unwrap();
        content.insert(name, BTreeMap::new());
    }
    let dropped = with(None, Some(TABLES[2]));
    db.create_keyspace_with("dropped", dropped).unwrap();
    db.drop_keyspace("dropped").unwrap();
    for name in ["cleared", "changed"] {
        let keyspace = db
            .create_keyspace_with(name, with(Some("fp"), None))
            .unwrap();
        keyspace.set_options(KeyspaceOptions::default()).unwrap();
        content.insert(name.to_string(), BTreeMap::new());
    }
    let changed = db.keyspace("changed").unwrap();
    changed.set_options(with(None, Some(TABLES[1]))).unwrap();
    db.set_options(with(Some("pgm"), None)).unwrap();
    content.insert("default".to_string(), BTreeMap::new());
    for (name, map) in &mut content {
        let keyspace = db.keyspace(name).unwrap();
        for n in 0..30u64 {
            let (key, value) = ((n * n).to_be_bytes(), format!("{name} {n}"));
            keyspace.put(key, &value).unwrap();
            map.insert(key.to_vec(), value.into_bytes());
            if n == 20 && (name == "changed" || name == "03") {
                keyspace.flush().unwrap();
            }
        }
    }
    (disk.fork(), content)
}

/// What is set for each keyspace, as text.
fn set(db: &Db) -> String {
    let line = |name: &String| {
        let options = db.keyspace(name).unwrap().options().unwrap();
        format!("{name}\t{options}\n")
    };
    db.keyspaces().iter().map(line).collect()
}

fn opened(disk: &MemoryFileSystem) -> Db {
    Db::open_read_only("store", options(disk)).unwrap()
}

/// Makes the files if asked to; in any case what makes them is run.
#[test]
fn the_golden_options_are_made() {
    let (disk, content) = make();
    let db = opened(&disk);
    assert_eq!(read_all(&db).unwrap(), content);
    let set = set(&db);
    if std::env::var("RHUMB_WRITE_GOLDEN").as_deref() == Ok("1") {
        write(FORMAT, &disk, &content);
        std::fs::write(directory(FORMAT).join("options.tsv"), &set).unwrap();
    }
    assert_eq!(set, expected("options.tsv"));
}

fn expected(name: &str) -> String {
    std::fs::read_to_string(directory(FORMAT).join(name)).unwrap()
}

#[test]
fn the_golden_files_of_format_2_are_as_they_were_written() {
    let files = files(&copy_in_memory(FORMAT));
    assert_eq!(file_list(&files), expected("files.tsv"));
    let (_, manifest) = files
        .iter()
        .rfind(|(name, _)| name.ends_with(".manifest"))
        .unwrap();
    assert_eq!(manifest[8..12], [2, 0, 0, 0]);
    for text in INDEXES.iter().chain(&TABLES) {
        let text = text.as_bytes();
        assert!(manifest.windows(text.len()).any(|w| w == text));
    }
}

#[test]
fn format_2_is_read_sound_and_written_on() {
    let disk = copy_in_memory(FORMAT);
    let db = opened(&disk);
    let mut content = read_all(&db).unwrap();
    assert_eq!(listing(&content), expected("expected.tsv"));
    assert_eq!(set(&db), expected("options.tsv"));
    db.close().unwrap();
    let report = inspect::verify(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);

    let db = Db::open("store", options(&disk)).unwrap();
    for (name, map) in &mut content {
        let keyspace = db.keyspace(name).unwrap();
        keyspace.put("new", "1").unwrap();
        keyspace.compact_range(None, None).unwrap();
        map.insert(b"new".to_vec(), b"1".to_vec());
    }
    db.close().unwrap();
    let db = opened(&disk);
    assert_eq!(read_all(&db).unwrap(), content);
    assert_eq!(set(&db), expected("options.tsv"));
}
