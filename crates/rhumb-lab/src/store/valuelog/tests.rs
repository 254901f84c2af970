//! A value log holds what a map holds, after any puts, deletes, collections and reopenings.

use std::collections::HashMap;

use super::super::model::Model;
use super::super::{Peer, Settings, System, Temperature};
use super::*;
use crate::data::Random;

type Held = std::collections::BTreeMap<Vec<u8>, Vec<u8>>;

/// A handle of an index in memory, whose pairs remain when it is closed.
struct Kept(Arc<Model>);

impl Store for Kept {
    fn write(&self, batch: &Pairs) -> Result<()> {
        self.0.write(batch)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.0.delete(key)
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        self.0.get(key, into)
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        self.0.with_cursor(with)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Indexes in memory by their directories.
#[derive(Clone, Default)]
struct Indexes(Arc<Mutex<HashMap<PathBuf, Arc<Model>>>>);

impl Indexes {
    fn make(&self) -> MakeIndex {
        let indexes = self.clone();
        Box::new(move |path| {
            let mut all = lock(&indexes.0);
            let index = all.entry(path.to_path_buf()).or_default();
            Ok(Box::new(Kept(Arc::clone(index))))
        })
    }
}

/// Over an index of ours on the disk.
fn on_disk() -> MakeIndex {
    let settings = Settings {
        write_buffer_bytes: 4 << 10,
        table: "size=16KiB".parse().unwrap(),
        ..Settings::default()
    };
    Box::new(move |path| System::Rhumb(settings.clone()).open(path, Temperature::Warm))
}

/// Over an index of pointers of the lab.
fn of_pointers(peer: Peer) -> MakeIndex {
    let settings = Settings {
        memory_bytes: 64 << 10,
        ..Settings::default()
    };
    Box::new(move |path| System::Peer(peer, settings.clone()).open(path, Temperature::Warm))
}

fn plan(collection: Collection, over_provision_percent: u32) -> Plan {
    Plan {
        collection,
        over_provision_percent,
        segment_bytes: 24 << 10,
        sync: false,
        access: Access::Buffered,
    }
}

fn compare(log: &ValueLog, held: &Held, about: &str) {
    let (mut value, mut pairs) = (Vec::new(), Pairs::default());
    for key in (0..400_u32).map(key) {
        let found = log.get(&key, &mut value).unwrap();
        let found = found.then_some(&value);
        assert_eq!(found, held.get(&key), "{about}: {key:?}");
    }
    log.scan(b"", usize::MAX, &mut pairs).unwrap();
    let expected = held.iter().map(|(key, value)| (&key[..], &value[..]));
    assert!(pairs.iter().eq(expected), "{about}: {} pairs", pairs.len());
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number:03}").into_bytes()
}

/// Puts, deletes and reopenings at random. Returns the collections.
fn play(plan: Plan, steps: u32, seed: u64, make: impl Fn() -> MakeIndex) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let open = || ValueLog::open(directory.path(), plan, make()).unwrap();
    let about = format!("{plan:?}, seed {seed}");
    let mut random = Random::new(seed, 0x10c);
    let (mut held, mut log, mut collections) = (Held::new(), open(), 0);
    for step in 0..steps {
        match random.below(1_000) {
            0..3 => {
                collections += log.counters().unwrap().get("collections").unwrap();
                Box::new(log).close().unwrap();
                log = open();
                compare(&log, &held, &about);
            }
            3..100 => {
                let key = key(random.below(400) as u32);
                log.delete(&key).unwrap();
                held.remove(&key);
            }
            _ => {
                let mut batch = Pairs::default();
                for _ in 0..1 + random.below(3) {
                    let (key, mut value) = (key(random.below(400) as u32), Vec::new());
                    let bytes = random.below(600) as usize + 1;
                    random.fill(&mut value, bytes);
                    batch.push(&key, &value);
                    held.insert(key, value);
                }
                log.write(&batch).unwrap();
            }
        }
        if step % 1_500 == 750 {
            compare(&log, &held, &about);
        }
    }
    log.flush().unwrap();
    compare(&log, &held, &about);
    let bytes = crate::measure::directory_bytes(directory.path()).unwrap();
    let live: usize = held.values().map(Vec::len).sum();
    // What deletes leave, the least garbage, and the file that is written come on top.
    assert!(bytes < 3 * live as u64 + (600 << 10), "{about}: {bytes}");
    collections += log.counters().unwrap().get("collections").unwrap();
    Box::new(log).close().unwrap();
    collections
}

fn seed() -> u64 {
    let given = std::env::var("RHUMB_SEED").ok();
    let seed = given.and_then(|text| text.parse().ok()).unwrap_or(17);
    println!("RHUMB_SEED={seed}");
    seed
}

#[test]
fn both_forms_hold_what_a_map_holds() {
    for collection in [Collection::Whole, Collection::Files] {
        for over_provision in [0, 30, 100] {
            let plan = plan(collection, over_provision);
            let indexes = Indexes::default();
            let collections = play(plan, 6_000, seed(), || indexes.make());
            assert!(collections > 0, "{plan:?}: {collections} collections");
        }
    }
}

#[test]
fn an_index_on_the_disk_is_opened_again_with_its_files() {
    for collection in [Collection::Whole, Collection::Files] {
        let collections = play(plan(collection, 30), 800, seed() + 1, on_disk);
        assert!(collections > 0, "{collection:?}: {collections} collections");
    }
}

#[test]
fn the_lab_s_indexes_of_pointers_serve_both_forms() {
    for peer in Peer::OF_POINTERS {
        for collection in [Collection::Whole, Collection::Files] {
            let make = || of_pointers(peer);
            let collections = play(plan(collection, 30), 6_000, seed() + 2, make);
            assert!(
                collections > 0,
                "{peer}, {collection:?}: {collections} collections"
            );
        }
    }
}

/// Reads by another thread find whole values, old or new, while files are collected.
#[test]
fn readers_go_on_while_files_are_collected() {
    let directory = tempfile::tempdir().unwrap();
    let indexes = Indexes::default();
    let plan = plan(Collection::Files, 10);
    let log = ValueLog::open(directory.path(), plan, indexes.make()).unwrap();
    let put = |number: u32, byte: u8| {
        let mut batch = Pairs::default();
        batch.push(&key(number), &[byte; 300]);
        log.write(&batch).unwrap();
    };
    (0..100).for_each(|number| put(number, 0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut value, mut pairs) = (Vec::new(), Pairs::default());
            for round in 0..3_000 {
                assert!(log.get(&key(round % 100), &mut value).unwrap());
                assert!(value.len() == 300 && value.iter().all(|byte| *byte == value[0]));
                if round % 100 == 0 {
                    log.scan(b"", 1_000, &mut pairs).unwrap();
                    assert_eq!(pairs.len(), 100);
                }
            }
        });
        for round in 0..6_000_u32 {
            put(round * 7 % 100, round as u8);
        }
        reader.join().unwrap();
    });
    log.flush().unwrap();
    // How often the thread comes to it is a matter of time.
    assert!(log.counters().unwrap().get("collections") >= Some(1));
}

/// A generation that a crash left unfinished is removed, and the log opens as it was.
#[test]
fn what_is_not_in_use_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let open = || ValueLog::open(directory.path(), plan(Collection::Whole, 30), on_disk());
    let mut batch = Pairs::default();
    batch.push(b"key", b"value");
    let log = open().unwrap();
    log.write(&batch).unwrap();
    Box::new(log).close().unwrap();
    let left = directory.path().join("2");
    std::fs::create_dir_all(left.join("index")).unwrap();
    let log = open().unwrap();
    let mut value = Vec::new();
    assert!(log.get(b"key", &mut value).unwrap() && value == b"value" && !left.exists());
    Box::new(log).close().unwrap();
    std::fs::write(directory.path().join(CURRENT_FILE), "none").unwrap();
    let error = open().err().unwrap().to_string();
    assert!(error.contains("CURRENT is not the number"), "{error}");
}

/// The file that names the generation.
const CURRENT_FILE: &str = "CURRENT";

/// A file that is cut short, missing or changed is an error that names it, and no wrong value.
#[test]
fn damaged_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let open = || ValueLog::open(directory.path(), plan(Collection::Whole, 30), on_disk());
    let mut batch = Pairs::default();
    batch.push(b"key", b"value");
    let log = open().unwrap();
    log.write(&batch).unwrap();
    Box::new(log).close().unwrap();
    let path = directory.path().join("1").join("000001.values");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let error = open().err().unwrap().to_string();
    assert!(error.contains("000001.values is not"), "{error}");
    let mut other = whole.clone();
    other[8] ^= 1;
    std::fs::write(&path, &other).unwrap();
    let log = open().unwrap();
    let error = log.get(b"key", &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("record of this key"), "{error}");
    drop(log);
    std::fs::remove_file(&path).unwrap();
    let error = open().err().unwrap().to_string();
    assert!(error.contains("000001.values is missing"), "{error}");
}
