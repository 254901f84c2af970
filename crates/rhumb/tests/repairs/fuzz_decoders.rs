//! The bodies of fuzz targets, run over seeded and mutated inputs: whatever the bytes are, nothing
//! panics and nothing wrong is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::kit_model::choices::Choices;
use crate::kit_model::generate::Generator;
use crate::kit_model::model::Model;
use crate::kit_model::runs::cases;
use crate::kit_model::session::Session;
use crate::kit_model::settings::{INDEXES, choose};
use crate::kit_model::shrink::{Failure, check};
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{
    Compression, Db, Durability, Levels, Options, Partition, Result, TableSpec, WriteBatch,
};

type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// A store as found on a disk after a crash, and the contents that may be read from it.
struct Specimen {
    disk: MemoryFileSystem,
    options: Options,
    /// The contents after each batch that may be missing because it was torn off the end of a log;
    /// the last one is that of an undamaged store.
    states: Vec<Content>,
}

fn options(index: &str, compression: Compression, disk: &MemoryFileSystem) -> Options {
    Options {
        file_system: Arc::new(disk.clone()),
        write_buffer_bytes: 1 << 20,
        index: index.parse().unwrap(),
        table: TableSpec {
            compression,
            table_bytes: 8 << 10,
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: 2,
            base_bytes: 16 << 10,
            level0_tables: 4,
            ..Levels::default()
        },
        ..Options::in_memory()
    }
}

/// The contents of all keyspaces by forward scans; checks that gets and backward scans agree.
fn read_all(db: &Db) -> Result<Content> {
    let mut content = Content::new();
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name)?;
        let mut map = BTreeMap::new();
        for entry in keyspace.iter()? {
            let (key, value) = entry?;
            map.insert(key.to_vec(), value.to_vec());
        }
        let mut back = Vec::new();
        for entry in keyspace.iter()?.rev() {
            back.push(entry?.0);
        }
        assert!(back.iter().rev().eq(map.keys()), "scans back differ");
        for (key, value) in &map {
            assert!(keyspace.get(key)?.is_some_and(|found| found == value));
        }
        content.insert(name, map);
    }
    Ok(content)
}

/// A specimen with tables that have many versions, range deletes and two keyspaces, and with a log
/// that was not closed.
fn specimen(seed: u64) -> Specimen {
    let mut choices = Choices::seeded(seed);
    let disk = MemoryFileSystem::new();
    let index = ["fp", "plr:boundary=16", "fp-raw"][(seed % 3) as usize];
    let compression = [Compression::None, Compression::Lz4][(seed / 3 % 2) as usize];
    let mut options = options(index, compression, &disk);
    // Values of one length, so that tables begin with units.
    let units = seed / 2 % 2 == 1;
    if seed.is_multiple_of(4) {
        options.table.separate_values = Some(60);
        options.over_provision_percent = [0, u32::MAX][(seed / 4 % 2) as usize];
    }
    if units {
        options.table.partition = Partition::Entries(1 + seed as u32 % 5);
    }
    let db = Db::open("store", options.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    let mut states = Vec::new();
    for step in 0..120u32 {
        let mut batch = WriteBatch::new();
        for _ in 0..8 {
            let keyspace = if choices.percent(30) { &other } else { &*db };
            let key = choices.below(500) * 1_000_003;
            let length = choices.below(120) as usize;
            let value = vec![b'v'; if units { 20 } else { length }];
            match choices.below(12) {
                0 => batch.delete(keyspace, key.to_be_bytes()).unwrap(),
                1 => {
                    let end = key + choices.below(20) * 1_000_003;
                    batch
                        .delete_range(keyspace, key.to_be_bytes()..end.to_be_bytes())
                        .unwrap();
                }
                _ => batch
                    .put(
                        keyspace,
                        key.to_be_bytes(),
                        [&value[..], &step.to_le_bytes()].concat(),
                    )
                    .unwrap(),
            }
        }
        let durability = choices.pick(&[Durability::Immediate, Durability::Buffered]);
        db.write_with(batch, durability).unwrap();
        match step {
            30 | 60 => db.flush().unwrap(),
            70 => db.compact_range(None, None).unwrap(),
            80 => {
                db.flush().unwrap();
                other.flush().unwrap();
            }
            _ => {}
        }
        if step >= 80 {
            states.push(read_all(&db).unwrap());
        }
    }
    Specimen {
        disk: disk.fork(),
        options,
        states,
    }
}

fn files(disk: &MemoryFileSystem) -> Vec<PathBuf> {
    let names = disk.list(Path::new("store")).unwrap();
    let mut paths: Vec<PathBuf> = names.iter().map(|n| Path::new("store").join(n)).collect();
    paths.retain(|p| disk.bytes(p).is_ok_and(|b| !b.is_empty()));
    paths
}

/// Damages bytes as fuzzers do. `donor` provides bytes to splice in.
fn mutate(bytes: &mut Vec<u8>, donor: &[u8], choices: &mut Choices) {
    for _ in 0..=choices.below(3) {
        let at = choices.below(bytes.len() as u64 + 1) as usize;
        let length = 1 + choices.below(64).min(choices.below(64)) as usize;
        let end = (at + length).min(bytes.len());
        match choices.below(8) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << choices.below(8);
                }
            }
            2 => bytes[at..end].fill_with(|| choices.next() as u8),
            3 => bytes[at..end].fill(choices.pick(&[0, 0xff])),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = choices.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, copy);
            }
            5 => drop(bytes.drain(at..end)),
            6 => {
                let from = choices.below(donor.len() as u64 + 1) as usize;
                let piece = &donor[from..(from + length * 8).min(donor.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
            _ => bytes.truncate(at),
        }
    }
}

/// The result of reading a damaged store.
enum Verdict {
    Refused,
    Same,
    Prefix,
}

fn judge(specimen: &Specimen, read: Result<Content>, what: &str) -> Result<Verdict, String> {
    let Ok(content) = read else {
        return Ok(Verdict::Refused);
    };
    match specimen.states.iter().rposition(|s| *s == content) {
        Some(n) if n + 1 == specimen.states.len() => Ok(Verdict::Same),
        // Only the end of a log may be missing.
        Some(_) if what.ends_with(".log") => Ok(Verdict::Prefix),
        Some(n) => Err(format!("{what}: the batches after {n} are missing")),
        None => Err(format!("{what}: contents that the store never had")),
    }
}

/// A fuzz body: damages one file of the store and opens it for reading or writing.
fn open_damaged(specimen: &Specimen, choices: &mut Choices) -> Result<Verdict, String> {
    let disk = specimen.disk.fork();
    let paths = files(&disk);
    let path = &paths[choices.below(paths.len() as u64) as usize];
    let donor = &paths[choices.below(paths.len() as u64) as usize];
    let (mut bytes, donor) = (disk.bytes(path).unwrap(), disk.bytes(donor).unwrap());
    mutate(&mut bytes, &donor, choices);
    disk.set_bytes(path, bytes).unwrap();
    let what = path.display().to_string();
    let options = Options {
        file_system: Arc::new(disk.clone()),
        cache_bytes: choices.pick(&[0, 1 << 20]),
        ..specimen.options.clone()
    };
    if choices.percent(60) {
        let read = Db::open_read_only("store", options).and_then(|db| read_all(&db));
        return judge(specimen, read, &what);
    }
    let opened = Db::open("store", options.clone());
    let verdict = match &opened {
        Ok(db) => judge(specimen, read_all(db), &what)?,
        Err(_) => Verdict::Refused,
    };
    let Ok(db) = opened else { return Ok(verdict) };
    // Damage in a table may be found only now, but must give an error.
    let before = read_all(&db);
    let merged = db.compact_range(None, None);
    if let (Ok(before), Ok(())) = (&before, merged) {
        db.put("new", "1").map_err(|e| format!("{what}: {e}"))?;
        drop(db);
        let again = Db::open("store", options).and_then(|db| {
            db.delete("new")?;
            read_all(&db)
        });
        match again {
            Ok(after) if after == *before => {}
            other => return Err(format!("{what}: after compaction {:?}", other.map(drop))),
        }
    }
    Ok(verdict)
}

#[test]
fn a_store_with_damaged_files_is_refused_or_read_right() {
    let specimens: Vec<Specimen> = (0..6).map(specimen).collect();
    let counts = [const { AtomicU64::new(0) }; 3];
    cases("stores with damaged files", 15_000, |seed| {
        let mut choices = Choices::seeded(seed);
        let specimen = &specimens[choices.below(6) as usize];
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            open_damaged(specimen, &mut choices)
        }));
        let verdict = verdict.unwrap_or_else(|_| Err("panic".to_string()))?;
        counts[verdict as usize].fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let [refused, same, prefix] = counts.map(AtomicU64::into_inner);
    println!("{refused} refused, {same} not touched by the damage, {prefix} with a shorter log");
    // A single replayed case cannot have all three results.
    let all_kinds = refused > 0 && same > 0 && prefix > 0;
    assert!(all_kinds || refused + same + prefix < 1_000);
}

/// Bytes for a body that takes any: of few kinds, mutated.
fn some_bytes(choices: &mut Choices) -> Vec<u8> {
    let length = 1 + choices.below(3000) as usize;
    let kinds = choices.pick(&[2, 8, 64, 256]);
    let step = choices.pick(&[1, 7, 41]);
    let mut bytes: Vec<u8> = (0..length)
        .map(|_| (choices.below(kinds) * step) as u8)
        .collect();
    let donor = bytes.clone();
    mutate(&mut bytes, &donor, choices);
    bytes
}

#[test]
fn pointers_and_records_come_back_or_are_refused() {
    let bodies = [rhumb::fuzz::pointer_block, rhumb::fuzz::value_file];
    cases("blocks of pointers and value files", 20_000, |seed| {
        let mut choices = Choices::seeded(seed);
        let mut bytes = some_bytes(&mut choices);
        if choices.percent(30) {
            // Whole entries, and no changes of them.
            bytes.truncate(1 + 12 * (1 + bytes.len() / 100));
        }
        let run = || bodies.iter().for_each(|body| body(&bytes));
        std::panic::catch_unwind(run).map_err(|_| "panic".to_string())
    });
}

/// A fuzz body: runs bytes as a list of operations, and compares with the model.
fn run_bytes(bytes: &[u8]) -> Result<(), String> {
    let mut choices = Choices::from_bytes(bytes);
    let options = choose(&mut choices, &INDEXES, &Options::in_memory());
    let ops = Generator::new(&mut choices).list(1000);
    check(&ops, &|ops| {
        let file_system = Options::in_memory().file_system;
        let options = Options {
            file_system,
            ..options.clone()
        };
        let (mut session, mut model) = (Session::new(options).unwrap(), Model::new());
        for (i, op) in ops.iter().enumerate() {
            let (found, expected) = (session.run(op), model.run(op));
            if found != expected {
                let why = format!("{op:?}: found {found:?}, expected {expected:?}");
                return Err(Failure { after: i + 1, why });
            }
        }
        Ok(())
    })
}

#[test]
fn bytes_as_operations_answer_as_sorted_maps_do() {
    cases("bytes as operations", 8_000, |seed| {
        let mut choices = Choices::seeded(seed);
        let bytes = some_bytes(&mut choices);
        run_bytes(&bytes)
    });
}
