//! Where the columns of a block lie, and the checks that they do.

mod lengths;
mod pointers;

use self::lengths::Lengths;
use self::pointers::has_pointers;
use super::header::{Header, check_header, parse_kind};
use super::{BlockView, FENCE_KEY_BYTES, Fence, HEADER_BYTES, NO_HINT, WITH_FENCE_KEYS, flag};
use crate::entry::{EntryKind, Sequence};
use crate::table::form::bits::{unpack, word};
use crate::table::form::damage::Damage;
use crate::table::form::units::UnitShape;

/// Where the columns of a raw block lie, in bytes from its start. Small, since every get makes one;
/// only values may lie after the first 4 GiB of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::table) struct BlockLayout {
    pub(super) sequence_base: u64,
    prefix_end: u32,
    pub(super) kinds: u32,
    sequences: u32,
    key_offsets: u32,
    value_offsets: u32,
    keys: u32,
    values: u32,
    pub(super) shared: Lengths,
    pub(super) suffix: Lengths,
    pub(super) value: Lengths,
    count: u16,
    /// The smallest and the largest distance from the expected slot of a key to its own.
    pub(super) hint: (i16, i16),
    /// The kind of all entries, if it is the same.
    pub(super) kind_alike: Option<EntryKind>,
    sequence_width: u8,
    pub(super) group_shift: u8,
    offset_width: u8,
    pub(super) continues: bool,
    /// Whether keys share nothing after the block prefix and have equal lengths.
    pub(super) fixed_keys: bool,
    pub(super) fixed_values: bool,
    /// Whether the block ends with fence keys.
    pub has_fence_keys: bool,
}

/// Assigns columns one after the other. Sums do not overflow: counts have 16 bits and lengths 32.
struct Columns {
    at: u64,
}

impl Columns {
    #[inline]
    fn take(&mut self, bytes: u64) -> u32 {
        // A start beyond 32 bits is truncated here; `parse` detects that at the end.
        let start = self.at as u32;
        self.at += bytes;
        start
    }

    /// A column of lengths, or the length `all` if they are equal.
    #[inline]
    fn lengths(&mut self, count: u16, alike: bool, all: u32, code: u8) -> Lengths {
        if alike {
            return Lengths::all(all);
        }
        let width = 1 << (code & 3);
        Lengths::stored(self.take(u64::from(count) * u64::from(width)), width)
    }
}

impl BlockLayout {
    /// Finds the columns of a raw block. Takes time independent of the number of entries.
    ///
    /// If the header does not fit a block of this many bytes. The contents of the columns are not
    /// checked here, but by [`BlockLayout::check`].
    pub fn parse(raw: &[u8]) -> Result<BlockLayout, Damage> {
        let Some(header) = raw.first_chunk::<HEADER_BYTES>() else {
            let found = format!("{} bytes", raw.len());
            return Err(Damage::new(0, "a block header", found));
        };
        check_header(header)?;
        let (layout, values, mut end) = Self::lay_out::<false>(raw);
        if has_pointers(raw) {
            end += layout.parse_pointers(raw, end)?;
        }
        end += layout.fence_bytes();
        if layout.count == 0 {
            layout.check_empty(raw)?;
        }
        if end != raw.len() as u64 {
            let expected = format!("a block of {end} bytes, as its header says");
            return Err(Damage::new(0, expected, format!("{} bytes", raw.len())));
        }
        if values > u64::from(u32::MAX) {
            let expected = "values that start in the first 4 GiB of the block";
            return Err(Damage::new(0, expected, format!("at {values}")));
        }
        Ok(layout)
    }

    /// Checks that a block without entries, which has no key to share bytes with, knows of no fence keys.
    fn check_empty(&self, raw: &[u8]) -> Result<(), Damage> {
        match BlockView::new(raw, self).fences() == [Fence::UNKNOWN; 2] {
            true => Ok(()),
            false => {
                let at = raw.len().saturating_sub(FENCE_KEY_BYTES);
                let expected = "no fence keys in a block without entries";
                Err(Damage::new(at, expected, "some"))
            }
        }
    }

    /// The columns of a raw block that [`BlockLayout::parse`] has accepted before; for other bytes,
    /// arbitrary columns. Every get calls this, so no check is repeated.
    #[inline]
    pub fn of_sound(raw: &[u8]) -> BlockLayout {
        Self::lay_out::<true>(raw).0
    }

    /// The columns of a unit of `len` bytes without its checksum.
    #[inline]
    pub fn of_unit(shape: UnitShape, len: usize) -> BlockLayout {
        let count = len as u64 / shape.entry_bytes().max(1);
        // The directory keeps units below 4 GiB and 65,536 entries.
        let keys = count as u32 * u32::from(shape.width);
        BlockLayout {
            count: count as u16,
            hint: NO_HINT,
            group_shift: 4,
            kind_alike: Some(EntryKind::Put),
            sequence_width: 8 * shape.width,
            fixed_keys: true,
            fixed_values: true,
            prefix_end: HEADER_BYTES as u32,
            suffix: Lengths::all(shape.key),
            value: Lengths::all(shape.value),
            keys,
            values: keys + count as u32 * shape.key,
            ..BlockLayout::default()
        }
    }

    /// The layout of a block of a table that was given a sequence, which is added to those in the block.
    #[inline(always)]
    pub fn above(mut self, sequence: Sequence) -> BlockLayout {
        // The sum of sound sequences is far below 2^64.
        self.sequence_base = self.sequence_base.wrapping_add(sequence);
        self
    }

    /// The columns, where the values start, and where the block ends, according to the header. Of a `SOUND` block, whose length is
    /// right, the values may be found from the end.
    #[inline(always)]
    fn lay_out<const SOUND: bool>(raw: &[u8]) -> (BlockLayout, u64, u64) {
        let header = raw.first_chunk::<HEADER_BYTES>();
        let header = Header(header.unwrap_or(&[0; HEADER_BYTES]));
        let (count, codes) = (header.count(), header.codes());
        let is = |bit: u8| header.has(bit);
        let mut columns = Columns {
            at: HEADER_BYTES as u64,
        };
        columns.take(header.prefix_len().into());
        let mut layout = BlockLayout {
            count,
            hint: header.hint(),
            continues: is(flag::CONTINUES),
            group_shift: if is(flag::GROUPS_OF_8) { 3 } else { 4 },
            kind_alike: match is(flag::KINDS_ALIKE) {
                true => EntryKind::from_byte(header.kind()),
                false => None,
            },
            sequence_base: header.sequence_base(),
            sequence_width: header.sequence_width(),
            offset_width: if is(flag::WIDE_OFFSETS) { 4 } else { 2 },
            fixed_keys: is(flag::NO_SHARING) && is(flag::SUFFIXES_ALIKE),
            fixed_values: is(flag::VALUES_ALIKE),
            has_fence_keys: codes & WITH_FENCE_KEYS != 0,
            prefix_end: columns.at as u32,
            // With `NO_SHARING` all shared lengths are 0.
            shared: columns.lengths(count, is(flag::NO_SHARING), 0, codes),
            suffix: columns.lengths(
                count,
                is(flag::SUFFIXES_ALIKE),
                header.suffix_len(),
                codes >> 2,
            ),
            value: columns.lengths(
                count,
                is(flag::VALUES_ALIKE),
                header.value_len(),
                codes >> 4,
            ),
            ..BlockLayout::default()
        };
        let values = layout.take_rest::<SOUND>(raw, &mut columns);
        (layout, values, columns.at)
    }

    /// Assigns the columns after the lengths; returns where the values, the last one, start.
    #[inline]
    fn take_rest<const SOUND: bool>(&mut self, raw: &[u8], columns: &mut Columns) -> u64 {
        let count = u64::from(self.count);
        if self.kind_alike.is_none() {
            self.kinds = columns.take(count);
        }
        let sequence_bits = count * u64::from(self.sequence_width);
        self.sequences = columns.take(sequence_bits.div_ceil(8));
        let offsets = self.groups() as u64 * u64::from(self.offset_width);
        if !self.fixed_keys {
            self.key_offsets = columns.take(offsets);
        }
        if !self.fixed_values {
            self.value_offsets = columns.take(offsets);
        }
        let key_bytes = match self.fixed_keys {
            true => count * self.suffix.alike() as u64,
            false => {
                let values = self.values_from_end(raw).filter(|_| SOUND);
                match values.and_then(|values| values.checked_sub(columns.at)) {
                    Some(key_bytes) => key_bytes,
                    None => self.end_of_groups(raw, self.key_offsets, &self.suffix),
                }
            }
        };
        self.keys = columns.take(key_bytes);
        let value_bytes = match self.fixed_values {
            true => count * self.value.alike() as u64,
            false => self.end_of_groups(raw, self.value_offsets, &self.value),
        };
        let values = columns.at;
        self.values = columns.take(value_bytes);
        values
    }

    /// Where values of one length start in a block of the right length, unless pointers follow them. That spares a get the sum of the
    /// lengths of the last group's keys.
    #[inline(always)]
    fn values_from_end(&self, raw: &[u8]) -> Option<u64> {
        if !self.fixed_values || has_pointers(raw) {
            return None;
        }
        let bytes = u64::from(self.count) * self.value.alike() as u64;
        (raw.len() as u64).checked_sub(bytes + self.fence_bytes())
    }

    /// The bytes of the fence keys at the end of the block.
    #[inline]
    fn fence_bytes(&self) -> u64 {
        match self.has_fence_keys {
            true => FENCE_KEY_BYTES as u64,
            false => 0,
        }
    }

    /// Where the last group ends: its offset plus the sum of its lengths.
    fn end_of_groups(&self, raw: &[u8], offsets: u32, lengths: &Lengths) -> u64 {
        let last = self.groups().saturating_sub(1);
        let start = self.offset(raw, offsets, last) as u64;
        start + lengths.sum(raw, last << self.group_shift, self.count()) as u64
    }

    /// The number of entries in the block.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.into()
    }

    /// Where the block prefix ends, in bytes.
    #[inline]
    pub(super) fn prefix_end(&self) -> usize {
        self.prefix_end as usize
    }

    /// Where the keys, without the block prefix, start: what tells where each of them is lies before.
    #[inline]
    pub fn keys(&self) -> usize {
        self.keys as usize
    }

    /// Where the values start.
    #[inline]
    pub fn values(&self) -> usize {
        self.values as usize
    }

    /// As [`slot_hint`] of the block's hint.
    #[inline]
    pub fn slot_hint(&self) -> Option<(i32, i32)> {
        slot_hint(self.hint)
    }

    /// Where the keys start and their length, if they have equal lengths and share nothing; else
    /// zeros.
    pub fn row(&self) -> (usize, usize) {
        match self.fixed_keys {
            true => (self.keys(), self.suffix.alike()),
            false => (0, 0),
        }
    }

    /// The length of all values, if it is the same.
    pub fn value_len(&self) -> Option<usize> {
        self.fixed_values.then(|| self.value.alike())
    }

    pub(super) fn groups(&self) -> usize {
        self.count().div_ceil(1 << self.group_shift)
    }

    /// The offset of a group in the column of group offsets that starts at `column`.
    #[inline]
    fn offset(&self, raw: &[u8], column: u32, group: usize) -> usize {
        let column = column as usize;
        match self.offset_width {
            2 => u16::from_le_bytes(word(raw, column + 2 * group)).into(),
            _ => u32::from_le_bytes(word(raw, column + 4 * group)) as usize,
        }
    }

    /// Where each group of keys starts, relative to the first key, if that takes two bytes each.
    #[inline]
    pub(super) fn narrow_key_offsets<'r>(&self, raw: &'r [u8]) -> Option<&'r [[u8; 2]]> {
        let at = self.key_offsets as usize;
        let column = raw.get(at..at + 2 * self.groups())?;
        (self.offset_width == 2).then_some(column.as_chunks().0)
    }

    /// Where a group of keys starts, relative to the first key.
    #[inline]
    pub(super) fn key_offset(&self, raw: &[u8], group: usize) -> usize {
        self.offset(raw, self.key_offsets, group)
    }

    /// Where a group of values starts, relative to the first value.
    #[inline]
    pub(super) fn value_offset(&self, raw: &[u8], group: usize) -> usize {
        self.offset(raw, self.value_offsets, group)
    }

    /// The sequence at `slot`.
    #[inline]
    pub(super) fn sequence(&self, raw: &[u8], slot: usize) -> u64 {
        let column = raw.get(self.sequences as usize..).unwrap_or_default();
        let stored = unpack(column, slot as u64, self.sequence_width.into());
        self.sequence_base.wrapping_add(stored)
    }

    /// The sequence of all entries, if the block says that it is the same: then no two have the same key, as the check of their
    /// order has made sure.
    #[inline]
    pub(super) fn only_sequence(&self) -> Option<u64> {
        (self.sequence_width == 0).then_some(self.sequence_base)
    }

    /// The largest sequence that an entry of the block can have.
    pub(super) fn largest_sequence(&self) -> u64 {
        let most = u64::MAX.checked_shr(64u32.saturating_sub(self.sequence_width.into()));
        self.sequence_base.saturating_add(most.unwrap_or(0))
    }

    /// The kind at `slot`.
    #[inline]
    pub(super) fn kind(&self, raw: &[u8], slot: usize) -> EntryKind {
        let stored = || raw.get(self.kinds as usize + slot).copied();
        let kind = self.kind_alike;
        kind.or_else(|| stored().and_then(EntryKind::from_byte))
            .unwrap_or(EntryKind::Delete)
    }

    /// Checks that every entry lies inside its columns, so that views can read it without checks.
    /// Takes time linear in the number of entries.
    ///
    /// # Errors
    /// The first entry that lies outside, or whose kind this build does not know.
    pub fn check(&self, raw: &[u8]) -> Result<(), Damage> {
        self.check_kinds(raw)?;
        self.check_sequences(raw)?;
        if !self.fixed_keys {
            self.check_groups(raw, self.key_offsets, &self.suffix)?;
            self.check_shared(raw)?;
        }
        if !self.fixed_values {
            self.check_groups(raw, self.value_offsets, &self.value)?;
        }
        self.check_pointers(raw)
    }

    fn check_sequences(&self, raw: &[u8]) -> Result<(), Damage> {
        let largest = match self.sequence_width {
            0 => 0,
            width => u64::MAX >> (64 - u32::from(width).min(64)),
        };
        if self.sequence_base.checked_add(largest).is_some() {
            return Ok(());
        }
        let start = self.sequences as usize;
        let column = raw.get(start..).unwrap_or_default();
        for i in 0..self.count() {
            let stored = unpack(column, i as u64, self.sequence_width.into());
            if self.sequence_base.checked_add(stored).is_none() {
                let found = format!("{} + {stored}", self.sequence_base);
                return Err(Damage::new(start, "a sequence of 64 bits", found));
            }
        }
        Ok(())
    }

    fn check_kinds(&self, raw: &[u8]) -> Result<(), Damage> {
        if self.kind_alike.is_some() {
            return Ok(());
        }
        let kinds = raw.get(self.kinds as usize..).unwrap_or_default().iter();
        for kind in kinds.take(self.count()) {
            parse_kind(*kind, true)?;
        }
        Ok(())
    }

    fn check_groups(&self, raw: &[u8], offsets: u32, lengths: &Lengths) -> Result<(), Damage> {
        let mut at = 0;
        for group in 0..self.groups() {
            let found = self.offset(raw, offsets, group);
            if found != at {
                let here = offsets as usize + group * usize::from(self.offset_width);
                return Err(Damage::new(here, format!("group offset {at}"), found));
            }
            let first = group << self.group_shift;
            at += lengths.sum(
                raw,
                first,
                self.count().min(first + (1 << self.group_shift)),
            );
        }
        Ok(())
    }

    fn check_shared(&self, raw: &[u8]) -> Result<(), Damage> {
        let mut head = 0;
        for i in 0..self.count() {
            if i & ((1 << self.group_shift) - 1) == 0 {
                head = 0;
            }
            let shared = self.shared.get(raw, i);
            if shared > head {
                let expected = format!("a shared length of at most {head}");
                return Err(Damage::new(self.shared.start(), expected, shared));
            }
            if i & ((1 << self.group_shift) - 1) == 0 {
                head = self.suffix.get(raw, i);
            }
        }
        Ok(())
    }
}

/// The range of distances from the slot that the model expects for a key to the key's own slot;
/// `None` if the hint is that of a block that does not record it.
#[inline]
pub(super) fn slot_hint((low, high): (i16, i16)) -> Option<(i32, i32)> {
    (low <= high).then_some((low.into(), high.into()))
}
