//! `dili`: a root with as many parts as the bottom-up costs find pieces, leaves of two slots a key, and the rules
//! by which leaves are adjusted.

use crate::{count, form, keys, loaded, number};

/// Exact counts for a seed, of cells, nodes and parts of the root; and the sum of the depths of all keys, alone
/// in memory. The parts are one more than the pieces that cost least by the published constants, between one for 200
/// and one for 16 keys.
#[test]
fn the_tree_is_what_costs_least_from_the_bottom_up() {
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

/// The insertions after which keys cost less on average than before, with all keys in one slot of a leaf for
/// 100 keys.
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

/// Published: where a key costs twice as much as when the leaf was built. Bounded: also where there are three times
/// as many. The rules themselves are tested beside them; these are their effects together.
#[test]
fn leaves_are_adjusted_where_costs_double_or_keys_triple() {
    assert_eq!(
        adjusted_at("dili:upkeep=published", 150),
        [39, 67, 103, 142]
    );
    assert_eq!(adjusted_at("dili", 200), [26, 65, 80, 146, 185, 200]);
}
