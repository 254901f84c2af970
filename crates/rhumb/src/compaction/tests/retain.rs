//! Every snapshot reads the same from the surviving versions as from all versions.

use proptest::prelude::*;

use crate::compaction::retain::{Fate, KeyContext, Retain, RetainRanges};
use crate::entry::{EntryKind, MAX_SEQUENCE, RangeDeletes, Sequence};

/// A version of a key, whose value is the sequence at which it was written.
#[derive(Debug, Clone)]
struct Entry {
    key: u8,
    sequence: Sequence,
    kind: EntryKind,
    value: u64,
}

#[derive(Debug, Clone)]
enum Operation {
    Put(u8),
    Delete(u8),
    DeleteRange(u8, u8),
}

const KEYS: u8 = 8;

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..KEYS).prop_map(Operation::Put),
        2 => (0..KEYS).prop_map(Operation::Delete),
        1 => (0..KEYS, 0..=KEYS).prop_map(|(a, b)| Operation::DeleteRange(a, b)),
    ]
}

/// A sorted run: entries in internal order, and range deletes.
#[derive(Debug, Default, Clone)]
struct Run {
    entries: Vec<Entry>,
    ranges: RangeDeletes,
}

fn run(first: Sequence, operations: &[Operation]) -> Run {
    let mut run = Run::default();
    for (sequence, operation) in (first..).zip(operations) {
        let (key, kind) = match operation {
            Operation::Put(key) => (*key, EntryKind::Put),
            Operation::Delete(key) => (*key, EntryKind::Delete),
            Operation::DeleteRange(start, end) => {
                run.ranges.insert(&[*start], &[*end], sequence);
                continue;
            }
        };
        run.entries.push(Entry {
            key,
            sequence,
            kind,
            value: sequence,
        });
    }
    run.entries
        .sort_by_key(|e| (e.key, std::cmp::Reverse(e.sequence)));
    run
}

/// What a reader at `snapshot` finds in runs, newest first.
fn read(runs: &[&Run], key: u8, snapshot: Sequence) -> Option<u64> {
    let deleted = runs
        .iter()
        .filter_map(|r| r.ranges.covering(&[key], snapshot))
        .max();
    for run in runs {
        let visible = run
            .entries
            .iter()
            .find(|e| e.key == key && e.sequence <= snapshot);
        if let Some(e) = visible {
            let hidden = e.kind == EntryKind::Delete || deleted > Some(e.sequence);
            return (!hidden).then_some(e.value);
        }
    }
    None
}

/// The result of compacting `inputs` above older versions in `below`.
fn compact(inputs: &Run, below: &Run, snapshots: &[Sequence]) -> Run {
    let deeper = |key: u8| {
        let ranges = below.ranges.covering(&[key], MAX_SEQUENCE).is_some();
        ranges || below.entries.iter().any(|e| e.key == key)
    };
    let mut output = Run {
        ranges: inputs.ranges.clone(),
        ..Run::default()
    };
    let mut ranges = RetainRanges::new(snapshots);
    let mut last = None;
    output.ranges.retain(|start, end, sequence| {
        if last.replace(start.to_vec()) != Some(start.to_vec()) {
            ranges.begin_fragment();
        }
        let keys = start[0]..end.first().copied().unwrap_or(KEYS);
        ranges.keep(sequence, !keys.into_iter().any(deeper))
    });
    let mut retain = Retain::new(snapshots);
    let mut last = None;
    for e in &inputs.entries {
        if last.replace(e.key) != Some(e.key) {
            let key = [e.key];
            let mut fragments = inputs.ranges.fragments().iter();
            let fragment = fragments.find(|f| *f.start <= key[..] && key[..] < *f.end);
            let context = KeyContext {
                bottom: !deeper(e.key),
                under_range_delete: output.ranges.covering(&[e.key], MAX_SEQUENCE).is_some(),
            };
            retain.begin_key(fragment.map_or(&[], |f| &f.sequences), context);
        }
        if let Fate::Keep(sequence) = retain.version(e.sequence, e.kind) {
            output.entries.push(Entry {
                sequence,
                ..e.clone()
            });
        }
    }
    output
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn every_snapshot_reads_the_same(
        below in prop::collection::vec(operation(), 0..6),
        inputs in prop::collection::vec(operation(), 0..24),
        above in prop::collection::vec(operation(), 0..4),
        snapshots in prop::collection::btree_set(0u64..40, 0..5),
    ) {
        // The sequences have gaps, so that snapshots fall between, on and outside of them.
        let snapshots: Vec<Sequence> = snapshots.into_iter().collect();
        let below = run(1, &below);
        let inputs = run(7, &inputs);
        let above = run(32, &above);
        let output = compact(&inputs, &below, &snapshots);
        for &snapshot in snapshots.iter().chain(&[36, MAX_SEQUENCE]) {
            for key in 0..KEYS {
                let before = read(&[&above, &inputs, &below], key, snapshot);
                let after = read(&[&above, &output, &below], key, snapshot);
                prop_assert_eq!(before, after, "key {} at {}: {:?}", key, snapshot, output);
            }
        }
    }

    #[test]
    fn without_snapshots_the_bottom_keeps_one_version_of_live_keys_only(
        inputs in prop::collection::vec(operation(), 0..40),
    ) {
        let inputs = run(1, &inputs);
        let output = compact(&inputs, &Run::default(), &[]);
        prop_assert!(output.ranges.is_empty());
        let live = (0..KEYS).filter(|key| read(&[&inputs], *key, MAX_SEQUENCE).is_some());
        let kept: Vec<u8> = output.entries.iter().map(|e| e.key).collect();
        prop_assert_eq!(live.collect::<Vec<_>>(), kept);
        prop_assert!(output.entries.iter().all(|e| e.sequence == 0));
    }
}
