//! `lipp`: slots by the number of keys, and the rules by which nodes are built anew.

use crate::{form, keys, loaded, number};

/// Slots of the root of a form.
fn root_slots(bytes: &[u8]) -> u64 {
    let class = number::<1>(bytes, 24);
    match class {
        ..16 => class,
        _ => (8 + class % 8) << (class / 8 - 1),
    }
}

/// Two slots a key from a million keys on, three below, rounded up by a seventh at most.
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

/// Mean and greatest depth of what is loaded: what the model of the fewest conflicts leaves together. Exact
/// for a seed.
#[test]
fn the_model_of_the_fewest_conflicts_leaves_so_many_keys_below() {
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

/// The insertions after which the deepest key stands less deep than before, with all keys in one slot of a
/// node for 100 keys.
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

/// Published: at 64 keys, and at four times as many as built. The node of the slot has 64 keys after 63
/// insertions, as one was there, and 256 after 255; the root has 400 after 300. In between the nodes
/// of one of its slots get 64 keys each.
#[test]
fn published_upkeep_builds_anew_at_64_keys_and_at_four_times_the_keys() {
    let at = rebuilt_at("lipp:upkeep=published", 300);
    assert_eq!(at, [63, 125, 187, 249, 255, 300]);
}

/// Bounded: also where as many keys came below a node as it was built with, or half as many outside.
#[test]
fn bounded_upkeep_builds_anew_where_as_many_came_below() {
    let at = rebuilt_at("lipp", 200);
    assert_eq!(
        at,
        [
            5, 10, 23, 29, 34, 37, 78, 83, 95, 100, 104, 110, 124, 130, 135, 138, 179, 184, 196,
            200
        ]
    );
}
