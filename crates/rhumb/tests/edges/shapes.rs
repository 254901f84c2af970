//! Levels of every shape hold the same data, also when the shape changes between two openings, and
//! with several merges at once.

use crate::kit;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kit::{SHAPES, small};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::{Compaction, Db, Durability, Levels, Options, Snapshot, inspect};

const SIZE_RATIO: u32 = 3;
const BASE_BYTES: u64 = 16 << 10;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn shaped(base: &Options, compaction: Compaction) -> Options {
    Options {
        durability: Durability::Buffered,
        levels: Levels {
            compaction,
            size_ratio: SIZE_RATIO,
            base_bytes: BASE_BYTES,
            level0_tables: 2,
            ..Levels::default()
        },
        compaction_threads: 3,
        file_system: Arc::clone(&base.file_system),
        ..small()
    }
}

fn key(n: u32) -> Vec<u8> {
    format!("key/{n:06}").into_bytes()
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    let given = std::env::var("RHUMB_SEED").ok();
    match given.and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    }
}

fn write(db: &Db, model: &mut Model, random: &mut StdRng, count: usize) {
    for _ in 0..count {
        let n = random.random_range(0..1500);
        match random.random_range(0..40) {
            0 => {
                let to = n + random.random_range(1..60);
                db.delete_range(key(n)..key(to)).unwrap();
                model.retain(|k, _| *k < key(n) || *k >= key(to));
            }
            1..8 => {
                db.delete(key(n)).unwrap();
                model.remove(&key(n));
            }
            _ => {
                let value = vec![random.random(); random.random_range(0..120)];
                db.put(key(n), &value).unwrap();
                model.insert(key(n), value);
            }
        }
    }
}

/// Checks that gets, scans from both ends and a range agree with the model, also at a snapshot.
fn check(db: &Db, model: &Model, old: Option<&(Snapshot, Model)>, random: &mut StdRng) {
    let owned = |e: rhumb::Result<(rhumb::Key, rhumb::Value<'_>)>| {
        let (key, value) = e.unwrap();
        (key.to_vec(), value.to_vec())
    };
    assert!(db.iter().unwrap().map(owned).eq(model.clone()));
    let backward = db.iter().unwrap().rev().map(owned);
    assert!(backward.eq(model.clone().into_iter().rev()));
    if let Some((snapshot, model)) = old {
        assert!(snapshot.iter(db).unwrap().map(owned).eq(model.clone()));
    }
    for _ in 0..200 {
        let at = key(random.random_range(0..1510));
        let found = db.get(&at).unwrap().map(|v| v.to_vec());
        assert_eq!(found.as_ref(), model.get(&at), "{}", at.escape_ascii());
        if let Some((snapshot, model)) = old {
            let found = snapshot.get(db, &at).unwrap().map(|v| v.to_vec());
            assert_eq!(found.as_ref(), model.get(&at), "{}", at.escape_ascii());
        }
        let explained = db.explain_get(&at).unwrap().value;
        assert_eq!(explained.as_ref(), model.get(&at));
    }
    let (from, to) = (
        key(random.random_range(0..700)),
        key(random.random_range(700..1500)),
    );
    let range = db.range(from.clone()..to.clone()).unwrap().map(owned);
    let expected = model.range(from..to).map(|(k, v)| (k.clone(), v.clone()));
    assert!(range.eq(expected));
}

/// The number of runs of each level.
fn runs(db: &Db) -> Vec<u64> {
    let stats = db.stats().unwrap();
    stats.keyspaces[0].levels.iter().map(|l| l.runs).collect()
}

/// Checks that a store that was compacted as a whole holds one version of each of `live` keys, in one run.
/// Leveled compaction moves tables on right afterwards if they are too much for the level of that run.
fn check_compacted(db: &Db, compaction: Compaction, live: usize) {
    let stats = db.stats().unwrap();
    let levels = &stats.keyspaces[0].levels;
    let entries: u64 = levels.iter().map(|l| l.entries).sum();
    assert_eq!(entries, live as u64, "{compaction}");
    let runs: u64 = levels.iter().map(|l| l.runs).sum();
    if runs == 1 {
        return;
    }
    assert_eq!(compaction, Compaction::Leveled, "{levels:?}");
    let first = levels.iter().position(|l| l.runs > 0).unwrap();
    assert_eq!(
        (levels[first].runs, levels[first + 1].runs, runs),
        (1, 1, 2)
    );
    let bytes: u64 = levels.iter().map(|l| l.bytes).sum();
    let most = BASE_BYTES * u64::from(SIZE_RATIO).pow(first as u32 - 1);
    assert!(bytes > most, "{levels:?}");
}

fn verify(options: &Options) {
    let report = inspect::verify(Path::new("store"), options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
}

#[test]
fn a_store_is_brought_into_the_shape_it_is_opened_with() {
    let mut most_runs = 0;
    for seed in seeds(24) {
        println!("seed {seed}: replay with RHUMB_SEED={seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let (base, mut model) = (Options::in_memory(), Model::new());
        for opening in 0..6 {
            let compaction = SHAPES[random.random_range(0..SHAPES.len())];
            let options = shaped(&base, compaction);
            let db = Db::open("store", options.clone()).unwrap();
            let mut old = None;
            for _ in 0..random.random_range(1..4) {
                write(&db, &mut model, &mut random, 400);
                if old.is_none() && random.random_bool(0.5) {
                    old = Some((db.snapshot(), model.clone()));
                }
                check(&db, &model, old.as_ref(), &mut random);
            }
            db.settle();
            check(&db, &model, old.as_ref(), &mut random);
            let (runs, told) = (runs(&db), format!("opening {opening}, {compaction}"));
            match compaction {
                Compaction::Tiered => {
                    most_runs = most_runs.max(runs[1..].iter().copied().max().unwrap());
                    assert!(
                        runs[0] < 2 && runs.iter().all(|n| *n < 3),
                        "{told}: {runs:?}"
                    );
                }
                // At most so many are above a range, and in each level those of two ranges may be apart.
                Compaction::LearnedTier(_) => {
                    assert!(runs[0] < 2 && runs[6] < 2, "{told}: {runs:?}");
                }
                _ => assert!(runs.iter().all(|n| *n < 2), "{told}: {runs:?}"),
            }
            drop(old);
            if random.random_bool(0.3) {
                db.compact_range(None, None).unwrap();
                check(&db, &model, None, &mut random);
                check_compacted(&db, compaction, model.len());
            }
            // Sometimes close while merges run.
            if random.random_bool(0.5) {
                write(&db, &mut model, &mut random, 300);
            }
            db.close().unwrap();
            verify(&options);
        }
    }
    assert!(most_runs >= 2, "no tier ever had more than one run");
}

#[test]
fn a_range_is_compacted_beside_other_merges() {
    for compaction in SHAPES {
        let options = shaped(&Options::in_memory(), compaction);
        let db = Db::open("store", options.clone()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..2u32 {
                let (db, done) = (&db, &done);
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(thread.into());
                    while !done.load(Ordering::Relaxed) {
                        let from = random.random_range(0..6000);
                        let to = from + random.random_range(1..3000);
                        let (from, to) = (key(from), key(to));
                        db.compact_range(Some(&from), Some(&to)).unwrap();
                    }
                });
            }
            for n in 0..9000u32 {
                let value = [n.to_be_bytes(); 20].concat();
                db.put(key(n * 7919 % 6000), value).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        for n in 3000..9000u32 {
            let found = db.get(key(n * 7919 % 6000)).unwrap().unwrap();
            assert_eq!(found[..4], n.to_be_bytes(), "{compaction}");
        }
        db.compact_range(None, None).unwrap();
        db.settle();
        check_compacted(&db, compaction, 6000);
        assert_eq!(db.iter().unwrap().count(), 6000);
        db.close().unwrap();
        verify(&options);
    }
}

#[test]
fn closing_ends_all_merges() {
    let base = Options::in_memory();
    let mut model = Model::new();
    let mut random = StdRng::seed_from_u64(7);
    for round in 0..30 {
        let mut options = shaped(&base, SHAPES[round % SHAPES.len()]);
        options.compaction_threads = 4;
        let db = Db::open("store", options).unwrap();
        let rest = db.keyspace(rhumb::DEFAULT_KEYSPACE).unwrap();
        write(&db, &mut model, &mut random, 300);
        std::thread::scope(|scope| {
            // It may be interrupted or complete, but must not hang.
            scope.spawn(|| drop(rest.compact_range(None, None)));
            db.close().unwrap();
        });
        // The last handle keeps the store locked.
        drop(rest);
        let db = Db::open_read_only("store", shaped(&base, Compaction::Leveled)).unwrap();
        check(&db, &model, None, &mut random);
    }
}

#[test]
fn more_threads_than_make_sense_are_refused() {
    let options = Options {
        compaction_threads: 1000,
        ..Options::in_memory()
    };
    let refused = Db::open("store", options).unwrap_err().to_string();
    assert!(refused.contains("compaction_threads"), "{refused}");
}
