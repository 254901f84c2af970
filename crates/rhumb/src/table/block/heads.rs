//! The first keys of the groups of a block, of which the first 16 bytes are compared as numbers.

use std::ops::Range;

use rhumb_index::search::first_sixteen;

use super::BlockView;

impl BlockView<'_> {
    /// The first 16 bytes of the first key of a group, without the block prefix, as a number padded with zeros.
    #[inline]
    pub(super) fn head_start(&self, group: usize) -> u128 {
        let layout = self.layout;
        let at = layout.keys() + layout.key_offset(self.raw, group);
        let len = layout.suffix.get(self.raw, group << layout.group_shift);
        start_of_key(self.raw, at, len)
    }
}

/// Where the first keys of groups lie, if their offsets take two bytes and their lengths one, as nearly always.
pub(super) struct NarrowHeads<'a> {
    raw: &'a [u8],
    keys: usize,
    offsets: &'a [[u8; 2]],
    lengths: &'a [u8],
    group_shift: u8,
}

impl<'a> NarrowHeads<'a> {
    #[inline]
    pub fn of(view: &BlockView<'a>) -> Option<Self> {
        let (raw, layout) = (view.raw, view.layout);
        Some(NarrowHeads {
            raw,
            keys: layout.keys(),
            offsets: layout.narrow_key_offsets(raw)?,
            lengths: layout.suffix.bytes(raw, 0..view.count())?,
            group_shift: layout.group_shift,
        })
    }

    /// As [`BlockView::head_start`].
    #[inline(always)]
    pub fn start(&self, group: usize) -> u128 {
        let offset = self.offsets.get(group).copied().unwrap_or_default();
        let len = self.lengths.get(group << self.group_shift);
        let at = self.keys + usize::from(u16::from_le_bytes(offset));
        start_of_key(self.raw, at, len.copied().unwrap_or(0).into())
    }
}

/// The first 16 bytes of a key that starts at `at` and has `len` bytes, as a number padded with zeros.
#[inline(always)]
fn start_of_key(raw: &[u8], at: usize, len: usize) -> u128 {
    match raw.get(at..).and_then(|bytes| bytes.first_chunk()) {
        // What follows the key is masked out.
        Some(bytes) => match len {
            0 => 0,
            1..16 => u128::from_be_bytes(*bytes) & (u128::MAX << (8 * (16 - len))),
            _ => u128::from_be_bytes(*bytes),
        },
        None => {
            let end = at + len.min(16);
            first_sixteen(raw.get(at..end).unwrap_or_default())
        }
    }
}

/// Of ascending groups, given the first 16 bytes of their first keys, those that begin with the same ones as a key, whose are
/// `start`.
#[inline(always)]
pub(super) fn groups_among(
    groups: Range<usize>,
    start: u128,
    start_of: impl Fn(usize) -> u128,
) -> Range<usize> {
    let (mut below, mut not_above) = (groups.start, groups.start);
    for group in groups {
        let head = start_of(group);
        below += usize::from(head < start);
        not_above += usize::from(head <= start);
    }
    below..not_above
}
