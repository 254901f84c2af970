//! `btree`: leaves of 16 keys and inner nodes of 32 children, full after a bulk load; in tables, a
//! static tree with 16 keys a node.

use crate::{form, keys, loaded};

#[test]
fn another_level_follows_16_times_a_power_of_32_keys() {
    for (levels, keys) in [
        (1, 16),
        (2, 16 * 32),
        (3, 16 * 32 * 32),
        (4, 16 * 32 * 32 * 32),
    ] {
        let depth = |count| loaded("btree", &keys::even(count, 3)).depth().max;
        assert_eq!(
            (depth(keys), depth(keys + 1)),
            (levels, levels + 1),
            "{keys}"
        );
    }
}

/// A leaf has 256 bytes for 16 keys and values, like a node of the published baseline.
#[test]
fn a_leaf_takes_256_bytes() {
    let size = |count| loaded("btree", &keys::even(count, 3)).size_in_bytes();
    // Twice as many leaves and inner nodes; the room for future nodes is at most 1 MiB.
    let (half, whole) = (size(1 << 18), size(1 << 19));
    let leaves = (1 << 18) / 16;
    let (inner, count) = (32 * (8 + 4), leaves / 32 + leaves / 1024 + leaves / 32_768);
    let more = leaves * (256 + 2) + count * (inner + 2);
    let off = (whole - half).abs_diff(more);
    assert!(off < 2 << 20, "{} {more}", whole - half);
}

#[test]
fn a_table_holds_all_numbers_and_one_of_16_on_each_level_above() {
    for count in [1u64, 16, 17, 256, 257, 5_000, 70_000] {
        let (mut numbers, mut level) = (count, count);
        while level > 16 {
            level = level.div_ceil(16);
            numbers += level;
        }
        let bytes = form("btree", &keys::even(count, 3));
        assert_eq!(bytes.len() as u64, 24 + 8 * numbers, "{count}");
    }
}
