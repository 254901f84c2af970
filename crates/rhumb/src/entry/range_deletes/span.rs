//! A key's neighbourhood in which all keys are deleted alike.

use crate::entry::Sequence;

/// The newest range delete over a key, and keys around it of which that is true as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<'a> {
    /// The first of these keys.
    pub from: &'a [u8],
    /// The first one behind them; `None` if there is no end.
    pub to: Option<&'a [u8]>,
    /// The newest visible range delete over them; 0 if there is none.
    pub sequence: Sequence,
}

impl<'a> Span<'a> {
    /// Nothing is deleted.
    pub const NOTHING: Span<'static> = Span {
        from: &[],
        to: None,
        sequence: 0,
    };

    /// Where both are true: the keys of both, and the newer range delete.
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

/// The place of `key` among `ranges`, which ascend and do not overlap: the range that holds it, or
/// else the gap as a span. `ends` gives a range's first key and the first one behind it.
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
