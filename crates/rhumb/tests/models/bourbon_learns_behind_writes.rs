//! Models of tables are learned in the background, beside fences, and forgotten when the store is closed: what readers find and
//! what lies on the disk stays the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhumb::fs::{
    DataLoss, DirectoryLoss, Fault, FaultAt, FaultyFileSystem, FileCall, FileSystem, Loss,
    MemoryFileSystem, Plan, Site,
};
use rhumb::{Compaction, Covers, Db, KeyspaceStats, ModelStats, Options, Tuner};

const STORE: &str = "store";
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Tables of 64 KiB with fences.
fn options(disk: Arc<dyn FileSystem>, tuner: &str) -> Options {
    Options {
        index: "fp".parse().unwrap(),
        table: "partition=bytes(4096),size=64KiB".parse().unwrap(),
        write_buffer_bytes: 64 << 10,
        compaction_threads: 1,
        tuner: tuner.parse().unwrap(),
        file_system: disk,
        ..Options::in_memory()
    }
}

fn open(disk: &MemoryFileSystem, tuner: &str) -> Db {
    Db::open(STORE, options(Arc::new(disk.clone()), tuner)).unwrap()
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec()
}

fn value(n: u64) -> Vec<u8> {
    vec![n as u8; 20 + n as usize % 40]
}

/// Writes, overwrites and deletes.
fn load(db: &Db, model: &mut Model, keys: std::ops::Range<u64>) {
    for n in keys {
        db.put(key(n), value(n)).unwrap();
        model.insert(key(n), value(n));
        if n % 5 == 0 {
            db.delete(key(n / 2)).unwrap();
            model.remove(&key(n / 2));
        }
    }
}

/// Gets of all keys and of neighbours, seeks, and a scan of everything.
fn check(db: &Db, model: &Model) {
    let mut expected = model.iter();
    for entry in db.iter().unwrap() {
        let (found_key, found) = entry.unwrap();
        let (key, value) = expected.next().unwrap();
        assert_eq!((&found_key[..], &found[..]), (&key[..], &value[..]));
    }
    assert!(expected.next().is_none());
    for (nth, (key, value)) in model.iter().enumerate() {
        assert_eq!(db.get(key).unwrap().unwrap()[..], value[..]);
        let mut neighbour = key.clone();
        neighbour[7] ^= 1;
        let found = db.get(&neighbour).unwrap();
        assert_eq!(found.as_deref(), model.get(&neighbour).map(Vec::as_slice));
        if nth % 16 == 0 {
            let from = &neighbour[..];
            let next = db
                .range(from..)
                .unwrap()
                .next()
                .map(|e| e.unwrap().0.to_vec());
            assert_eq!(
                next,
                model
                    .range(neighbour.clone()..)
                    .next()
                    .map(|(k, _)| k.clone())
            );
        }
    }
}

fn keyspace(db: &Db) -> KeyspaceStats {
    db.stats().unwrap().keyspaces.swap_remove(0)
}

fn models(db: &Db) -> ModelStats {
    keyspace(db).tuner.unwrap().models.unwrap()
}

/// Pauses until there is nothing left to learn.
fn pause(db: &Db) -> ModelStats {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        db.settle();
        let models = models(db);
        if models.waiting == 0 {
            return models;
        }
        assert!(Instant::now() < until, "{models:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The names of all files and their bytes.
fn contents(disk: &MemoryFileSystem) -> Vec<(String, Vec<u8>)> {
    let names = disk.list(Path::new(STORE)).unwrap().into_iter();
    let with_bytes = names.map(|name| {
        let bytes = disk.bytes(&Path::new(STORE).join(&name)).unwrap();
        (name, bytes)
    });
    with_bytes.collect()
}

#[test]
fn a_load_a_pause_and_reads_learn_models_and_a_reopening_forgets_them() {
    let disk = MemoryFileSystem::new();
    let db = open(&disk, "bourbon:wait=5ms");
    let mut model = Model::new();
    // Readers are right while models come and go with their tables.
    for round in 0..10 {
        load(&db, &mut model, round * 2_000..(round + 1) * 2_000);
        check(&db, &model);
    }
    db.flush().unwrap();
    // Which tables are learned depends on the times that were measured.
    let learned = pause(&db);
    let found = keyspace(&db);
    let tables: u64 = found.levels.iter().map(|level| level.tables).sum();
    assert!(
        tables > 4 && learned.tables + learned.not_worth == tables,
        "{learned:?}"
    );
    assert!(learned.learned >= learned.tables, "{learned:?}");
    assert_eq!(learned.bytes > 0, learned.tables > 0, "{learned:?}");
    assert!(learned.failed == 0 && found.tuner.unwrap().failure.is_none());
    let text = db.stats().unwrap().to_string();
    assert!(
        text.contains("tuner: ") && text.contains(" given up"),
        "{text}"
    );
    db.close().unwrap();

    // Without a learner nothing is left of it; with one, it begins again.
    let db = open(&disk, "off");
    let without = keyspace(&db);
    assert!(without.tuner.is_none() && without.index_bytes == found.index_bytes - learned.bytes);
    check(&db, &model);
    drop(db);
    let db = open(&disk, "bourbon:wait=3600000ms");
    db.settle();
    let again = models(&db);
    assert_eq!((again.tables, again.learned, again.waiting), (0, 0, tables));
    check(&db, &model);
    drop(db);
    // As long as no table is gone, all are learned.
    let db = open(&disk, "bourbon:wait=0ms");
    let learned = pause(&db);
    assert_eq!((learned.tables, learned.learned), (tables, tables));
    assert_eq!(learned.models, tables);
    assert!(learned.bytes > 0 && keyspace(&db).index_bytes == without.index_bytes + learned.bytes);
    let before = models(&db).look_ups;
    check(&db, &model);
    assert!(models(&db).look_ups > before + model.len() as u64 / 4);
}

/// Runs are learned as a whole, while tables come and go and once nothing changes.
#[test]
fn levels_are_learned_once_they_are_still() {
    let disk = MemoryFileSystem::new();
    let db = open(&disk, "bourbon:wait=5ms,covers=level");
    let mut model = Model::new();
    for round in 0..6 {
        load(&db, &mut model, round * 2_000..(round + 1) * 2_000);
        check(&db, &model);
        if round % 2 == 1 {
            pause(&db);
            check(&db, &model);
        }
    }
    db.flush().unwrap();
    pause(&db);
    let of_all = |db: &Db| -> (u64, u64) {
        let levels = keyspace(db).levels;
        let tables = levels.iter().map(|level| level.tables).sum();
        (tables, levels.iter().map(|level| level.runs).sum())
    };
    drop(db);
    let db = open(&disk, "bourbon:wait=0ms,covers=level");
    let learned = pause(&db);
    let (tables, runs) = of_all(&db);
    assert!(tables > runs, "{tables} tables, {runs} runs");
    assert_eq!((learned.tables, learned.models), (tables, runs));
    let before = models(&db).look_ups;
    check(&db, &model);
    assert!(models(&db).look_ups > before + model.len() as u64 / 4);
    let index_bytes = keyspace(&db).index_bytes;
    drop(db);
    let without = keyspace(&open(&disk, "off")).index_bytes;
    assert_eq!(index_bytes, without + learned.bytes);
}

/// A table whose own index is a model needs no other one, nor does one that is found by a model of several tables.
#[test]
fn tables_with_a_model_of_their_own_are_left() {
    for (index, granularity) in [("plr", "table"), ("fp", "trained")] {
        let disk = MemoryFileSystem::new();
        let mut options = options(Arc::new(disk), "bourbon:wait=0ms");
        options.index = index.parse().unwrap();
        options.levels.granularity = granularity.parse().unwrap();
        if granularity == "trained" {
            options.levels.compaction = Compaction::FullLevel;
        }
        let db = Db::open(STORE, options).unwrap();
        let mut model = Model::new();
        load(&db, &mut model, 0..4_000);
        db.flush().unwrap();
        let models = pause(&db);
        let tables: u64 = keyspace(&db).levels.iter().map(|level| level.tables).sum();
        assert!(tables > 0 && models.modelled == tables, "{models:?}");
        assert_eq!((models.tables, models.learned), (0, 0));
        check(&db, &model);
    }
}

/// All that was not synced is lost.
const LOST: Loss = Loss {
    data: DataLoss::Lost,
    directory: DirectoryLoss::Lost,
};

/// No file is written while tables are learned, so that a crash at any moment finds the same.
#[test]
fn learning_leaves_the_disk_alone() {
    let disk = MemoryFileSystem::new();
    let mut model = Model::new();
    let db = open(&disk, "off");
    load(&db, &mut model, 0..10_000);
    db.flush().unwrap();
    db.settle();
    db.close().unwrap();
    for moment in 0..12 {
        let db = open(&disk, "bourbon:wait=2ms");
        db.settle();
        let before = contents(&disk);
        std::thread::sleep(Duration::from_micros(moment * 500));
        let crashed = disk.crash(LOST, moment);
        assert!(contents(&disk) == before, "moment {moment}");
        check(&open(&crashed, "bourbon:wait=0ms"), &model);
        if moment % 4 == 0 {
            assert!(pause(&db).tables > 0);
            assert!(contents(&disk) == before, "moment {moment}");
        }
        // Closing it in the middle of it is as good.
        db.close().unwrap();
    }
}

/// A table that cannot be learned is told of, and stops nothing.
#[test]
fn failures_are_told_and_stop_nothing() {
    let disk = MemoryFileSystem::new();
    let mut model = Model::new();
    let db = open(&disk, "off");
    load(&db, &mut model, 0..2_000);
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    let open_with = |tuner: &str, plan: Plan| {
        let faulty = FaultyFileSystem::new(Arc::new(disk.clone()), plan);
        let db = Db::open(STORE, options(Arc::new(faulty.clone()), tuner)).unwrap();
        db.settle();
        (db, faulty)
    };
    // Where tables are read that are learned, and nothing else is that happens at an opening.
    let reads = |tuner: &str| {
        let (db, faulty) = open_with(tuner, Plan::default());
        if tuner != "off" {
            pause(&db);
        }
        db.stats().unwrap();
        let sites = faulty.sites().into_keys();
        sites
            .filter(|site| site.call == FileCall::Read)
            .collect::<BTreeSet<Site>>()
    };
    let (with, without) = (reads("bourbon:wait=0ms"), reads("off"));
    let site = *with.difference(&without).next().unwrap();
    let plan = Plan {
        fault: Some((FaultAt::Site(site), Fault::InputOutput)),
        ..Plan::default()
    };
    let (db, faulty) = open_with("bourbon:wait=0ms", plan);
    let models = pause(&db);
    assert_eq!((models.failed, faulty.faults()), (1, 1), "{models:?}");
    let found = keyspace(&db);
    let tables: u64 = found.levels.iter().map(|level| level.tables).sum();
    assert_eq!(models.tables + 1, tables);
    assert!(found.tuner.unwrap().failure.is_some());
    check(&db, &model);
    load(&db, &mut model, 2_000..4_000);
    db.flush().unwrap();
    assert!(pause(&db).tables > 0);
    check(&db, &model);
}

/// Ends readers, also where a test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Readers go on while a writer lets tables come and go, and models appear in between.
#[test]
fn concurrent_readers_find_everything_while_models_appear() {
    for covers in ["table", "level"] {
        read_while_models_appear(&format!("bourbon:wait=0ms,covers={covers}"));
    }
    assert_eq!(
        options(Arc::new(MemoryFileSystem::new()), "bourbon").tuner,
        Tuner::Bourbon {
            wait: Duration::from_millis(50),
            covers: Covers::Table,
        }
    );
}

fn read_while_models_appear(tuner: &str) {
    let db = open(&MemoryFileSystem::new(), tuner);
    const KEYS: u64 = 4_000;
    let write = |generation: u64| {
        for n in 0..KEYS {
            db.put(key(n), [key(n), vec![generation as u8; 30]].concat())
                .unwrap();
        }
    };
    write(0);
    let (done, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let end = End(&done);
        for reader in 0..3 {
            let (db, done, reads) = (&db, &done, &reads);
            scope.spawn(move || {
                let mut n = reader;
                while !done.load(Ordering::Relaxed) {
                    n = (n + 7_919) % (2 * KEYS);
                    let found = db.get(key(n)).unwrap();
                    assert_eq!(found.is_some(), n < KEYS);
                    assert!(found.is_none_or(|found| found[..8] == key(n)[..]));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for generation in 1..8 {
            write(generation);
        }
        db.flush().unwrap();
        pause(&db);
        // They are asked for long enough with all models there.
        let from = reads.load(Ordering::Relaxed);
        let until = Instant::now() + Duration::from_secs(120);
        while reads.load(Ordering::Relaxed) < from + 20_000 {
            assert!(Instant::now() < until, "readers stand still");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(end);
    });
    assert!(models(&db).look_ups > 0, "{:?}", models(&db));
}
