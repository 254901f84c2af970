//! The rest of a block of puts, or a piece of it, for merges that go over columns.

use std::cmp::Ordering;
use std::ops::Range;

use rhumb_index::search::first_eight;

use super::cursor::TableCursor;
use super::loaded::LoadedBlock;
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::entry::{EntryKind, Sequence, append_part, is_same, set_key};
use crate::table::block::{CopiedRows, Strides};

/// So many bytes of keys are copied at once: of all blocks but those made to be large, whose entries are lent in pieces, all.
const COPIED_BYTES: usize = 64 << 10;

/// Entries of a block from the current one of a cursor on: puts, some of which may be of the same key.
#[derive(Debug)]
pub(crate) struct BlockRun {
    block: LoadedBlock,
    rows: Rows,
    slot: usize,
    /// The slot behind the last entry.
    end: usize,
    /// How many bytes that all keys of a merge begin with are left out of heads.
    left_out: usize,
    /// Of what the block prefix has behind them: the first eight bytes, and how many bits it takes.
    prefix_head: u64,
    prefix_bits: u32,
    /// The bits of eight bytes at the rest of a key that belong to it and go into its head, where rests have one length.
    rest_mask: u64,
}

/// Where keys and values are.
#[derive(Debug)]
enum Rows {
    /// In the block, at equal distances.
    Even(Strides),
    /// Keys are copied, that of the entry to this place, and values in the block.
    Copied(Box<CopiedRows>, Range<usize>),
}

impl BlockRun {
    /// The slot of the entry.
    #[inline]
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// How many bytes are left out of heads.
    #[inline]
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether keys are copied, as where they or their values may have different lengths.
    pub fn is_copied(&self) -> bool {
        matches!(self.rows, Rows::Copied(..))
    }

    /// What all keys of the run begin with: the prefix of its block.
    #[inline]
    pub fn prefix(&self) -> &[u8] {
        match &self.rows {
            Rows::Even(strides) => strides.prefix(&self.block.bytes),
            Rows::Copied(rows, _) => rows.prefix(),
        }
    }

    /// Leaves out the first `shared` bytes of keys in [heads](BlockRun::head): all keys of the run begin with them.
    pub fn leave_out(&mut self, shared: usize) {
        let rest = self.prefix().get(shared..).unwrap_or_default();
        let (head, len) = (first_eight(rest), rest.len());
        // Where the prefix takes all eight bytes, nothing of the rest of a key goes into its head.
        self.rest_mask = match &self.rows {
            Rows::Even(strides) if len < size_of::<u64>() => strides.head_mask(),
            _ => 0,
        };
        (self.prefix_head, self.prefix_bits) = (head, len as u32 * 8 % u64::BITS);
        self.left_out = shared;
    }

    /// Eight bytes of the key of the entry as a number, padded with zeros.
    #[inline]
    pub fn head(&self) -> u64 {
        match &self.rows {
            Rows::Even(strides) => {
                let rest = strides.head(&self.block.bytes, self.slot, self.rest_mask);
                self.prefix_head | rest >> self.prefix_bits
            }
            Rows::Copied(rows, place) => {
                let key = rows.key(place).get(self.left_out..);
                first_eight(key.unwrap_or_default())
            }
        }
    }

    /// Goes to the next entry; returns `false`, and stays, if there is none.
    #[inline]
    pub fn step(&mut self) -> bool {
        let goes_on = self.slot + 1 < self.end;
        #[cfg(test)]
        if goes_on {
            count_visit();
        }
        self.slot += usize::from(goes_on);
        if let Rows::Copied(rows, place) = &mut self.rows
            && goes_on
        {
            *place = rows.key_behind(place.end, self.slot);
        }
        goes_on
    }

    /// The key of the entry, in two parts.
    #[inline]
    fn key(&self) -> (&[u8], &[u8]) {
        match &self.rows {
            Rows::Even(strides) => {
                let rest = strides.rest_of_key(&self.block.bytes, self.slot);
                (strides.prefix(&self.block.bytes), rest)
            }
            Rows::Copied(rows, place) => (&[], rows.key(place)),
        }
    }

    /// Makes `key` the key of the entry.
    #[inline]
    pub fn key_into(&self, key: &mut Vec<u8>) {
        let (start, rest) = self.key();
        match start.is_empty() {
            true => set_key(key, rest),
            false => {
                key.clear();
                key.extend_from_slice(start);
                key.extend_from_slice(rest);
            }
        }
    }

    /// The order of the key of the entry and that of another run.
    #[inline]
    pub fn compare(&self, other: &BlockRun) -> Ordering {
        if let (Rows::Copied(rows, place), Rows::Copied(others, at)) = (&self.rows, &other.rows) {
            return rows.key(place).cmp(others.key(at));
        }
        let ((start, rest), (other_start, other_rest)) = (self.key(), other.key());
        match start == other_start {
            true => rest.cmp(other_rest),
            false => {
                let other = other_start.iter().chain(other_rest);
                start.iter().chain(rest).cmp(other)
            }
        }
    }

    /// Whether the key of the entry is below a limit.
    pub fn is_below(&self, limit: &[u8]) -> bool {
        let (start, rest) = self.key();
        match limit.strip_prefix(start) {
            Some(limit) => rest < limit,
            None => start < limit,
        }
    }

    /// Whether `key` is that of the entry.
    #[inline]
    pub fn has_key(&self, key: &[u8]) -> bool {
        match self.key() {
            // To compare nothing takes 100 ns where it lies nowhere and the C library masks what it loads.
            (&[], rest) => is_same(key, rest),
            (start, rest) => key
                .strip_prefix(start)
                .is_some_and(|key| is_same(key, rest)),
        }
    }

    /// The lengths of the key and of the value of the entry.
    #[inline]
    pub fn sizes(&self) -> (usize, usize) {
        match &self.rows {
            Rows::Even(strides) => (strides.key_len(), strides.value_len()),
            Rows::Copied(rows, place) => (place.len(), rows.value_place(self.slot).1),
        }
    }

    /// Appends the key and the value of the entry to those of others.
    #[inline]
    pub fn append_to(&self, keys: &mut Vec<u8>, values: &mut Vec<u8>) {
        match &self.rows {
            Rows::Even(strides) => strides.append_key(&self.block.bytes, self.slot, keys),
            Rows::Copied(rows, place) => rows.append_key(place, keys),
        }
        self.append_value(self.slot, values);
    }

    /// Appends the value at a slot to those of others.
    #[inline]
    pub fn append_value(&self, slot: usize, values: &mut Vec<u8>) {
        let (start, len) = self.value_place(slot);
        append_part(values, &self.block.bytes, start, len);
    }

    /// The sequence of the entry.
    #[inline]
    pub fn sequence(&self) -> Sequence {
        self.sequence_at(self.slot)
    }

    /// The sequence of the entry at a slot.
    #[inline]
    pub fn sequence_at(&self, slot: usize) -> Sequence {
        self.block.view().sequence(slot)
    }

    /// The value of the entry.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let (start, len) = self.value_place(self.slot);
        self.block.bytes.get(start..start + len).unwrap_or_default()
    }

    /// Where in the block the value at a slot starts, and its length.
    #[inline]
    fn value_place(&self, slot: usize) -> (usize, usize) {
        match &self.rows {
            Rows::Even(strides) => strides.value_place(slot),
            Rows::Copied(rows, _) => rows.value_place(slot),
        }
    }
}

impl TableCursor {
    /// Whether it may [lend](TableCursor::lend_run) entries.
    pub fn may_lend_run(&self) -> bool {
        let here = self.here.as_ref();
        here.is_some_and(|block| block.view().is_of_kind(EntryKind::Put))
    }

    /// Lends entries of the current block from the current one on, if they are puts. Until they are
    /// [given back](TableCursor::take_back_run), or the cursor seeks, it is invalid.
    pub fn lend_run(&mut self) -> Option<BlockRun> {
        if !self.may_lend_run() {
            return None;
        }
        let view = self.here.as_ref()?.view();
        let slot = self.slot;
        let (rows, end) = match view.strides() {
            Some(strides) => (Rows::Even(strides), view.count()),
            None => {
                let mut rows = self.spare_rows.take().unwrap_or_default();
                view.copy_rows(slot, COPIED_BYTES, &mut rows);
                let (place, end) = (rows.key_place(slot), rows.end());
                (Rows::Copied(rows, place), end)
            }
        };
        self.walk = None;
        Some(BlockRun {
            block: self.here.take()?,
            rows,
            slot,
            end,
            left_out: 0,
            prefix_head: 0,
            prefix_bits: 0,
            rest_mask: 0,
        })
    }

    /// Takes back what it has lent, and moves to where that was left.
    pub fn take_back_run(&mut self, run: BlockRun) {
        run.key_into(&mut self.key);
        self.here = Some(run.block);
        self.note(run.slot);
        if let Rows::Copied(rows, _) = run.rows {
            self.spare_rows = Some(rows);
        }
    }
}
