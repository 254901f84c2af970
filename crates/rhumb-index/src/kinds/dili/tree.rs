//! The index in memory.

use std::ops::ControlFlow;

use super::inner::Child;
use super::leaf::Leaf;
use super::top_down::{self, Room};
use super::upkeep::Upkeep;
use crate::IndexError;
use crate::updatable::{Depth, Existing, Updatable, ascending};

/// A map from integers to 8 bytes.
#[derive(Debug)]
pub(super) struct Dili {
    root: Child,
    upkeep: Upkeep,
}

impl Dili {
    pub(super) fn new(upkeep: Upkeep) -> Self {
        Dili {
            root: Child::Leaf(Leaf::default()),
            upkeep,
        }
    }
}

impl Updatable<u64> for Dili {
    fn kind(&self) -> &'static str {
        super::KIND.name
    }

    fn len(&self) -> usize {
        self.root.keys()
    }

    fn bulk_load(&mut self, entries: &[(u64, u64)]) -> Result<(), IndexError> {
        ascending(entries)?;
        self.root = top_down::build(entries, Room::default());
        Ok(())
    }

    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.root.get(*key)
    }

    fn put(&mut self, key: &u64, value: u64, existing: Existing) -> Option<u64> {
        self.root.put((*key, value), existing, self.upkeep)
    }

    fn remove(&mut self, key: &u64) -> Option<u64> {
        self.root.remove(*key, self.upkeep)
    }

    fn walk(&self, from: &u64, visit: &mut dyn FnMut(&u64, u64) -> ControlFlow<()>) {
        let mut visit = |key: u64, value: u64| visit(&key, value);
        let _ = self.root.walk(Some(*from), &mut visit);
    }

    fn depth(&self) -> Depth {
        let mut sum = 0;
        let max = self.root.levels(0, &mut sum);
        Depth {
            mean: sum as f64 / self.len().max(1) as f64,
            max,
        }
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.root.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::updatable::histories;
    use crate::check::{SplitMix64, from_env};

    fn loaded(keys: &[u64]) -> Dili {
        let mut index = Dili::new(Upkeep::Bounded);
        let entries: Vec<(u64, u64)> = keys.iter().copied().zip(0..).collect();
        index.bulk_load(&entries).unwrap();
        index
    }

    /// Checks that every key is found with its rank as value.
    fn all_found(index: &Dili, keys: &[u64]) {
        for (key, rank) in keys.iter().zip(0..) {
            assert_eq!(index.get(key), Some(rank), "{key}");
        }
        assert_eq!(index.len(), keys.len());
    }

    #[test]
    fn long_histories_match_a_map_with_either_upkeep() {
        let seed = from_env("RHUMB_SEED", 0x64_69_6c_69);
        println!("replay with RHUMB_SEED={seed}");
        for upkeep in [Upkeep::Bounded, Upkeep::Published] {
            let make = || Box::new(Dili::new(upkeep)) as Box<dyn Updatable<u64>>;
            let count = from_env("RHUMB_DEEP", 1);
            let small = histories::<u64>(&make, seed, 200 * count, 2_000);
            small.unwrap_or_else(|error| panic!("{upkeep:?}: {error}"));
            let large = histories::<u64>(&make, seed, 15 * count, 60_000);
            let large = large.unwrap_or_else(|error| panic!("{upkeep:?}: {error}"));
            assert!(large.most_keys > 30_000, "{large:?}");
        }
    }

    /// Inserts keys in the given order: depth and memory a key must stay small for any order.
    fn arrive(name: &str, first: &[u64], arriving: &[u64]) {
        let mut index = loaded(first);
        for (key, rank) in arriving.iter().zip(first.len() as u64..) {
            assert!(index.insert(key, rank), "{name}");
        }
        let depth = index.depth();
        let size = index.size_in_bytes() / index.len();
        println!(
            "{name}: {} keys, {depth:?}, {size} bytes a key",
            index.len()
        );
        assert!(depth.max <= 32 && depth.mean <= 8.0, "{name}: {depth:?}");
        assert!(size <= 200, "{name}: {size} bytes a key");
        let step = arriving.len() / 1000 + 1;
        for (key, rank) in arriving.iter().zip(first.len() as u64..).step_by(step) {
            assert_eq!(index.get(key), Some(rank), "{name}");
        }
    }

    #[test]
    fn appends_at_either_end_stay_shallow() {
        let count = 300_000 * from_env("RHUMB_DEEP", 1);
        let mut random = SplitMix64::new(3);
        let dense: Vec<u64> = (0..count).map(|i| (1 << 40) + i).collect();
        let mut gap = 0;
        let uneven: Vec<u64> = (0..count)
            .map(|_| {
                gap += 1 + (random.next_u64() >> 20 >> random.below(40));
                gap
            })
            .collect();
        let widening: Vec<u64> = (0..count)
            .scan(1.0, |key: &mut f64, i| {
                *key = (*key * 1.0001).max(*key + 1.0).min(1e18);
                Some(*key as u64 + i)
            })
            .collect();
        for (name, keys) in [("dense", dense), ("uneven", uneven), ("widening", widening)] {
            assert!(keys.is_sorted_by(|a, b| a < b), "{name}");
            let (first, rest) = keys.split_at(1000);
            arrive(&format!("{name}, appended"), first, rest);
            arrive(&format!("{name}, appended to nothing"), &[], &keys);
            let reversed: Vec<u64> = rest.iter().rev().copied().collect();
            arrive(&format!("{name}, reversed"), &[], &reversed);
        }
    }

    #[test]
    fn bursts_into_one_place_stay_shallow() {
        // Into a gap of a large index: in ascending and descending order, and in ever smaller
        // steps.
        let keys: Vec<u64> = (0..200_000).map(|i| i << 40).collect();
        let middle = keys[100_000];
        let rising: Vec<u64> = (1..150_000).map(|i| middle + i).collect();
        arrive("rising burst", &keys, &rising);
        let falling: Vec<u64> = (1..150_000).map(|i| middle + (1 << 30) - i).collect();
        arrive("falling burst", &keys, &falling);
        let mut step = 1u64 << 39;
        let narrowing: Vec<u64> = (0..39)
            .flat_map(|_| {
                step /= 2;
                (1..200u64.min(step)).map(move |i| i * step / 200 + step)
            })
            .collect();
        let mut narrowing: Vec<u64> = narrowing.iter().map(|offset| middle + offset).collect();
        narrowing.sort_unstable();
        narrowing.dedup();
        narrowing.reverse();
        narrowing.retain(|key| keys.binary_search(key).is_err());
        arrive("narrowing", &keys, &narrowing);
    }

    #[test]
    fn keys_that_no_line_separates_stay_shallow() {
        let powers: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
        let mut few_bits: Vec<u64> = (0..64 * 64 * 64)
            .map(|i| 1u64 << (i % 64) | 1 << (i / 64 % 64) | 1 << (i / 4096))
            .collect();
        few_bits.sort_unstable();
        few_bits.dedup();
        let mut outliers: Vec<u64> = (0..100_000).map(|i| i * 3).collect();
        outliers.extend((0..21).map(|i| u64::MAX - ((20 - i) << 40)));
        // Clusters nested three levels deep.
        let nested: Vec<u64> = (0..40u64.pow(3))
            .map(|i| ((i / 1600) << 50) | ((i / 40 % 40) << 25) | (i % 40))
            .collect();
        let ends = vec![0, 1, 2, u64::MAX - 2, u64::MAX - 1, u64::MAX];
        for keys in [powers, few_bits, outliers, nested, ends] {
            let index = loaded(&keys);
            all_found(&index, &keys);
            let depth = index.depth();
            assert!(depth.max <= 12 && depth.mean <= 6.0, "{depth:?}");
            let size = index.size_in_bytes() / keys.len();
            println!("{} keys: {depth:?}, {size} bytes a key", keys.len());
            assert!(size <= 200 || keys.len() < 10, "{size} bytes a key");
        }
    }

    #[test]
    fn late_outliers_cost_no_memory() {
        let keys: Vec<u64> = (0..100_000).map(|i| i * 5).collect();
        let late: Vec<u64> = (0..21).map(|i| (1 << 59) + (i << 54)).collect();
        arrive("late outliers", &keys, &late);
    }

    #[test]
    fn memory_is_proportional_to_the_keys() {
        let keys: Vec<u64> = (0..200_000).map(|i| i * 7).collect();
        let mut index = loaded(&keys);
        for key in &keys[1000..] {
            assert!(index.remove(key).is_some());
        }
        assert!(index.size_in_bytes() < 400_000, "{}", index.size_in_bytes());
        all_found(&index, &keys[..1000]);
        // Repeated insertions and removals in one place must not leak memory.
        let before = index.size_in_bytes();
        for round in 0..50_000u64 {
            for key in [1, 2, 3, 4, 5, 6] {
                index.upsert(&(7 * 500 + key), round);
            }
            for key in [1, 2, 3, 4, 5, 6] {
                assert_eq!(index.remove(&(7 * 500 + key)), Some(round));
            }
        }
        assert!(index.size_in_bytes() < 2 * before + 4000);
    }

    /// Inserts and removes bursts of keys between `index`'s own; returns the largest size in bytes.
    fn bursts(index: &mut Dili, random: &mut SplitMix64, rounds: u32) -> usize {
        let mut most = 0;
        for _ in 0..rounds {
            let width = 1 << (10 + random.below(46));
            let base = random.next_u64() >> 1;
            let keys: Vec<u64> = (0..9 + random.below(12))
                .map(|_| base + random.below(width))
                .filter(|key| index.insert(key, 1))
                .collect();
            most = most.max(index.size_in_bytes());
            assert!(keys.iter().all(|key| index.remove(key) == Some(1)));
        }
        most
    }

    #[test]
    fn bursts_that_come_and_go_leave_little_behind() {
        let mut random = SplitMix64::new(9);
        for len in [1, 24, 1000, 20_000] {
            let keys: Vec<u64> = (0..len).map(|i| i * (u64::MAX / (len + 1))).collect();
            let mut index = loaded(&keys);
            let before = index.size_in_bytes();
            let most = bursts(&mut index, &mut random, 3_000);
            println!("{len} keys: {before} bytes, {most} at most");
            assert!(most < 4 * before + 4_000, "{len} keys: {before} to {most}");
            all_found(&index, &keys);
        }
    }

    /// Inserts and removes bursts of `width` keys from `low` on, with further bursts in their gaps
    /// for `levels` levels.
    fn burst_in_bursts(index: &mut Dili, low: u64, width: u64, levels: u32) {
        let burst = |index: &mut Dili, count: u64| -> Vec<u64> {
            let keys = (0..count).map(|i| low + count + i * (width / count));
            keys.filter(|key| index.insert(key, 0)).collect()
        };
        for key in burst(index, 9) {
            index.remove(&key);
        }
        if levels == 0 || width < 1 << 12 {
            return;
        }
        let cheap = burst(index, 8);
        for i in 0..18 {
            burst_in_bursts(index, low + i * (width / 18) + 3, width / 20, levels - 1);
        }
        for key in cheap {
            index.remove(&key);
        }
    }

    #[test]
    fn bursts_in_bursts_leave_little_behind() {
        let gap = u64::MAX / 24;
        let keys: Vec<u64> = (0..24).map(|i| i * gap).collect();
        let mut index = loaded(&keys);
        for i in 0..46 {
            burst_in_bursts(&mut index, i * (gap / 2) + gap / 40, gap / 24 * 10, 2);
        }
        let size = index.size_in_bytes();
        println!("{size} bytes");
        assert!(size < 16_000, "{size} bytes");
        all_found(&index, &keys);
    }

    #[test]
    fn inserting_and_removing_one_key_at_a_time_rebuilds_nothing() {
        // Appending keys evenly makes the index keep room after the last key.
        let mut index = loaded(&(0..40_000).collect::<Vec<u64>>());
        for key in 40_000..130_000 {
            index.insert(&key, key);
        }
        let behind = (130_000..600_000).step_by(997);
        let before = index.size_in_bytes();
        for key in behind.clone() {
            assert!(index.insert(&key, key));
            index.remove(&key);
        }
        // The first of these keys builds a small leaf, which then serves all others.
        let after = index.size_in_bytes();
        for key in behind {
            assert!(index.insert(&key, key));
            index.remove(&key);
            assert_eq!(index.size_in_bytes(), after);
        }
        assert!(after < 2 * before, "{before} to {after}");
    }

    #[test]
    fn new_nodes_are_not_due_for_rebuilding() {
        let mut few_bits: Vec<u64> = (0..64 * 64 * 64)
            .map(|i| 1u64 << (i % 64) | 1 << (i / 64 % 64) | 1 << (i / 4096))
            .collect();
        few_bits.sort_unstable();
        few_bits.dedup();
        let lens = (8_180..8_200).chain([2_000, 2_730, 2_731, 16_384, 24_570, few_bits.len()]);
        for len in lens {
            let keys: Vec<u64> = (0..len)
                .map(|i| few_bits[i * few_bits.len() / len])
                .collect();
            let index = loaded(&keys);
            assert!(!index.root.is_to_be_built(), "{len} keys");
        }
    }

    #[test]
    fn published_upkeep_does_not_overflow_the_stack() {
        // Leaves that are never adjusted form a chain at the right edge, one level for every 8,192
        // keys.
        let mut index = Dili::new(Upkeep::Published);
        let count = 300_000 * from_env("RHUMB_DEEP", 1);
        for key in 0..count {
            assert!(index.insert(&key, key));
        }
        let depth = index.depth();
        println!("{depth:?}");
        assert!(depth.max < 2_000, "{depth:?}");
        assert!(
            (0..count)
                .step_by(97)
                .all(|key| index.get(&key) == Some(key))
        );
    }
}
