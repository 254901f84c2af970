//! What readers see of a block.

use std::hint::select_unpredictable;

use super::{Block, Entry, Order, SLOTS, State, slot_of};
use crate::memory::Address;
use crate::sync::atomic::{Ordering, fence};

/// A block in some state. What it tells of entries is right if the block [is uncut](View::is_uncut) since.
#[derive(Clone, Copy)]
pub(in crate::memtable) struct View<'a> {
    pub block: &'a Block,
    pub state: State,
    /// The block behind this one.
    pub next: u32,
    pub(super) order: Order,
}

impl View<'_> {
    /// Whether all entries that were read from this view are those that the block held when it was made.
    #[inline]
    pub fn is_uncut(&self) -> bool {
        fence(Ordering::Acquire);
        let state = State(self.block.state.load(Ordering::Relaxed));
        state.cuts() == self.state.cuts()
    }

    /// Whether the block still holds what it held when this view was made.
    #[inline]
    pub fn is_still(&self) -> bool {
        self.block.is_still(self.state)
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.state.len()
    }

    #[inline]
    pub fn slot(&self, at: usize) -> usize {
        usize::from(self.order[at % SLOTS])
    }

    #[inline]
    pub fn head(&self, at: usize) -> u64 {
        slot_of(&self.block.heads, self.slot(at)).load(Ordering::Relaxed)
    }

    #[inline]
    pub fn record(&self, at: usize) -> Address {
        Address(slot_of(&self.block.records, self.slot(at)).load(Ordering::Acquire))
    }

    #[inline]
    pub fn entry(&self, at: usize) -> Entry {
        Entry {
            head: self.head(at),
            record: self.record(at),
        }
    }

    /// The first entry from `from` on of which `is_before` is false, where it is true of those before and false of
    /// the others. Without a branch that depends on it.
    #[inline(always)]
    pub fn first_not(&self, from: usize, is_before: impl Fn(u64) -> bool) -> usize {
        let (mut at, mut len) = (from, self.len().saturating_sub(from));
        while len > 1 {
            let half = len / 2;
            let before = is_before(self.head(at + half - 1));
            at = select_unpredictable(before, at + half, at);
            len -= half;
        }
        if len == 1 && is_before(self.head(at)) {
            at += 1;
        }
        at
    }
}
