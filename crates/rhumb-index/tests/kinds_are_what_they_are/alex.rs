//! `alex`: node densities are 0.7 when loaded, at most 0.8, and 0.6 after growth; nodes are chosen
//! by the published costs.

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
