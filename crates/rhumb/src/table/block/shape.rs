//! The quantities that determine a block's size.

use super::pointers::PointerShape;
use super::sharing::Sharing;
use super::{EntryEnd, FRAME_BYTES, GROUP_ENTRIES, NewEntry, Puts};
use crate::entry::{EntryKind, Pointer, Sequence};
use crate::table::form::bits::{packed_bytes, width_of};

/// The way in which the keys of a block are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// All suffixes have this length and share only the block prefix.
    Fixed(usize),
    /// Suffixes have different lengths and share only the block prefix.
    Whole,
    /// Suffixes omit what they share with the first key of their group.
    Shared,
}

/// What a put takes at most besides its key and its value: three lengths of four bytes, a sequence of eight, and, since there
/// are few of them, two offsets of four bytes a group.
const MOST_OVERHEAD_BYTES: usize = 3 * 4 + 8 + 2 * 4;

/// Sums and extremes over the entries of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    pub count: usize,
    /// If set, the block prefix has at most this length, and keys of equal length are stored whole
    /// after it whatever else they share, so that all blocks of a table take the same number of
    /// bytes an entry.
    pub even: Option<usize>,
    /// What the keys of the first entries share, as far as they were measured.
    pub sharing: Sharing,
    /// How many bytes all keys share, when that was last determined.
    pub common: usize,
    key_bytes: usize,
    key_min: usize,
    key_max: usize,
    puts: usize,
    put_bytes: usize,
    put_min: usize,
    put_max: usize,
    pub pointers: PointerShape,
    pub kind: Option<EntryKind>,
    pub kinds_alike: bool,
    pub sequence_min: Sequence,
    sequence_max: Sequence,
}

/// The bytes and the code (docs/format.md, block header, offset 6) of a stored length.
pub(super) fn length_width(largest: usize) -> (usize, u8) {
    match largest {
        0..=0xff => (1, 0),
        0x100..=0xffff => (2, 1),
        _ => (4, 2),
    }
}

impl Shape {
    /// The shape of a block without entries; see [`Shape::even`].
    pub fn without_entries(even: Option<usize>) -> Shape {
        Shape {
            even,
            ..Shape::default()
        }
    }

    /// Counts an entry, but not what its key shares: [`Sharing::add`] has to follow.
    #[inline]
    pub fn add(&mut self, entry: &NewEntry<'_>) {
        let size = (entry.key.len(), entry.value.len());
        self.add_alike(1, entry.kind, size, (entry.sequence, entry.sequence));
    }

    /// Counts puts, as [`Shape::add`] does each of them.
    pub fn add_puts(&mut self, puts: &Puts<'_>) {
        let Some(sequences) = puts.sequence_range() else {
            return;
        };
        if let Some(size) = puts.sizes() {
            return self.add_alike(puts.len(), EntryKind::Put, size, sequences);
        }
        let (mut keys, mut values) = ((usize::MAX, 0), (usize::MAX, 0));
        let mut before = EntryEnd::default();
        for end in puts.ends_from(before) {
            let (key, value) = (end.key - before.key, end.value - before.value);
            keys = (key.min(keys.0), key.max(keys.1));
            values = (value.min(values.0), value.max(values.1));
            before = end;
        }
        // One is counted as if it had the shortest key and the shortest value, then what the others have beyond that.
        self.add_alike(1, EntryKind::Put, (keys.0, values.0), sequences);
        self.key_max = self.key_max.max(keys.1);
        self.put_max = self.put_max.max(values.1);
        self.count += puts.len() - 1;
        self.puts += puts.len() - 1;
        self.key_bytes += before.key - keys.0;
        self.put_bytes += before.value - values.0;
    }

    /// Counts entries of one kind, whose keys and values have these lengths, with sequences from the first to the second.
    #[inline(always)]
    fn add_alike(
        &mut self,
        count: usize,
        kind: EntryKind,
        (key, value): (usize, usize),
        (low, high): (Sequence, Sequence),
    ) {
        if self.count == 0 {
            self.kind = Some(kind);
            self.kinds_alike = true;
            (self.sequence_min, self.sequence_max) = (low, high);
            (self.key_min, self.put_min) = (key, usize::MAX);
        }
        self.count += count;
        self.key_bytes += count * key;
        self.key_min = self.key_min.min(key);
        self.key_max = self.key_max.max(key);
        if kind == EntryKind::Put {
            self.puts += count;
            self.put_bytes += count * value;
            self.put_min = self.put_min.min(value);
            self.put_max = self.put_max.max(value);
        }
        self.kinds_alike &= self.kind == Some(kind);
        self.sequence_min = self.sequence_min.min(low);
        self.sequence_max = self.sequence_max.max(high);
    }

    /// Counts the pointer of the entry counted last; `new_file` states that it is the first one into its file.
    pub fn add_pointer(&mut self, pointer: Pointer, new_file: bool) {
        self.pointers.add(pointer, new_file);
    }

    /// Whether all entries are puts.
    pub fn has_only_puts(&self) -> bool {
        self.puts == self.count
    }

    /// The length of all keys, if they have one.
    pub fn key_size(&self) -> Option<usize> {
        (self.key_min == self.key_max).then_some(self.key_max)
    }

    /// The length of the block prefix.
    pub fn prefix(&self) -> usize {
        let most = self.even.unwrap_or(super::MAX_PREFIX_BYTES);
        self.common.min(most)
    }

    /// Whether keys are stored in full behind the block prefix, whatever else they share.
    pub fn has_fixed_keys(&self) -> bool {
        self.even.is_some() && self.key_min == self.key_max
    }

    /// The same entries in the most compact form.
    pub fn uneven(&self) -> Shape {
        Shape {
            even: None,
            ..*self
        }
    }

    /// The number of bytes that each entry takes, if it is the same for all.
    pub fn stride(&self) -> Option<usize> {
        let plain = self.kinds_alike && self.sequence_width() == 0 && self.pointers.count == 0;
        match (self.key_form(), self.value_form()) {
            (KeyForm::Fixed(suffix), Some(value)) if plain => Some(suffix + value),
            _ => None,
        }
    }

    fn groups(&self) -> usize {
        self.count.div_ceil(GROUP_ENTRIES)
    }

    /// The number of groups that need the number of pointers before them; `None` if all entries are pointers.
    pub fn ranked_groups(&self) -> Option<usize> {
        (!self.kinds_alike).then(|| self.groups())
    }

    /// Key bytes in the form without sharing.
    fn whole_key_bytes(&self) -> usize {
        self.key_bytes - self.count * self.prefix()
    }

    /// Key bytes in the form with sharing.
    fn shared_key_bytes(&self) -> usize {
        self.key_bytes - self.sharing.heads() * self.prefix() - self.sharing.shared_bytes
    }

    /// The largest shared length behind the block prefix.
    pub fn shared_largest(&self) -> usize {
        self.sharing.shared_max.saturating_sub(self.prefix())
    }

    /// The largest suffix length.
    pub fn suffix_largest(&self, form: KeyForm) -> usize {
        match form {
            KeyForm::Shared => self.sharing.suffix_max(self.prefix()),
            _ => self.key_max - self.prefix(),
        }
    }

    /// The largest value length.
    pub fn value_largest(&self) -> usize {
        self.put_max
    }

    /// The way in which the keys are stored. Keys of equal length in a row are faster to search, so
    /// they may take 1/32 more bytes than sharing.
    pub fn key_form(&self) -> KeyForm {
        if self.has_fixed_keys() {
            return KeyForm::Fixed(self.key_max - self.prefix());
        }
        let suffix_max = self.sharing.suffix_max(self.prefix());
        let lengths = length_width(self.shared_largest()).0 + length_width(suffix_max).0;
        let offsets = self.groups() * self.offset_bytes(self.whole_key_bytes());
        let shared = self.shared_key_bytes() + self.count * lengths + offsets;
        let whole = self.whole_key_bytes();
        if self.key_min == self.key_max {
            let suffix = self.key_max - self.prefix();
            return match whole <= shared + shared / 32 {
                true => KeyForm::Fixed(suffix),
                false => KeyForm::Shared,
            };
        }
        let length = length_width(self.key_max - self.prefix()).0;
        match whole + self.count * length + offsets <= shared {
            true => KeyForm::Whole,
            false => KeyForm::Shared,
        }
    }

    /// The length of every value, if stored values have equal lengths. Deletes and pointers have no value; they
    /// are padded if that costs at most 1/32 more than storing lengths, or if they are at most 1 %
    /// of the entries.
    pub fn value_form(&self) -> Option<usize> {
        if self.puts == 0 {
            return Some(0);
        }
        let deletes = self.count - self.puts;
        let padded = self.put_bytes + deletes * self.put_max;
        let offsets = self.groups() * self.offset_bytes(self.put_bytes);
        let ragged = self.put_bytes + self.count * length_width(self.put_max).0 + offsets;
        let cheap = padded <= ragged + ragged / 32 || deletes * 100 <= self.count;
        (self.put_min == self.put_max && cheap).then_some(self.put_max)
    }

    /// The bytes of all keys as stored.
    fn stored_key_bytes(&self, form: KeyForm) -> usize {
        match form {
            KeyForm::Shared => self.shared_key_bytes(),
            _ => self.whole_key_bytes(),
        }
    }

    fn stored_value_bytes(&self, form: Option<usize>) -> usize {
        form.map_or(self.put_bytes, |len| self.count * len)
    }

    fn offset_bytes(&self, largest: usize) -> usize {
        if largest > usize::from(u16::MAX) {
            4
        } else {
            2
        }
    }

    /// The bytes of a group offset: 2 or 4.
    pub fn offset_width(&self) -> usize {
        let keys = self.stored_key_bytes(self.key_form());
        self.offset_bytes(keys.max(self.stored_value_bytes(self.value_form())))
    }

    /// The width of a stored sequence in bits.
    pub fn sequence_width(&self) -> u32 {
        width_of(self.sequence_max - self.sequence_min)
    }

    /// The least size that the raw form might have in its most compact layout, whatever keys share.
    pub fn least_possible_bytes(&self) -> usize {
        self.raw_bytes() - self.stored_key_bytes(self.key_form())
    }

    /// A bound on the size of the raw form that is known at once where all entries are puts of one size; else `None`. With fewer
    /// of them it is no larger.
    pub fn most_bytes_if_even(&self) -> Option<usize> {
        let alike = self.puts == self.count && self.key_min == self.key_max;
        if !alike || self.put_min != self.put_max {
            return None;
        }
        let plain = self.key_bytes + self.put_bytes;
        // Offsets, of which some are stored if keys share, are wider in large blocks than where that was decided.
        let wide = match plain > usize::from(u16::MAX) {
            true => self.groups() * 4,
            false => 0,
        };
        let sequences = (self.count * self.sequence_width() as usize).div_ceil(8);
        Some(FRAME_BYTES + plain + wide + sequences)
    }

    /// Whether it is known at once that the raw form with one more entry takes at most `limit` bytes.
    #[inline]
    pub fn surely_admits(&self, entry: &NewEntry<'_>, limit: usize) -> bool {
        let bytes = self.key_bytes + self.put_bytes + entry.key.len() + entry.value.len();
        let puts = self.puts == self.count && entry.kind == EntryKind::Put;
        let most = FRAME_BYTES + bytes + (self.count + 1) * MOST_OVERHEAD_BYTES;
        puts && most <= limit || self.most_bytes_with(entry) <= limit
    }

    /// A bound on the size of the raw form with one more entry that is known at once; see [`Shape::most_bytes_at_once`].
    #[inline]
    pub fn most_bytes_with(&self, entry: &NewEntry<'_>) -> usize {
        let mut with = *self;
        with.add(entry);
        let pointers = match self.pointers.count > 0 || entry.kind == EntryKind::Pointer {
            true => self.pointers.most_bytes_with_one(self.count),
            false => 0,
        };
        with.most_bytes_at_once(0) + pointers
    }

    /// A bound on the size of the raw form without pointers that is known at once, if all keys share at least `common` bytes: as
    /// if the keys that were not measured shared nothing else. Where all were it is nearly exact.
    #[inline]
    pub fn most_bytes_at_once(&self, common: usize) -> usize {
        let count = self.count;
        let prefix = common.min(self.even.unwrap_or(super::MAX_PREFIX_BYTES));
        let kinds = if self.kinds_alike { 0 } else { count };
        let offsets = self.groups() * 2;
        let key_lengths = count * length_width(self.key_max).0;
        // Keys of one length share only where that takes less, lengths included, but may then take 1/32 more.
        let alike = self.key_min == self.key_max;
        let whole = self.key_bytes - count * prefix;
        let whole_keys = if alike {
            whole
        } else {
            whole + key_lengths + offsets
        };
        let share = self.sharing.entries - self.sharing.heads();
        let shared = self.key_bytes - self.sharing.shared_bytes - (count - share) * prefix;
        let shared_keys = shared + 2 * key_lengths + offsets;
        let keys = match self.even {
            None if alike => whole_keys.min(shared_keys + shared_keys / 32),
            None => whole_keys.min(shared_keys),
            Some(_) => whole_keys,
        };
        let (others, longest) = (count - self.puts, self.put_max);
        let value_lengths = count * length_width(longest).0 + offsets;
        let values = match (self.put_min >= longest, others) {
            (true, 0) => 0,
            (true, _) if longest == 0 => 0,
            (true, _) => value_lengths.max(others * longest),
            (false, _) => value_lengths,
        };
        let sequences = (count * self.sequence_width() as usize).div_ceil(8);
        let others = self.put_bytes + kinds + values;
        // Offsets of two columns have four bytes in large blocks, and keys of one length do not share if that takes 1/32 more with them.
        let wide = match self.key_bytes + others > usize::from(u16::MAX) {
            true => 3 * offsets,
            false => 0,
        };
        FRAME_BYTES + prefix + keys + others + wide + sequences
    }

    /// The size of the raw form: exact but for pointers, which may take less.
    pub fn most_bytes(&self) -> usize {
        self.raw_bytes() + self.pointers.most_bytes(self.ranked_groups())
    }

    /// The exact size of the raw form without its pointers.
    pub fn raw_bytes(&self) -> usize {
        // The forms take the most of the work.
        let (form, value) = (self.key_form(), self.value_form());
        let (keys, values) = (self.stored_key_bytes(form), self.stored_value_bytes(value));
        let mut per_entry = if self.kinds_alike { 0 } else { 1 };
        let mut offset_columns = 0;
        match form {
            KeyForm::Fixed(_) => {}
            form => {
                offset_columns += 1;
                per_entry += length_width(self.suffix_largest(form)).0;
                if form == KeyForm::Shared {
                    per_entry += length_width(self.shared_largest()).0;
                }
            }
        }
        if value.is_none() {
            offset_columns += 1;
            per_entry += length_width(self.value_largest()).0;
        }
        let sequences = packed_bytes(self.count as u64, self.sequence_width()).unwrap_or(0);
        let offset_width = self.offset_bytes(keys.max(values));
        FRAME_BYTES
            + self.prefix()
            + self.count * per_entry
            + sequences
            + offset_columns * self.groups() * offset_width
            + keys
            + values
    }
}
