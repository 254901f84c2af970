//! Worst-case bounds: depth, the cost of data nodes, and entries laid out again.

use std::cell::Cell;

use super::fit::SlotLine;
use super::form::Form;
use super::inner::LEAF;
use super::leaf::{Leaf, slots_of};
use super::tests::{audit, hard_inputs, shuffle};
use super::tree::{Alex, DENSITY};
use super::upkeep::Reason;
use crate::check::SplitMix64;
use crate::kinds::shared::exact::Layout;
use crate::updatable::Updatable;

thread_local! {
    /// How many entries this thread has laid out in data nodes.
    static LAID_OUT: Cell<usize> = const { Cell::new(0) };
}

/// Counts entries that are laid out in a data node.
pub(super) fn count(entries: usize) {
    LAID_OUT.set(LAID_OUT.get() + entries);
}

fn in_use(index: &Alex) -> Vec<&Leaf> {
    let mut leaves = Vec::new();
    index.visit(index.root, 0, &mut |leaf, _| {
        leaves.push(&index.leaves[leaf as usize])
    });
    leaves
}

/// The largest average cost of an entry over all data nodes, if each were laid out now.
fn worst_cost(index: &Alex) -> f64 {
    let costs = in_use(index).into_iter().map(|leaf| {
        let entries = leaf.entries();
        SlotLine::of(&entries, slots_of(entries.len(), DENSITY)).cost(&entries)
    });
    costs.fold(0.0, f64::max)
}

/// The most entries without a gap between them.
fn longest_run(index: &Alex) -> usize {
    let runs = in_use(index).into_iter().map(|leaf| {
        let (mut run, mut longest) = (0, 0);
        for slot in 0..leaf.slots() {
            run = if leaf.is_entry(slot) { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        longest
    });
    runs.max().unwrap_or(0)
}

fn loaded(keys: &[u64]) -> Alex {
    let mut entries: Vec<(u64, u64)> = keys.iter().map(|key| (*key, !key)).collect();
    entries.sort_unstable();
    entries.dedup();
    let mut index = Alex::new(true);
    index.bulk_load(&entries).unwrap();
    index
}

/// Keys spread evenly on a logarithmic scale.
fn log_uniform(len: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(5);
    let mut key = || random.next_u64() >> random.below(60);
    (0..len).map(|_| key()).collect()
}

#[test]
fn log_uniform_keys_are_divided() {
    let keys = log_uniform(20_000);
    let mut inserted = Alex::new(true);
    LAID_OUT.set(0);
    for key in &keys {
        inserted.insert(key, !key);
    }
    let laid_out = LAID_OUT.get();
    audit(&inserted);
    assert!(laid_out < 20 * keys.len(), "{laid_out}");
    for index in [inserted, loaded(&keys)] {
        let (cost, depth) = (worst_cost(&index), index.depth());
        assert!(cost < 300.0, "{cost}");
        assert!(depth.mean < 8.0 && depth.max <= 12, "{depth:?}");
    }
}

#[test]
fn no_data_node_is_loaded_at_a_high_cost() {
    let mut random = SplitMix64::new(6);
    for clustered in [10, 30, 45, 49, 60, 70] {
        let keys: Vec<u64> = (0..50_000)
            .map(|_| match random.below(100) < clustered {
                true => 0x5a3c_96f1_0000_0000 + random.below(100_000),
                false => random.next_u64(),
            })
            .collect();
        let index = loaded(&keys);
        let (cost, depth) = (worst_cost(&index), index.depth());
        assert!(cost < 300.0, "{clustered} of 100: {cost}");
        assert!(depth.max <= 20, "{clustered} of 100: {depth:?}");
    }
}

#[test]
fn a_burst_into_a_large_data_node_is_split_off() {
    let mut random = SplitMix64::new(7);
    let spread: Vec<u64> = (0..100_000).map(|_| random.next_u64()).collect();
    let up: Vec<u64> = (0..30_000).map(|i| (1 << 63) + i).collect();
    let mut anywhere = up.clone();
    shuffle(&mut anywhere, &mut random);
    let down: Vec<u64> = up.iter().rev().copied().collect();
    for (order, burst) in [("up", up), ("anywhere", anywhere), ("down", down)] {
        let mut index = loaded(&spread);
        LAID_OUT.set(0);
        for key in &burst {
            index.insert(key, 0);
        }
        let (laid_out, run) = (LAID_OUT.get(), longest_run(&index));
        audit(&index);
        // Each entry of the large node is laid out a few times, each of the burst some times more.
        let most = 4 * spread.len() + 10 * burst.len();
        assert!(laid_out < most, "{order}: {laid_out}");
        // Entries in descending order always find gaps before the run.
        assert!(run < 3_000 || order == "down", "{order}: {run}");
        assert!(index.depth().max < 16, "{order}: {:?}", index.depth());
    }
}

#[test]
fn rebuilding_is_paid_for_by_insertions() {
    // From both ends inward, and with shrinking steps: every data node is split at its edge again
    // and again.
    let inward = (0..50_000u64).map(|i| if i % 2 == 0 { i } else { u64::MAX - i });
    let shrinking =
        (0..50_000u64).map(|i| u64::MAX - i - (f64::exp(i as f64 / 50_000.0 * 43.0) as u64));
    let inputs = [
        ("inward", inward.collect()),
        ("shrinking", shrinking.collect()),
    ];
    for (name, keys) in hard_inputs().into_iter().chain(inputs) {
        let mut sorted: Vec<u64> = keys.clone();
        sorted.sort_unstable();
        let reversed: Vec<u64> = sorted.iter().rev().copied().collect();
        for keys in [keys, sorted, reversed] {
            let mut index = Alex::new(true);
            LAID_OUT.set(0);
            for key in &keys {
                index.insert(key, 0);
            }
            let laid_out = LAID_OUT.get();
            let most = 20 * keys.len();
            assert!(laid_out < most, "{name}: {laid_out} for {}", keys.len());
        }
    }
}

#[test]
fn a_long_path_is_rebuilt_only_at_worn_nodes() {
    let keys = log_uniform(20_000);
    let mut index = loaded(&keys);
    let len = index.len();
    let key = keys
        .into_iter()
        .max_by_key(|key| index.path(*key).inners.len());
    let key = key.unwrap();
    let inners = index.path(key).inners;
    assert!(inners.len() >= 3, "{inners:?}");
    // Insertions into a data node are counted at all inner nodes above when it is laid out again.
    let before: Vec<usize> = inners
        .iter()
        .map(|inner| index.lasts[*inner as usize])
        .collect();
    assert_eq!(before[0], len / 8);
    let new = (1..)
        .map(|i| key ^ i)
        .filter(|key| index.get(key).is_none());
    let new: Vec<u64> = new.take(9).collect();
    assert!(new.iter().all(|new| index.insert(new, 0)));
    index.make_room(key, Reason::Full);
    for (inner, before) in inners.iter().zip(before) {
        assert_eq!(index.lasts[*inner as usize], before.saturating_sub(9));
    }
    // With so few entries even this path would be too long.
    index.len = 1;
    index.lasts.fill(1);
    LAID_OUT.set(0);
    index.limit_depth(key);
    assert_eq!(LAID_OUT.get(), 0);
    index.lasts[inners[1] as usize] = 0;
    index.limit_depth(key);
    index.len = len + new.len();
    audit(&index);
    let laid_out = LAID_OUT.get();
    assert!(
        laid_out > 0 && laid_out < len * 2 / 3 + new.len(),
        "{laid_out}"
    );
}

/// Writes a form with inner nodes of these first places and numbers of places, and one data node.
fn form(inners: &[(u32, u32)], places: u32, slots: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for count in [inners.len() as u32, 1, places, 1] {
        bytes.extend(count.to_le_bytes());
    }
    for (first, len) in inners {
        bytes.extend([0; 12]);
        bytes.extend([first.to_le_bytes(), len.to_le_bytes()].concat());
    }
    (0..places).for_each(|_| bytes.extend(LEAF.to_le_bytes()));
    bytes.extend([0; 20]);
    for field in [16, 0, slots] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([7; 12]);
    bytes
}

#[test]
fn a_form_has_every_place_once_and_no_empty_node() {
    let opens = |bytes: Vec<u8>| Form::open(&bytes, 1).is_ok();
    assert!(opens(form(&[], 0, 1)) && opens(form(&[(0, 2), (2, 3)], 5, 1)));
    for inners in [
        &[(0, 5), (0, 5)][..],
        &[(0, 3), (2, 3)],
        &[(0, 2), (3, 2)],
        &[(2, 3), (0, 2)],
        &[(0, 2), (2, 2)],
        &[(0, 5), (5, 0)],
        &[(1, 4)],
        &[],
    ] {
        assert!(!opens(form(inners, 5, 1)), "{inners:?}");
    }
    assert!(!opens(form(&[(0, 2), (2, 3)], 5, 0)), "an empty data node");
}
