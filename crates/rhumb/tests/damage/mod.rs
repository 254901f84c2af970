//! Stores of several tables, and ways to damage them.
// Each test file uses a part of this module, and a wrong expectation is a failed test.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rhumb::inspect::{self, RepairReport, VerifyReport};
use rhumb::{Db, Levels, Options, TableSpec};
use tempfile::TempDir;

pub type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Small tables and levels, so that little data makes many of them.
pub fn options() -> Options {
    Options {
        write_buffer_bytes: 128 << 10,
        table: TableSpec {
            table_bytes: 64 << 10,
            partition: rhumb::Partition::Bytes(1 << 10),
            ..TableSpec::default()
        },
        levels: Levels {
            base_bytes: 256 << 10,
            ..Levels::default()
        },
        durability: rhumb::Durability::Buffered,
        ..Options::default()
    }
}

pub fn key(i: u32) -> Vec<u8> {
    format!("key{:06}", i).into_bytes()
}

/// A closed store in a directory of its own.
pub struct Store {
    dir: TempDir,
    /// The expected contents.
    pub contents: Contents,
}

impl Store {
    /// Keys written in several rounds, some overwritten, some deleted. They are in tables of
    /// several levels, the last ones only in logs. The log is long enough for more than one
    /// segment, the first of which is not needed any more.
    pub fn new() -> Self {
        let store = Store {
            dir: tempfile::tempdir().unwrap(),
            contents: Contents::new(),
        };
        store.with_rounds(4)
    }

    fn with_rounds(mut self, rounds: u32) -> Self {
        let db = Db::open(self.path(), options()).unwrap();
        // Otherwise it depends on the threads which tables there are, and whether the logs have what is in them.
        db.set_holding_back(false);
        for round in 0..rounds {
            for i in 0..1_500u32 {
                let (k, v) = (
                    key(i * 7 % 2_000),
                    format!("{round} {i} {}", "v".repeat(200)),
                );
                match (i + round) % 11 {
                    0 => {
                        db.delete(&k).unwrap();
                        self.contents.remove(&k);
                    }
                    _ => {
                        db.put(&k, &v).unwrap();
                        self.contents.insert(k, v.into_bytes());
                    }
                }
            }
            if round + 1 < rounds {
                db.flush().unwrap();
            }
            if round == 1 {
                db.compact_range(None, None).unwrap();
            }
        }
        db.sync().unwrap();
        db.close().unwrap();
        self.remove_strays();
        self
    }

    /// Removes tables that were merged but not deleted yet: nothing in them is in use.
    fn remove_strays(&self) {
        for warning in self.verify().unwrap().warnings {
            let (name, _) = warning.split_once(" is not in use").unwrap();
            fs::remove_file(self.path().join(name)).unwrap();
        }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// The store's files with this extension, by name.
    pub fn files(&self, extension: &str) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.path())
            .unwrap()
            .map(|f| f.unwrap().path())
            .filter(|f| f.extension().is_some_and(|e| e == extension))
            .collect();
        files.sort();
        files
    }

    /// All files with their bytes.
    pub fn image(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = fs::read_dir(self.path())
            .unwrap()
            .map(|f| f.unwrap().path());
        files
            .filter(|f| f.is_file())
            .map(|f| (f.clone(), fs::read(f).unwrap()))
            .collect()
    }

    /// Restores the files of an image.
    pub fn restore(&self, image: &BTreeMap<PathBuf, Vec<u8>>) {
        fs::remove_dir_all(self.path()).unwrap();
        fs::create_dir(self.path()).unwrap();
        for (path, bytes) in image {
            fs::write(path, bytes).unwrap();
        }
    }

    /// The names of the files that repairs moved away.
    pub fn lost_files(&self) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.path().join("lost")) else {
            return Vec::new();
        };
        files
            .map(|f| f.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    pub fn verify(&self) -> rhumb::Result<VerifyReport> {
        inspect::verify(&self.path(), &options(), &mut |at| {
            assert!(at.bytes_done <= at.bytes, "{at:?}");
        })
    }

    pub fn repair(&self) -> RepairReport {
        inspect::repair(&self.path(), &options(), &mut |_| {}).unwrap()
    }

    /// The contents of the store now, by a scan; each key is looked up as well.
    pub fn read(&self) -> Contents {
        let db = Db::open_read_only(self.path(), options()).unwrap();
        let found: Contents = db
            .iter()
            .unwrap()
            .map(|entry| entry.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap())
            .collect();
        for (k, v) in &found {
            assert_eq!(db.get(k).unwrap().map(|v| v.to_vec()).as_ref(), Some(v));
        }
        found
    }

    /// Repairs, and checks what must hold after any repair: the store is sound and keeps new
    /// writes, and a second repair finds nothing to do.
    pub fn repair_and_check(&self) -> (RepairReport, Contents) {
        let report = self.repair();
        let sound = self.verify().unwrap();
        assert!(
            sound.damage.is_empty(),
            "{:?} after {report:?}",
            sound.damage
        );
        let before = self.image();
        let again = self.repair();
        assert!(again.lost.is_empty() && again.notes.is_empty(), "{again:?}");
        assert!(
            self.image() == before,
            "the second repair changed something"
        );
        let found = self.read();
        let db = Db::open(self.path(), options()).unwrap();
        for i in 0..300 {
            db.put(format!("new{i}"), "x").unwrap();
        }
        db.put(key(0), "last").unwrap();
        db.close().unwrap();
        let mut expected = found.clone();
        expected.extend((0..300).map(|i| (format!("new{i}").into_bytes(), b"x".to_vec())));
        expected.insert(key(0), b"last".to_vec());
        assert!(self.read() == expected, "writes after a repair are lost");
        (report, found)
    }
}

/// Changes one byte of a file.
pub fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x40;
    fs::write(path, bytes).unwrap();
}

/// Truncates a file.
pub fn truncate(path: &Path, bytes: usize) {
    let old = fs::read(path).unwrap();
    fs::write(path, &old[..bytes]).unwrap();
}
