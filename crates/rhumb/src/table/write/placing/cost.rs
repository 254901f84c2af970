//! Chooses how many entries share a cell, and the position boundary of the model.

/// The intended size of a block, in bytes.
pub(in crate::table) const TARGET_BYTES: u64 = 4096;
/// Bits of a segment of a linear model.
const SEGMENT_BITS: u64 = 160;
/// The boundaries to choose from; their windows need a whole number of bits.
const BOUNDARIES: [u64; 6] = [8, 16, 32, 64, 128, 256];

/// The entries a cell for user keys that take `key_bytes` with their values, so that cells are
/// close to the target.
pub(super) fn entries_per_cell(key_bytes: u64) -> u32 {
    let n = (TARGET_BYTES + key_bytes / 2) / key_bytes.max(1);
    n.clamp(1, u16::MAX.into()) as u32
}

/// The boundary for which a model over uniform keys and its directory take the fewest bits.
///
/// A larger boundary allows longer segments: their length grows with about three times the square
/// of the error, up to the `most_keys` that may wait for a segment to close. But it also lets first
/// ranks deviate further from their line, and the directory spends as many bits on each block as
/// the largest deviation needs.
pub(super) fn boundary(entries_per_cell: u32, most_keys: u64) -> u64 {
    let milli_bits_per_key = |boundary: u64| {
        let error = (boundary - 2) / 2;
        let directory = u64::from((2 * error).ilog2() + 1) * 1000 / u64::from(entries_per_cell);
        directory + SEGMENT_BITS * 1000 / (3 * error * error).min(most_keys.max(1))
    };
    let best = BOUNDARIES
        .into_iter()
        .min_by_key(|b| milli_bits_per_key(*b));
    best.unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_entries_get_loose_models_and_large_entries_exact_ones() {
        let chosen = |key_bytes: u64| {
            let n = entries_per_cell(key_bytes);
            (n, boundary(n, (1 << 20) / key_bytes))
        };
        assert_eq!(chosen(8), (512, 256));
        assert_eq!(chosen(72), (57, 128));
        assert_eq!(chosen(256), (16, 64));
        assert_eq!(chosen(1024), (4, 32));
        assert_eq!(chosen(4000), (1, 16));
        assert_eq!(chosen(1 << 30).0, 1);
    }
}
