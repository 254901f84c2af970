//! A store, what was done to it, and what it holds after each operation.
#![allow(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rhumb::{Compaction, Db, Durability, Keyspace, Levels, Options, Partition, TableSpec};
use tempfile::TempDir;

use crate::kit::{Random, SHAPES};

/// Entries by keyspace id and key.
pub type Contents = BTreeMap<(u32, Vec<u8>), Vec<u8>>;

/// The files of a directory by name.
pub type Image = BTreeMap<String, Vec<u8>>;

const KEYS: u64 = 300;
const ROUNDS: u32 = 4;
const OPERATIONS_A_ROUND: u32 = 350;

/// What was done to a key; its sequence is its place in the history, from 1.
#[derive(Debug, Clone)]
pub enum Done {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    /// The end is excluded.
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// A store in a directory of its own, its operations, and its files at earlier moments.
pub struct History {
    dir: TempDir,
    pub operations: Vec<(u32, Done)>,
    /// Whether it was closed, or its files are as a crash left them; all was durable then.
    pub closed: bool,
    pub image: Image,
    pub older: Vec<Image>,
}

/// Buffers, tables and levels so small that little data makes many files.
pub fn options(shape: Compaction) -> Options {
    Options {
        write_buffer_bytes: 16 << 10,
        log_bytes: 24 << 10,
        cache_bytes: 1 << 20,
        table: TableSpec {
            table_bytes: 8 << 10,
            partition: Partition::Bytes(512),
            ..TableSpec::default()
        },
        levels: Levels {
            compaction: shape,
            size_ratio: 4,
            base_bytes: 32 << 10,
            level0_tables: 2,
            ..Levels::default()
        },
        durability: Durability::Buffered,
        ..Options::default()
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

impl History {
    /// Writes a store in several rounds; it is opened again between some of them.
    pub fn new(random: &mut Random, closed: bool) -> Self {
        let mut history = History {
            dir: tempfile::tempdir().unwrap(),
            operations: Vec::new(),
            closed,
            image: Image::new(),
            older: Vec::new(),
        };
        let mut options = options(SHAPES[random.below(3) as usize]);
        // In half of the stores about half of the values lie in value files, of which some are collected.
        options.table.separate_values = random.percent(50).then_some(70);
        options.over_provision_percent = 10;
        let mut db = Db::open(history.path(), options.clone()).unwrap();
        drop(db.create_keyspace("users").unwrap());
        for round in 0..ROUNDS {
            if round > 0 && random.percent(40) {
                db.close().unwrap();
                history.older.push(read_files(&history.path()));
                db = Db::open(history.path(), options.clone()).unwrap();
            }
            let keyspaces = [
                db.keyspace("default").unwrap(),
                db.keyspace("users").unwrap(),
            ];
            for _ in 0..OPERATIONS_A_ROUND {
                history.operate(&keyspaces, random);
            }
            let flushed = &keyspaces[random.below(2) as usize];
            if round + 1 < ROUNDS || random.percent(30) {
                flushed.flush().unwrap();
            }
            if random.percent(30) {
                flushed.compact_range(None, None).unwrap();
            }
            db.sync().unwrap();
            db.settle();
            history.older.push(read_files(&history.path()));
        }
        if closed {
            db.close().unwrap();
            history.image = read_files(&history.path());
        } else {
            history.image = read_files(&history.path());
            drop(db);
        }
        history
    }

    /// One operation, with the next sequence.
    fn operate(&mut self, keyspaces: &[Keyspace; 2], random: &mut Random) {
        let id = random.below(2) as u32;
        let keyspace = &keyspaces[id as usize];
        let number = random.below(KEYS);
        let done = match random.below(100) {
            0 => {
                let (start, end) = (key(number), key(number + random.below(20) + 1));
                keyspace.delete_range(&start[..]..&end[..]).unwrap();
                Done::DeleteRange(start, end)
            }
            1..15 => {
                keyspace.delete(key(number)).unwrap();
                Done::Delete(key(number))
            }
            _ => {
                let sequence = self.operations.len() + 1;
                let text = format!(
                    "{sequence} of {id} {}",
                    "v".repeat(random.below(120) as usize)
                );
                keyspace.put(key(number), &text).unwrap();
                Done::Put(key(number), text.into_bytes())
            }
        };
        self.operations.push((id, done));
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// Puts the files back.
    pub fn restore(&self) {
        fs::remove_dir_all(self.path()).unwrap();
        fs::create_dir(self.path()).unwrap();
        for (name, bytes) in &self.image {
            fs::write(self.path().join(name), bytes).unwrap();
        }
    }

    /// What the first `count` operations leave.
    pub fn after(&self, count: usize) -> Contents {
        let mut contents = Contents::new();
        for (id, done) in &self.operations[..count] {
            match done {
                Done::Put(key, value) => drop(contents.insert((*id, key.clone()), value.clone())),
                Done::Delete(key) => drop(contents.remove(&(*id, key.clone()))),
                Done::DeleteRange(start, end) => {
                    contents.retain(|(other, key), _| other != id || !(start..end).contains(&key))
                }
            }
        }
        contents
    }

    /// Whether the operations up to some moment leave this.
    pub fn is_prefix(&self, found: &Contents) -> bool {
        (0..=self.operations.len())
            .rev()
            .any(|count| self.after(count) == *found)
    }

    /// Whether this value was written to this key at any time.
    pub fn was_written(&self, id: u32, key: &[u8], value: &[u8]) -> bool {
        let text = std::str::from_utf8(value).unwrap_or("");
        let sequence = text.split(' ').next().and_then(|n| n.parse::<usize>().ok());
        let place = sequence.and_then(|n| n.checked_sub(1));
        let written = place.and_then(|place| self.operations.get(place));
        matches!(written, Some((other, Done::Put(k, v))) if *other == id && k == key && v == value)
    }

    /// The last operations that changed each key, as they are by sequence.
    pub fn newest(&self) -> BTreeMap<(u32, Vec<u8>), u64> {
        let mut newest = BTreeMap::new();
        for (place, (id, done)) in self.operations.iter().enumerate() {
            let sequence = place as u64 + 1;
            match done {
                Done::Put(key, _) | Done::Delete(key) => {
                    newest.insert((*id, key.clone()), sequence);
                }
                Done::DeleteRange(start, end) => {
                    for number in 0..KEYS {
                        let key = key(number);
                        if (start..end).contains(&&key) {
                            newest.insert((*id, key), sequence);
                        }
                    }
                }
            }
        }
        newest
    }
}

/// The files in a directory; one that goes away meanwhile is left out.
fn read_files(path: &Path) -> Image {
    let files = fs::read_dir(path).unwrap().map(|f| f.unwrap().path());
    let read = |f: PathBuf| {
        let name = f.file_name()?.to_str()?.to_string();
        Some((name, fs::read(f).ok()?))
    };
    files.filter_map(read).collect()
}

/// Everything in the store at `path`. Names tell which keyspace it was.
///
/// # Errors
/// The first error of opening or reading.
pub fn read_store(path: &Path) -> rhumb::Result<Contents> {
    let db = Db::open_read_only(path, options(Compaction::Leveled))?;
    let mut contents = Contents::new();
    for name in db.keyspaces() {
        let id = match name.as_str() {
            "default" => 0,
            "users" => 1,
            other => {
                let id = other.strip_prefix("recovered-keyspace-");
                id.and_then(|id| id.parse().ok()).unwrap_or(u32::MAX)
            }
        };
        let keyspace = db.keyspace(&name)?;
        for entry in keyspace.iter()? {
            let (key, value) = entry?;
            let got = keyspace.get(&key)?;
            assert_eq!(got.as_deref(), Some(&*value), "{name}: {key:?}");
            contents.insert((id, key.to_vec()), value.to_vec());
        }
    }
    Ok(contents)
}
