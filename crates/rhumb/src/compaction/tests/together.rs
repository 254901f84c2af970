//! Merges that write puts together cut the tables that they would make of one entry after the other.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::fixture::{Operation, Store, memory};
use crate::compaction::{Input, Job};
use crate::entry::Sequence;
use crate::options::{Partition, TableSpec};
use crate::test_seed::test_seed;

/// A store with two runs, nearly all of whose entries are puts, of one size or of any.
fn store(random: &mut StdRng) -> Store {
    let partitions = [
        Partition::Predicted(0),
        Partition::Bytes(500),
        Partition::Entries(9),
    ];
    let mut store = Store::new(
        memory(),
        TableSpec {
            table_bytes: random.random_range(300..60_000),
            partition: partitions[random.random_range(0..3)],
            ..TableSpec::default()
        },
    );
    let value = random.random_range(0..60);
    let is_even = random.random_bool(0.5);
    for _ in 0..2 {
        for _ in 0..random.random_range(1..2_000) {
            let key = random.random_range(0..3_000_u32).to_be_bytes().to_vec();
            store.write(match random.random_range(0..300) {
                0 => Operation::Delete(key),
                1 => Operation::Put(key, vec![3; 61]),
                _ if is_even => Operation::Put(key, vec![7; value]),
                _ => Operation::Put(key, vec![7; random.random_range(0..60)]),
            });
            if random.random_bool(0.002) {
                store.snapshots.insert(store.sequence);
            }
        }
        store.flush().unwrap();
    }
    store
}

/// The smallest and the largest key.
type Hull = [Box<[u8]>; 2];

/// What the tables of a merge of all runs hold: their bounds and sequences, and the bytes of their blocks.
fn merged(store: &Store) -> Vec<(Hull, [Sequence; 2], u64)> {
    let runs = store.levels.all_runs();
    let job = Job {
        inputs: runs
            .map(|(level, run)| Input::new(level, run, run.tables()))
            .collect(),
        target_level: 1,
        target_run: None,
        trivial: false,
    };
    let tables = store.run(&job).unwrap().levels.adds.into_iter();
    let of = |table: crate::version::TableMeta| {
        let sequences = [table.smallest_sequence, table.largest_sequence];
        (
            [table.smallest, table.largest],
            sequences,
            table.sections_offset,
        )
    };
    tables.map(|(_, table)| of(table)).collect()
}

#[test]
fn tables_end_where_they_would_if_entries_came_one_by_one() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut tables = 0;
    // With 60 stores, one run in fifty had too few tables.
    for _ in 0..120 {
        let mut store = store(&mut random);
        let together = merged(&store);
        // No value is so long, but each could be.
        store.table.separate_values = Some(u32::MAX);
        assert_eq!(together, merged(&store));
        tables += together.len();
    }
    assert!(tables > 200, "{tables}");
}
