//! The description of a table that the rest of the store uses without opening it.

use crate::entry::{RangeDeletes, Sequence};

/// A finished table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableSummary {
    /// Number of its file.
    pub number: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Where its blocks end and its sections start.
    pub sections_offset: u64,
    /// Random id, mixed into its checksums.
    pub table_id: u64,
    /// Entries, deletes among them.
    pub entries: u64,
    /// Entries that are deletes.
    pub deletes: u64,
    /// Fragments of range deletes.
    pub range_deletes: u64,
    /// What user keys it can hold or delete.
    pub bounds: Bounds,
    /// The least sequence of an entry or range delete.
    pub smallest_sequence: Sequence,
    /// The greatest sequence of an entry or range delete.
    pub largest_sequence: Sequence,
    /// Number of its key map.
    pub map_number: u64,
    /// The index kind that was built.
    pub index_kind: String,
    /// Why the wanted kind was not built; empty if it was.
    pub index_fallback: String,
}

/// A range of user keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The first key.
    pub smallest: Vec<u8>,
    /// The last key, or the excluded end of the range.
    pub largest: Vec<u8>,
    /// Whether `largest` is excluded: it is then the end of a range delete.
    pub largest_excluded: bool,
}

impl Bounds {
    /// The bounds of range deletes and of entries, whose first and last key are given if there are
    /// any.
    pub fn of(keys: Option<(&[u8], &[u8])>, range_deletes: &RangeDeletes) -> Bounds {
        let ranges = range_deletes
            .smallest_start()
            .zip(range_deletes.largest_end());
        let (smallest, largest, largest_excluded) = match (keys, ranges) {
            (None, None) => (&[][..], &[][..], false),
            (Some((first, last)), None) => (first, last, false),
            (None, Some((start, end))) => (start, end, true),
            (Some((first, last)), Some((start, end))) => {
                (first.min(start), last.max(end), end > last)
            }
        };
        Bounds {
            smallest: smallest.to_vec(),
            largest: largest.to_vec(),
            largest_excluded,
        }
    }
}

/// The smallest and the largest of the sequences of `entries`, if there are any, and of range
/// deletes; zeros if there are none.
pub(super) fn sequences(
    entries: Option<(Sequence, Sequence)>,
    range_deletes: &RangeDeletes,
) -> (Sequence, Sequence) {
    let ranges = range_deletes
        .fragments()
        .iter()
        .flat_map(|f| f.sequences.iter().copied());
    let all = || {
        ranges
            .clone()
            .chain(entries.into_iter().flat_map(|(a, b)| [a, b]))
    };
    (all().min().unwrap_or(0), all().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_include_range_deletes() {
        let mut ranges = RangeDeletes::default();
        let keys = Some((&b"c"[..], &b"m"[..]));
        let bounds = |keys, ranges: &RangeDeletes| {
            let b = Bounds::of(keys, ranges);
            (b.smallest, b.largest, b.largest_excluded)
        };
        assert_eq!(bounds(keys, &ranges), (b"c".to_vec(), b"m".to_vec(), false));
        ranges.insert(b"d", b"m", 9);
        assert_eq!(bounds(keys, &ranges), (b"c".to_vec(), b"m".to_vec(), false));
        assert_eq!(bounds(None, &ranges), (b"d".to_vec(), b"m".to_vec(), true));
        ranges.insert(b"a", b"z", 4);
        assert_eq!(bounds(keys, &ranges), (b"a".to_vec(), b"z".to_vec(), true));
        assert_eq!(sequences(Some((5, 7)), &ranges), (4, 9));
        assert_eq!(sequences(None, &RangeDeletes::default()), (0, 0));
    }
}
