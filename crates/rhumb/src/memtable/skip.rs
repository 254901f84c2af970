//! Passing over entries that a range delete hides, in strides as wide as the tree knows them to be
//! older than the range delete.
//!
//! Every block has a *mark*: an upper bound for how new the entries in it and below it are. Marks count range
//! deletes, not entries, so that a memtable without range deletes never
//! writes one, and a block is marked at most once after each range delete. An entry has the mark
//! that [`Marks::now`] returned when it was inserted. If it is smaller than the mark of a range
//! delete, the entry was inserted before the range delete and is older.

use std::cell::Cell;
use std::cmp::Ordering as Order;

use super::block::{Block, View};
use super::head::Target;
use super::tree::{Leaf, Place, Reached, Spot, Tree};
use crate::entry::{MAX_SEQUENCE, Sequence};
use crate::memory::Address;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The marks of a memtable's range deletes: their sequences, relative to the first.
///
/// Relaxed loads and stores suffice: one writer at a time changes them, and a reader to whom a range
/// delete is visible has synchronised with its writer since.
pub(super) struct Marks {
    /// The sequence of the first range delete; 0 if there is none.
    first: AtomicU64,
    /// The sequence of the newest one; 0 if there is none, `MAX_SEQUENCE` once a range delete came
    /// after an entry that is newer.
    newest: AtomicU64,
}

impl Marks {
    pub fn new() -> Self {
        Marks {
            first: AtomicU64::new(0),
            newest: AtomicU64::new(0),
        }
    }

    /// Notes a range delete. `in_order`: all entries inserted so far are older.
    pub fn note(&self, sequence: Sequence, in_order: bool) {
        let newest = match in_order {
            true => sequence.max(self.newest.load(Ordering::Relaxed)),
            false => MAX_SEQUENCE,
        };
        if self.first.load(Ordering::Relaxed) == 0 {
            self.first.store(sequence, Ordering::Relaxed);
        }
        self.newest.store(newest, Ordering::Relaxed);
    }

    /// The mark of an entry that is inserted now; 0 before the first range delete.
    #[inline]
    pub fn now(&self) -> u32 {
        match self.newest.load(Ordering::Relaxed) {
            0 => 0,
            newest => self.mark(newest),
        }
    }

    /// Entries with smaller marks than this are older than the range delete of a sequence; 0 if that
    /// is not known of any.
    fn of(&self, sequence: Sequence) -> u32 {
        let unknown = self.newest.load(Ordering::Relaxed) == MAX_SEQUENCE;
        let first = self.first.load(Ordering::Relaxed);
        match unknown || first == 0 || sequence < first {
            true => 0,
            false => self.mark(sequence),
        }
    }

    /// Sequences too far from the first share the largest mark, so that none of them is taken for
    /// older than another.
    fn mark(&self, sequence: Sequence) -> u32 {
        let first = self.first.load(Ordering::Relaxed);
        u32::try_from(sequence.saturating_sub(first).saturating_add(1)).unwrap_or(u32::MAX)
    }
}

/// Entries to pass over: those with a sequence below `sequence`, up to a position.
struct Passing<'a> {
    /// Just before the first entry of the key that ends the passing.
    end: Target<'a>,
    /// On which side of the end they are: before it going forward, behind it going back.
    side: Order,
    sequence: Sequence,
    /// Blocks with a smaller mark hold entries older than `sequence` only.
    mark: u32,
}

/// The result of a look at one leaf.
enum Step {
    Found(Spot),
    /// Nothing was found as far as the separator between this leaf, or one of the blocks above it, and the next one.
    Passed(Address),
    /// There are no further entries.
    End,
}

impl Passing<'_> {
    fn goes_forward(&self) -> bool {
        self.side == Order::Less
    }

    fn is_older(&self, block: &Block) -> bool {
        block.mark() < self.mark
    }
}

impl Tree {
    /// The first entry from one on, which has a smaller sequence than this, that has at least this one, or a key not below `to`.
    pub fn pass(&self, from: Spot, to: &[u8], sequence: Sequence) -> Option<Spot> {
        self.pass_up_to(from, (to, Order::Less), sequence)
    }

    /// The last entry up to one, which has a smaller sequence than this, that has at least this one, or a key below `to`.
    pub fn pass_back(&self, from: Spot, to: &[u8], sequence: Sequence) -> Option<Spot> {
        self.pass_up_to(from, (to, Order::Greater), sequence)
    }

    fn pass_up_to(
        &self,
        from: Spot,
        (to, side): (&[u8], Order),
        sequence: Sequence,
    ) -> Option<Spot> {
        let passing = Passing {
            end: self.target(to, MAX_SEQUENCE)?,
            side,
            sequence,
            mark: self.marks.of(sequence),
        };
        let mut start = from.record;
        loop {
            let record = self.record(start);
            // Otherwise a block has changed, and it begins again.
            match self.step(&self.target(record.key, record.sequence)?, &passing) {
                Some(Step::Found(spot)) => return Some(spot),
                Some(Step::Passed(separator)) => start = separator,
                Some(Step::End) => return None,
                None => {}
            }
        }
    }

    /// Looks for the next entry that is not to be passed over, going forward from `start` on, or back from before
    /// it: as far as the end of its leaf, or of a block above it that is to be passed over as a whole; `None` if a
    /// block changed.
    fn step(&self, start: &Target<'_>, passing: &Passing<'_>) -> Option<Step> {
        // The separator at the far end of the block that the search goes to.
        let end = Cell::new(None);
        let choose = |view: &View<'_>| {
            let place = self.place(view, start);
            let (at, separator) = if passing.goes_forward() {
                let at = place.at + usize::from(place.is_there());
                (at, (at < view.len()).then_some(at))
            } else {
                (place.at, place.at.checked_sub(1))
            };
            if let Some(separator) = separator {
                end.set(Some(view.record(separator)));
            }
            at
        };
        let leaf = self.try_descend(choose, |block| {
            passing.is_older(block) && self.is_within(end.get(), passing)
        })?;
        let Reached::Leaf(leaf) = leaf else {
            return end.get().map(Step::Passed);
        };
        let place = self.place(&leaf.view, start);
        let found = match passing.goes_forward() {
            true => self.found_forward(&leaf, &place, start, passing),
            false => (0..place.at)
                .rev()
                .find_map(|at| self.last_found(leaf.unchecked(at), passing)),
        };
        if !leaf.view.is_uncut() {
            return None;
        }
        let ended = || end.get().map_or(Step::End, Step::Passed);
        Some(found.map_or_else(ended, Step::Found))
    }

    /// The first entry of a leaf from the start on that is not to be passed over. The newest version of an entry decides: those behind
    /// it are older.
    fn found_forward(
        &self,
        leaf: &Leaf<'_>,
        place: &Place,
        start: &Target<'_>,
        passing: &Passing<'_>,
    ) -> Option<Spot> {
        let first = self.spot_at(leaf, place, start)?;
        let later = (first.at + 1..leaf.view.len()).map(|at| leaf.unchecked(at));
        let mut spots = std::iter::once(first).chain(later);
        spots.find(|spot| !self.is_hidden(spot.record, passing))
    }

    /// The last version of an entry that is not to be passed over.
    fn last_found(&self, entry: Spot, passing: &Passing<'_>) -> Option<Spot> {
        let last = self.oldest(entry);
        if !self.is_hidden(last.record, passing) {
            return Some(last);
        }
        let is_newer = self.record(entry.record).sequence >= passing.sequence;
        is_newer.then(|| self.last_newer(entry, passing.sequence.saturating_sub(1)))
    }

    /// Whether a version is older than the range delete, and on this side of the end.
    fn is_hidden(&self, version: Address, passing: &Passing<'_>) -> bool {
        let record = self.record(version);
        record.sequence < passing.sequence && passing.end.compare(&record) == passing.side
    }

    /// Whether all that comes before a separator on the way is on this side of the end.
    fn is_within(&self, separator: Option<Address>, passing: &Passing<'_>) -> bool {
        let order = separator.map(|s| passing.end.compare(&self.record(s)));
        order.is_some_and(|order| order == passing.side || order.is_eq())
    }
}
