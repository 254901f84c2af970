//! Stores, each with a long file of one kind, whose contents are known.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Compaction, Db, Durability, KeyspaceOptions, Options, Partition};

use crate::kit::access::write;
use crate::kit::oracle::{Change, Event, Oracle};
use crate::kit::script::{key, value};
use crate::kit::{self, DIR, Random, case_seed, dir, tiny_shaped};

/// The least length of damaged files, where possible.
const LEAST_BYTES: usize = 64 << 10;

pub fn options(disk: &MemoryFileSystem) -> Options {
    shaped(disk, Compaction::Leveled)
}

pub fn shaped(disk: &MemoryFileSystem, shape: Compaction) -> Options {
    let mut options = tiny_shaped(Arc::new(disk.clone()), shape);
    options.write_buffer_bytes = 4 << 20;
    options.log_bytes = 64 << 20;
    options.cache_bytes = 1 << 20;
    options.table.table_bytes = 4 << 20;
    options.table.partition = Partition::Predicted(0);
    options
}

/// A store, its expected contents, and the file to damage.
pub struct Sample {
    pub disk: MemoryFileSystem,
    pub file: PathBuf,
    pub oracle: Oracle,
}

impl Sample {
    /// Opens a new store and lets `fill` write to it; `closed` tells whether the sample is the
    /// closed store.
    fn new(closed: bool, fill: impl FnOnce(&mut Db, &mut Oracle, &MemoryFileSystem)) -> Sample {
        Sample::shaped(closed, Compaction::Leveled, fill)
    }

    /// As [`Sample::new`], with levels of the given shape.
    fn shaped(
        closed: bool,
        shape: Compaction,
        fill: impl FnOnce(&mut Db, &mut Oracle, &MemoryFileSystem),
    ) -> Sample {
        let disk = MemoryFileSystem::new();
        let mut oracle = Oracle::new();
        let mut db = Db::open(DIR, shaped(&disk, shape)).unwrap();
        fill(&mut db, &mut oracle, &disk);
        let alive = disk.fork();
        db.close().unwrap();
        let disk = if closed { disk.fork() } else { alive };
        Sample {
            disk,
            file: PathBuf::new(),
            oracle,
        }
    }

    /// Chooses the longest file with this extension for damage.
    pub fn damaging(mut self, extension: &str) -> Sample {
        let names = self.disk.list(dir()).unwrap();
        let paths = names
            .iter()
            .filter(|n| n.ends_with(extension))
            .map(|n| dir().join(n));
        let longest = paths.max_by_key(|path| self.disk.bytes(path).unwrap().len());
        self.file = longest.unwrap();
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.disk.bytes(&self.file).unwrap()
    }

    /// Prints what is damaged, and checks that it is long enough.
    pub fn announce(&self, what: &str) {
        let bytes = self.bytes().len();
        println!("{what} of {bytes} bytes, seed {}", kit::seed());
        assert!(bytes >= LEAST_BYTES, "{what} of {bytes} bytes");
    }
}

/// A sample of tables with several blocks or units, versions kept for a snapshot, deletes and range deletes;
/// its log is almost empty.
pub fn tables() -> Sample {
    Sample::new(true, |db, oracle, disk| {
        let mut random = Random(case_seed(0));
        create(db, oracle, "other");
        create(db, oracle, "third");
        create_with(db, oracle, "units", "fp", Some("partition=entries(4)"));
        let equal = (0..30).map(|n| ("units", Change::Put(key(n), value(&mut random, 12))));
        put_batch(db, oracle, equal.collect(), Durability::Buffered);
        fill(db, oracle, &mut random, 340, 0);
        let before = db.snapshot();
        fill(db, oracle, &mut random, 40, 0);
        for name in db.keyspaces() {
            db.keyspace(&name).unwrap().flush().unwrap();
        }
        drop(before);
        // A log is removed only after it has ended and everything in it is flushed.
        reopen(db, disk, options(disk));
        fill(db, oracle, &mut random, 1, 100);
        for name in db.keyspaces() {
            db.keyspace(&name).unwrap().flush().unwrap();
        }
        db.settle();
    })
}

/// A sample whose values from 9 bytes on lie in value files, each of which is read by a scan.
pub fn values() -> Sample {
    Sample::new(true, |db, oracle, disk| {
        let mut random = Random(case_seed(3));
        let mut apart = options(disk);
        apart.table.separate_values = Some(9);
        reopen(db, disk, apart);
        create(db, oracle, "other");
        create(db, oracle, "third");
        // Few entries, since all are read for each byte.
        fill_with(db, oracle, &mut random, 24, 0, 4_000);
        for name in db.keyspaces() {
            db.keyspace(&name).unwrap().flush().unwrap();
        }
        db.settle();
    })
}

/// A log of small batches, half of them synced.
pub fn log(closed: bool) -> Sample {
    Sample::new(closed, |db, oracle, _| {
        let mut random = Random(case_seed(1));
        create(db, oracle, "other");
        create(db, oracle, "third");
        fill(db, oracle, &mut random, 82, 50);
    })
}

/// Many keyspaces with long names, and tables with long keys, in several runs of a level.
pub fn manifest() -> Sample {
    Sample::shaped(true, Compaction::Tiered, |db, oracle, _| {
        let mut random = Random(case_seed(2));
        for number in 0..24 {
            create(db, oracle, &format!("{number:0250}"));
        }
        for number in 0..6u64 {
            let long = |n: u64| [key(number * 10 + n), vec![b'x'; 1900]].concat();
            let changes = (0..3)
                .map(|n| ("default", Change::Put(long(n), value(&mut random, 30))))
                .collect();
            put_batch(db, oracle, changes, Durability::Immediate);
            db.flush().unwrap();
            // Otherwise the edits, and so the size, would depend on the speed of threads.
            db.settle();
        }
        let changes = vec![("default", Change::Delete(key(1)))];
        put_batch(db, oracle, changes, Durability::Immediate);
        db.settle();
    })
}

fn create(db: &Db, oracle: &mut Oracle, name: &str) {
    create_with(db, oracle, name, "pgm:boundary=16", None);
}

fn create_with(db: &Db, oracle: &mut Oracle, name: &str, index: &str, table: Option<&str>) {
    let options = KeyspaceOptions {
        index: Some(index.parse().unwrap()),
        table: table.map(|text| text.parse().unwrap()),
    };
    db.create_keyspace_with(name, options.clone()).unwrap();
    oracle.push(Event::Create(name.to_string(), options));
}

fn put_batch(db: &Db, oracle: &mut Oracle, changes: Vec<(&str, Change)>, durability: Durability) {
    let named = changes
        .into_iter()
        .map(|(name, change)| (name.to_string(), change));
    let changes: Vec<_> = named.collect();
    write(db, &changes, durability).unwrap();
    oracle.push(Event::Write(changes));
}

/// Writes batches, so many of a hundred synced.
fn fill(db: &Db, oracle: &mut Oracle, random: &mut Random, writes: usize, synced: u64) {
    fill_with(db, oracle, random, writes, synced, 560);
}

/// The same, with values of up to about so many bytes.
fn fill_with(
    db: &Db,
    oracle: &mut Oracle,
    random: &mut Random,
    writes: usize,
    synced: u64,
    longest: u64,
) {
    for _ in 0..writes {
        let mut changes = Vec::new();
        for _ in 0..1 + random.below(5) {
            let name = ["other", "third", "default"][random.below(12).min(2) as usize];
            let (at, length) = (random.below(900), 9 + random.below(longest));
            changes.push((
                name,
                match random.below(30) {
                    0 => Change::DeleteRange(key(at), key(at + 1 + random.below(12))),
                    1..4 => Change::Delete(key(at)),
                    _ => Change::Put(key(at), value(random, length)),
                },
            ));
        }
        let durability = match random.percent(synced) {
            true => Durability::Immediate,
            false => Durability::Buffered,
        };
        put_batch(db, oracle, changes, durability);
    }
}

/// Closes a store and opens it with other options.
fn reopen(db: &mut Db, disk: &MemoryFileSystem, options_then: Options) {
    let another = Db::open("/another", options(disk)).unwrap();
    std::mem::replace(db, another).close().unwrap();
    *db = Db::open(DIR, options_then).unwrap();
}
