//! Makes a store whose files have every form of the format that a store writes.

use std::collections::BTreeMap;
use std::path::Path;

use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Durability, Options, WriteBatch};

use super::Content;

/// The keyspaces, whose keys lead to different kinds of key maps: ranges of bytes after literals;
/// ranges with keys of any length; sets of bytes; truncated; of no key at all (range deletes only).
pub const KEYSPACES: [&str; 5] = [
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
            // Each position has its own letters, far apart from each other.
            letter.wrapping_add(((n >> (letter % 7)) as u8 & 3).wrapping_mul(11))
        })[..3 + (n % 6) as usize]
            .to_vec(),
        "long" => format!("{}{n:03}{}", "common/".repeat(9), noise(n)).into_bytes(),
        _ => n.to_be_bytes().to_vec(),
    }
}

fn mixed(n: u64) -> u64 {
    let n = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (n ^ n >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ n >> 32
}

fn noise(n: u64) -> String {
    (0..8)
        .map(|i| format!("{:x}", mixed(n * 8 + i) >> 7))
        .collect()
}

/// Writes to a store and tracks its contents.
struct Writer {
    db: Db,
    content: Content,
}

impl Writer {
    fn open(disk: &MemoryFileSystem, index: &str, table: &str, content: Content) -> Writer {
        let options = Options {
            index: index.parse().unwrap(),
            table: table.parse().unwrap(),
            ..super::options(disk)
        };
        let db = Db::open("store", options).unwrap();
        Writer { db, content }
    }

    fn create(&mut self, name: &str) {
        self.db.create_keyspace(name).unwrap();
        self.content.insert(name.to_string(), BTreeMap::new());
    }

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
        batch.delete_range(&handle, from..to).unwrap();
        self.map(keyspace)
            .retain(|key, _| key.as_slice() < from || key.as_slice() >= to);
    }

    fn map(&mut self, keyspace: &str) -> &mut BTreeMap<Vec<u8>, Vec<u8>> {
        self.content.get_mut(keyspace).unwrap()
    }

    fn flush(&self, keyspace: &str) {
        self.db.keyspace(keyspace).unwrap().flush().unwrap();
    }

    fn compact(&self, keyspace: &str) {
        let keyspace = self.db.keyspace(keyspace).unwrap();
        keyspace.compact_range(None, None).unwrap();
    }

    fn flush_all(&self) {
        self.content.keys().for_each(|name| self.flush(name));
    }

    fn close(self) -> Content {
        self.db.close().unwrap();
        self.content
    }
}

/// First opening: writes uncompressed tables with fence pointers, on the last level.
fn first_life(disk: &MemoryFileSystem) -> Content {
    let table = "partition=bytes(512),filter=10,compression=none";
    let mut writer = Writer::open(disk, "fp", table, Content::new());
    KEYSPACES.iter().for_each(|name| writer.create(name));
    let default = rhumb::DEFAULT_KEYSPACE.to_string();
    writer.content.insert(default, BTreeMap::new());
    for name in &KEYSPACES[..4] {
        let mut batch = WriteBatch::new();
        for n in 0..200 {
            let value = format!("first {name} {n}").into_bytes();
            writer.put(&mut batch, name, key(name, n), value);
        }
        writer.db.write(batch).unwrap();
    }
    writer.flush_all();
    writer.compact("integers");
    writer.close()
}

/// Second opening: writes compressed tables whose blocks are placed by models, on level 0, with all
/// kinds of deletes and two versions of some keys, one of which a snapshot holds.
fn second_life(disk: &MemoryFileSystem, content: Content) -> Content {
    let table = "partition=predicted(4),filter=0,compression=lz4";
    let mut writer = Writer::open(disk, "plr:boundary=16", table, content);
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
    let default = rhumb::DEFAULT_KEYSPACE;
    writer.put(&mut batch, default, Vec::new(), Vec::new());
    writer.put(&mut batch, default, vec![0xff; 300], vec![7; 3000]);
    writer.db.write(batch).unwrap();
    writer.flush_all();
    writer.close()
}

/// A function that fills a keyspace.
type Fill = fn(&mut Writer);

/// Openings that each write one keyspace, to one table of a particular form.
fn lives_of_forms(disk: &MemoryFileSystem, mut content: Content) -> Content {
    let none = "filter=0,compression=none";
    let lz4 = "filter=0,compression=lz4";
    let predicted = "partition=predicted(4)";
    let forms: [(&str, &str, String, Fill); 9] = [
        (
            "strided",
            "plr:boundary=64",
            format!("{predicted},{none}"),
            strided,
        ),
        (
            "strided, long cells",
            "plr:boundary=256",
            format!("{predicted},{none}"),
            strided_long,
        ),
        ("placed", "plr", format!("{predicted},{none}"), placed),
        (
            "half-way",
            "plr:boundary=64",
            format!("{predicted},{lz4}"),
            given_up_half_way,
        ),
        (
            "at the end",
            "plr:boundary=4",
            format!("partition=predicted(2),{lz4}"),
            given_up_at_the_end,
        ),
        (
            "tied",
            "plr:boundary=16",
            format!("{predicted},{lz4}"),
            tied,
        ),
        (
            "shared",
            "fp",
            format!("partition=bytes(2048),{none}"),
            shared,
        ),
        (
            "versions",
            "fp-raw",
            format!("partition=bytes(512),{none}"),
            versions,
        ),
        (
            "wide",
            "fp-raw",
            format!("partition=entries(64),{lz4}"),
            wide,
        ),
    ];
    for (name, index, table, fill) in forms {
        let mut writer = Writer::open(disk, index, &table, content);
        writer.create(name);
        fill(&mut writer);
        content = writer.close();
    }
    content
}

/// Clusters of 10 keys with nearly equal predictions, so that some cells are empty.
fn clustered(n: u64) -> u64 {
    n / 10 * 1_000_000 + n % 10
}

/// Keys and values of equal lengths and no sequences, so that all blocks keep to a stride.
fn strided(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    for n in 0..200u64 {
        // With fewer digits the key map would close the gaps.
        let number = (n / 10 + 1) * 7_919_123_457 + n % 10;
        let key = format!("user{number:012}").into_bytes();
        let value = format!("value {n:06}").into_bytes();
        writer.put(&mut batch, "strided", key, value);
    }
    writer.db.write(batch).unwrap();
    writer.compact("strided");
}

/// As [`strided`], with cells that continue in other blocks.
fn strided_long(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    for n in 0..120u64 {
        let key = (n / 60 * 1_000_000 + n % 60).to_be_bytes().to_vec();
        writer.put(&mut batch, "strided, long cells", key, vec![n as u8; 700]);
    }
    writer.db.write(batch).unwrap();
    writer.compact("strided, long cells");
}

/// Cells that continue in other blocks: one with a value that gets a block of its own, and one with
/// more versions of a key than fit in a block.
fn placed(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    let key = |n: u64| format!("item/{:05}", clustered(n) / 1000 + n * 37).into_bytes();
    for n in 0..160 {
        let value = match n {
            40 => (0..70_000u32).map(|i| (i / 100) as u8).collect(),
            _ => format!("{n} {}", "placed ".repeat(n as usize % 7)).into_bytes(),
        };
        writer.put(&mut batch, "placed", key(n), value);
    }
    writer.db.write(batch).unwrap();
    let mut snapshots = Vec::new();
    for version in 0..24 {
        snapshots.push(writer.db.snapshot());
        let mut batch = WriteBatch::new();
        writer.put(&mut batch, "placed", key(80), vec![version; 3_000]);
        writer.db.write(batch).unwrap();
    }
    writer.flush("placed");
}

/// Large values first, then small ones, for which cells are chosen: the model is given up when gets
/// would read too much.
fn given_up_half_way(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    for n in 0..480 {
        let key = clustered(n).to_be_bytes().to_vec();
        let value = if n < 240 {
            vec![n as u8; 1_400]
        } else {
            vec![n as u8; 4]
        };
        writer.put(&mut batch, "half-way", key, value);
    }
    writer.db.write(batch).unwrap();
    writer.flush("half-way");
}

/// Keys that follow no line, with an exact model, which takes more memory than fence pointers.
fn given_up_at_the_end(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    let mut key = 0u64;
    for n in 0..400 {
        key += 1 << (mixed(n) % 40);
        let key = key.to_be_bytes().to_vec();
        let value = n.to_string().into_bytes();
        writer.put(&mut batch, "at the end", key, value);
    }
    writer.db.write(batch).unwrap();
    writer.flush("at the end");
}

/// Keys of which the map distinguishes only the first 16 digits: three keys share each number.
fn tied(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    for n in 0..450 {
        let key = format!("{:016x}-{}", mixed(n / 3), n % 3).into_bytes();
        writer.put(&mut batch, "tied", key, format!("{n}").into_bytes());
    }
    writer.db.write(batch).unwrap();
    writer.flush("tied");
}

/// Keys that share much with their neighbours after a common prefix, and one delete in a hundred.
fn shared(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    for n in 0..200u64 {
        let place = format!("{:x}", mixed(n / 16)).repeat(3);
        let key = format!("/srv/{place}/{}", n % 16).into_bytes();
        match n {
            0 | 100 => writer.delete(&mut batch, "shared", &key),
            _ => writer.put(&mut batch, "shared", key, n.to_be_bytes().to_vec()),
        }
    }
    writer.db.write(batch).unwrap();
    writer.flush("shared");
}

/// More versions of keys than fit in a block, where no model places them.
fn versions(writer: &mut Writer) {
    let mut snapshots = Vec::new();
    for version in 0..12 {
        let mut batch = WriteBatch::new();
        for n in 0..10u64 {
            let value = format!("{version} of {n} {}", "version ".repeat(10));
            writer.put(&mut batch, "versions", vec![n as u8; 3], value.into_bytes());
        }
        writer.db.write(batch).unwrap();
        snapshots.push(writer.db.snapshot());
    }
    writer.flush("versions");
}

/// Blocks of many entries with more than 64 KiB.
fn wide(writer: &mut Writer) {
    let mut batch = WriteBatch::new();
    for n in 0..100u64 {
        let key = format!("{}", n * n).into_bytes();
        writer.put(&mut batch, "wide", key, vec![n as u8; 1_500 + n as usize]);
    }
    writer.db.write(batch).unwrap();
    writer.flush("wide");
}

/// An opening whose log holds only what the last opening flushes.
fn life_with_a_log_to_remove(disk: &MemoryFileSystem, content: Content) -> Content {
    let mut writer = Writer::open(disk, "plr", "compression=lz4", content);
    let mut batch = WriteBatch::new();
    writer.put(
        &mut batch,
        KEYSPACES[4],
        b"flushed at last".to_vec(),
        vec![1],
    );
    writer.db.write(batch).unwrap();
    writer.close()
}

/// An opening that leaves writes in a cleanly closed log.
fn life_with_a_clean_end(disk: &MemoryFileSystem, content: Content) -> Content {
    let mut writer = Writer::open(disk, "plr", "compression=lz4", content);
    for n in 0..10u64 {
        let mut batch = WriteBatch::new();
        for name in &KEYSPACES[..4] {
            let value = format!("in the log {name} {n}").into_bytes();
            writer.put(&mut batch, name, key(name, 300 + n), value);
        }
        writer.db.write(batch).unwrap();
    }
    writer.close()
}

/// The last opening: makes edits of all kinds, and leaves writes in a log that is never closed.
fn last_life(disk: &MemoryFileSystem, content: Content) -> (MemoryFileSystem, Content) {
    let table = "partition=bytes(4096),compression=lz4";
    let mut writer = Writer::open(disk, "fp-raw", table, content);
    writer.db.create_keyspace("dropped").unwrap();
    writer.db.drop_keyspace("dropped").unwrap();
    writer.flush(KEYSPACES[4]);
    writer.create("merged");
    for n in 0..20u64 {
        let mut batch = WriteBatch::new();
        writer.put(
            &mut batch,
            "merged",
            key("merged", n % 15),
            vec![n as u8; 5],
        );
        writer.db.write(batch).unwrap();
        if n % 10 == 9 {
            writer.flush("merged");
        }
    }
    writer.compact("merged");
    for n in 0..40u64 {
        let mut batch = WriteBatch::new();
        for name in &KEYSPACES[..4] {
            let value = format!("last {name} {n}").into_bytes();
            writer.put(&mut batch, name, key(name, n * 5), value);
            writer.delete(&mut batch, name, &key(name, n * 5 + 1));
        }
        writer.delete_range(&mut batch, "words", b"e", b"f");
        let durability = [Durability::Immediate, Durability::Buffered][(n % 2) as usize];
        writer.db.write_with(batch, durability).unwrap();
        if n == 10 {
            writer.flush("decimals");
        }
    }
    (disk.fork(), writer.content)
}

/// Appends an incomplete frame to the last log.
fn tear(disk: &MemoryFileSystem) {
    let mut logs = super::files(disk).into_iter();
    let (name, mut bytes) = logs.rfind(|(name, _)| name.ends_with(".log")).unwrap();
    bytes.extend_from_within(..100);
    let path = Path::new("store").join(name);
    disk.set_bytes(&path, bytes).unwrap();
}

/// The store as it is on the disk when it is cut off, and its contents.
pub fn make() -> (MemoryFileSystem, Content) {
    let disk = MemoryFileSystem::new();
    let content = first_life(&disk);
    let content = second_life(&disk, content);
    let content = lives_of_forms(&disk, content);
    let content = life_with_a_log_to_remove(&disk, content);
    let content = life_with_a_clean_end(&disk, content);
    let (disk, content) = last_life(&disk, content);
    tear(&disk);
    (disk, content)
}
