//! Where the columns of a block lie, and the proof that they do.

use super::super::bits::{unpack, word};
use super::super::damage::Damage;
use super::{HEADER_BYTES, flag};
use crate::entry::EntryKind;

/// A column of lengths: stored, or one for all entries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths {
    start: usize,
    /// Bytes of a stored length; 0 if they are all `alike`.
    width: usize,
    alike: usize,
}

impl Lengths {
    #[inline]
    pub fn get(&self, raw: &[u8], i: usize) -> usize {
        match self.width {
            0 => self.alike,
            1 => raw.get(self.start + i).copied().unwrap_or(0).into(),
            2 => u16::from_le_bytes(word(raw, self.start + 2 * i)).into(),
            _ => u32::from_le_bytes(word(raw, self.start + 4 * i)) as usize,
        }
    }

    /// The sum over the entries `from..to`, of one group.
    #[inline]
    pub fn sum(&self, raw: &[u8], from: usize, to: usize) -> usize {
        match self.width {
            0 => (to - from) * self.alike,
            1 => raw
                .get(self.start + from..self.start + to)
                .unwrap_or_default()
                .iter()
                .map(|b| usize::from(*b))
                .sum(),
            _ => (from..to).map(|i| self.get(raw, i)).sum(),
        }
    }
}

/// Where the columns of a raw block lie: in bytes from its start.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::table) struct BlockLayout {
    pub(super) count: usize,
    /// Low and high of the slot hint.
    pub(super) hint: (i16, i16),
    pub(super) continues: bool,
    pub(super) group_shift: u32,
    pub(super) prefix_end: usize,
    pub(super) shared: Lengths,
    pub(super) suffix: Lengths,
    pub(super) value: Lengths,
    /// The kind of all entries, or where the kinds are.
    pub(super) kind_alike: Option<EntryKind>,
    pub(super) kinds: usize,
    pub(super) sequence_base: u64,
    pub(super) sequence_width: u32,
    pub(super) sequences: usize,
    pub(super) offset_width: usize,
    pub(super) key_offsets: usize,
    pub(super) value_offsets: usize,
    pub(super) keys: usize,
    pub(super) values: usize,
    /// Whether suffixes stand in a row of equal lengths and share nothing.
    pub(super) fixed_keys: bool,
    pub(super) fixed_values: bool,
}

/// Hands out columns one behind the other. Whether they end where the block does is asked once, at
/// the end: this runs for every get. No sum overflows, since counts have 16 bits and lengths 32.
struct Columns {
    at: u64,
}

impl Columns {
    #[inline]
    fn take(&mut self, bytes: u64) -> usize {
        let start = self.at;
        self.at += bytes;
        start as usize
    }

    /// A column of lengths. `field` is where the header keeps the one of all entries.
    #[inline]
    fn lengths(
        &mut self,
        header: &[u8; HEADER_BYTES],
        alike: bool,
        code: u8,
        field: usize,
    ) -> Result<Lengths, Damage> {
        let all = u32::from_le_bytes(word(header, field));
        if alike {
            let all = all as usize;
            return Ok(Lengths {
                start: 0,
                width: 0,
                alike: all,
            });
        }
        if all != 0 {
            return Err(Damage::new(field, "zero in a reserved field", all));
        }
        let count = u16::from_le_bytes(word(header, 2));
        self.stored_lengths(count.into(), code)
    }

    fn stored_lengths(&mut self, count: usize, code: u8) -> Result<Lengths, Damage> {
        let width = match code & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return Err(Damage::new(6, "lengths of 1, 2 or 4 bytes", code)),
        };
        let start = self.take((count * width) as u64);
        Ok(Lengths {
            start,
            width,
            alike: 0,
        })
    }
}

impl BlockLayout {
    /// Finds the columns of a raw block. Takes time independent of the number of entries.
    ///
    /// # Errors
    /// Where the header cannot be that of this many bytes. What the columns hold is another matter:
    /// [`BlockLayout::check`].
    #[inline]
    pub fn parse(raw: &[u8]) -> Result<BlockLayout, Damage> {
        // As an array of known length, so that no field of it needs a check of its own.
        let Some(header) = raw.first_chunk::<HEADER_BYTES>() else {
            let found = format!("{} bytes", raw.len());
            return Err(Damage::new(0, "a block header", found));
        };
        let [flags, sequence_width, ..] = word::<8>(header, 0);
        let [codes, kind] = word::<2>(header, 6);
        let is = |bit: u8| flags & bit != 0;
        if is(flag::PREVIOUS_RELATIVE) {
            return Err(Damage::unsupported(
                "blocks with keys relative to the previous",
            ));
        }
        let count = usize::from(u16::from_le_bytes(word(header, 2)));
        let equal =
            flag::NO_SHARING | flag::SUFFIXES_ALIKE | flag::VALUES_ALIKE | flag::KINDS_ALIKE;
        if count == 0 && flags != equal {
            return Err(Damage::new(
                0,
                format!("flags {equal:#04x} of no entry"),
                flags,
            ));
        }
        let plain = [sequence_width, codes, kind] == [0, 0, EntryKind::Put as u8];
        if count == 0 && !(plain && word::<16>(raw, 8) == [0; 16]) {
            return Err(Damage::new(1, "the header of no entry", "others"));
        }
        if sequence_width > 64 {
            return Err(Damage::new(1, "sequences of 0 to 64 bits", sequence_width));
        }
        let mut layout = BlockLayout {
            count,
            hint: (
                i16::from_le_bytes(word(header, 24)),
                i16::from_le_bytes(word(header, 26)),
            ),
            continues: is(flag::CONTINUES),
            group_shift: if is(flag::GROUPS_OF_8) { 3 } else { 4 },
            kind_alike: parse_kind(kind, is(flag::KINDS_ALIKE))?,
            sequence_base: u64::from_le_bytes(word(header, 8)),
            sequence_width: u32::from(sequence_width),
            offset_width: if is(flag::WIDE_OFFSETS) { 4 } else { 2 },
            fixed_keys: is(flag::NO_SHARING) && is(flag::SUFFIXES_ALIKE),
            fixed_values: is(flag::VALUES_ALIKE),
            ..BlockLayout::default()
        };
        if codes >> 6 != 0 {
            return Err(Damage::new(6, "zero in reserved bits", codes));
        }
        let mut columns = Columns {
            at: HEADER_BYTES as u64,
        };
        columns.take(u16::from_le_bytes(word(header, 4)).into());
        layout.prefix_end = columns.at as usize;
        if !is(flag::NO_SHARING) {
            layout.shared = columns.stored_lengths(count, codes)?;
        }
        layout.suffix = columns.lengths(header, is(flag::SUFFIXES_ALIKE), codes >> 2, 16)?;
        layout.value = columns.lengths(header, layout.fixed_values, codes >> 4, 20)?;
        layout.take_rest(raw, &mut columns);
        if columns.at != raw.len() as u64 {
            let expected = format!("a block of {} bytes, as its header says", columns.at);
            return Err(Damage::new(0, expected, format!("{} bytes", raw.len())));
        }
        Ok(layout)
    }

    #[inline]
    fn take_rest(&mut self, raw: &[u8], columns: &mut Columns) {
        let count = self.count as u64;
        if self.kind_alike.is_none() {
            self.kinds = columns.take(count);
        }
        let sequence_bits = count * u64::from(self.sequence_width);
        self.sequences = columns.take(sequence_bits.div_ceil(8));
        let offsets = (self.groups() * self.offset_width) as u64;
        if !self.fixed_keys {
            self.key_offsets = columns.take(offsets);
        }
        if !self.fixed_values {
            self.value_offsets = columns.take(offsets);
        }
        let key_bytes = match self.fixed_keys {
            true => count * self.suffix.alike as u64,
            false => self.end_of_groups(raw, self.key_offsets, &self.suffix),
        };
        self.keys = columns.take(key_bytes);
        let value_bytes = match self.fixed_values {
            true => count * self.value.alike as u64,
            false => self.end_of_groups(raw, self.value_offsets, &self.value),
        };
        self.values = columns.take(value_bytes);
    }

    /// Where the last group ends: its offset and its lengths.
    fn end_of_groups(&self, raw: &[u8], offsets: usize, lengths: &Lengths) -> u64 {
        let last = self.groups() - 1;
        let start = self.offset(raw, offsets, last) as u64;
        start + lengths.sum(raw, last << self.group_shift, self.count) as u64
    }

    /// Within which distance of where the model expects it the slot of each key is; `None` if the
    /// block does not say.
    #[inline]
    pub fn slot_hint(&self) -> Option<(i32, i32)> {
        let (low, high) = self.hint;
        (low <= high).then_some((low.into(), high.into()))
    }

    /// Where the keys start, if they are of one length and stand in a row, and that length; else 0.
    pub fn row(&self) -> (usize, usize) {
        match self.fixed_keys {
            true => (self.keys, self.suffix.alike),
            false => (0, 0),
        }
    }

    pub(super) fn groups(&self) -> usize {
        self.count.div_ceil(1 << self.group_shift)
    }

    /// The group offset at `group` of the column that starts at `column`.
    #[inline]
    pub(super) fn offset(&self, raw: &[u8], column: usize, group: usize) -> usize {
        match self.offset_width {
            2 => u16::from_le_bytes(word(raw, column + 2 * group)).into(),
            _ => u32::from_le_bytes(word(raw, column + 4 * group)) as usize,
        }
    }

    /// Checks that every entry lies inside its columns, so that views can read it without asking
    /// again. Takes time linear in the number of entries.
    ///
    /// # Errors
    /// The first entry that does not, or whose kind this build does not know.
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
        Ok(())
    }

    fn check_sequences(&self, raw: &[u8]) -> Result<(), Damage> {
        let largest = match self.sequence_width {
            0 => 0,
            width => u64::MAX >> (64 - width.min(64)),
        };
        if self.sequence_base.checked_add(largest).is_some() {
            return Ok(());
        }
        let column = raw.get(self.sequences..).unwrap_or_default();
        for i in 0..self.count {
            let stored = unpack(column, i as u64, self.sequence_width);
            if self.sequence_base.checked_add(stored).is_none() {
                let found = format!("{} + {stored}", self.sequence_base);
                return Err(Damage::new(self.sequences, "a sequence of 64 bits", found));
            }
        }
        Ok(())
    }

    fn check_kinds(&self, raw: &[u8]) -> Result<(), Damage> {
        if self.kind_alike.is_some() {
            return Ok(());
        }
        let kinds = raw.get(self.kinds..).unwrap_or_default().iter();
        for kind in kinds.take(self.count) {
            parse_kind(*kind, true)?;
        }
        Ok(())
    }

    fn check_groups(&self, raw: &[u8], offsets: usize, lengths: &Lengths) -> Result<(), Damage> {
        let mut at = 0;
        for group in 0..self.groups() {
            let found = self.offset(raw, offsets, group);
            if found != at {
                let here = offsets + group * self.offset_width;
                return Err(Damage::new(here, format!("group offset {at}"), found));
            }
            let first = group << self.group_shift;
            at += lengths.sum(raw, first, self.count.min(first + (1 << self.group_shift)));
        }
        Ok(())
    }

    fn check_shared(&self, raw: &[u8]) -> Result<(), Damage> {
        let mut head = 0;
        for i in 0..self.count {
            if i & ((1 << self.group_shift) - 1) == 0 {
                head = 0;
            }
            let shared = self.shared.get(raw, i);
            if shared > head {
                let expected = format!("a shared length of at most {head}");
                return Err(Damage::new(self.shared.start, expected, shared));
            }
            if i & ((1 << self.group_shift) - 1) == 0 {
                head = self.suffix.get(raw, i);
            }
        }
        Ok(())
    }
}

/// The kind of all entries, if they are alike.
fn parse_kind(byte: u8, alike: bool) -> Result<Option<EntryKind>, Damage> {
    if !alike {
        return match byte {
            0 => Ok(None),
            _ => Err(Damage::new(7, "zero in a reserved field", byte)),
        };
    }
    match EntryKind::from_byte(byte) {
        Some(kind) => Ok(Some(kind)),
        None => Err(Damage::unsupported(format!("entries of kind {byte}"))),
    }
}
