use std::collections::BTreeMap;
use std::ops::Bound;

use super::*;
use crate::check::{SplitMix64, distributions, from_env};
use crate::{IndexError, registry};

/// Compares all operations with a sorted slice that may have equal keys.
fn agrees(set: &SortedSet<'_, [u8]>, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    assert_eq!(set.len(), keys.len());
    assert!(set.iter().eq(keys.iter().map(Vec::as_slice)));
    assert!(set.iter().rev().eq(keys.iter().rev().map(Vec::as_slice)));
    let positions = set.positions(probes);
    for (probe, position) in probes.iter().zip(positions) {
        let lower = keys.partition_point(|key| key < probe);
        let upper = keys.partition_point(|key| key <= probe);
        assert_eq!(
            (set.lower_bound(probe), set.upper_bound(probe)),
            (lower, upper),
            "{probe:x?}"
        );
        let expected = (lower < upper).then_some(lower);
        assert_eq!(
            (set.position(probe), position),
            (expected, expected),
            "{probe:x?}"
        );
        assert_eq!(set.contains(probe), expected.is_some());
        let ahead = set.range(probe.as_slice()..).take(3);
        assert!(ahead.eq(keys[lower..].iter().take(3).map(Vec::as_slice)));
        let above = set.range::<&[u8]>((Bound::Excluded(probe.as_slice()), Bound::Unbounded));
        assert_eq!(above.len(), keys.len() - upper);
        let behind = set.range(..probe.as_slice()).rev().take(3);
        assert!(behind.eq(keys[..lower].iter().rev().take(3).map(Vec::as_slice)));
        let own = set.range(probe.as_slice()..=probe.as_slice());
        assert_eq!(own.len(), upper - lower);
        assert!(own.eq(keys[lower..upper].iter().map(Vec::as_slice)));
    }
    for (position, key) in keys.iter().enumerate().step_by(17) {
        assert_eq!(set.key(position), Some(key.as_slice()));
    }
    assert_eq!(set.key(keys.len()), None);
    assert_eq!(set.key(usize::MAX), None);
    assert_eq!(set.first(), keys.first().map(Vec::as_slice));
    assert_eq!(set.last(), keys.last().map(Vec::as_slice));
}

#[test]
fn strings_of_all_distributions_are_found() {
    let seed = from_env("RHUMB_SEED", 14);
    println!("RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let (mut models, mut fences) = (0, 0);
    for distribution in distributions::all() {
        for repeats in [false, true] {
            let mut keys = distribution.keys(&mut random, 700);
            if repeats {
                let again = keys
                    .iter()
                    .step_by(3)
                    .flat_map(|key| [key.clone(), key.clone()]);
                keys = keys.iter().cloned().chain(again).collect();
                keys.sort();
            }
            let mut probes = keys.clone();
            probes.extend(keys.iter().map(|key| [key.as_slice(), b"\0"].concat()));
            probes.extend([vec![], vec![0xff; 70]]);
            let set = SortedSet::<[u8]>::from_sorted(keys.iter().map(Vec::as_slice)).unwrap();
            if set.index().kind() == "pgm" {
                models += 1;
            } else {
                fences += 1;
                let spec = "pgm:boundary=34".parse().unwrap();
                let keys = keys.iter().map(Vec::as_slice);
                let set = SortedSet::<[u8]>::from_sorted_with(&spec, keys);
                assert!(matches!(set, Err(IndexError::Unfit { .. })));
            }
            agrees(&set, &keys, &probes);
            let bytes = set.to_bytes();
            agrees(&SortedSet::open(&bytes).unwrap(), &keys, &probes);
            set.verify().unwrap();
        }
    }
    assert!(
        models > 20 && fences > 2,
        "{models} models, {fences} fences"
    );
}

#[test]
fn every_kind_serves_a_set() {
    let keys = distributions::by_name("decimal-24")
        .unwrap()
        .keys(&mut SplitMix64::new(5), 3000);
    let numbers: Vec<u64> = (0..3000).map(|i: u64| i.pow(3)).collect();
    for kind in registry::kinds() {
        let spec = kind.name.parse().unwrap();
        let set = SortedSet::<[u8]>::from_sorted_with(&spec, keys.iter().map(Vec::as_slice));
        let set = set.unwrap();
        assert_eq!(set.index().kind(), kind.name);
        agrees(&set, &keys, &keys);
        let set = match SortedSet::<u64>::from_sorted_with(&spec, &numbers) {
            Err(IndexError::Unfit { .. }) if kind.name == "rmi" => continue,
            set => set.unwrap(),
        };
        for (rank, number) in numbers.iter().enumerate() {
            assert_eq!(set.position(number), Some(rank), "{}", kind.name);
            assert_eq!(set.lower_bound(&(number + 1)), rank + 1);
        }
    }
}

/// Compares a map of a number type with a `BTreeMap`, after a round trip through bytes.
fn map_agrees<K>(numbers: impl Iterator<Item = K>, absent: &[K])
where
    K: for<'a> Element<Ref<'a> = K> + Copy + Ord,
{
    let expected: BTreeMap<K, String> = numbers
        .zip(0..)
        .map(|(key, i)| (key, i.to_string()))
        .collect();
    let entries = expected.iter().map(|(key, value)| (*key, value.as_str()));
    let bytes = SortedMap::<K, str>::from_sorted(entries)
        .unwrap()
        .to_bytes();
    let map = SortedMap::<K, str>::open(bytes).unwrap();
    let keys: Vec<K> = expected.keys().chain(absent).copied().collect();
    for (key, found) in keys.iter().zip(map.get_many(&keys)) {
        let value = expected.get(key).map(String::as_str);
        assert!(map.get(key) == value && found == value);
        let above = expected.range(*key..).next();
        assert!(map.range(*key..).next() == above.map(|(key, value)| (*key, value.as_str())));
    }
    let pairs = || expected.iter().map(|(key, value)| (*key, value.as_str()));
    assert!(map.iter().eq(pairs()) && map.iter().rev().eq(pairs().rev()));
    assert!(map.first() == pairs().next() && map.last() == pairs().next_back());
}

#[test]
fn integers_of_all_widths_are_found() {
    map_agrees((0..=u8::MAX).step_by(3), &[1, 254]);
    map_agrees((0..=u16::MAX).step_by(7), &[1, u16::MAX - 1]);
    map_agrees((0..9000u32).map(|i| i * i * 40), &[1, u32::MAX]);
    map_agrees((0..9000u64).map(|i| i.pow(4)), &[2, u64::MAX]);
    map_agrees((0..9000usize).map(|i| i * 3), &[2, usize::MAX]);
    map_agrees((0..9000u128).map(|i| i << 77), &[1, u128::MAX]);
    map_agrees((i8::MIN..=i8::MAX).step_by(2), &[1, -1, i8::MAX]);
    map_agrees((-3000..3000i16).step_by(5), &[i16::MIN, -1, i16::MAX]);
    map_agrees(
        (-3000..3000i32).map(|i| i * i.abs() * 200),
        &[i32::MIN, i32::MAX],
    );
    map_agrees((-3000..3000i64).map(|i| i.pow(5)), &[i64::MIN, i64::MAX]);
    map_agrees((-3000..3000isize).map(|i| i * 5), &[isize::MIN, 1]);
    map_agrees((-3000..3000i128).map(|i| i << 90), &[i128::MIN, 1]);
}

#[test]
fn floating_point_numbers_are_found() {
    let keys: Vec<f64> = (-500..500).map(|i| f64::from(i) / 7.0).collect();
    let map = SortedMap::<f64, i32>::from_sorted(keys.iter().zip(-500..500)).unwrap();
    for (key, value) in keys.iter().zip(-500..500) {
        assert_eq!(map.get(key), Some(value));
    }
    assert_eq!(map.get(&-0.0), None);
    assert_eq!(map.get(&f64::NAN), None);
    assert_eq!(map.range(-1.0..=1.0).len(), 15);
    let set = SortedSet::<f32>::from_sorted([f32::NEG_INFINITY, -0.0, 0.0, 1e-40]).unwrap();
    assert_eq!(
        (set.position(&0.0), set.position(&1e-40)),
        (Some(2), Some(3))
    );
}

#[test]
fn numbers_may_repeat_any_number_of_times() {
    let numbers: Vec<u32> = (0..2000)
        .flat_map(|i| std::iter::repeat_n(i * 5, i as usize % 90))
        .collect();
    let set = SortedSet::<u32>::from_sorted(&numbers).unwrap();
    assert!(set.len() == numbers.len() && set.distinct() < 2000);
    for probe in 0..10_010 {
        let lower = numbers.partition_point(|n| *n < probe);
        let upper = numbers.partition_point(|n| *n <= probe);
        assert_eq!(
            (set.lower_bound(&probe), set.upper_bound(&probe)),
            (lower, upper)
        );
        assert_eq!(set.range(probe..=probe).rev().count(), upper - lower);
    }
    let (mut front, mut back) = (set.iter(), set.iter());
    assert!(front.by_ref().take(900).eq(numbers[..900].iter().copied()));
    assert!(
        back.by_ref()
            .rev()
            .take(900)
            .eq(numbers.iter().rev().take(900).copied())
    );
    assert!(front.eq(numbers[900..].iter().copied()));
    assert!(back.eq(numbers[..numbers.len() - 900].iter().copied()));
}

#[test]
fn ends_of_an_iterator_meet() {
    let set = SortedSet::<u8>::from_sorted([1, 1, 1, 2, 2, 9]).unwrap();
    for front in 0..=6 {
        let mut keys = set.iter();
        let left: Vec<u8> = keys.by_ref().take(front).collect();
        let right: Vec<u8> = keys.rev().collect();
        let all = left.into_iter().chain(right.into_iter().rev());
        assert!(all.eq([1, 1, 1, 2, 2, 9]));
    }
}

#[test]
fn sets_may_have_one_key_or_none() {
    let none = SortedSet::<str>::from_sorted(Vec::<String>::new()).unwrap();
    assert!(none.is_empty() && none.first().is_none() && none.last().is_none());
    assert_eq!((none.lower_bound("a"), none.contains("")), (0, false));
    assert_eq!(none.iter().next_back(), None);
    let one = SortedSet::<str>::from_sorted([""]).unwrap();
    assert_eq!((one.position(""), one.lower_bound("a")), (Some(0), 1));
    let none = SortedMap::<u64, u64>::from_sorted(Vec::<(u64, u64)>::new()).unwrap();
    assert_eq!((none.get(&0), none.range(5..).len()), (None, 0));
    let bytes = none.to_bytes();
    assert!(SortedMap::<u64, u64>::open(&bytes).unwrap().is_empty());
    let backwards = one.range("z".."a").len();
    assert_eq!(backwards, 0);
}

#[test]
fn misuse_is_a_clear_error() {
    let error = SortedSet::<i32>::from_sorted([1, -1]).unwrap_err();
    assert_eq!(error, IndexError::UnsortedEntries { position: 1 });
    let map = SortedMap::<u64, u32>::from_sorted([(1, 2)]).unwrap();
    let error = SortedMap::<u64, u64>::open(map.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("a map from u64 to u32, not a map from u64 to u64"),
        "{error}"
    );
    let error = SortedSet::<u64>::open(map.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains("not a set of u64"), "{error}");
    assert!(SortedSet::<u64>::open(&b"rhumbsetx"[..]).is_err());
}

/// Two forms whose sections have the same lengths.
fn twins() -> [Vec<u8>; 2] {
    ["abcdefghij", "klmnopqrst"].map(|letters| {
        let keys = letters
            .bytes()
            .flat_map(|a| letters.bytes().map(move |b| [a, b]));
        let keys: Vec<[u8; 2]> = keys.collect();
        SortedSet::<[u8]>::from_sorted(keys.iter().map(|key| &key[..]))
            .unwrap()
            .to_bytes()
    })
}

#[test]
fn a_key_map_of_other_keys_is_an_error() {
    let [one, other] = twins();
    let place = |form: &[u8]| form::Sections::read(form).unwrap().places[form::MAP].clone();
    let map = place(&one);
    assert!(!map.is_empty() && map == place(&other));
    let mut mixed = one.clone();
    mixed[map.clone()].copy_from_slice(&other[map.clone()]);
    assert_ne!(mixed, one);
    let error = SortedSet::<[u8]>::open(&mixed).unwrap_err();
    let IndexError::Damaged { offset, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(offset, map.start);
}

#[test]
fn damage_never_panics_and_is_detected() {
    let seed = from_env("RHUMB_SEED", 3);
    println!("RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let strings = (0..400).map(|i| (format!("{:04}{}", i, "y".repeat(i % 7)), i as u64 * 3));
    let map =
        SortedMap::<str, u64>::from_sorted(strings.flat_map(|(k, v)| [(k.clone(), v), (k, v)]));
    let sound = map.unwrap().to_bytes();
    let mut opened = 0;
    for round in 0..6_000 {
        let mut bytes = sound.clone();
        // The header has a checksum, so most damage is done after it, and some in a header whose
        // checksum is recomputed.
        let at = random.below(bytes.len() as u64) as usize;
        match round % 4 {
            0 => bytes.truncate(at),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        if round % 4 == 3 && bytes.len() > form::HEADER {
            let at = 8 + random.below(80) as usize;
            bytes[at] ^= 1 << random.below(8);
            let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..88]);
            bytes[88..96].copy_from_slice(&sum.to_le_bytes());
        }
        let Ok(map) = SortedMap::<str, u64>::open(&bytes) else {
            continue;
        };
        opened += 1;
        if bytes != sound {
            assert!(map.verify().is_err());
        }
        let probes: Vec<String> = (0..20)
            .map(|_| format!("{:04}", random.below(500)))
            .collect();
        let probes: Vec<&str> = probes.iter().map(String::as_str).collect();
        map.get_many(&probes);
        for probe in probes {
            map.get(probe);
            map.range(probe..).take(9).for_each(drop);
            map.range(..probe).rev().take(9).for_each(drop);
            map.keys().key(random.below(1000) as usize);
        }
    }
    assert!(opened > 1000, "{opened}");
}

#[test]
fn the_same_keys_give_the_same_bytes() {
    let set = |n: u64| SortedSet::<u64>::from_sorted((0..n).map(|i| i * i)).unwrap();
    assert_eq!(set(500).as_bytes(), set(500).as_bytes());
    assert_ne!(set(500).as_bytes(), set(501).as_bytes());
}

#[test]
fn positions_past_the_end_hold_nothing() {
    let map = SortedMap::<u64, str>::from_sorted([(1, "a"), (2, "b")]).unwrap();
    for position in [2, 3, usize::MAX] {
        assert_eq!((map.value(position), map.entry(position)), (None, None));
    }
}

/// A batch prefetched all of a window, which a kind without a boundary makes as wide as the set.
#[test]
fn batches_prefetch_the_middle_of_wide_windows() {
    use super::column::middle;
    use crate::Window;
    for (lo, hi) in [(0, 0), (5, 9), (7, 3), (0, 1_000_001), (10, u64::MAX)] {
        let near = middle(Window { lo, hi }, 34);
        assert_eq!(near.len() as u64, hi.saturating_sub(lo).min(34));
        let (before, behind) = (near.start as u64 - lo, hi.saturating_sub(near.end as u64));
        assert!(near.is_empty() || before.abs_diff(behind) <= 1);
    }
    let numbers: Vec<u64> = (0..40_000u64).map(|i| i.pow(3)).collect();
    let spec = "rmi:leaves=1".parse().unwrap();
    let set = SortedSet::<u64>::from_sorted_with(&spec, &numbers).unwrap();
    assert!(set.index().widest_window() > 1000);
    let probes: Vec<u64> = numbers.iter().flat_map(|n| [*n, n + 1]).collect();
    for (probe, found) in probes.iter().zip(set.positions(&probes)) {
        assert_eq!(found, numbers.binary_search(probe).ok());
    }
}
