//! A node of the tree: entries in order, which one writer changes while any number of readers read them without
//! waiting.
//!
//! ```text
//! state     number of changes | number of cuts | number of entries
//! next      two, for even and odd numbers of changes: the block behind this one
//! orders    two, likewise: the slots of the entries, in the order of the entries
//! heads     slot by slot, eight bytes of the entry's key
//! records   slot by slot, the address of the entry in the arena
//! ```
//!
//! An entry stays in its slot as long as it is in the block. To change the block, the writer fills slots that are
//! free and the order that is not in use, and then stores the next state. So it never disturbs readers of the state
//! before, and they need not wait for a writer that stands still. What they read is overwritten only
//!
//! - by the change after that one, as far as it is the order. A reader copies the order, and then looks whether the
//!   state is still the same;
//! - after a cut, which removes entries from the end of the block, as far as it is slots. A reader who has read slots
//!   looks whether the number of cuts is still the same.
//!
//! If not, the reader begins again. This is right in the memory model since everything is an atomic, the writer begins
//! a change with a `Release` fence, and readers look again after an `Acquire` fence: who has read a value that was
//! stored by a change sees the state that was stored before that change. Records that are read in vain are whole
//! records too, or empty.
//!
//! The address in a slot may also be exchanged by itself, for a newer version of the entry's key, which leads to the one that was
//! there (versions.rs). So readers of any state may see a newer record than another reader of that state, but never miss one.

use rhumb_index::search::prefetch;

#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::memory::Address;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
mod view;

pub(super) use view::View;

/// The most entries of a block.
pub(super) const SLOTS: usize = if cfg!(loom) { 4 } else { 32 };
const WORDS: usize = SLOTS.div_ceil(8);

/// The slots of a block's entries, in the order of the entries.
type Order = [u8; 8 * WORDS];

/// What a block held at some time: states of one block differ if its entries do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    const CHANGE: u64 = 1 << 32;
    /// So that it takes at least 64 million insertions into one block for the number of cuts to come round.
    const CUT: u64 = 1 << 8;

    /// The number of entries.
    #[inline]
    pub fn len(self) -> usize {
        (self.0 % Self::CUT) as usize
    }

    /// Which order is in use.
    #[inline]
    fn side(self) -> usize {
        (self.0 / Self::CHANGE % 2) as usize
    }

    fn cuts(self) -> u64 {
        self.0 % Self::CHANGE / Self::CUT
    }

    fn following(self, cuts: u64, len: usize) -> State {
        let changes = (self.0 / Self::CHANGE + 1).wrapping_mul(Self::CHANGE);
        let cuts = cuts * Self::CUT % Self::CHANGE;
        State(changes | cuts | len as u64)
    }
}

/// An entry of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub head: u64,
    pub record: Address,
}

/// The order of the fields lets the state, what is beside it and one order lie in one cache line.
#[repr(C, align(64))]
pub(super) struct Block {
    state: AtomicU64,
    /// The number of bytes before those of the heads. Never changes.
    skip: AtomicU32,
    /// How new the entries below are (skip.rs).
    mark: AtomicU32,
    /// A bit for each slot, set if it is in use. Only the writer reads it.
    used: AtomicU64,
    /// The block behind this one on the same level.
    next: [AtomicU32; 2],
    orders: [[AtomicU64; WORDS]; 2],
    heads: [AtomicU64; SLOTS],
    records: [AtomicU32; SLOTS],
}

impl Default for Block {
    fn default() -> Self {
        let word = |_| AtomicU64::new(0);
        let half = |_| AtomicU32::new(0);
        Block {
            state: word(0),
            skip: half(0),
            mark: half(0),
            used: word(0),
            next: std::array::from_fn(half),
            orders: std::array::from_fn(|_| std::array::from_fn(word)),
            heads: std::array::from_fn(word),
            records: std::array::from_fn(half),
        }
    }
}

/// For slots: what they hold is never out of bounds.
#[inline(always)]
pub(super) fn slot_of<T>(array: &[T; SLOTS], slot: usize) -> &T {
    &array[slot % SLOTS]
}

fn to_order(words: [u64; WORDS]) -> Order {
    let mut order = [0; 8 * WORDS];
    for (bytes, word) in order.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    order
}

impl Block {
    #[inline]
    pub fn state(&self) -> State {
        State(self.state.load(Ordering::Acquire))
    }

    /// Whether the block is still in a state, so that all that was read since is what it held then.
    #[inline]
    pub fn is_still(&self, state: State) -> bool {
        fence(Ordering::Acquire);
        self.state.load(Ordering::Relaxed) == state.0
    }

    #[inline]
    pub fn view(&self) -> View<'_> {
        #[cfg(test)]
        count_visit();
        loop {
            let state = self.state();
            let words = &self.orders[state.side()];
            let words = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
            let next = self.next(state);
            // Else the writer was faster: it has changed the block once or more.
            if self.is_still(state) {
                return View {
                    block: self,
                    state,
                    next,
                    order: to_order(words),
                };
            }
        }
    }

    /// The record of an entry, as [`View::record`].
    #[inline]
    pub fn record(&self, state: State, at: usize) -> Address {
        #[cfg(test)]
        count_visit();
        let word = &self.orders[state.side()][at / 8 % WORDS];
        let slot = (word.load(Ordering::Relaxed) >> (8 * (at % 8))) as u8;
        Address(slot_of(&self.records, slot.into()).load(Ordering::Acquire))
    }

    #[inline]
    pub fn next(&self, state: State) -> u32 {
        self.next[state.side()].load(Ordering::Relaxed)
    }

    #[inline]
    pub fn skip(&self) -> usize {
        self.skip.load(Ordering::Relaxed) as usize
    }

    /// Brings the block to the cache.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(std::slice::from_ref(self), 0..1);
    }

    pub fn mark(&self) -> u32 {
        self.mark.load(Ordering::Relaxed)
    }

    pub fn raise_mark(&self, mark: u32) {
        // A load first, since most blocks have the newest mark already.
        if self.mark() < mark {
            self.mark.store(mark, Ordering::Relaxed);
        }
    }
}

/// Changes, for one writer at a time.
impl Block {
    /// Fills a block that no reader knows yet.
    pub fn fill(&self, skip: usize, mark: u32, next: u32, entries: impl Iterator<Item = Entry>) {
        self.skip.store(skip as u32, Ordering::Relaxed);
        self.mark.store(mark, Ordering::Relaxed);
        let mut order = [0; 8 * WORDS];
        let mut len = 0;
        for (slot, entry) in entries.take(SLOTS).enumerate() {
            self.set(slot, entry);
            order[slot] = slot as u8;
            len = slot + 1;
        }
        self.used.store(low_bits(len), Ordering::Relaxed);
        self.publish(self.state().following(0, len), &order, next);
    }

    /// A slot that is not in use; there is one if the block is not full.
    #[inline]
    fn free_slot(&self) -> usize {
        (!self.used.load(Ordering::Relaxed)).trailing_zeros() as usize
    }

    /// Inserts an entry before the `at`th. The block is not full. `fill` is called with the entry's slot and stores what belongs
    /// there beside the entry.
    #[inline]
    pub fn insert(&self, view: &View<'_>, at: usize, entry: Entry, fill: impl FnOnce(usize)) {
        fence(Ordering::Release);
        let slot = self.free_slot();
        self.set(slot, entry);
        fill(slot);
        let used = self.used.load(Ordering::Relaxed);
        self.used.store(used | 1 << slot, Ordering::Relaxed);
        let (mut order, len) = (view.order, view.len());
        if at < len {
            order.copy_within(at..len, at + 1);
        }
        order[at % SLOTS] = slot as u8;
        let state = view.state.following(view.state.cuts(), len + 1);
        self.publish(state, &order, view.next);
    }

    /// Puts a newer version in the place of an entry, which names the one that was there as its older one. The block goes on in
    /// its state: readers see one or the other.
    #[inline]
    pub fn renew(&self, view: &View<'_>, at: usize, newer: Address) {
        slot_of(&self.records, view.slot(at)).store(newer.0, Ordering::Release);
    }

    /// Keeps only the first `len` entries, and sets the block behind this one.
    pub fn cut(&self, view: &View<'_>, len: usize, next: u32) {
        fence(Ordering::Release);
        let kept = view.order.iter().take(len);
        let used = kept.fold(0, |used, slot| used | 1 << slot);
        self.used.store(used, Ordering::Relaxed);
        let state = view.state.following(view.state.cuts() + 1, len);
        self.publish(state, &view.order, next);
    }

    fn set(&self, slot: usize, entry: Entry) {
        slot_of(&self.heads, slot).store(entry.head, Ordering::Relaxed);
        slot_of(&self.records, slot).store(entry.record.0, Ordering::Relaxed);
    }

    #[inline]
    fn publish(&self, new: State, order: &Order, next: u32) {
        let words = order.as_chunks::<8>().0;
        for (word, bytes) in self.orders[new.side()].iter().zip(words) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        self.next[new.side()].store(next, Ordering::Relaxed);
        self.state.store(new.0, Ordering::Release);
    }
}

fn low_bits(count: usize) -> u64 {
    u64::MAX.checked_shr(64 - count as u32).unwrap_or(0)
}
