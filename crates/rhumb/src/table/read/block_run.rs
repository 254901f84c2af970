//! The rest of a block whose entries are puts of one size, for merges that go over columns.

use std::cmp::Ordering;

use rhumb_index::search::first_eight;

use super::cursor::TableCursor;
use super::loaded::LoadedBlock;
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::entry::{EntryKind, Sequence, is_same, set_key};
use crate::table::block::Strides;

/// Entries of a block from the current one of a cursor on: puts, whose keys lie at equal distances, and their values too. Some
/// may be of the same key.
#[derive(Debug)]
pub(crate) struct EvenRun {
    block: LoadedBlock,
    strides: Strides,
    slot: usize,
    count: usize,
    /// Of what the block prefix has behind the bytes that all keys of a merge begin with: the first eight bytes, and how many
    /// bits it takes.
    prefix_head: u64,
    prefix_bits: u32,
}

impl EvenRun {
    /// What all keys of the run begin with: the prefix of its block.
    #[inline]
    pub fn prefix(&self) -> &[u8] {
        self.strides.prefix(&self.block.bytes)
    }

    /// Leaves out the first `shared` bytes of keys in [heads](EvenRun::head): all keys of the run begin with them.
    pub fn leave_out(&mut self, shared: usize) {
        let rest = self.prefix().get(shared..).unwrap_or_default();
        let (head, bits) = (first_eight(rest), rest.len().min(8) * 8);
        (self.prefix_head, self.prefix_bits) = (head, bits as u32);
    }

    /// Eight bytes of the key of the entry as a number, padded with zeros.
    #[inline]
    pub fn head(&self) -> u64 {
        let own = self.strides.head(&self.block.bytes, self.slot);
        self.prefix_head | own.checked_shr(self.prefix_bits).unwrap_or(0)
    }

    /// Goes to the next entry; returns `false`, and stays, if there is none.
    #[inline]
    pub fn step(&mut self) -> bool {
        let goes_on = self.slot + 1 < self.count;
        #[cfg(test)]
        if goes_on {
            count_visit();
        }
        self.slot += usize::from(goes_on);
        goes_on
    }

    /// Makes `key` the key of the entry.
    #[inline]
    pub fn key_into(&self, key: &mut Vec<u8>) {
        let (prefix, rest) = (self.prefix(), self.rest_of_key());
        match prefix.is_empty() {
            true => set_key(key, rest),
            false => {
                key.clear();
                key.extend_from_slice(prefix);
                key.extend_from_slice(rest);
            }
        }
    }

    /// The order of the key of the entry and that of another run.
    pub fn compare(&self, other: &EvenRun) -> Ordering {
        match self.prefix() == other.prefix() {
            true => self.rest_of_key().cmp(other.rest_of_key()),
            false => self.bytes_of_key().cmp(other.bytes_of_key()),
        }
    }

    fn bytes_of_key(&self) -> impl Iterator<Item = &u8> {
        self.prefix().iter().chain(self.rest_of_key())
    }

    /// Whether the key of the entry is below a limit.
    pub fn is_below(&self, limit: &[u8]) -> bool {
        let prefix = self.prefix();
        match limit.strip_prefix(prefix) {
            Some(rest) => self.rest_of_key() < rest,
            None => prefix < limit,
        }
    }

    /// Whether `key` is that of the entry.
    pub fn has_key(&self, key: &[u8]) -> bool {
        key.strip_prefix(self.prefix())
            .is_some_and(|rest| is_same(rest, self.rest_of_key()))
    }

    #[inline]
    fn rest_of_key(&self) -> &[u8] {
        self.strides.rest_of_key(&self.block.bytes, self.slot)
    }

    /// The sequence of the entry.
    #[inline]
    pub fn sequence(&self) -> Sequence {
        self.block.view().sequence(self.slot)
    }

    /// The value of the entry.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let (start, len) = self.strides.value_place(self.slot);
        self.block.bytes.get(start..start + len).unwrap_or_default()
    }
}

impl TableCursor {
    /// Lends the entries of the current block from the current one on, if they are puts of one size. Until they are
    /// [given back](TableCursor::take_back_run), or the cursor seeks, it is invalid.
    pub fn lend_run(&mut self) -> Option<EvenRun> {
        let view = self.here.as_ref()?.view();
        let strides = view.strides()?;
        if !view.is_of_kind(EntryKind::Put) {
            return None;
        }
        let (slot, count) = (self.slot, view.count());
        self.walk = None;
        Some(EvenRun {
            block: self.here.take()?,
            strides,
            slot,
            count,
            prefix_head: 0,
            prefix_bits: 0,
        })
    }

    /// Takes back what it has lent, and moves to where that was left.
    pub fn take_back_run(&mut self, run: EvenRun) {
        run.key_into(&mut self.key);
        self.here = Some(run.block);
        self.note(run.slot);
    }
}
