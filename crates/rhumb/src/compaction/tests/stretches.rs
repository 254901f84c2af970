//! What a merge passes on in stretches that no other run interrupts, or by columns, is what it passes on entry by entry.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::fixture::{KEYS, Operation, Store, memory};
use crate::compaction::merge::{
    Below, Survivor, Takes, passed_by_columns, passed_plain, ranges, survivors,
};
use crate::cursor::{ClippedCursor, Lends, LevelCursor, MergeCursor, Picked, Source};
use crate::entry::EntryKind;
use crate::error::{Error, Result};
use crate::options::{Partition, TableSpec};
use crate::table::{BlockRun, TableReader};
use crate::test_seed::test_seed;
use crate::version::{Run, Table};

type Passed = Vec<(Vec<u8>, u64, EntryKind, Vec<u8>, bool)>;

/// Keys in order, of which ten neighbours differ in the last byte only, in some stores behind more than eight alike; in ragged ones
/// with some more bytes behind.
fn key(number: u32, alike: usize, ragged: bool) -> Vec<u8> {
    let (tens, ones) = (number / 10, number % 10);
    let tail = if ragged { number as usize * 5 % 7 } else { 0 };
    format!("key{tens:02}{:=>alike$}{ones}{:->tail$}", "", "").into_bytes()
}

/// A store with some runs, each of which has keys in stretches: neighbours, or every other key, of a part of all. In some stores
/// nearly all entries are puts of one size.
fn store(random: &mut StdRng, ragged: bool) -> Store {
    let mut store = Store::new(
        memory(),
        TableSpec {
            table_bytes: random.random_range(400..8_000),
            partition: match random.random_bool(0.5) {
                true => Partition::Entries(random.random_range(4..100)),
                false => Partition::Bytes(random.random_range(40..4_000)),
            },
            ..TableSpec::default()
        },
    );
    let even: Option<usize> = random.random_bool(0.7).then(|| random.random_range(0..30));
    let alike = [0, 9][random.random_range(0..2)];
    let key = |number| key(number, alike, ragged);
    let deletes = [0.1, 0.003][usize::from(even.is_some())];
    for _ in 0..random.random_range(2..6) {
        let from = random.random_range(0..KEYS);
        let to = random.random_range(from..=KEYS);
        let step = random.random_range(1..3);
        for number in (from..to).step_by(step) {
            let versions = if random.random_bool(0.1) { 3 } else { 1 };
            for _ in 0..versions {
                store.write(match random.random_bool(deletes) {
                    true => Operation::Delete(key(number)),
                    false => {
                        let mut value = vec![0; even.unwrap_or_else(|| random.random_range(0..30))];
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

/// Notes what survives, in some ways that entries may be taken in.
#[derive(Default)]
struct Recorder {
    passed: Passed,
    /// So many puts are taken from where they lie before one that is not; 0: none is.
    taken_so: usize,
    /// How many were taken so, and how many of them together.
    taken: usize,
    together: usize,
    last_key: Vec<u8>,
}

impl Recorder {
    fn taking(puts: usize) -> Recorder {
        Recorder {
            taken_so: puts,
            ..Recorder::default()
        }
    }

    fn note(&mut self, key: &[u8], sequence: u64, value: &[u8]) {
        self.last_key = key.to_vec();
        let kind = EntryKind::Put;
        self.passed
            .push((key.to_vec(), sequence, kind, value.to_vec(), true));
        self.taken += 1;
    }
}

impl Takes for Recorder {
    fn take(&mut self, e: &Survivor<'_>) -> Result<()> {
        let (key, value) = (e.key.to_vec(), e.value.to_vec());
        self.passed
            .push((key, e.sequence, e.kind, value, e.new_key));
        self.last_key.clear();
        Ok(())
    }

    fn take_put(&mut self, run: &BlockRun, sequence: u64) -> Result<bool> {
        let takes = self.taken_so > 0 && !self.passed.len().is_multiple_of(self.taken_so + 1);
        if takes {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            run.append_to(&mut key, &mut value);
            assert_eq!(run.sizes(), (key.len(), value.len()));
            self.note(&key, sequence, &value);
        }
        Ok(takes)
    }

    fn wanted(&self, _: (usize, usize)) -> usize {
        self.passed.len() % (self.taken_so + 1)
    }

    fn take_picked(&mut self, picked: &Picked<'_>, sequences: impl Iterator<Item = u64>) {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        picked.append_to(&mut keys, &mut values);
        let (key, value) = picked.sizes();
        assert_eq!(keys.len(), picked.len() * key);
        assert_eq!(values.len(), picked.len() * value);
        let sequences: Vec<u64> = sequences.collect();
        assert_eq!(sequences.len(), picked.len());
        for (at, sequence) in sequences.into_iter().enumerate() {
            let (key, value) = (at * key..(at + 1) * key, at * value..(at + 1) * value);
            self.note(&keys[key], sequence, &values[value]);
        }
        self.together += picked.len();
    }

    fn last_key(&self) -> &[u8] {
        assert!(!self.last_key.is_empty());
        &self.last_key
    }
}

/// What survives of runs over others.
fn passed(store: &Store, cursor: &mut impl Lends, runs: (&[&Arc<Run>], &[&Arc<Run>])) -> Passed {
    let mut recorder = Recorder::default();
    record(store, cursor, runs, &mut recorder);
    recorder.passed
}

/// Records what survives of runs over others.
fn record(
    store: &Store,
    cursor: &mut impl Lends,
    (runs, below): (&[&Arc<Run>], &[&Arc<Run>]),
    recorder: &mut Recorder,
) {
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
        survivors(context, cursor, &ranges, below, recorder).unwrap();
    });
}

/// Merges some runs of stores in all ways. Returns how many entries were passed in stretches, and by columns.
fn passed_together(random: &mut StdRng, ragged: bool) -> (u64, u64) {
    let before = (passed_plain(), passed_by_columns());
    let mut taken = (0, 0);
    for _ in 0..600 {
        let store = store(random, ragged);
        let levels = Arc::clone(&store.levels);
        let runs: Vec<&Arc<Run>> = levels.all_runs().map(|(_, run)| run).collect();
        let (merges, below) = runs.split_at(random.random_range(1.min(runs.len())..=runs.len()));
        let lent = passed(&store, &mut merged(merges), (merges, below));
        let mut one_by_one = ClippedCursor::new(merged(merges), &[], None);
        assert_eq!(lent, passed(&store, &mut one_by_one, (merges, below)));
        let mut recorder = Recorder::taking(random.random_range(1..20));
        record(&store, &mut merged(merges), (merges, below), &mut recorder);
        assert_eq!(lent, recorder.passed);
        taken = (taken.0 + recorder.taken, taken.1 + recorder.together);
    }
    println!(
        "{} puts were taken as they lie, {} of them together",
        taken.0, taken.1
    );
    assert!(taken.0 > 500 && (taken.1 > 200 || ragged));
    (passed_plain() - before.0, passed_by_columns() - before.1)
}

#[test]
fn stretches_are_passed_like_single_entries() {
    let mut random = StdRng::seed_from_u64(test_seed());
    for ragged in [false, true] {
        let (plain, by_columns) = passed_together(&mut random, ragged);
        println!("{plain} entries were passed in stretches, {by_columns} by columns");
        assert!(plain > 100 && by_columns > 100);
    }
}

#[test]
fn a_merge_ends_with_the_first_error_and_may_begin_anew() {
    let mut random = StdRng::seed_from_u64(test_seed());
    for _ in 0..100 {
        let ragged = random.random_bool(0.5);
        let store = store(&mut random, ragged);
        let levels = Arc::clone(&store.levels);
        let runs: Vec<&Arc<Run>> = levels.all_runs().map(|(_, run)| run).collect();
        let mut cursor = merged(&runs);
        let all = passed(&store, &mut merged(&runs), (&runs, &[]));
        let mut left = random.random_range(0..all.len().max(1));
        let failed = store.with_context(|context| {
            let ranges = ranges(context, &[], &Below::Anything);
            let mut take = |_: &Survivor<'_>| {
                left = left.checked_sub(1).ok_or(Error::Closed)?;
                Ok(())
            };
            survivors(context, &mut cursor, &ranges, Below::Anything, &mut take)
        });
        assert!(failed.is_err() || all.is_empty());
        assert_eq!(passed(&store, &mut cursor, (&runs, &[])), all);
    }
}
