//! Bounds on depth, memory and work, in any order of operations, which the published design does
//! not have.
//!
//! Replays from `RHUMB_SEED`; `RHUMB_DEEP` multiplies the appends.

use std::collections::{BTreeMap, VecDeque};

use super::map::Lipp;
use crate::check::{SplitMix64, distributions, from_env};
use crate::registry;
use crate::updatable::Updatable;

fn lipp(spec: &str) -> Lipp {
    Lipp::new(&registry::settings(spec))
}

/// Sorted distinct numbers of each distribution of eight bytes.
fn number_sets(len: usize) -> impl Iterator<Item = (&'static str, Vec<u64>)> {
    let seed = from_env("RHUMB_SEED", 0x6c69_7070);
    println!("replay with RHUMB_SEED={seed}");
    distributions::all().filter_map(move |distribution| {
        let keys = distribution.keys(&mut SplitMix64::new(seed), len);
        let numbers: Option<Vec<u64>> = keys
            .iter()
            .map(|key| Some(u64::from_be_bytes(key.as_slice().try_into().ok()?)))
            .collect();
        let mut numbers = numbers?;
        numbers.sort_unstable();
        numbers.dedup();
        Some((distribution.name, numbers))
    })
}

/// Asserts the bounds for an index of this many keys: levels, and bytes apart from some hundreds of
/// lines.
fn assert_bounded(index: &Lipp, what: &str) {
    let keys = index.len() as f64;
    let (depth, bytes) = (index.depth(), index.size_in_bytes() as f64);
    assert!(
        depth.max as f64 <= 2.0 + 2.0 * (keys + 1.0).log2(),
        "{what}: {depth:?} of {keys}"
    );
    assert!(
        bytes <= 50_000.0 + 800.0 * keys,
        "{what}: {bytes} of {keys}"
    );
}

/// Keys in rising order with gaps of 1 to 1,000.
fn rising(random: &mut SplitMix64, key: &mut u64) -> u64 {
    *key += 1 + random.below(1_000);
    *key
}

#[test]
fn sorted_appends_stay_shallow_and_cheap() {
    let appends = 1_000_000 * from_env("RHUMB_DEEP", 1);
    for loaded in [0, appends / 20] {
        let (mut random, mut key) = (SplitMix64::new(1), 0);
        let entries: Vec<_> = (0..loaded)
            .map(|i| (rising(&mut random, &mut key), i))
            .collect();
        let mut index = lipp("lipp");
        index.bulk_load(&entries).unwrap();
        for i in 0..appends {
            assert!(index.insert(&rising(&mut random, &mut key), i));
        }
        let depth = index.depth();
        println!(
            "{appends} appends after {loaded}: {depth:?}, {} keys rebuilt, {} bytes",
            index.rebuilt,
            index.size_in_bytes()
        );
        assert!(depth.mean < 2.0 && depth.max <= 6, "{depth:?}");
        assert!(index.rebuilt < 4 * appends, "{}", index.rebuilt);
        assert!((index.size_in_bytes() as u64) < 170 * (appends + loaded));
        assert_eq!(index.get(&key), Some(appends - 1));
    }
}

#[test]
fn reversed_appends_stay_shallow_and_cheap() {
    let appends = 200_000 * from_env("RHUMB_DEEP", 1);
    let (mut random, mut above) = (SplitMix64::new(2), 0);
    let mut index = lipp("lipp");
    for i in 0..appends {
        assert!(index.insert(&(u64::MAX - rising(&mut random, &mut above)), i));
    }
    let depth = index.depth();
    assert!(depth.mean < 2.0 && depth.max <= 6, "{depth:?}");
    assert!(index.rebuilt < 4 * appends, "{}", index.rebuilt);
}

#[test]
fn published_upkeep_makes_a_chain_at_the_right_edge() {
    let depths = ["lipp", "lipp:upkeep=published"].map(|spec| {
        let mut index = lipp(spec);
        let (mut random, mut key) = (SplitMix64::new(3), 0);
        for i in 0..2_000_000 {
            index.insert(&rising(&mut random, &mut key), i);
        }
        index.depth()
    });
    println!("{depths:?}");
    assert!(depths[1].max >= 2 * depths[0].max, "{depths:?}");
    assert!(depths[1].mean >= 1.5 * depths[0].mean, "{depths:?}");
}

#[test]
fn any_keys_in_any_order_stay_within_bounds() {
    for (name, numbers) in number_sets(3_000) {
        let entries: Vec<_> = numbers
            .iter()
            .zip(0..)
            .map(|(number, i)| (*number, i))
            .collect();
        let mut index = lipp("lipp");
        index.bulk_load(&entries).unwrap();
        assert_bounded(&index, name);
        let mut shuffled = entries.clone();
        let mut random = SplitMix64::new(4);
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i as u64 + 1) as usize);
        }
        let reversed: Vec<_> = entries.iter().rev().copied().collect();
        // From both ends towards the middle, and from the middle to both ends.
        let inwards: Vec<_> = entries
            .iter()
            .zip(&reversed)
            .flat_map(|(a, b)| [*a, *b])
            .collect();
        let outwards: Vec<_> = inwards.iter().rev().copied().collect();
        let orders = [&entries, &reversed, &shuffled, &inwards, &outwards];
        for (order, entries) in orders.into_iter().enumerate() {
            let what = format!("{name}, order {order}");
            let mut index = lipp("lipp");
            for (number, value) in entries {
                index.insert(number, *value);
            }
            assert_bounded(&index, &what);
            let keys = index.len() as f64;
            let most = 40.0 + 3.0 * keys * (keys + 2.0).log2();
            assert!(
                (index.rebuilt as f64) < most,
                "{what}: {} rebuilt",
                index.rebuilt
            );
            assert!(
                numbers.iter().all(|number| index.get(number).is_some()),
                "{what}"
            );
        }
    }
}

#[test]
fn sums_of_two_powers_make_few_levels() {
    // No line separates more than a few of these.
    let mut numbers: Vec<u64> = (0..64)
        .flat_map(|i| (0..=i).map(move |j| 1 << i | 1 << j))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let entries: Vec<_> = numbers.iter().map(|number| (*number, 0)).collect();
    let mut index = lipp("lipp");
    index.bulk_load(&entries).unwrap();
    let depth = index.depth();
    assert!(depth.mean < 6.0 && depth.max <= 10, "{depth:?}");
}

#[test]
fn bursts_between_two_keys_are_spread_out() {
    let mut index = lipp("lipp");
    let sparse: Vec<_> = (0..10_000u64).map(|i| (i << 40, i)).collect();
    index.bulk_load(&sparse).unwrap();
    let mut random = SplitMix64::new(5);
    let mut key = 5_000 << 40;
    for i in 0..200_000 {
        index.insert(&rising(&mut random, &mut key), i);
    }
    let depth = index.depth();
    assert!(depth.mean < 3.0 && depth.max <= 8, "{depth:?}");
    assert!(index.rebuilt < 1_000_000, "{}", index.rebuilt);
}

#[test]
fn removals_free_memory() {
    let mut index = lipp("lipp");
    let mut random = SplitMix64::new(6);
    let numbers: Vec<u64> = (0..50_000).map(|_| random.next_u64()).collect();
    for number in &numbers {
        index.insert(number, 1);
    }
    let full = index.size_in_bytes();
    for (i, number) in numbers.iter().enumerate() {
        assert_eq!(index.remove(number), Some(1));
        if i % 1_000 == 0 {
            assert_bounded(&index, "removing");
        }
    }
    assert!(index.is_empty() && index.size_in_bytes() * 20 < full);
}

#[test]
fn a_sliding_window_of_keys_takes_bounded_memory() {
    // A sliding window of keys: the oldest is removed as a new one is inserted.
    let mut index = lipp("lipp");
    let (mut random, mut key) = (SplitMix64::new(7), 0);
    let mut alive = BTreeMap::new();
    let mut most = 0;
    for i in 0..200_000 {
        let number = rising(&mut random, &mut key);
        index.insert(&number, i);
        alive.insert(number, i);
        if alive.len() > 5_000 {
            let (oldest, value) = alive.pop_first().unwrap();
            assert_eq!(index.remove(&oldest), Some(value));
        }
        most = most.max(if i % 100 == 0 {
            index.size_in_bytes()
        } else {
            0
        });
    }
    assert!(most < 5_000 * 800, "{most}");
    assert!(index.rebuilt < 4_000_000, "{}", index.rebuilt);
}

#[test]
fn windows_that_zoom_in_stay_shallow_and_small() {
    // The number of keys stays level while old keys are removed and all new ones fall into one
    // slot.
    let centre = 0x5555_5555_5555_5555;
    let cases = [1, 2, 4, 8].map(|octave| [8, 12, 16, 24, 32, 64].map(|live| (octave, live)));
    let large = [(64, 32), (256, 256), (1_024, 1_024), (1_024, 1_536)];
    for (octave, live) in cases.into_iter().flatten().chain(large) {
        let what = format!("{octave} an octave, {live} alive");
        let (mut index, mut alive) = (lipp("lipp"), VecDeque::new());
        let (mut deepest, mut most) = (0, 0);
        for bit in (13..62).rev() {
            for i in (0..octave).rev() {
                let number = centre + (1 << bit) + i * ((1 << bit) / octave);
                assert!(index.insert(&number, i));
                alive.push_back(number);
                if alive.len() > live {
                    assert!(index.remove(&alive.pop_front().unwrap()).is_some());
                }
                if i % octave.min(16) == 0 {
                    assert_bounded(&index, &what);
                    deepest = index.depth().max.max(deepest);
                    most = index.size_in_bytes().max(most);
                }
            }
        }
        println!(
            "{what}: {deepest} levels, {most} bytes, {} rebuilt",
            index.rebuilt
        );
        assert!(most < 30_000 + 500 * live, "{what}: {most} bytes");
    }
}

#[test]
fn published_upkeep_limits_the_depth_of_chains() {
    // No node is ever four times as large as built.
    let mut index = lipp("lipp:upkeep=published");
    let mut deepest = 0;
    for i in 0..80_000 {
        index.insert(&(i * 10), i);
        if i >= 100 {
            assert_eq!(index.remove(&((i - 100) * 10)), Some(i - 100));
        }
        if i % 1_000 == 999 {
            deepest = index.depth().max.max(deepest);
            assert_eq!(
                index.lower_bound(&0),
                Some((i.saturating_sub(99) * 10, i.saturating_sub(99)))
            );
        }
    }
    assert!((900..1_100).contains(&deepest), "{deepest}");
}

#[test]
fn a_key_alone_in_its_node_goes_back_to_the_node_above() {
    let mut index = lipp("lipp");
    let entries: Vec<(u64, u64)> = (0..100).map(|i| (i << 32, i)).collect();
    index.bulk_load(&entries).unwrap();
    let loaded = index.depth();
    index.insert(&((5 << 32) + 1), 0);
    assert!(index.depth().mean > loaded.mean);
    index.remove(&((5 << 32) + 1));
    assert_eq!((index.depth(), index.get(&(5 << 32))), (loaded, Some(5)));
}
