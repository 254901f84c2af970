//! What a merge passes on in stretches that no other run interrupts is what it passes on entry by entry.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::fixture::{KEYS, Operation, Store, key, memory};
use crate::compaction::merge::{Below, passed_plain, ranges, survivors};
use crate::cursor::{ClippedCursor, Lends, LevelCursor, MergeCursor, Source};
use crate::entry::EntryKind;
use crate::options::{Partition, TableSpec};
use crate::table::TableReader;
use crate::test_seed::test_seed;
use crate::version::{Run, Table};

type Passed = Vec<(Vec<u8>, u64, EntryKind, Vec<u8>, bool)>;

/// A store with some runs, each of which has keys in stretches: neighbours, or every other key, of a part of all.
fn store(random: &mut StdRng) -> Store {
    let mut store = Store::new(
        memory(),
        TableSpec {
            table_bytes: random.random_range(400..8_000),
            partition: Partition::Entries(random.random_range(4..100)),
            ..TableSpec::default()
        },
    );
    for _ in 0..random.random_range(2..6) {
        let from = random.random_range(0..KEYS);
        let to = random.random_range(from..=KEYS);
        let step = random.random_range(1..3);
        for number in (from..to).step_by(step) {
            let versions = if random.random_bool(0.1) { 3 } else { 1 };
            for _ in 0..versions {
                store.write(match random.random_bool(0.1) {
                    true => Operation::Delete(key(number)),
                    false => {
                        let mut value = vec![0; random.random_range(0..30)];
                        random.fill(&mut value[..]);
                        Operation::Put(key(number), value)
                    }
                });
                if random.random_bool(0.02) {
                    store.snapshots.insert(store.sequence);
                }
            }
        }
        if random.random_bool(0.2) {
            let from = random.random_range(0..KEYS);
            store.write(Operation::DeleteRange(key(from), key(from + 9)));
        }
        store.flush().unwrap();
    }
    store
}

fn merged(runs: &[&Arc<Run>]) -> MergeCursor<Source> {
    let level = |run: &&Arc<Run>| LevelCursor::new(run.tables().to_vec(), false);
    let sources = runs.iter().map(level).map(Source::Level);
    MergeCursor::new(sources.collect())
}

/// What survives of runs over others.
fn passed(
    store: &Store,
    cursor: &mut impl Lends,
    (runs, below): (&[&Arc<Run>], &[&Arc<Run>]),
) -> Passed {
    let mut older: Vec<Vec<&Table>> = Vec::new();
    for run in below {
        older.push(run.tables().iter().map(Arc::as_ref).collect());
    }
    let tables = runs.iter().flat_map(|run| run.tables());
    let readers: Vec<Arc<TableReader>> = tables.map(|t| t.reader().unwrap().clone()).collect();
    let pieces = readers.iter().flat_map(|r| r.range_deletes().pieces());
    let pieces: Vec<_> = pieces.collect();
    store.with_context(|context| {
        let below = Below::runs(older);
        let ranges = ranges(context, &pieces, &below);
        let mut passed = Vec::new();
        survivors(context, cursor, &ranges, below, |e| {
            passed.push((
                e.key.to_vec(),
                e.sequence,
                e.kind,
                e.value.to_vec(),
                e.new_key,
            ));
            Ok(())
        })
        .unwrap();
        passed
    })
}

#[test]
fn stretches_are_passed_like_single_entries() {
    let mut random = StdRng::seed_from_u64(test_seed());
    let passed_before = passed_plain();
    for _ in 0..300 {
        let store = store(&mut random);
        let levels = Arc::clone(&store.levels);
        let runs: Vec<&Arc<Run>> = levels.all_runs().map(|(_, run)| run).collect();
        let (merges, below) = runs.split_at(random.random_range(1.min(runs.len())..=runs.len()));
        let lent = passed(&store, &mut merged(merges), (merges, below));
        let mut one_by_one = ClippedCursor::new(merged(merges), &[], None);
        assert_eq!(lent, passed(&store, &mut one_by_one, (merges, below)));
    }
    let plain = passed_plain() - passed_before;
    println!("{plain} entries were passed in stretches");
    assert!(plain > 1_000);
}
