//! Ranges of keys with the same newest range delete.

use crate::entry::Sequence;

/// A range of keys that all have the same newest visible range delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<'a> {
    /// The first key.
    pub from: &'a [u8],
    /// The end of the range, excluded; `None` if it is unbounded.
    pub to: Option<&'a [u8]>,
    /// The sequence of the newest visible range delete over the keys; 0 if there is none.
    pub sequence: Sequence,
}

impl<'a> Span<'a> {
    /// All keys, none of them deleted.
    pub const NOTHING: Span<'static> = Span {
        from: &[],
        to: None,
        sequence: 0,
    };

    /// The sequence of the newest visible range delete, if there is one.
    pub fn covering(self) -> Option<Sequence> {
        (self.sequence > 0).then_some(self.sequence)
    }

    /// The keys of both spans, with the newer of their range deletes.
    pub fn and(self, other: Span<'a>) -> Span<'a> {
        Span {
            from: self.from.max(other.from),
            to: match (self.to, other.to) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            sequence: self.sequence.max(other.sequence),
        }
    }
}

/// The range that holds `key` among `ranges`, which ascend and do not overlap; if there is none,
/// the gap around `key` as a span. `ends` returns a range's start and its excluded end.
pub(super) fn place<'a, T>(
    ranges: &'a [T],
    key: &[u8],
    ends: impl Fn(&T) -> (&[u8], &[u8]),
) -> Result<&'a T, Span<'a>> {
    let at = ranges.partition_point(|range| ends(range).1 <= key);
    let next = ranges.get(at);
    if let Some(range) = next
        && ends(range).0 <= key
    {
        return Ok(range);
    }
    let before = at.checked_sub(1).and_then(|before| ranges.get(before));
    Err(Span {
        from: before.map_or(&[], |range| ends(range).1),
        to: next.map(|range| ends(range).0),
        sequence: 0,
    })
}
