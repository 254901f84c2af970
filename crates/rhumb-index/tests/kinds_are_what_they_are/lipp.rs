//! `lipp`: the slots for a number of keys, and the rules for rebuilding nodes.

use crate::{form, keys, loaded, number};

/// Slots of the root of a form.
fn root_slots(bytes: &[u8]) -> u64 {
    let class = number::<1>(bytes, 24);
    match class {
        ..16 => class,
        _ => (8 + class % 8) << (class / 8 - 1),
    }
}

/// Two slots a key from a million keys on, three for fewer keys, rounded up by at most a seventh.
#[test]
fn large_nodes_have_fewer_slots_a_key() {
    for (keys, slots) in [(1_000, 3), (99_999, 3), (999_999, 3), (1_000_000, 2)] {
        let found = root_slots(&form("lipp", &keys::even(keys, 1 << 40)));
        assert!(
            (slots * keys..=slots * keys * 8 / 7).contains(&found),
            "{keys}: {found}"
        );
    }
}

/// The mean and the greatest depth after a bulk load, which show how many keys the model with the
/// fewest conflicts leaves in shared slots. Exact for a seed.
#[test]
fn the_model_with_the_fewest_conflicts_gives_these_depths() {
    let sets = [
        keys::uniform(200_000),
        keys::heavy_tailed(200_000),
        keys::clustered(200_000, 300),
        keys::with_late_outliers(200_000),
    ];
    let depths = sets.map(|numbers| {
        let depth = loaded("lipp", &numbers).depth();
        (
            depth.max,
            (depth.mean * numbers.len() as f64).round() as u64,
        )
    });
    let expected = [(3, 254_356), (5, 374_309), (6, 468_990), (3, 253_994)];
    assert_eq!(depths, expected);
}

/// The numbers of the insertions after which the greatest depth is lower than before. All new keys
/// fall into one slot of a node built for 100 keys.
fn rebuilt_at(spec: &str, inserts: u64) -> Vec<u64> {
    let mut index = loaded(spec, &keys::even(100, 1 << 40));
    let mut before = index.depth().max;
    let mut at = Vec::new();
    for i in 1..=inserts {
        index.insert(&((50 << 40) + i * 1_000), i);
        let depth = index.depth().max;
        if depth < before {
            at.push(i);
        }
        before = depth;
    }
    at
}

/// With published upkeep, a node is rebuilt at 64 keys and at four times the keys it was built
/// with. The child at the slot has 64 keys after 63 insertions, since the slot held one key before,
/// and 256 after 255; the root has 400 after 300. In between, children at one slot of that child
/// reach 64 keys one after another.
#[test]
fn published_upkeep_rebuilds_at_64_keys_and_at_four_times_the_keys() {
    let at = rebuilt_at("lipp:upkeep=published", 300);
    assert_eq!(at, [63, 125, 187, 249, 255, 300]);
}

/// With bounded upkeep, a node is also rebuilt when as many new keys went below it as it was built
/// with, or when half as many were outside the model's range.
#[test]
fn bounded_upkeep_also_rebuilds_for_keys_below() {
    let at = rebuilt_at("lipp", 200);
    assert_eq!(
        at,
        [
            5, 10, 23, 29, 34, 37, 78, 83, 95, 100, 104, 110, 124, 130, 135, 138, 179, 184, 196,
            200
        ]
    );
}
