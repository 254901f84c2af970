//! The search within a window finds what a scan of all keys in it finds, for any window.
//!
//! Replays from `RHUMB_SEED`; `RHUMB_DEEP` multiplies the look-ups.

use std::borrow::Borrow;

use crate::common::{from_env, specs};
use rhumb_index::check::{SplitMix64, distributions, map_of};
use rhumb_index::search::{lower_bound_bytes, lower_bound_u64};
use rhumb_index::{Position, Probe, Window, registry};

fn seeded() -> SplitMix64 {
    let seed = from_env("RHUMB_SEED", 0x6d69_6c65);
    println!("replay with RHUMB_SEED={seed}");
    SplitMix64::new(seed)
}

/// The answer by its definition.
fn by_definition<K: Ord + ?Sized, O: Borrow<K>>(keys: &[O], window: Window, key: &K) -> usize {
    let clamp = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX).min(keys.len());
    let end = clamp(window.hi);
    let start = clamp(window.lo).min(end);
    let found = (start..end).find(|&at| keys[at].borrow() >= key);
    found.unwrap_or(end)
}

/// All windows over a slice of this length, some beyond it or the wrong way round.
fn windows(len: u64) -> impl Iterator<Item = Window> {
    let ends = move || (0..=len + 2).chain([u64::MAX - 1, u64::MAX]);
    ends().flat_map(move |lo| ends().map(move |hi| Window { lo, hi }))
}

#[test]
fn numbers_in_every_window_of_short_slices() {
    let mut random = seeded();
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    for len in 0..20 {
        for choices in [2, 8, 1000] {
            let mut numbers: Vec<u64> = (0..len)
                .map(|_| match random.below(4) {
                    0 => *random.choose(&ends).unwrap(),
                    _ => 100 + 2 * random.below(choices),
                })
                .collect();
            numbers.sort_unstable();
            let probes = numbers
                .iter()
                .flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]);
            let probes: Vec<u64> = probes.chain(ends).collect();
            for window in windows(len) {
                for key in &probes {
                    let found = lower_bound_u64(&numbers, window, *key);
                    let expected = by_definition(&numbers, window, key);
                    assert_eq!(found, expected, "{key} in {window:?} of {numbers:?}");
                }
            }
        }
    }
}

/// Every position in windows of every width up to widths searched outward from the middle, and in
/// some wide windows.
#[test]
fn numbers_in_wide_windows() {
    let distinct: Vec<u64> = (0..40_000).map(|i| 10 * i).collect();
    let alike: Vec<u64> = (0..40_000).map(|i| 10 * (i / 700)).collect();
    let widths = (0..600)
        .step_by(7)
        .chain(130..142)
        .chain([1_500, 9_000, 20_000, 39_990]);
    for width in widths {
        for numbers in [&distinct, &alike] {
            let window = Window {
                lo: 1,
                hi: 1 + width,
            };
            // All positions in narrow windows; many positions near the middle and the ends of wide
            // ones.
            let places = (0..width + 2).filter(|at| {
                let near = |place: u64| at.abs_diff(place) < 20;
                width < 600 || near(0) || near(width) || near(width / 2) || at % 61 == 0
            });
            for at in places {
                let middle = numbers[at as usize];
                for key in [middle.saturating_sub(1), middle, middle + 1] {
                    let first = numbers[1..].partition_point(|n| *n < key) as u64 + 1;
                    let expected = first.min(window.hi) as usize;
                    let found = lower_bound_u64(numbers, window, key);
                    assert_eq!(found, expected, "{key} in {window:?}");
                }
            }
        }
    }
}

#[test]
fn numbers_in_random_windows_of_large_slices() {
    let mut random = seeded();
    for name in ["uniform", "lognormal"] {
        let keys = distributions::by_name(name)
            .unwrap()
            .keys(&mut random, 300_000);
        let numbers: Vec<u64> = keys.iter().map(|key| number_of(key)).collect();
        for _ in 0..200_000 * from_env("RHUMB_DEEP", 1) {
            let width = 1 << random.below(20);
            let rank = random.below(numbers.len() as u64);
            let lo = rank.saturating_sub(random.below(width + 2));
            let hi = lo + random.below(width);
            let key = match random.below(3) {
                0 => random.next_u64(),
                shift => numbers[rank as usize].saturating_add(shift - 1),
            };
            let window = Window { lo, hi };
            let (start, end) = (lo as usize, (hi as usize).min(numbers.len()));
            let expected = start + numbers[start..end].partition_point(|n| *n < key);
            let found = lower_bound_u64(&numbers, window, key);
            assert_eq!(found, expected, "{key} in {window:?} of {name}");
        }
    }
}

fn number_of(key: &[u8]) -> u64 {
    let mut eight = [0; 8];
    let len = key.len().min(8);
    eight[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(eight)
}

/// Keys of 0 to 20 bytes with few different byte values: prefixes of each other, embedded NULs,
/// shared prefixes, and duplicates occur all the time.
fn short_texts(random: &mut SplitMix64, count: u64) -> Vec<Vec<u8>> {
    let prefix = random.bytes(20, 256);
    let prefix_len = *random.choose(&[0, 0, 3, 8, 13, 20]).unwrap();
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let tail_len = random.below(21 - prefix_len as u64) as usize;
            let zeros = random.below(1 + tail_len as u64) as usize;
            let mut key = prefix[..prefix_len].to_vec();
            key.extend(std::iter::repeat_n(0, zeros));
            key.extend((zeros..tail_len).map(|_| *random.choose(&[0, 1, 255]).unwrap()));
            key
        })
        .collect();
    keys.sort_unstable();
    keys
}

/// Keys and their neighbours: one byte more or less, and the last byte changed.
fn neighbours(keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let beside = |key: &Vec<u8>| {
        let (mut longer, mut shorter, mut changed) = (key.clone(), key.clone(), key.clone());
        longer.push(0);
        shorter.pop();
        if let Some(last) = changed.last_mut() {
            *last = last.wrapping_add(1);
        }
        [key.clone(), longer, shorter, changed]
    };
    let mut all: Vec<Vec<u8>> = keys.iter().flat_map(beside).collect();
    all.extend([vec![], vec![0], vec![255; 21]]);
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn texts_in_every_window_of_short_slices() {
    let mut random = seeded();
    for len in (0..20).chain([0, 1, 2, 3, 5]) {
        let keys = short_texts(&mut random, len);
        for window in windows(len) {
            for key in &neighbours(&keys) {
                let found = lower_bound_bytes(&keys, window, key);
                let expected = by_definition::<Vec<u8>, _>(&keys, window, key);
                assert_eq!(found, expected, "{key:?} in {window:?} of {keys:?}");
            }
        }
    }
}

#[test]
fn texts_in_random_windows_of_longer_slices() {
    let mut random = seeded();
    for _ in 0..600 * from_env("RHUMB_DEEP", 1) {
        let len = 1 << random.below(12);
        let keys = short_texts(&mut random, len);
        let probes = neighbours(&keys);
        for _ in 0..200 {
            let lo = random.below(len);
            let window = Window {
                lo,
                hi: lo + random.below(len + 2),
            };
            let key = random.choose(&probes).unwrap();
            let found = lower_bound_bytes(&keys, window, key);
            let expected = by_definition::<Vec<u8>, _>(&keys, window, key);
            assert_eq!(found, expected, "{key:?} in {window:?} of {keys:?}");
        }
    }
}

/// Looks up ranks through an index and a window, as a user of this crate alone would.
#[test]
fn a_window_and_a_search_give_the_rank() {
    let mut random = seeded();
    let mut searched = 0;
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut random, 3_000);
        let map = map_of(&keys);
        let probes = neighbours(&keys);
        for spec in specs(&[16, 400]) {
            let mut builder = registry::builder(&spec).unwrap();
            for key in &keys {
                builder.push(key, map.number(key)).unwrap();
            }
            // More keys share a number than a window may hold.
            let Ok(bytes) = builder.finish() else {
                continue;
            };
            let index = registry::open(bytes).unwrap();
            for key in &probes {
                let number = map.number(key);
                let Position::Window(window) = index.locate(Probe { key, number }) else {
                    break;
                };
                let expected = keys.partition_point(|other| other < key);
                assert_eq!(lower_bound_bytes(&keys, window, key), expected, "{spec}");
                searched += 1;
            }
        }
    }
    assert!(searched > 100_000, "only {searched} searches");
}
