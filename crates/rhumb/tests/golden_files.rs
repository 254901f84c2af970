//! Files of each version of the format open for ever.
//!
//! `tests/golden/format-0` is the directory of a store that was cut off while it was open. With
//! `RHUMB_WRITE_GOLDEN=1` it is made anew, which is right only as long as the format is not frozen.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Compression, Db, Durability, Options, Partition, Result, TableSpec, WriteBatch};

type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// The keyspaces, each with keys of which another kind of key map is made: ranges of bytes behind
/// literals; ranges with an end at any position; sets of bytes; truncated; of no key at all (range
/// deletes only).
const KEYSPACES: [&str; 5] = [
    "integers",
    "decimals",
    "words",
    "long",
    "range deletes only",
];

fn key(keyspace: &str, n: u64) -> Vec<u8> {
    match keyspace {
        "integers" => (n * n * 1_000_003).to_be_bytes().to_vec(),
        "decimals" => format!("user{}", n * 37).into_bytes(),
        "words" => [b'a', b'e', b'\0', 0xff, b'z', b'q', b'0', b'Z'].map(|letter| {
            // Each position has letters of its own, far from each other.
            letter.wrapping_add(((n >> (letter % 7)) as u8 & 3).wrapping_mul(11))
        })[..3 + (n % 6) as usize]
            .to_vec(),
        "long" => format!("{}{n:03}{}", "common/".repeat(9), noise(n)).into_bytes(),
        _ => n.to_be_bytes().to_vec(),
    }
}

fn noise(n: u64) -> String {
    let mixed = |i: u64| (n + i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7;
    (0..8).map(|i| format!("{:x}", mixed(i))).collect()
}

/// Writes to a store and says what it holds then.
struct Writer {
    db: Db,
    content: Content,
}

impl Writer {
    fn put(&mut self, batch: &mut WriteBatch, keyspace: &str, key: Vec<u8>, value: Vec<u8>) {
        let handle = self.db.keyspace(keyspace).unwrap();
        batch.put(&handle, &key, &value).unwrap();
        self.map(keyspace).insert(key, value);
    }

    fn delete(&mut self, batch: &mut WriteBatch, keyspace: &str, key: &[u8]) {
        let handle = self.db.keyspace(keyspace).unwrap();
        batch.delete(&handle, key).unwrap();
        self.map(keyspace).remove(key);
    }

    fn delete_range(&mut self, batch: &mut WriteBatch, keyspace: &str, from: &[u8], to: &[u8]) {
        let handle = self.db.keyspace(keyspace).unwrap();
        batch.delete_range(&handle, from, to).unwrap();
        self.map(keyspace)
            .retain(|key, _| key.as_slice() < from || key.as_slice() >= to);
    }

    fn map(&mut self, keyspace: &str) -> &mut BTreeMap<Vec<u8>, Vec<u8>> {
        self.content.get_mut(keyspace).unwrap()
    }

    fn flush_all(&self) {
        for name in self.content.keys() {
            self.db.keyspace(name).unwrap().flush().unwrap();
        }
    }
}

fn options(disk: &MemoryFileSystem, index: &str, table: &str) -> Options {
    Options {
        file_system: Arc::new(disk.clone()),
        index: index.parse().unwrap(),
        table: table.parse().unwrap(),
        ..Options::in_memory()
    }
}

/// First opening: tables with fence pointers, not compressed, on the last level.
fn first_life(disk: &MemoryFileSystem) -> Content {
    let options = options(
        disk,
        "fp",
        "partition=bytes(512),filter=10,compression=none",
    );
    let db = Db::open("store", options).unwrap();
    let names = KEYSPACES.iter().map(|name| name.to_string());
    let mut content: Content = names.map(|name| (name, BTreeMap::new())).collect();
    for name in content.keys() {
        db.create_keyspace(name).unwrap();
    }
    db.create_keyspace("dropped")
        .unwrap()
        .put("a", "1")
        .unwrap();
    content.insert(rhumb::DEFAULT_KEYSPACE.to_string(), BTreeMap::new());
    let mut writer = Writer { db, content };
    for name in &KEYSPACES[..4] {
        let mut batch = WriteBatch::new();
        for n in 0..200 {
            let value = format!("first {name} {n}").into_bytes();
            writer.put(&mut batch, name, key(name, n), value);
        }
        writer.db.write(batch).unwrap();
        writer.flush_all();
    }
    writer.db.compact_range(None, None).unwrap();
    let integers = writer.db.keyspace("integers").unwrap();
    integers.compact_range(None, None).unwrap();
    writer.db.drop_keyspace("dropped").unwrap();
    drop(integers);
    writer.db.close().unwrap();
    writer.content
}

/// Second opening: tables with models that place their blocks, compressed, of level 0, with deletes of all kinds and two
/// versions of some keys, of which a snapshot held one.
fn second_life(disk: &MemoryFileSystem, content: Content) -> Content {
    let table = "partition=predicted(4),filter=0,compression=lz4";
    let db = Db::open("store", options(disk, "plr:boundary=16", table)).unwrap();
    let mut writer = Writer { db, content };
    for name in &KEYSPACES[..4] {
        let mut batch = WriteBatch::new();
        for n in (0..260).step_by(3) {
            let value = format!("second {name} {n} {}", "again ".repeat(n as usize % 9));
            writer.put(&mut batch, name, key(name, n), value.into_bytes());
        }
        writer.db.write(batch).unwrap();
        let snapshot = writer.db.snapshot();
        let mut batch = WriteBatch::new();
        for n in (0..200).step_by(11) {
            writer.delete(&mut batch, name, &key(name, n));
        }
        writer.delete_range(&mut batch, name, &key(name, 20), &key(name, 24));
        writer.db.write(batch).unwrap();
        writer.flush_all();
        drop(snapshot);
    }
    let mut batch = WriteBatch::new();
    let only = KEYSPACES[4];
    writer.delete_range(&mut batch, only, &key(only, 1), &key(only, 9));
    writer.put(&mut batch, rhumb::DEFAULT_KEYSPACE, Vec::new(), Vec::new());
    writer.put(
        &mut batch,
        rhumb::DEFAULT_KEYSPACE,
        vec![0xff; 300],
        vec![7; 3000],
    );
    writer.db.write(batch).unwrap();
    writer.flush_all();
    writer.db.close().unwrap();
    writer.content
}

/// Third opening: writes in a log that is never ended.
fn third_life(disk: &MemoryFileSystem, content: Content) -> (MemoryFileSystem, Content) {
    let table = TableSpec {
        partition: Partition::Bytes(4096),
        compression: Compression::Lz4,
        ..TableSpec::default()
    };
    let db = Db::open("store", options(disk, "fp-raw", &table.to_string())).unwrap();
    let mut writer = Writer { db, content };
    for n in 0..40u64 {
        let mut batch = WriteBatch::new();
        for name in &KEYSPACES[..4] {
            let value = format!("third {name} {n}").into_bytes();
            writer.put(&mut batch, name, key(name, n * 5), value);
            writer.delete(&mut batch, name, &key(name, n * 5 + 1));
        }
        writer.delete_range(&mut batch, "words", b"e", b"f");
        let durability = [Durability::Immediate, Durability::Buffered][(n % 2) as usize];
        writer.db.write_with(batch, durability).unwrap();
        if n == 10 {
            writer.db.keyspace("decimals").unwrap().flush().unwrap();
        }
    }
    (disk.fork(), writer.content)
}

/// The store, as it lies on the disk when it is cut off, and what it holds.
fn make() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let content = first_life(&disk);
    let content = second_life(&disk, content);
    third_life(&disk, content)
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-0")
}

/// Copies the golden files into memory.
fn load() -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    disk.create_dir(Path::new("store")).unwrap();
    for entry in std::fs::read_dir(golden()).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let path = Path::new("store").join(entry.file_name());
        disk.set_bytes(&path, bytes).unwrap();
    }
    disk
}

fn read_all(db: &Db) -> Result<Content> {
    let mut content = Content::new();
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name)?;
        let mut map = BTreeMap::new();
        for entry in keyspace.iter()? {
            let (key, value) = entry?;
            assert_eq!(keyspace.get(&key)?.unwrap(), value);
            map.insert(key.to_vec(), value.to_vec());
        }
        assert_eq!(keyspace.iter()?.rev().count(), map.len());
        content.insert(name, map);
    }
    Ok(content)
}

fn opened_read_only(disk: &MemoryFileSystem) -> Db {
    let file_system = Arc::new(disk.clone());
    let options = Options {
        file_system,
        ..Options::in_memory()
    };
    Db::open_read_only("store", options).unwrap()
}

/// Makes the files anew if asked to; in any case what makes them is run.
#[test]
fn the_golden_store_holds_what_it_should_when_made() {
    let (disk, content) = make();
    assert_eq!(read_all(&opened_read_only(&disk)).unwrap(), content);
    if std::env::var("RHUMB_WRITE_GOLDEN").as_deref() != Ok("1") {
        return;
    }
    let _ = std::fs::remove_dir_all(golden());
    std::fs::create_dir_all(golden()).unwrap();
    let mut total = 0;
    for name in disk.list(Path::new("store")).unwrap() {
        let bytes = disk.bytes(&Path::new("store").join(&name)).unwrap();
        total += bytes.len();
        // An empty file says nothing, and is made where it is missing.
        if !bytes.is_empty() {
            std::fs::write(golden().join(name), bytes).unwrap();
        }
    }
    println!("wrote {total} bytes to {}", golden().display());
    assert!(total < 200 << 10);
}

#[test]
fn format_0_is_read() {
    let db = opened_read_only(&load());
    assert_eq!(read_all(&db).unwrap(), make().1);
    let stats = db.stats().unwrap();
    assert!(stats.recovery.log_operations > 300, "{:?}", stats.recovery);
    let kinds = |keyspace: &str| {
        let found = stats.keyspaces.iter().find(|k| k.name == keyspace).unwrap();
        found.index_kinds.clone()
    };
    for keyspace in &KEYSPACES[..4] {
        let kinds = kinds(keyspace);
        assert!(kinds.contains_key("fp"), "{keyspace}: {kinds:?}");
        assert!(kinds.contains_key("plr"), "{keyspace}: {kinds:?}");
    }
    assert!(kinds("decimals").contains_key("fp-raw"));
    let last_levels = stats.keyspaces.iter().filter(|k| k.levels.len() > 1);
    assert!(last_levels.count() > 0);
}

/// The kinds of key map by which the golden tables number their keys, as `dump` names them.
#[test]
fn format_0_has_tables_of_each_kind_of_key_map() {
    let disk = load();
    let mut kinds = BTreeMap::new();
    for name in disk.list(Path::new("store")).unwrap() {
        if !name.ends_with(".table") {
            continue;
        }
        let mut text = Vec::new();
        let options = options(&disk, "fp", "compression=none");
        rhumb::inspect::dump(&Path::new("store").join(name), &options, &mut text).unwrap();
        let text = String::from_utf8_lossy(&text);
        for kind in ["identity", "mixed-radix"] {
            *kinds.entry(kind).or_insert(0) += usize::from(text.contains(&format!("({kind})")));
        }
    }
    assert!(kinds.values().all(|tables| *tables > 0), "{kinds:?}");
}

#[test]
fn format_0_is_written_on() {
    let disk = load();
    let mut expected = make().1;
    let options = options(&disk, "plr:boundary=16", "compression=lz4");
    let db = Db::open("store", options).unwrap();
    assert_eq!(read_all(&db).unwrap(), expected);
    for name in KEYSPACES {
        let keyspace = db.keyspace(name).unwrap();
        keyspace.put("new", "1").unwrap();
        keyspace.compact_range(None, None).unwrap();
        let map = expected.get_mut(name).unwrap();
        map.insert(b"new".to_vec(), b"1".to_vec());
    }
    assert_eq!(read_all(&db).unwrap(), expected);
    db.close().unwrap();
    assert_eq!(read_all(&opened_read_only(&disk)).unwrap(), expected);
}
