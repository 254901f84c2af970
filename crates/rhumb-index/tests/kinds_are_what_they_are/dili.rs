//! `dili`: the number of parts of the root, which follows from the bottom-up costs, leaves of two
//! slots a key, and the rules for adjusting leaves.

use crate::{count, form, keys, loaded, number};

/// Exact counts for a seed: the cells, the nodes and the parts of the root, and the greatest depth
/// and the sum of the depths of all keys in the updatable index. The root has one part more than
/// the number of pieces that costs least by the published constants, tried from one piece for 200
/// keys to one for 16.
#[test]
fn the_root_has_the_parts_with_the_least_bottom_up_cost() {
    let sets = [
        keys::even(100_000, 9),
        keys::uniform(200_000),
        keys::heavy_tailed(200_000),
        keys::clustered(200_000, 300),
        keys::with_late_outliers(200_000),
    ];
    let trees = sets.map(|numbers| {
        let bytes = form("dili", &numbers);
        let (cells, nodes) = (count(&bytes, 16), count(&bytes, 20));
        let last = number::<4>(&bytes, 24 + 12 * cells + 20);
        assert_eq!(last >> 31, 1, "the root is an internal node");
        let depth = loaded("dili", &numbers).depth();
        let sum = (depth.mean * numbers.len() as f64).round() as u64;
        (cells, nodes, (last & 0x7fff_ffff) + 1, depth.max, sum)
    });
    let expected = [
        (139_880, 502, 501, 2, 200_000),
        (377_299, 1_655, 1_649, 4, 475_749),
        (323_805, 1_997, 1_306, 5, 479_192),
        (409_696, 4_420, 2_195, 5, 674_978),
        (377_449, 1_680, 1_650, 5, 478_728),
    ];
    assert_eq!(trees, expected);
}

/// The numbers of the insertions after which the average cost of a key is lower than before. All
/// new keys fall into one slot of a leaf built for 100 keys.
fn adjusted_at(spec: &str, inserts: u64) -> Vec<u64> {
    let mut index = loaded(spec, &keys::even(100, 1 << 40));
    let mut before = index.depth().mean;
    let mut at = Vec::new();
    for i in 1..=inserts {
        index.insert(&((50 << 40) + i * 1_000), i);
        let depth = index.depth().mean;
        if depth < before - 0.02 {
            at.push(i);
        }
        before = depth;
    }
    at
}

/// With published upkeep, a leaf is adjusted when a key costs twice as much on average as when it
/// was built; with bounded upkeep, also when it has three times as many keys. The rules are tested
/// singly in `dili/upkeep.rs`; this tests their combined effect.
#[test]
fn leaves_are_adjusted_where_costs_double_or_keys_triple() {
    assert_eq!(
        adjusted_at("dili:upkeep=published", 150),
        [39, 67, 103, 142]
    );
    assert_eq!(adjusted_at("dili", 200), [26, 65, 80, 146, 185, 200]);
}
