//! Key maps keep the order of every two byte strings, stored or not.

use crate::common::{all_strings, from_env};
use proptest::prelude::*;
use rhumb_index::check::{SplitMix64, distributions, map_of};
use rhumb_index::{KeyMap, KeyMapBuilder};

fn assert_monotone<K: AsRef<[u8]>>(map: &KeyMap, probes: &[K]) {
    for pair in probes.windows(2) {
        let (a, b) = (pair[0].as_ref(), pair[1].as_ref());
        assert!(
            a <= b && map.number(a) <= map.number(b),
            "{a:02x?} {b:02x?} under {map:?}"
        );
    }
}

fn round_trips(map: &KeyMap) {
    assert_eq!(&KeyMap::from_bytes(&map.to_bytes()).unwrap(), map);
}

#[test]
fn all_short_strings_stay_in_order() {
    let probes = all_strings(&[0x00, 0x01, b'm', 0xfe, 0xff], 5);
    let stored = all_strings(&[0x00, 0x01, b'm', 0xff], 4);
    let mut random = SplitMix64::new(3);
    for round in 0..400 {
        let count = 1 + random.below(6) as usize;
        let keys: Vec<_> = (0..count).filter_map(|_| random.choose(&stored)).collect();
        let map = map_of(&keys);
        assert_monotone(&map, &probes);
        if round % 20 == 0 {
            round_trips(&map);
        }
    }
}

#[test]
fn all_distributions_stay_in_order_and_unite() {
    let mut random = SplitMix64::new(11);
    let mut last: Vec<Vec<u8>> = Vec::new();
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut random, 500);
        let both: Vec<_> = keys.iter().chain(&last).collect();
        let (map, other) = (map_of(&keys), map_of(&last));
        let mut union = KeyMapBuilder::new();
        union.absorb(&map);
        union.absorb(&other);
        assert_eq!(union.build(), map_of(&both), "{}", distribution.name);
        let mut probes: Vec<Vec<u8>> = both.iter().map(|key| key.to_vec()).collect();
        for _ in 0..2000 {
            let mut probe = random.choose(&probes).cloned().unwrap_or_default();
            let at = random.below(probe.len() as u64 + 1) as usize;
            probe.truncate(at);
            probe.push(random.next_u64() as u8);
            probes.push(probe);
        }
        probes.sort();
        for map in [map, union.build()] {
            assert_monotone(&map, &probes);
            round_trips(&map);
        }
        last = keys;
    }
}

/// As in a store, tables are flushed with the map of their keys and merged with the union of their
/// maps, in any grouping.
#[test]
fn unions_depend_on_the_keys_alone() {
    let seed = from_env("RHUMB_SEED", 0x756e_696f);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let union = |maps: &[&KeyMap]| {
        let mut builder = KeyMapBuilder::new();
        maps.iter().for_each(|map| builder.absorb(map));
        builder.build()
    };
    for distribution in distributions::all() {
        let mut keys = distribution.keys(&mut random, 400);
        let other = distributions::by_name("uuid").unwrap();
        let odd_ones = random.below(6) as usize;
        keys.extend(other.keys(&mut random, odd_ones));
        let whole = map_of(&keys);
        let mut maps = vec![map_of::<&[u8]>(&[])];
        for _ in 0..12 {
            let len = random.below(40);
            let flushed: Vec<_> = (0..len).filter_map(|_| random.choose(&keys)).collect();
            maps.push(map_of(&flushed));
        }
        // Maps that together cover every key, since the flushes may have missed some.
        maps.extend(keys.chunks(90).map(map_of));
        let all: Vec<&KeyMap> = maps.iter().collect();
        assert_eq!(union(&all), whole, "{}", distribution.name);
        while maps.len() > 1 {
            let a = maps.swap_remove(random.below(maps.len() as u64) as usize);
            let b = maps.swap_remove(random.below(maps.len() as u64) as usize);
            let both = union(&[&a, &b]);
            assert_eq!(both, union(&[&b, &a]), "in either order");
            assert_eq!(
                both,
                union(&[&both, &a]),
                "united with a map it already includes"
            );
            let read = KeyMap::from_bytes(&a.to_bytes()).unwrap();
            assert_eq!(both, union(&[&read, &b]), "read from bytes");
            maps.push(both);
        }
        assert_eq!(maps[0], whole, "{}", distribution.name);
        assert_eq!(maps[0].to_bytes(), whole.to_bytes());
    }
}

#[test]
fn the_plain_mapping_reads_eight_bytes_of_any_key() {
    let plain = KeyMap::eight_bytes();
    assert_eq!(plain.kind(), "identity");
    assert_eq!(plain.number(b"abc"), 0x6162_6300_0000_0000);
    assert_eq!(plain.number(b"abcdefghij"), plain.number(b"abcdefgh"));
    let integers: Vec<_> = (0..200u64).map(|i| (i * i).to_be_bytes()).collect();
    assert!(plain.numbers_like(&map_of(&integers)));
    let mut union = KeyMapBuilder::new();
    union.absorb(&map_of(&integers));
    union.absorb(&plain);
    assert_eq!(union.build(), plain);
    round_trips(&plain);
    let mut random = SplitMix64::new(9);
    for distribution in distributions::all() {
        assert_monotone(&plain, &distribution.keys(&mut random, 300));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_keys_stay_in_order(
        a in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..12),
        b in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..12),
        mut probes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..22), 0..200),
    ) {
        let both: Vec<_> = a.iter().chain(&b).cloned().collect();
        let mut union = KeyMapBuilder::new();
        union.absorb(&map_of(&b));
        union.absorb(&map_of(&a));
        let map = map_of(&both);
        prop_assert_eq!(&union.build(), &map);
        prop_assert_eq!(&KeyMap::from_bytes(&map.to_bytes()).unwrap(), &map);
        probes.extend(both);
        probes.sort();
        assert_monotone(&map, &probes);
    }
}

#[test]
fn eight_bytes_are_the_identity_until_another_length_joins() {
    let integers = map_of(&[7u64.to_be_bytes(), u64::MAX.to_be_bytes()]);
    assert_eq!(integers.kind(), "identity");
    assert_eq!(integers.number(&42u64.to_be_bytes()), 42);
    assert_eq!(integers.number(&[1]), 1 << 56);
    assert_eq!(integers.number(&[0xff; 12]), u64::MAX);
    let others = map_of(&[1u64.to_be_bytes()]);
    assert!(integers.numbers_like(&others) && integers != others);

    let mut union = KeyMapBuilder::new();
    union.absorb(&integers);
    union.absorb(&others);
    assert_eq!(union.build().kind(), "identity");
    union.absorb(&map_of(&["text"]));
    assert_eq!(union.build().kind(), "mixed-radix");
}

#[test]
fn no_key_one_key_and_the_empty_key() {
    let none = map_of::<&[u8]>(&[]);
    let empty = map_of(&[b""]);
    let one = map_of(&[b"one"]);
    for map in [&none, &empty, &one] {
        assert_eq!(map.kind(), "constant");
        round_trips(map);
        assert_monotone(map, &all_strings(b"none\xff", 4));
    }
    assert_ne!(none, empty);
    assert_eq!(one.number(b"one"), 0);
    let mut union = KeyMapBuilder::new();
    union.absorb(&one);
    union.absorb(&none);
    assert_eq!(union.build(), one);
    union.absorb(&empty);
    assert_eq!(union.build(), map_of(&["one", ""]));
}

#[test]
fn prefixes_of_each_other_are_told_apart() {
    let keys: Vec<String> = (0..40).map(|len| "a".repeat(len)).collect();
    let map = map_of(&keys);
    assert!(
        keys.windows(2)
            .all(|pair| map.number(pair[0].as_ref()) < map.number(pair[1].as_ref()))
    );
}

#[test]
fn sixteen_hex_digits_are_hexadecimal_numbers() {
    let digits = b"0123456789abcdef";
    let keys: Vec<[u8; 16]> = digits.iter().map(|&digit| [digit; 16]).collect();
    let map = map_of(&keys);
    for number in [0, 1, 0x0123_4567_89ab_cdef, 1 << 63, u64::MAX] {
        assert_eq!(map.number(format!("{number:016x}").as_bytes()), number);
    }
    // The sum is exactly 2^64 here, one more than fits.
    assert_eq!(map.number(b"g"), u64::MAX);
    round_trips(&map);
}

#[test]
fn decimal_keys_map_like_their_integers() {
    let mut random = SplitMix64::new(5);
    let mut numbers: Vec<u64> = (0..5000).map(|_| random.below(10_000_000_000)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let keys: Vec<String> = numbers
        .iter()
        .map(|number| format!("{number:024}"))
        .collect();
    let map = map_of(&keys);
    for (key, number) in keys.iter().zip(numbers) {
        assert_eq!(map.number(key.as_bytes()), number);
    }
    assert!(map.size_in_bytes() < 600, "{} bytes", map.size_in_bytes());
}

#[test]
fn the_dashes_of_a_uuid_cost_nothing() {
    let keys = distributions::by_name("uuid")
        .unwrap()
        .keys(&mut SplitMix64::new(8), 10_000);
    let map = map_of(&keys);
    let hex = |key: &[u8]| -> u64 {
        let text: String = key
            .iter()
            .filter(|&&b| b != b'-')
            .map(|&b| char::from(b))
            .collect();
        // The version digit is constant: 12 digits before it, the variant digit has 4 values.
        u64::from_str_radix(&text[..12], 16).unwrap()
    };
    assert!(keys.is_sorted_by_key(|key| hex(key)));
    assert!(
        keys.windows(2)
            .all(|pair| map.number(&pair[0]) < map.number(&pair[1]))
    );
}

#[test]
fn keys_of_every_allowed_length_and_beyond() {
    let long: Vec<Vec<u8>> = [65_535, 65_536, 65_537, 70_000]
        .map(|len| vec![7u8; len])
        .into_iter()
        .collect();
    let map = map_of(&long);
    round_trips(&map);
    assert_monotone(&map, &long);
    let mut union = KeyMapBuilder::new();
    long.iter().for_each(|key| union.absorb(&map_of(&[key])));
    assert_eq!(union.build(), map);
}
