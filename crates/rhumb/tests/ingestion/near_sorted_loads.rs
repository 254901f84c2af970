//! Keys that arrive nearly in order are merged little, and what a flush keeps back of them is read, kept and
//! recovered like any other write.

use std::path::Path;
use std::sync::Arc;

use crate::kit::{self, Random, seed};
use rhumb::fs::{DataLoss, DirectoryLoss, FileSystem, Loss, MemoryFileSystem};
use rhumb::{Compaction, Db, Durability, Error, Levels, Options, OrderStats, Stats, inspect};

const KEYS: u64 = 60_000;

fn options(disk: &MemoryFileSystem) -> Options {
    Options {
        write_buffer_bytes: 64 << 10,
        log_bytes: 4 << 20,
        durability: Durability::Buffered,
        levels: Levels {
            size_ratio: 4,
            base_bytes: 128 << 10,
            level0_tables: 4,
            ..Levels::default()
        },
        file_system: Arc::new(disk.clone()),
        ..Options::default()
    }
}

/// The numbers below `n`, a share of which, in per cent, is displaced by up to `most`.
fn displaced(n: u64, percent: u64, most: u64) -> Vec<u64> {
    let mut random = Random(seed());
    let mut numbers: Vec<u64> = (0..n).collect();
    for at in 0..n as usize {
        // Every swap displaces two.
        if random.below(200) < percent {
            let other = at + 1 + random.below(most) as usize;
            if other < n as usize {
                numbers.swap(at, other);
            }
        }
    }
    numbers
}

fn put(db: &Db, number: u64) {
    db.put(number.to_be_bytes(), number.to_le_bytes()).unwrap();
}

/// Background work never lags behind, so that counts do not depend on time.
fn load(db: &Db, keys: &[u64]) {
    for (n, key) in keys.iter().enumerate() {
        put(db, *key);
        if n % 200 == 0 {
            db.settle();
        }
    }
    db.settle();
}

fn open(disk: &MemoryFileSystem) -> Db {
    Db::open(Path::new("/store"), options(disk)).unwrap()
}

/// Checks that exactly these keys are there, with their values.
fn check(db: &Db, keys: &[u64]) {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    let mut iter = db.iter().unwrap();
    for number in &sorted {
        let (key, value) = iter.next().unwrap().unwrap();
        assert_eq!(*key, number.to_be_bytes());
        assert_eq!(*value, number.to_le_bytes());
    }
    assert!(iter.next().is_none());
    for number in sorted.iter().step_by(71) {
        let value = db.get(number.to_be_bytes()).unwrap().unwrap();
        assert_eq!(*value, number.to_le_bytes());
    }
    let backwards = db.iter().unwrap().rev().take(3000);
    for (entry, number) in backwards.zip(sorted.iter().rev()) {
        assert_eq!(*entry.unwrap().0, number.to_be_bytes());
    }
}

fn order(stats: &Stats) -> OrderStats {
    stats.keyspaces[0].order
}

#[test]
fn nearly_sorted_loads_are_hardly_merged() {
    let keys = displaced(KEYS, 1, KEYS / 100);
    let mut rewritten = [0, 0];
    for (n, on) in [false, true].into_iter().enumerate() {
        let db = open(&MemoryFileSystem::new());
        db.set_holding_back(on);
        load(&db, &keys);
        let stats = db.stats().unwrap();
        println!("{on}: {:?} {:?}", order(&stats), stats.writes);
        assert_eq!(order(&stats).holds_back, on);
        assert_eq!(order(&stats).held_entries > 0, on);
        check(&db, &keys);
        rewritten[n] = stats.writes.compaction_bytes_written;
        if on {
            let placed = stats.writes.direct_placements;
            assert!(placed * 10 > stats.writes.flushes * 8, "{placed}");
            assert!(order(&stats).held_bytes <= 56 << 10);
        }
    }
    assert!(rewritten[1] * 10 < rewritten[0], "{rewritten:?}");
}

/// Where keys come in random order, or from many write buffers away, it makes no difference.
#[test]
fn what_does_not_pay_is_not_kept_back() {
    for keys in [displaced(KEYS, 100, KEYS), displaced(KEYS, 50, KEYS / 2)] {
        let mut counts = Vec::new();
        for on in [false, true] {
            let db = open(&MemoryFileSystem::new());
            db.set_holding_back(on);
            load(&db, &keys);
            let stats = db.stats().unwrap();
            assert!(!order(&stats).holds_back && order(&stats).held_entries == 0);
            check(&db, &keys);
            counts.push(stats.writes.compaction_bytes_written as f64);
        }
        assert!(counts[1] < counts[0] * 1.1, "{counts:?}");
    }
}

/// Only leveled compaction gains from it.
#[test]
fn other_shapes_keep_nothing_back() {
    for compaction in [Compaction::FullLevel, Compaction::Tiered] {
        let mut options = options(&MemoryFileSystem::new());
        options.levels.compaction = compaction;
        let db = Db::open(Path::new("/store"), options).unwrap();
        let keys = displaced(KEYS / 4, 1, 500);
        load(&db, &keys);
        let stats = db.stats().unwrap();
        assert_eq!(order(&stats), OrderStats::default());
        assert_eq!(stats.writes.direct_placements, 0);
        check(&db, &keys);
    }
}

#[test]
fn a_flush_leaves_nothing_in_memory() {
    let disk = MemoryFileSystem::new();
    let db = open(&disk);
    let keys = displaced(KEYS / 2, 2, 1000);
    for part in keys.chunks(keys.len().div_ceil(7)) {
        load(&db, part);
        let before = order(&db.stats().unwrap()).held_entries;
        db.flush().unwrap();
        assert!(before > 0);
        assert_eq!(order(&db.stats().unwrap()).held_entries, 0);
        // The second one finds nothing to do.
        db.flush().unwrap();
    }
    check(&db, &keys);
    // Nothing but empty logs is left to be replayed.
    let disk = disk.crash(lost(), 1);
    let db = open(&disk);
    assert_eq!(db.stats().unwrap().recovery.log_operations, 0);
    check(&db, &keys);
}

fn lost() -> Loss {
    Loss {
        data: DataLoss::Lost,
        directory: DirectoryLoss::Lost,
    }
}

/// Entries that are kept back are in the log only; they come back with what was written after them.
#[test]
fn what_is_kept_back_survives_a_loss_of_power() {
    let keys = displaced(KEYS / 2, 2, 1000);
    for (n, upto) in (0..keys.len()).step_by(keys.len() / 9).enumerate() {
        let disk = MemoryFileSystem::new();
        let db = open(&disk);
        load(&db, &keys[..upto]);
        let held = order(&db.stats().unwrap()).held_entries;
        assert!(n < 2 || held > 0, "{upto} keys, {held} kept back");
        db.sync().unwrap();
        let disk = disk.crash(lost(), n as u64);
        let db = open(&disk);
        check(&db, &keys[..upto]);
        load(&db, &keys[upto..]);
        check(&db, &keys);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        check(&db, &keys);
        assert_eq!(db.stats().unwrap().keyspaces[0].entries, keys.len() as u64);
    }
}

/// Repair must not take for flushed what a flush kept back.
#[test]
fn repair_finds_what_was_kept_back() {
    let disk = MemoryFileSystem::new();
    let db = open(&disk);
    let keys = displaced(KEYS / 2, 2, 1000);
    load(&db, &keys);
    assert!(order(&db.stats().unwrap()).held_entries > 0);
    db.close().unwrap();
    let path = Path::new("/store");
    disk.remove(&path.join("CURRENT")).unwrap();
    let report = inspect::repair(path, &options(&disk), &mut |_| {}).unwrap();
    assert!(report.lost.is_empty(), "{report:?}");
    check(&open(&disk), &keys);
}

/// Tables are newer than what is kept back: a log that ends between the two has lost its end, and must not
/// pass for one that was cut short by a crash.
#[test]
fn a_log_that_ends_before_what_was_flushed_is_damaged() {
    let disk = MemoryFileSystem::new();
    let db = open(&disk);
    let keys = displaced(KEYS / 4, 2, 500);
    load(&db, &keys);
    let stats = db.stats().unwrap();
    assert!(order(&stats).held_entries > 0);
    db.sync().unwrap();
    let disk = disk.crash(lost(), 0);
    let path = Path::new("/store");
    let logs: Vec<_> = kit::files(&disk, path, ".log")
        .into_iter()
        .map(|name| path.join(name))
        .filter(|path| !disk.bytes(path).unwrap().is_empty())
        .collect();
    // All writes are in one log that has not ended, so that nothing else shows its length.
    let [log] = &logs[..] else {
        panic!("{logs:?}");
    };
    let bytes = disk.bytes(log).unwrap();
    // Each put is a frame of its own.
    disk.set_bytes(log, bytes[..bytes.len() / 3].to_vec())
        .unwrap();
    let opened = Db::open(path, options(&disk));
    assert!(
        matches!(opened, Err(Error::Corruption { .. })),
        "{opened:?}"
    );
    let report = inspect::repair(path, &options(&disk), &mut |_| {}).unwrap();
    assert!(
        !report.lost.is_empty() && !report.doubts.is_empty(),
        "{report:?}"
    );
    Db::open(path, options(&disk)).unwrap();
}

/// A keyspace that keeps something back must not keep all logs, however long another is written.
#[test]
fn a_quiet_keyspace_does_not_keep_the_logs() {
    let disk = MemoryFileSystem::new();
    let db = open(&disk);
    let quiet = db.create_keyspace("quiet").unwrap();
    let keys = displaced(KEYS / 4, 2, 500);
    for (n, key) in keys.iter().enumerate() {
        quiet.put(key.to_be_bytes(), key.to_le_bytes()).unwrap();
        if n % 200 == 0 {
            db.settle();
        }
    }
    let held = |db: &Db| {
        let stats = db.stats().unwrap();
        let quiet = stats.keyspaces.iter().find(|k| k.name == "quiet");
        (quiet.unwrap().order.held_entries, stats.log_bytes)
    };
    assert!(held(&db).0 > 0);
    let mut random = Random(seed());
    for n in 0..KEYS * 3 {
        put(&db, random.next());
        if n % 200 == 0 {
            db.settle();
        }
    }
    let (entries, log_bytes) = held(&db);
    assert_eq!(entries, 0);
    // A quarter more is the log that is written.
    assert!(log_bytes <= 6 << 20, "{log_bytes} bytes of logs");
    let mut found = quiet.iter().unwrap();
    for number in 0..keys.len() as u64 {
        let (key, _) = found.next().unwrap().unwrap();
        assert_eq!(*key, number.to_be_bytes());
    }
    assert!(found.next().is_none());
}

/// New versions, deletes and range deletes of keys that are kept back, and snapshots that see the old ones.
#[test]
fn all_versions_of_a_key_stay_together() {
    let db = open(&MemoryFileSystem::new());
    let keys = displaced(KEYS, 2, 1000);
    let (first, rest) = keys.split_at(keys.len() / 2);
    load(&db, first);
    let snapshot = db.snapshot();
    for key in first.iter().step_by(5) {
        db.put(key.to_be_bytes(), "newer").unwrap();
    }
    for key in first.iter().step_by(7) {
        db.delete(key.to_be_bytes()).unwrap();
    }
    load(&db, rest);
    db.delete_range(1000u64.to_be_bytes()..2000u64.to_be_bytes())
        .unwrap();
    load(&db, &displaced(1500, 0, 1)[1400..]);
    let mut expected: std::collections::BTreeMap<u64, Vec<u8>> = keys
        .iter()
        .map(|k| (*k, k.to_le_bytes().to_vec()))
        .collect();
    for key in first.iter().step_by(5) {
        expected.insert(*key, b"newer".to_vec());
    }
    for key in first.iter().step_by(7) {
        expected.remove(key);
    }
    expected.retain(|key, _| !(1000..2000).contains(key));
    for key in 1400..1500u64 {
        expected.insert(key, key.to_le_bytes().to_vec());
    }
    for _ in 0..2 {
        let mut iter = db.iter().unwrap();
        for (number, value) in &expected {
            let (key, found) = iter.next().unwrap().unwrap();
            assert_eq!((&*key, &*found), (&number.to_be_bytes()[..], &value[..]));
        }
        assert!(iter.next().is_none());
        for key in first {
            let old = snapshot.get(&db, key.to_be_bytes()).unwrap().unwrap();
            assert_eq!(*old, key.to_le_bytes());
        }
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
    }
}
