//! `alex`: node densities are 0.7 when loaded, at most 0.8, and 0.6 after growth; nodes are chosen
//! by the published costs, and rebuilt when insertions into them cost too much.

use crate::{count, form, keys, loaded};

/// There is one data node. New keys are spread over all of it, so no insertion is costly.
#[test]
fn data_nodes_are_loaded_to_70_percent_filled_to_80_and_grown_to_60() {
    let mut index = loaded("alex", &keys::even(7_000, 1 << 20));
    let mut grown = vec![(7_000, index.size_in_bytes())];
    for i in 0..7_000u64 {
        index.insert(&(((i * 3_001 % 7_000) << 20) + 7), i);
        let size = index.size_in_bytes();
        if grown.last().is_some_and(|last| last.1 != size) {
            grown.push((index.len(), size));
        }
    }
    // 7,000 keys get 7,000 / 0.7 slots, which are full with 8,000 entries. These get 8,000 / 0.6
    // slots, rounded up to a multiple of 4, which are full with 10,668 entries.
    let lens: Vec<usize> = grown.iter().map(|(len, _)| *len).collect();
    assert_eq!(lens, [7_000, 8_001, 10_669]);
    for ((len, size), slots) in grown.iter().zip([10_000.0, 13_336.0, 17_780.0]) {
        // Each slot has a key, a value and a bit.
        let bytes = *size as f64 / slots;
        assert!((16.125..16.2).contains(&bytes), "{len}: {bytes}");
    }
}

/// A data node of 70,000 keys in 100,000 slots is full with 80,000. If all new keys fall between two
/// of its neighbours, it gets a new line or is split long before, each time that insertions have
/// cost too much on average (section 4.3.2). Exact counts: the numbers of
/// the insertions after which the size or the greatest depth is another one.
#[test]
fn a_node_is_rebuilt_when_insertions_cost_too_much() {
    let mut index = loaded("alex", &keys::even(70_000, 1 << 40));
    let mut before = (index.size_in_bytes(), index.depth().max);
    let mut rebuilt = Vec::new();
    for i in 1..=9_000 {
        index.insert(&((35_000 << 40) + 1 + i * 3_001 % (1 << 16) * 1_000), i);
        let now = (index.size_in_bytes(), index.depth().max);
        if now != before {
            rebuilt.push(i);
        }
        before = now;
    }
    let expected = [
        1_312, 1_496, 1_504, 2_005, 2_011, 2_678, 2_687, 3_571, 3_584, 4_755, 4_770, 6_331, 6_365,
        8_446, 8_498,
    ];
    assert_eq!(rebuilt, expected);
}

/// The inner nodes, data nodes, places for children and slots that the published costs give for
/// each distribution. Exact counts for a seed. Without the costs there would be one data node, or
/// one for each place.
#[test]
fn costs_divide_entries_among_nodes() {
    let sets = [
        keys::even(7_000, 9),
        keys::uniform(200_000),
        keys::heavy_tailed(200_000),
        keys::clustered(200_000, 300),
        keys::with_late_outliers(200_000),
    ];
    let nodes = sets.map(|numbers| {
        let bytes = form("alex", &numbers);
        let parts = [16, 20, 24, 28].map(|at| count(&bytes, at));
        let density = numbers.len() as f64 / parts[3] as f64;
        assert!((0.68..0.703).contains(&density), "{density}");
        (parts, loaded("alex", &numbers).depth().max)
    });
    let expected = [
        ([0, 1, 0, 9_999], 1),
        ([0, 1, 0, 285_145], 1),
        ([10, 5_362, 24_798, 258_778], 5),
        ([5, 405, 16_885, 284_777], 3),
        ([1, 3, 3, 285_181], 2),
    ];
    assert_eq!(nodes, expected);
}
