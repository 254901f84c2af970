//! Inputs that the published code cannot handle, and properties of every choice of nodes.

use std::collections::BTreeMap;

use super::*;
use crate::check::updatable::histories;
use crate::check::{Case, SplitMix64, build, check, distributions, fuzz, map_of};
use crate::updatable::{Existing, Updatable};
use crate::{IndexBuilder, IndexSpec, Probe, registry};

const SPECS: [&str; 6] = [
    "lits",
    "lits:choice=model",
    "lits:choice=trie",
    "lits:upkeep=published",
    "lits:choice=model,upkeep=published",
    "lits:choice=trie,upkeep=published",
];

fn empty(text: &str) -> Box<dyn Updatable<[u8]>> {
    registry::in_memory_texts(&text.parse().unwrap()).unwrap()
}

fn form(keys: &[Vec<u8>], text: &str) -> Vec<u8> {
    build(
        &Case::new(keys, &text.parse().unwrap(), 16),
        &map_of(&[b""]),
    )
    .unwrap()
}

#[test]
fn every_choice_and_upkeep_answers_as_a_map_does() {
    for text in SPECS {
        let counts = histories(&|| empty(text), 77, 150, 3000);
        assert_eq!(counts.map(|counts| counts.histories), Ok(150), "{text}");
    }
}

/// Keys of 64 KiB, bytes above 127, embedded NULs, keys that are prefixes of others, no keys.
#[test]
fn any_bytes_of_any_length_are_found() {
    let long = vec![0x61; 1 << 16];
    let mut keys = vec![vec![], vec![0], vec![0, 0], vec![0xff; 9], b"a\0b".to_vec()];
    // More than 255 shared bytes, and more such keys than a leaf holds.
    for i in 0..40u8 {
        keys.push([&long[..300], &[i, 0xff - i]].concat());
        keys.push([&long[..], &[i]].concat());
        keys.push(long[..usize::from(i) * 1638].to_vec());
    }
    keys.sort();
    keys.dedup();
    for text in SPECS {
        let spec: IndexSpec = text.parse().unwrap();
        for count in [0, 1, 2, 16, 17, keys.len()] {
            let case = Case {
                random: 300,
                ..Case::new(&keys[..count], &spec, 7)
            };
            check(&case, 5).unwrap();
            let mut index = empty(text);
            for (key, value) in keys[..count].iter().rev().zip(0..) {
                assert!(index.insert(key, value), "{text}");
            }
            for (key, value) in keys[..count].iter().rev().zip(0..) {
                assert_eq!(index.get(key), Some(value), "{text}");
            }
            assert_eq!(index.get(b"absent"), None);
        }
    }
}

/// Each key is a prefix of the next: separating by single bits or bytes would make a chain of
/// nodes.
#[test]
fn prefixes_of_each_other_make_no_chain() {
    let keys: Vec<Box<[u8]>> = (0..3000).map(|len| vec![b'a'; len].into()).collect();
    for text in SPECS {
        let entries: Vec<_> = keys.iter().cloned().zip(0..).collect();
        let mut index = empty(text);
        index.bulk_load(&entries).unwrap();
        assert!(index.depth().max <= 8, "{text}: {:?}", index.depth());
        let mut index = empty(text);
        for (key, value) in &entries {
            index.put(key, *value, Existing::Keep);
        }
        assert!(index.depth().max <= 24, "{text}: {:?}", index.depth());
    }
}

/// Few keys at a time, many inserted and removed: descending windows, and bursts.
#[test]
fn windows_and_bursts_leave_no_levels_behind() {
    let mut random = SplitMix64::new(5);
    for text in SPECS {
        for live in [40, 300] {
            let mut index = empty(text);
            let (mut deepest, mut largest) = (0, 0);
            let key = |i: u64| format!("{:08}", 99_999_999 - i).into_bytes();
            for i in 0..12_000 {
                index.insert(&key(i), i);
                if i >= live {
                    assert_eq!(index.remove(&key(i - live)), Some(i - live), "{text}");
                }
                if i % 50 == 0 {
                    deepest = deepest.max(index.depth().max);
                    largest = largest.max(index.size_in_bytes());
                }
            }
            for _ in 0..200 {
                let base = random.next_u64();
                let burst = (0..live).map(|i| format!("{base:016x}{i:03}").into_bytes());
                burst.clone().for_each(|key| _ = index.insert(&key, 7));
                deepest = deepest.max(index.depth().max);
                burst.for_each(|key| _ = index.remove(&key));
                largest = largest.max(index.size_in_bytes());
            }
            assert_eq!(index.len() as u64, live, "{text}");
            println!("{text} {live}: {deepest} levels, {largest} bytes");
            assert!(deepest <= 16, "{text} {live}: {deepest} levels");
            let most = 20_000 + 150 * live as usize;
            assert!(largest < most, "{text} {live}: {largest} bytes");
        }
    }
}

/// Groups of keys, each below the prefix that the group before it shares, and a root too large to
/// be rebuilt: each group is put beside the node of the one before it, a level below.
#[test]
fn groups_below_each_other_make_no_chain() {
    let stay: Vec<(Box<[u8]>, u64)> = (0..30_000)
        .map(|i| (format!("z{i:06}").into_bytes().into(), i))
        .collect();
    for text in SPECS {
        for goes in [0, 55, 80] {
            let mut index = empty(text);
            index.bulk_load(&stay).unwrap();
            let mut deepest = 0;
            for group in 0..300 {
                let key = |i: u64| format!("a{:06}x{i:02}", 999_999 - group).into_bytes();
                for i in 0..100 {
                    assert!(index.insert(&key(i), i), "{text}");
                }
                for i in 0..goes {
                    assert_eq!(index.remove(&key(i)), Some(i), "{text}");
                }
                deepest = deepest.max(index.depth().max);
            }
            println!("{text} {goes}: {deepest} levels");
            assert!(deepest <= 54, "{text} {goes}: {deepest} levels");
            assert_eq!(index.len() as u64, 30_000 + 300 * (100 - goes), "{text}");
            assert_eq!(index.get(b"a999800x90"), Some(90));
        }
    }
}

/// Removed long keys leave nothing behind in leaves, prefixes and partings.
#[test]
fn long_keys_leave_no_bytes_behind() {
    for text in SPECS {
        for groups in [1, 200] {
            let mut index = empty(text);
            let (mut long, mut short) = (Vec::new(), Vec::new());
            for group in 0..groups {
                for i in 0..6 {
                    short.push(format!("{group:05}M{i}"));
                }
                for end in ["a", "b"] {
                    long.push([format!("{group:05}"), "L".repeat(4096), end.into()].concat());
                }
            }
            for key in short.iter().chain(&long) {
                assert!(index.insert(key.as_bytes(), 1), "{text}");
            }
            for key in &long {
                assert_eq!(index.remove(key.as_bytes()), Some(1), "{text}");
            }
            // A due rebuild happens with the next change.
            assert_eq!(index.remove(b"absent"), None);
            let size = index.size_in_bytes();
            let most = 20_000 + 4 * 64 * short.len();
            assert!(size < most, "{text} {groups}: {size} bytes");
            let found = |key: &String| index.get(key.as_bytes()) == Some(1);
            assert!(short.iter().all(found), "{text}");
        }
    }
}

/// A form of nested tries of one child each, with a leaf of one key at the end.
fn chain(tries: u32) -> Vec<u8> {
    let mut form = form(&[b"key".to_vec()], "lits");
    let leaf = form.split_off(form.len() - LEAF_OF_ONE);
    for i in 1..=tries {
        form.push(254);
        // First and last rank, an empty prefix, one child.
        for field in [0, 1, 0, 1, i * 21] {
            form.extend(u32::to_le_bytes(field));
        }
    }
    form.extend(leaf);
    form
}

/// Bytes of a leaf with one key of three bytes: count, rank, the prefix with its length, head and
/// end of the tail.
const LEAF_OF_ONE: usize = 5 + 4 + 8 + 4;

#[test]
fn a_look_up_reads_at_most_64_nodes() {
    for (tries, found) in [(0, 1), (1, 1), (63, 1), (64, 0), (10_000, 0)] {
        let index = registry::open(chain(tries)).unwrap();
        let window = index.locate(Probe {
            key: b"key",
            number: 0,
        });
        let expected = crate::Window { lo: 0, hi: found };
        assert_eq!(window, crate::Position::Window(expected), "{tries}");
    }
}

#[test]
fn sorted_and_reversed_inserts_leave_a_shallow_and_small_index() {
    let mut random = SplitMix64::new(4);
    for name in ["uuid", "words", "paths", "decimal-24"] {
        let keys = distributions::by_name(name)
            .unwrap()
            .keys(&mut random, 30_000);
        let entries: Vec<(Box<[u8]>, u64)> = keys
            .iter()
            .map(|key| key.as_slice().into())
            .zip(0..)
            .collect();
        for text in &SPECS[..3] {
            let mut loaded = empty(text);
            loaded.bulk_load(&entries).unwrap();
            let reversed: Vec<_> = entries.iter().rev().cloned().collect();
            for order in [&entries, &reversed] {
                let mut index = empty(text);
                for (key, value) in order {
                    index.put(key, *value, Existing::Keep);
                }
                let (depth, size) = (index.depth(), index.size_in_bytes());
                assert!(depth.max <= 16, "{name} {text}: {depth:?}");
                assert!(size < 2 * loaded.size_in_bytes(), "{name} {text}: {size}");
                for (key, _) in order.iter().take(order.len() - 10) {
                    index.remove(key);
                }
                assert!(index.size_in_bytes() < size / 4, "{name} {text}");
                assert_eq!(index.len(), 10);
            }
        }
    }
}

/// Keys outside the prefix of a node, and more of them than a trie has children, in every order.
#[test]
fn tries_grow_below_above_and_within_shared_prefixes() {
    let key = |i: u64| [b"some/long/directory/", &(i * i).to_be_bytes()[..]].concat();
    let within: Vec<(Box<[u8]>, u64)> = (0..600).map(|i| (key(i).into(), i)).collect();
    for text in SPECS {
        for stem in [
            "below/all/of/them/",
            "some/long/directory/",
            "the/next/one/",
        ] {
            for order in [1u64, 2999, 1301] {
                let mut index = empty(text);
                index.bulk_load(&within).unwrap();
                let mut map: BTreeMap<Box<[u8]>, u64> = within.iter().cloned().collect();
                for i in 0..3000u64 {
                    let number = i * order % 3000;
                    let key = [stem.as_bytes(), &(number << 20 | 1).to_be_bytes()].concat();
                    let key: Box<[u8]> = key.into();
                    assert_eq!(index.upsert(&key, number), map.insert(key, number));
                }
                let found = index.range(&[], std::ops::Bound::Unbounded);
                assert!(found.into_iter().eq(map.clone()), "{text} {stem} {order}");
                assert!(
                    map.iter()
                        .all(|(key, value)| index.get(key) == Some(*value))
                );
                assert!(index.depth().max <= 12, "{text}: {:?}", index.depth());
                for key in map.keys() {
                    assert!(index.remove(key).is_some(), "{text} {stem} {order}");
                }
                assert_eq!(index.len(), 0);
            }
        }
    }
}

#[test]
fn models_and_tries_are_both_built_where_they_are_chosen() {
    let keys = distributions::by_name("uuid")
        .unwrap()
        .keys(&mut SplitMix64::new(6), 20_000);
    let root = |text: &str| {
        let bytes = form(&keys, text);
        let index = form::Form::open((&bytes).into()).unwrap();
        index.root_kind()
    };
    assert_eq!(root("lits:choice=trie"), Some(254));
    assert_eq!(root("lits:choice=model"), Some(255));
    let fixed = form(&keys, "lits:choice=model");
    assert_eq!(form(&keys, "lits:choice=model"), fixed);
}

/// The shared tests damage small forms; here forms of several levels are damaged.
#[test]
fn damaged_forms_of_several_levels_are_refused_or_clamped() {
    let mut random = SplitMix64::new(9);
    let mut opened = 0;
    for name in ["paths", "words", "prefixes-of-each-other", "random-lengths"] {
        let keys = distributions::by_name(name)
            .unwrap()
            .keys(&mut random, 1500);
        for text in &SPECS[..3] {
            let sound = form(&keys, text);
            for round in 0..1500 {
                let mut bytes = sound.clone();
                for _ in 0..=round % 3 {
                    let at = random.below(bytes.len() as u64) as usize;
                    // Half of the damage where nodes and their headers are.
                    let at = if round % 2 == 0 {
                        bytes.len() - 1 - at / 3
                    } else {
                        at
                    };
                    bytes[at] = random.next_u64() as u8;
                }
                if let Ok(index) = registry::open(bytes) {
                    opened += 1;
                    for _ in 0..20 {
                        let key = random.choose(&keys).unwrap();
                        fuzz::answers_within(&*index, key, 0);
                    }
                }
            }
        }
    }
    assert!(opened > 6000, "{opened}");
}

#[test]
fn a_present_key_has_a_window_of_one_rank() {
    let keys = distributions::by_name("urls")
        .unwrap()
        .keys(&mut SplitMix64::new(8), 5000);
    for text in &SPECS[..3] {
        let index = registry::open(form(&keys, text)).unwrap();
        assert_eq!(
            (index.extent(), index.widest_window()),
            (keys.len() as u64, 1)
        );
        for (rank, key) in (0..).zip(&keys) {
            let found = index.locate(Probe { key, number: 0 });
            let expected = crate::Window {
                lo: rank,
                hi: rank + 1,
            };
            assert_eq!(found, crate::Position::Window(expected));
            let absent = [key, [0].as_slice()].concat();
            let found = index.locate(Probe {
                key: &absent,
                number: 0,
            });
            let expected = crate::Window {
                lo: rank + 1,
                hi: rank + 1,
            };
            assert_eq!(found, crate::Position::Window(expected), "{absent:?}");
        }
    }
    let mut unsorted = LitsBuilder::new(Choice::Trie);
    unsorted.push(b"b", 0).unwrap();
    assert!(unsorted.push(b"a", 0).is_err());
}

#[test]
fn keys_put_in_order_leave_full_leaves() {
    for text in ["lits:choice=trie", "lits:choice=trie,upkeep=published"] {
        let mut index = empty(text);
        for key in 0..15_000u64 {
            index.insert(format!("{:012}", key * 7).as_bytes(), key);
        }
        let bytes = index.size_in_bytes() / index.len();
        assert!(bytes < 40, "{text}: {bytes} bytes a key");
    }
}
