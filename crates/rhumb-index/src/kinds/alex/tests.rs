//! The parts together: order after every change, and inputs that are hard for the published design.

use std::ops::ControlFlow;

use super::form::Form;
use super::inner::{Inner, LEAF};
use super::leaf::NONE;
use super::tree::Alex;
use crate::check::SplitMix64;
use crate::check::updatable::histories;
use crate::kinds::shared::exact::{Layout, Place};
use crate::updatable::{Depth, Existing, Updatable};
use crate::{IndexError, registry};

/// Fails unless nodes and entries are in order and every key leads to the data node that holds it.
pub(super) fn audit(index: &Alex) {
    let mut leaves = Vec::new();
    index.visit(index.root, 1, &mut |leaf, _| leaves.push(leaf));
    assert_eq!(
        leaves.len(),
        index.leaf_count(),
        "each data node is reached once"
    );
    let (mut before, mut len, mut last) = (NONE, 0, None);
    for (i, &id) in leaves.iter().enumerate() {
        let leaf = &index.leaves[id as usize];
        assert_eq!(leaf.before, before);
        assert_eq!(leaf.behind, leaves.get(i + 1).copied().unwrap_or(NONE));
        before = id;
        assert!((1..leaf.slots()).all(|slot| leaf.key(slot - 1) <= leaf.key(slot)));
        let entries = leaf.entries();
        assert_eq!(entries.len(), leaf.len as usize);
        let mut next = u64::MAX;
        for slot in (0..leaf.slots()).rev().filter(|_| !leaf.is_loose) {
            let key = leaf.key(slot);
            assert!(leaf.is_entry(slot) || key == next || key == 0 || key == u64::MAX);
            if leaf.is_entry(slot) {
                next = key;
            }
        }
        for (key, _) in entries {
            assert!(last < Some(key));
            last = Some(key);
            assert_eq!(index.path(key).leaf, id, "the path of {key}");
        }
        len += leaf.len as usize;
    }
    assert_eq!(len, index.len());
    let nodes = |inner: &Inner| inner.nodes().count() as u32 == inner.nodes;
    let mut inners: Vec<u32> = vec![index.root];
    while let Some(id) = inners.pop().filter(|id| id & LEAF == 0) {
        let inner = &index.inners[id as usize];
        assert!(nodes(inner));
        inners.extend(inner.nodes().filter(|id| id & LEAF == 0));
    }
}

/// An index that is audited after every change.
#[derive(Debug)]
struct Audited(Alex);

impl Updatable<u64> for Audited {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn bulk_load(&mut self, entries: &[(u64, u64)]) -> Result<(), IndexError> {
        let loaded = self.0.bulk_load(entries);
        audit(&self.0);
        loaded
    }

    fn get(&self, key: &u64) -> Option<u64> {
        self.0.get(key)
    }

    fn put(&mut self, key: &u64, value: u64, existing: Existing) -> Option<u64> {
        let old = self.0.put(key, value, existing);
        audit(&self.0);
        old
    }

    fn remove(&mut self, key: &u64) -> Option<u64> {
        let old = self.0.remove(key);
        audit(&self.0);
        old
    }

    fn walk(&self, from: &u64, visit: &mut dyn FnMut(&u64, u64) -> ControlFlow<()>) {
        self.0.walk(from, visit);
    }

    fn depth(&self) -> Depth {
        self.0.depth()
    }

    fn size_in_bytes(&self) -> usize {
        self.0.size_in_bytes()
    }
}

#[test]
fn nodes_are_in_order_after_every_change() {
    for is_bounded in [true, false] {
        let make = || Box::new(Audited(Alex::new(is_bounded))) as Box<dyn Updatable<u64>>;
        let counts = histories(&make, 11, 300, 1_000);
        assert_eq!(counts.map(|counts| counts.histories), Ok(300));
    }
}

/// Fails if depth or memory exceed the bounds for any input.
fn within_bounds(index: &Alex, what: &str) {
    let (len, depth) = (index.len(), index.depth());
    let most = 8.0 + 2.5 * (len.max(2) as f64).log2();
    assert!((depth.max as f64) < most, "{what}: {depth:?} of {len}");
    let bytes = index.size_in_bytes();
    assert!(bytes < 10_000 + 120 * len, "{what}: {bytes} for {len}");
}

/// Inserts keys in this order, then removes most, and checks order and bounds.
fn comes_and_goes(keys: &[u64], loaded: usize, what: &str) {
    let mut index = Alex::new(true);
    let mut entries: Vec<(u64, u64)> = keys[..loaded].iter().map(|key| (*key, !key)).collect();
    entries.sort_unstable();
    index.bulk_load(&entries).unwrap();
    for (i, key) in keys.iter().enumerate().skip(loaded) {
        assert!(index.insert(key, !key));
        if i.is_power_of_two() {
            within_bounds(&index, what);
        }
    }
    audit(&index);
    within_bounds(&index, what);
    assert!(keys.iter().all(|key| index.get(key) == Some(!key)));
    let (kept, gone) = keys.split_at(20.min(keys.len()));
    for key in gone {
        assert_eq!(index.remove(key), Some(!key));
    }
    audit(&index);
    assert!(kept.iter().all(|key| index.get(key) == Some(!key)));
    assert!(
        index.size_in_bytes() < 100_000,
        "{what}: {}",
        index.size_in_bytes()
    );
}

pub(super) fn shuffle(keys: &mut [u64], random: &mut SplitMix64) {
    for i in (1..keys.len()).rev() {
        keys.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// Inputs that are hard for nodes cut into equal widths.
pub(super) fn hard_inputs() -> Vec<(&'static str, Vec<u64>)> {
    let mut random = SplitMix64::new(17);
    let powers = (0..64).flat_map(|bits| [1u64 << bits, (1 << bits) - 1, u64::MAX >> bits]);
    // The same number of keys in each of a series of intervals, each half as wide as the one
    // before.
    let nested = (0..58).flat_map(|bits| {
        let mut random = SplitMix64::new(bits);
        (0..500).map(move |_| u64::MAX - (u64::MAX >> bits) + (random.next_u64() >> (bits + 1)))
    });
    let spread: Vec<u64> = (0..20_000).map(|_| random.next_u64() >> 1).collect();
    let burst = spread
        .iter()
        .copied()
        .chain((0..30_000).map(|i| (1 << 61) + i));
    let outliers = (0..40_000)
        .map(|i| i * 1_000)
        .chain((0..21).map(|i| (1 << 59) + (i << 56)));
    let regimes =
        (0..40u64).flat_map(|regime| (0..800).map(move |i| (regime << 50) + (i << (regime % 37))));
    let inputs: [(&str, Vec<u64>); 6] = [
        ("powers of two", powers.collect()),
        ("nested clusters", nested.collect()),
        ("a burst", burst.collect()),
        ("late outliers", outliers.collect()),
        ("regimes", regimes.collect()),
        (
            "a row to the end",
            (0..30_000).map(|i| u64::MAX - i).collect(),
        ),
    ];
    inputs
        .map(|(name, keys)| {
            let mut seen = std::collections::HashSet::new();
            (
                name,
                keys.into_iter().filter(|key| seen.insert(*key)).collect(),
            )
        })
        .into()
}

#[test]
fn depth_and_memory_are_bounded_in_any_order() {
    for (name, keys) in hard_inputs() {
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let reversed: Vec<u64> = sorted.iter().rev().copied().collect();
        let mut random = SplitMix64::new(23);
        let mut shuffled = keys.clone();
        shuffle(&mut shuffled, &mut random);
        let middle_out = (0..sorted.len()).map(|i| {
            let half = sorted.len() / 2;
            if i % 2 == 0 {
                half + i / 2
            } else {
                half - 1 - i / 2
            }
        });
        let middle_out: Vec<u64> = middle_out.filter_map(|i| sorted.get(i).copied()).collect();
        for keys in [keys, sorted, reversed, shuffled, middle_out] {
            for loaded in [0, keys.len() / 2, keys.len()] {
                comes_and_goes(&keys, loaded, name);
            }
        }
    }
}

#[test]
fn published_upkeep_stays_in_order() {
    for (name, mut keys) in hard_inputs() {
        for order in ["as given", "ascending", "descending"] {
            match order {
                "ascending" => keys.sort_unstable(),
                "descending" => keys.reverse(),
                _ => {}
            }
            let mut index = Alex::new(false);
            for key in &keys {
                assert!(index.insert(key, !key), "{name}, {order}");
            }
            audit(&index);
            assert!(
                keys.iter().all(|key| index.get(key) == Some(!key)),
                "{name}"
            );
        }
    }
}

#[test]
fn repeated_insertion_and_removal_needs_no_more_memory() {
    let mut index = Alex::new(true);
    let entries: Vec<(u64, u64)> = (0..500).map(|i| (i * 100, i)).collect();
    index.bulk_load(&entries).unwrap();
    let size = index.size_in_bytes();
    for i in 0..8_000_000u64 {
        let key = 25_001 + i % 3;
        assert!(index.insert(&key, i) && index.remove(&key) == Some(i));
    }
    audit(&index);
    assert!(index.size_in_bytes() <= 2 * size);
}

#[test]
fn outliers_do_not_spoil_the_root() {
    let mut keys: Vec<(u64, u64)> = (0..100_000u64).map(|i| (i * i / 8 + i * 40, i)).collect();
    keys.extend((0..21).map(|i| ((1 << 59) + (i << 56), i)));
    // The average cost of an entry in its data node.
    let costs = [true, false].map(|is_bounded| {
        let mut index = Alex::new(is_bounded);
        index.bulk_load(&keys).unwrap();
        let sums = index
            .leaves
            .iter()
            .map(|leaf| u64::from(leaf.expected) * u64::from(leaf.len));
        sums.sum::<u64>() / keys.len() as u64
    });
    assert!(costs[0] < 30 && costs[1] > 200, "{costs:?}");
}

#[test]
fn keys_far_above_the_largest_find_nothing() {
    for is_bounded in [true, false] {
        let mut index = Alex::new(is_bounded);
        let entries: Vec<(u64, u64)> = (1..10_000).map(|i| (i * 3, i)).collect();
        index.bulk_load(&entries).unwrap();
        for key in [0, 29_998, 1 << 40, 1 << 63, u64::MAX - 1, u64::MAX] {
            assert_eq!(index.get(&key), None);
            assert_eq!(index.remove(&key), None);
        }
        assert_eq!(index.lower_bound(&29_998), None);
        for key in [0, u64::MAX] {
            assert!(index.insert(&key, 7));
            assert!(!index.insert(&key, 8));
            assert_eq!(index.get(&key), Some(7));
        }
        assert_eq!(index.lower_bound(&29_998), Some((u64::MAX, 7)));
        assert_eq!(
            (index.remove(&0), index.remove(&u64::MAX)),
            (Some(7), Some(7))
        );
        assert_eq!((index.get(&0), index.get(&u64::MAX)), (None, None));
        audit(&index);
    }
}

#[test]
fn removal_from_long_runs_of_gaps_keeps_others() {
    // Two clusters with a wide hole between them, which the line gives gaps; keys are removed in
    // ascending order.
    let keys: Vec<u64> = (0..3_000).chain((0..3_000).map(|i| 40_000 + i)).collect();
    let entries: Vec<(u64, u64)> = keys.iter().map(|key| (*key, *key)).collect();
    let mut index = Alex::new(true);
    index.bulk_load(&entries).unwrap();
    for (i, key) in keys.iter().enumerate() {
        assert_eq!(index.remove(key), Some(*key));
        assert_eq!(index.get(key), None);
        if i % 3 == 0 {
            assert!(index.insert(key, 1) && index.remove(key) == Some(1));
        }
        let next = keys.get(i + 1).map(|key| (*key, *key));
        assert_eq!(index.lower_bound(&0), next);
    }
    audit(&index);
}

#[test]
fn forms_find_every_place() {
    let settings = registry::settings("alex");
    for (name, mut keys) in hard_inputs() {
        keys.sort_unstable();
        let entries: Vec<(u64, u64)> = keys.iter().zip(0..).map(|(key, i)| (*key, 2 * i)).collect();
        let mut bytes = Vec::new();
        Form::lay(&settings, &entries, &mut bytes).unwrap();
        let form = Form::open(&bytes, keys.len()).unwrap();
        let probes = keys
            .iter()
            .flat_map(|key| [key.wrapping_sub(1), *key, key.wrapping_add(1)]);
        for probe in probes.chain([0, u64::MAX]) {
            let rank = keys.partition_point(|key| *key < probe);
            let expected = match entries.get(rank) {
                Some((key, rank)) if *key == probe => Place::At(*rank),
                Some((_, rank)) => Place::Before(*rank),
                None => Place::Before(u64::MAX),
            };
            assert_eq!(form.find(&bytes, probe), expected, "{name}: {probe}");
        }
    }
}
