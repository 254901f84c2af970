//! The description of a table that the rest of the store uses without opening it.

use super::value_uses::ValueUse;
use crate::entry::{RangeDeletes, Sequence};

/// What the manifest records of a table: enough to open it, and to choose it without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableMeta {
    /// The file number.
    pub number: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// The offset of the first section, which is the end of the blocks.
    pub sections_offset: u64,
    /// The random id that the table's checksums depend on.
    pub table_id: u64,
    /// The number of entries, including deletes.
    pub entries: u64,
    /// The number of entries that are deletes.
    pub deletes: u64,
    /// The number of fragments of range deletes.
    pub range_deletes: u64,
    /// The smallest user key of entries and range deletes.
    pub smallest: Box<[u8]>,
    /// The largest user key of entries and range deletes.
    pub largest: Box<[u8]>,
    /// Whether `largest` is the excluded end of a range delete, and so no key of the table.
    pub largest_excluded: bool,
    /// The smallest sequence of entries and range deletes.
    pub smallest_sequence: Sequence,
    /// The largest sequence of entries and range deletes.
    pub largest_sequence: Sequence,
    /// The number of the key map, within the keyspace.
    pub map_number: u64,
    /// The name of the index kind.
    pub index_kind: String,
    /// The value files that entries point into, ascending.
    pub values: Vec<ValueUse>,
    /// About how many values apart from their keys are older versions, in other tables, of its keys, so that it hides
    /// them. Counted in keyspaces with value files, when the table was written.
    pub hides: u64,
}

/// A range of user keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The first key.
    pub smallest: Box<[u8]>,
    /// The last key, or the excluded end of the range.
    pub largest: Box<[u8]>,
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
            smallest: smallest.into(),
            largest: largest.into(),
            largest_excluded,
        }
    }
}

/// The smallest and the largest of the sequences of `entries`, if there are any, and of range
/// deletes; zeros if there are none.
pub(in crate::table) fn sequences(
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
            (
                b.smallest.into_vec(),
                b.largest.into_vec(),
                b.largest_excluded,
            )
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
