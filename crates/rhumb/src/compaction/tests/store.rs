//! Flushes and compactions of a small store, compared with a plain list of its writes.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::background::{Background, compact_range};
use super::fixture::{
    DIR, KEYS, KEYSPACE, Operation, Store, key, memory, random_operation, small_tables,
};
use crate::compaction::{Job, Parts, flush, pick_step};
use crate::entry::cursor_checks::visits_of;
use crate::entry::{MAX_SEQUENCE, RangeDeletes};
use crate::error::Error;
use crate::fs::{
    Access, DataLoss, DirectoryLoss, Fault, FaultAt, FaultyFileSystem, FileCall, FileSystem, Loss,
    MemoryFileSystem, Plan,
};
use crate::memtable::Memtable;
use crate::options::{self, Compaction, TierForm, TierSpec};

fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("RHUMB_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
    {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    }
}

const SHAPES: [Compaction; 4] = [
    Compaction::Leveled,
    Compaction::FullLevel,
    Compaction::Tiered,
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Keys,
        range_bytes: 1_500,
        runs: 2,
        filter_bits_per_key: 10,
        concurrent_probes: false,
    }),
];
const SHAPE: options::Levels = options::Levels {
    compaction: Compaction::Leveled,
    size_ratio: 2,
    base_bytes: 4000,
    level0_tables: 2,
    granularity: options::Granularity::Table,
};

#[test]
fn every_snapshot_reads_the_same_after_flushes_and_compactions() {
    let (mut beside, mut held, mut deep) = (0, 0, 0);
    for seed in seeds(40) {
        println!("seed {seed}: replay with RHUMB_SEED={seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let mut store = Store::new(memory(), small_tables());
        let mut background = Background::default();
        let mut shape = SHAPE;
        for _ in 0..40 {
            // As if the store were opened again with another shape.
            if random.random_bool(0.15) {
                background.end_all(&mut store, &mut random);
                shape.compaction = SHAPES[random.random_range(0..SHAPES.len())];
                store.tier = shape.compaction.tier();
            }
            for _ in 0..random.random_range(1..40) {
                store.write(random_operation(&mut random));
            }
            let before = store.files.next_number();
            if random.random_bool(0.4) {
                store.snapshots.insert(store.sequence);
            }
            if random.random_bool(0.3) {
                store.snapshots.pop_first();
            }
            background.flush(&mut store, &mut random, &shape);
            held += u64::from(store.held.is_some());
            deep += store
                .levels
                .tables()
                .filter(|(p, t)| {
                    p.level > 0 && t.meta.largest_sequence > 0 && t.meta.number >= before
                })
                .count();
            background.work(&mut store, &mut random, &shape);
            if random.random_bool(0.1) {
                let (a, b) = (random.random_range(0..KEYS), random.random_range(0..KEYS));
                let (from, to) = (key(a), key(b));
                let range = (&from[..], Bound::Excluded(&to[..]));
                background.compact_range(&mut store, &mut random, shape.compaction, range);
            }
            store.check();
        }
        background.end_all(&mut store, &mut random);
        beside += background.beside;
        store.check();
        store.flush().unwrap();
        store.check();
        store.check_files();
        store.snapshots.clear();
        compact_range(&mut store, shape.compaction, b"", Bound::Unbounded);
        store.check();
        store.check_files();
        assert!(store.levels.all_runs().count() <= 1, "{shape:?}");
        // Everything is at the bottom: one version of each live key, and no deletes.
        let live = store.model(MAX_SEQUENCE).len() as u64;
        let tables = || store.levels.tables().map(|(_, t)| &t.meta);
        assert_eq!(tables().map(|t| t.entries).sum::<u64>(), live);
        assert_eq!(
            tables()
                .map(|t| t.deletes + t.range_deletes + t.largest_sequence)
                .sum::<u64>(),
            0
        );
    }
    println!(
        "{beside} merges began beside others, {held} flushes kept back, {deep} tables went deep"
    );
    assert!(beside > 0 && held > 0 && deep > 0);
}

/// Keys in many tables at the bottom, then a range delete over all but the first and the last.
#[test]
fn a_merge_skips_what_a_range_delete_hides() {
    const KEYS: u32 = 20_000;
    let key = |number: u32| number.to_be_bytes().to_vec();
    let mut store = Store::new(memory(), small_tables());
    for number in 0..KEYS {
        store.write(Operation::Put(key(number), vec![7; 20]));
    }
    store.flush().unwrap();
    compact_range(&mut store, Compaction::Leveled, b"", Bound::Unbounded);
    assert!(store.levels.tables().count() > 100);
    store.write(Operation::DeleteRange(key(1), key(KEYS - 1)));
    store.flush().unwrap();
    let ((), visits) = visits_of(|| {
        compact_range(&mut store, Compaction::Leveled, b"", Bound::Unbounded);
    });
    println!("{visits} visits");
    assert!(visits < 1_000, "{visits} visits");
    let entries = |store: &Store| {
        store
            .levels
            .tables()
            .map(|(_, t)| t.meta.entries)
            .sum::<u64>()
    };
    assert_eq!(entries(&store), 2);
    // The same in a flush.
    for number in 0..KEYS {
        store.write(Operation::Put(key(number), vec![7; 20]));
    }
    store.write(Operation::DeleteRange(key(1), key(KEYS - 1)));
    store.write(Operation::Put(key(KEYS / 2), vec![7; 20]));
    let (flushed, visits) = visits_of(|| store.flush());
    flushed.unwrap();
    assert!(visits < 1_000, "{visits} visits");
    assert_eq!(entries(&store), 2 + 3);
}

#[test]
fn a_flush_passes_versions_that_no_reader_needs() {
    let mut store = Store::new(memory(), small_tables());
    let write = |store: &mut Store| {
        for round in 0..1_000 {
            (0..20).for_each(|n| store.write(Operation::Put(key(n), vec![round as u8; 20])));
        }
    };
    write(&mut store);
    store.snapshots.insert(store.sequence);
    write(&mut store);
    let (flushed, visits) = visits_of(|| store.flush());
    flushed.unwrap();
    assert!(visits < 1_000, "{visits} visits of 40,000 versions");
    store.check();
    let entries = store.levels.tables().map(|(_, t)| t.meta.entries);
    assert_eq!(entries.sum::<u64>(), 40);
    store.snapshots.clear();
    write(&mut store);
    let (flushed, visits) = visits_of(|| store.flush());
    flushed.unwrap();
    assert!(visits < 1_000, "{visits} visits of 20,000 versions");
    store.check();
}

#[test]
fn range_deletes_are_cut_between_output_tables() {
    let mut store = Store::new(memory(), small_tables());
    // A snapshot needs these old versions, so nothing is dropped.
    for number in 10..70 {
        store.write(Operation::Put(key(number), vec![1; 50]));
    }
    store.snapshots.insert(store.sequence);
    store.flush().unwrap();
    store.write(Operation::DeleteRange(key(0), key(35)));
    store.write(Operation::DeleteRange(key(60), key(79)));
    store.flush().unwrap();
    let only_ranges = &store.levels.runs(0)[0].tables()[0].meta;
    assert_eq!((only_ranges.entries, only_ranges.range_deletes), (0, 2));
    assert!(only_ranges.largest_excluded);
    compact_range(&mut store, Compaction::Leveled, b"", Bound::Unbounded);
    let tables = store.levels.runs(1)[0].tables();
    assert!(tables.len() > 3, "{}", tables.len());
    let (first, last) = (&tables[0].meta, &tables[tables.len() - 1].meta);
    assert_eq!((&*first.smallest, first.range_deletes), (&key(0)[..], 1));
    assert_eq!(
        (&*last.largest, last.largest_excluded),
        (&key(79)[..], true)
    );
    for pair in tables.windows(2) {
        let [a, b] =
            [&pair[0], &pair[1]].map(|t| RangeDeletes::clone(t.reader().unwrap().range_deletes()));
        let touch = a
            .largest_end()
            .is_none_or(|end| *end <= *pair[1].meta.smallest);
        assert!(
            touch
                && b.smallest_start()
                    .is_none_or(|start| start >= &*pair[1].meta.smallest)
        );
    }
    store.check();
    store.check_files();
    // Without the snapshot, what they delete is dropped, and so are they.
    store.snapshots.clear();
    compact_range(&mut store, Compaction::Leveled, b"", Bound::Unbounded);
    store.check();
    let left: u64 = store
        .levels
        .tables()
        .map(|(_, t)| t.meta.range_deletes)
        .sum();
    assert_eq!(left, 0);
}

#[test]
fn maps_are_shared_where_they_are_alike() {
    let mut store = Store::new(memory(), small_tables());
    for round in 0..3 {
        for number in 0..KEYS {
            store.write(Operation::Put(key(number), vec![round; 20]));
        }
        store.flush().unwrap();
    }
    compact_range(&mut store, Compaction::Leveled, b"", Bound::Unbounded);
    store.write(Operation::Put(key(0), vec![1]));
    store.flush().unwrap();
    let maps: BTreeSet<u64> = store
        .levels
        .tables()
        .map(|(_, t)| t.meta.map_number)
        .collect();
    assert_eq!(
        maps.len(),
        2,
        "all keys share one, the last flush has its own"
    );
    store.check_files();
    assert_eq!(store.state.keyspaces[&KEYSPACE].maps.by_number().len(), 2);
}

#[test]
fn a_flush_of_nothing_makes_no_table() {
    let mut store = Store::new(memory(), small_tables());
    store.flush().unwrap();
    assert_eq!(store.levels.deepest(), None);
    store.check_files();
}

/// Flushes two overlapping memtables on a sound disk and returns the job that merges them.
fn store_with_a_job(fs: &Arc<dyn FileSystem>) -> (Store, Job) {
    let mut store = Store::new(Arc::clone(fs), small_tables());
    for value in 0..2 {
        for number in 0..KEYS {
            store.write(Operation::Put(key(number), vec![value; 30]));
        }
        store.write(Operation::DeleteRange(key(3), key(9)));
        store.flush().unwrap();
    }
    let levels = &store.levels;
    let all = Bound::Unbounded;
    let job = pick_step(levels, b"", all, 0, u64::MAX).unwrap();
    (store, job)
}

#[test]
fn whatever_call_fails_nothing_is_left_behind() {
    let mut failures = 0;
    for nth in 1.. {
        let faulty = FaultyFileSystem::new(memory(), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(faulty.clone());
        let (mut store, job) = store_with_a_job(&fs);
        // Long enough for the device to begin before its table ends.
        store.write(Operation::Put(key(1), vec![7; 600 << 10]));
        let at = FaultAt::Call(faulty.calls() + nth);
        faulty.set_plan(Plan {
            fault: Some((at, Fault::InputOutput)),
            ..Plan::default()
        });
        let merged = store.run(&job);
        let memtables = std::slice::from_ref(&store.memtable);
        let flushed = store.with_context(|c| flush(c, memtables, &Parts::whole(), 0));
        faulty.set_plan(Plan::default());
        if let (Ok(_), Ok(_)) = (&merged, &flushed) {
            let begun = faulty.calls_of(FileCall::BeginSync) > 0;
            assert!(begun, "no call of every kind failed");
            break;
        }
        failures += 1;
        if let Ok(outcome) = merged {
            store.install(&outcome);
        }
        if let Ok(flushed) = flushed {
            store.memtable = Arc::new(Memtable::new());
            store.install(&flushed.outcome);
        }
        drop(job);
        store.check();
        store.check_files();
        assert_eq!(
            store.files.cache.written_tables(),
            0,
            "none waits for a reader"
        );
    }
    println!("{failures} calls failed once each");
    assert!(failures > 20, "{failures}");
}

#[test]
fn cancelled_work_ends_and_leaves_nothing() {
    let fs = memory();
    let mut store = Store::new(fs, small_tables());
    // Enough keys for a check for cancellation.
    for number in 0..3_000 {
        store.write(Operation::Put(key(number), vec![7; 10]));
    }
    store.cancelled.store(true, Ordering::Relaxed);
    let memtables = std::slice::from_ref(&store.memtable);
    let ended = store.with_context(|c| flush(c, memtables, &Parts::whole(), 0));
    assert!(matches!(ended, Err(Error::Closed)));
    store.check_files();
}

#[test]
fn outputs_survive_a_power_cut_before_anything_names_them() {
    let memory = MemoryFileSystem::default();
    memory.create_dir(Path::new(DIR)).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(memory.clone());
    let (store, job) = store_with_a_job(&fs);
    let outcome = store.run(&job).unwrap();
    let lost = Loss {
        data: DataLoss::Lost,
        directory: DirectoryLoss::Lost,
    };
    let disk: Arc<dyn FileSystem> = Arc::new(memory.crash(lost, 1));
    assert!(outcome.levels.adds.len() > 1);
    for (_, table) in &outcome.levels.adds {
        let file = disk
            .open(&store.files.table_path(table.number), Access::Buffered)
            .unwrap();
        assert_eq!(file.len().unwrap(), table.file_bytes);
    }
}
