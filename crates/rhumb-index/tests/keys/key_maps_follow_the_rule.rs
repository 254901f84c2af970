//! Every implementation of key maps numbers every byte string by the rule of FORMAT.md.

use crate::common::{all_strings, from_env};
use proptest::prelude::*;
use rhumb_index::KeyMap;
use rhumb_index::check::{SplitMix64, distributions, map_of};

/// A simple implementation of the rule: the number that the map of these keys must give a string.
struct Rule {
    /// The symbols of each position, END as `None`.
    alphabets: Vec<Vec<Option<u8>>>,
    identity: bool,
}

impl Rule {
    fn of<K: AsRef<[u8]>>(keys: &[K]) -> Rule {
        let longest = keys.iter().map(|key| key.as_ref().len()).max().unwrap_or(0);
        let mut alphabets = Vec::new();
        let mut product = 1u128;
        for position in 0..longest {
            let symbols = keys.iter().map(|key| key.as_ref().get(position).copied());
            let mut alphabet: Vec<Option<u8>> = symbols.collect();
            alphabet.sort();
            alphabet.dedup();
            product *= alphabet.len() as u128;
            if product > 1 << 64 {
                break;
            }
            alphabets.push(alphabet);
        }
        let identity = !keys.is_empty() && keys.iter().all(|key| key.as_ref().len() == 8);
        Rule {
            alphabets,
            identity,
        }
    }

    fn number(&self, key: &[u8]) -> u64 {
        if self.identity {
            let bytes = key.iter().chain(&[0; 8]).take(8);
            return bytes.fold(0, |number, &byte| number << 8 | u64::from(byte));
        }
        // Sums of all digits so far, weighted for the current position.
        let (mut sum, mut known) = (0u128, true);
        for (position, alphabet) in self.alphabets.iter().enumerate() {
            sum *= alphabet.len() as u128;
            if known {
                let symbol = key.get(position).copied();
                sum += alphabet.iter().filter(|&&below| below < symbol).count() as u128;
                known = alphabet.contains(&symbol);
            }
        }
        u64::try_from(sum).unwrap_or(u64::MAX)
    }
}

/// Asserts that every implementation of the map gives the rule's numbers.
fn assert_by_rule<K: AsRef<[u8]>>(map: &KeyMap, rule: &Rule, probes: &[K]) {
    for probe in probes {
        let probe = probe.as_ref();
        let numbers = (map.number(probe), map.number_portable(probe));
        let right = rule.number(probe);
        assert_eq!(numbers, (right, right), "{probe:02x?} under {map:?}");
    }
}

/// Strings that begin like stored keys, with other bytes, lengths and tails.
fn near(random: &mut SplitMix64, keys: &[Vec<u8>], count: usize) -> Vec<Vec<u8>> {
    let change = |_| {
        let mut probe = random.choose(keys).cloned().unwrap_or_default();
        let at = random.below(probe.len() as u64 + 1) as usize;
        match random.below(5) {
            0 => probe.truncate(at),
            1 => probe.extend(random.bytes(at % 7 + 1, 256)),
            2 => probe.splice(at.., random.bytes(3, 256)).for_each(drop),
            _ => {
                if let Some(byte) = probe.get_mut(at) {
                    *byte = byte.wrapping_add([1, 0xff, 0x80, 9][at % 4]);
                }
            }
        }
        probe
    };
    (0..count).map(change).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_keys_follow_the_rule(
        keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..12),
        mut probes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..22), 0..200),
    ) {
        let (map, rule) = (map_of(&keys), Rule::of(&keys));
        probes.extend(keys);
        assert_by_rule(&map, &rule, &probes);
    }
}

#[test]
fn every_small_set_of_keys_follows_the_rule() {
    let stored = all_strings(&[0x00, b'm', 0xff], 3);
    let probes = all_strings(&[0x00, 0x01, b'm', 0xff], 4);
    let check = |keys: &[&Vec<u8>]| {
        let map = map_of(keys);
        assert_by_rule(&map, &Rule::of(keys), &probes);
    };
    check(&[]);
    for (i, a) in stored.iter().enumerate() {
        check(&[a]);
        for (j, b) in stored.iter().enumerate().skip(i + 1) {
            check(&[a, b]);
            for c in stored.iter().skip(j + 1).step_by(2) {
                check(&[b, c, a]);
            }
        }
    }
    // Sets of four, some of them with keys of length 4.
    let longer = all_strings(&[0x00, 0xff], 4);
    for (i, a) in longer.iter().enumerate() {
        for b in longer.iter().skip(i + 1) {
            check(&[a, b, &longer[i / 2], &longer[longer.len() - 1 - i / 3]]);
        }
    }
}

#[test]
fn all_distributions_follow_the_rule() {
    let seed = from_env("RHUMB_SEED", 0x7275_6c65);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    for distribution in distributions::all() {
        for count in [1, 2, 9, 100, 1500] {
            let mut keys = distribution.keys(&mut random, count);
            // The rule takes time for the whole length; no string of the other sets is as long.
            keys.retain(|key| key.len() < 600);
            let map = map_of(&keys);
            let rule = Rule::of(&keys);
            assert_by_rule(&map, &rule, &keys);
            assert_by_rule(&map, &rule, &near(&mut random, &keys, 700));
        }
    }
}

/// Keys of up to 44 positions, each of a range or two of bytes: for some, all digits can be
/// numbered at once; others miss the conditions narrowly.
fn keys_of_ranges(random: &mut SplitMix64) -> Vec<Vec<u8>> {
    let widths = [2, 9, 30, 140, 256][random.below(5) as usize];
    let literals = random.below(5);
    let ranges: Vec<[(u64, u64); 2]> = (0..44)
        .map(|_| {
            let mut range = || {
                let varies = random.below(5) >= literals;
                let span = if varies { random.below(widths) } else { 0 };
                (random.below(256 - span), span)
            };
            let one = range();
            let other = range();
            if random.below(3) == 0 {
                [one, other]
            } else {
                [one; 2]
            }
        })
        .collect();
    let depth = random.below(45);
    let shortest = [depth, random.below(depth + 1)][random.below(2) as usize];
    (0..400)
        .map(|_| {
            let len = shortest + random.below(depth - shortest + 1);
            let byte = |at: usize| {
                let (lo, span) = ranges[at][random.below(2) as usize];
                (lo + random.below(span + 1)) as u8
            };
            (0..len as usize).map(byte).collect()
        })
        .collect()
}

#[test]
fn keys_of_ranges_follow_the_rule() {
    let seed = from_env("RHUMB_SEED", 0x7261_6e67);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    for _ in 0..300 * from_env("RHUMB_DEEP", 1) {
        let keys = keys_of_ranges(&mut random);
        let map = map_of(&keys);
        let rule = Rule::of(&keys);
        assert_by_rule(&map, &rule, &near(&mut random, &keys, 400));
        assert_by_rule(&map, &rule, &keys);
    }
}

#[test]
fn all_implementations_number_alike_by_damaged_maps() {
    let seed = from_env("RHUMB_SEED", 0x6861_726d);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let mut opened = 0;
    for _ in 0..400 * from_env("RHUMB_DEEP", 1) {
        let keys = keys_of_ranges(&mut random);
        let mut bytes = map_of(&keys).to_bytes();
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.next_u64() as u8;
        let Ok(map) = KeyMap::from_bytes(&bytes) else {
            continue;
        };
        opened += 1;
        let mut probes = near(&mut random, &keys, 200);
        probes.sort();
        let numbers = probes.iter().map(|probe| map.number(probe));
        assert!(numbers.is_sorted(), "{map:?}");
        for probe in &probes {
            assert_eq!(map.number(probe), map.number_portable(probe), "{map:?}");
        }
    }
    assert!(opened > 40, "only {opened} opened");
}

#[test]
fn a_key_is_truncated_behind_the_greatest_depth_only() {
    let is_truncated = |len: usize| {
        let map: KeyMap = [vec![b'a'; len]].into_iter().collect();
        map.to_bytes()[1] & 1 == 1
    };
    assert!(!is_truncated(65_536) && is_truncated(65_537));
}
