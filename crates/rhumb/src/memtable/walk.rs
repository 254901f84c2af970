//! Going from version to version and from entry to entry, while the writer inserts others.

use super::block::{Block, SLOTS};
use super::record::Record;
use super::tree::{FIRST, Leaf, NONE, Spot, Tree};
#[cfg(all(test, loom))]
use crate::entry::MAX_SEQUENCE;
use crate::sync::atomic::Ordering;

/// The writer has changed a block meanwhile.
#[derive(Debug, Clone, Copy)]
struct Changed;

impl Tree {
    /// The first version of a leaf, which stays the first in one that is behind another; `None` for [`NONE`].
    pub fn first_of(&self, number: u32) -> Option<Spot> {
        match number {
            NONE => None,
            number => self.start_of(number),
        }
    }

    /// The first entry.
    pub fn first(&self) -> Option<Spot> {
        self.start_of(FIRST)
    }

    fn start_of(&self, number: u32) -> Option<Spot> {
        let block = self.leaves.get(number)?;
        loop {
            let view = block.view();
            let leaf = Leaf { number, view };
            // Only before the first insertion.
            if leaf.view.len() == 0 {
                return None;
            }
            if let Some(spot) = leaf.spot(0) {
                return Some(spot);
            }
        }
    }

    /// The last entry: the oldest version of the last key.
    pub fn last(&self) -> Option<Spot> {
        self.prefix.get()?;
        loop {
            let leaf = self.descend(|view| view.len());
            let at = leaf.view.len().checked_sub(1)?;
            if let Some(spot) = leaf.spot(at) {
                return Some(self.oldest(spot));
            }
        }
    }

    /// The entry behind one.
    #[cfg(all(test, loom))]
    pub fn after(&self, spot: Spot) -> Option<Spot> {
        self.version_behind(spot, MAX_SEQUENCE)
            .or_else(|| self.behind(spot))
    }

    /// The entry behind one and the versions that it names: mostly the next key.
    #[inline]
    pub fn behind(&self, mut spot: Spot) -> Option<Spot> {
        loop {
            match self.try_behind(spot) {
                Ok(after) => return after,
                Err(Changed) => spot = self.again(spot)?,
            }
        }
    }

    /// As [`Tree::behind`]; fails if the leaf has changed.
    // A flush takes two such steps an entry, with a hundred more instructions where they are calls.
    #[inline(always)]
    fn try_behind(&self, spot: Spot) -> Result<Option<Spot>, Changed> {
        let leaf = self.leaves.get(spot.leaf).ok_or(Changed)?;
        let at = spot.at + 1;
        if at == spot.state.len() {
            let next = leaf.next(spot.state);
            return match leaf.is_still(spot.state) {
                true => Ok(self.first_of(next)),
                false => Err(Changed),
            };
        }
        let record = leaf.record(spot.state, at);
        match leaf.is_still(spot.state) {
            true => Ok(Some(Spot { at, record, ..spot })),
            false => Err(Changed),
        }
    }

    /// The entry before one.
    pub fn before(&self, spot: Spot) -> Option<Spot> {
        let own = self.record(spot.record);
        if let Some(leaf) = self.leaves.get(spot.leaf) {
            let entry = |at| Spot {
                at,
                record: leaf.record(spot.state, at),
                ..spot
            };
            let here = entry(spot.at);
            let before = match self.record(here.record).sequence > own.sequence {
                true => Some(self.last_newer(here, own.sequence)),
                false => spot.at.checked_sub(1).map(|at| self.oldest(entry(at))),
            };
            if let Some(before) = before.filter(|_| leaf.is_still(spot.state)) {
                return Some(before);
            }
        }
        self.find_before(&self.target(own.key, own.sequence)?)
    }

    /// As [`Tree::behind`], for one who will read the entry soon: brings its record to the cache. `None` also if it is not cheap to
    /// find.
    #[inline(always)]
    pub fn fetch_behind(&self, spot: Spot) -> Option<Spot> {
        let after = self.try_behind(spot).ok()??;
        if after.at == 0
            && let Some(leaf) = self.leaves.get(after.leaf)
            && let Some(next) = self.leaves.get(leaf.next(after.state))
        {
            next.prefetch();
        }
        self.fetch(after.record);
        Some(after)
    }

    /// The newest versions of some of the entries in order, each with a probability of 1 in `stride`: of all slots of all leaves one
    /// in so many is chosen, whether there is an entry in it or not. For a tree into which nobody inserts any more.
    pub fn sample(&self, stride: usize) -> Vec<Record<'_>> {
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        let mut within_stride = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize % stride
        };
        let (mut stride_start, mut next) = (0, within_stride());
        let mut sample = Vec::new();
        for (i, number) in self.leaf_numbers().into_iter().enumerate() {
            let slots = i * SLOTS..(i + 1) * SLOTS;
            // Most leaves are not looked at.
            let view = slots.contains(&next).then(|| self.leaves.get(number));
            let view = view.flatten().map(Block::view);
            while slots.contains(&next) {
                if let Some(view) = view.filter(|view| next - slots.start < view.len()) {
                    sample.push(self.record(view.record(next - slots.start)));
                }
                stride_start += stride;
                next = stride_start + within_stride();
            }
        }
        sample
    }

    /// All leaves in order.
    fn leaf_numbers(&self) -> Vec<u32> {
        let root = self.root();
        let mut number = root.number;
        for _ in 1..root.level {
            let inner = self.inners.get(number);
            number = inner.map_or(NONE, |inner| inner.first.load(Ordering::Relaxed));
        }
        if root.level == 0 {
            return vec![number];
        }
        let mut leaves = Vec::new();
        while let Some(inner) = self.inners.get(number) {
            let view = inner.separators.view();
            let known = leaves.len();
            leaves.extend((0..=view.len()).map(|at| inner.child(&view, at)));
            if !view.is_uncut() {
                leaves.truncate(known);
            } else if view.next == NONE {
                break;
            } else {
                number = view.next;
            }
        }
        leaves
    }

    /// The same entry where it lies now.
    #[inline(never)]
    fn again(&self, spot: Spot) -> Option<Spot> {
        let record = self.record(spot.record);
        self.find(&self.target(record.key, record.sequence)?)
    }
}
