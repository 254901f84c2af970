//! Going from entry to entry, while the writer inserts others.

use super::block::{Block, SLOTS};
use super::record::Record;
use super::tree::{FIRST, Leaf, NONE, Spot, Tree};
use crate::sync::atomic::Ordering;

/// The writer has changed a block meanwhile.
#[derive(Debug, Clone, Copy)]
struct Changed;

impl Tree {
    /// The first entry of a leaf, which never changes in one that is behind another; `None` for [`NONE`].
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

    /// The last entry.
    pub fn last(&self) -> Option<Spot> {
        self.prefix.get()?;
        loop {
            let leaf = self.descend(|view| view.len());
            let at = leaf.view.len().checked_sub(1)?;
            if let Some(spot) = leaf.spot(at) {
                return Some(spot);
            }
        }
    }

    /// The entry behind one.
    #[inline]
    pub fn after(&self, mut spot: Spot) -> Option<Spot> {
        loop {
            match self.try_after(spot) {
                Ok(after) => return after,
                Err(Changed) => spot = self.again(spot)?,
            }
        }
    }

    /// As [`Tree::after`]; fails if the leaf has changed.
    // A flush takes two such steps an entry, with a hundred more instructions where they are calls.
    #[inline(always)]
    fn try_after(&self, spot: Spot) -> Result<Option<Spot>, Changed> {
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

    /// Where an entry is followed by older versions of its key, as far as that is noted: the first entry behind these, or a still
    /// older version. `None` where none follows.
    #[inline]
    pub fn behind_versions(&self, spot: Spot) -> Option<Option<Spot>> {
        let leaf = self.leaves.get(spot.leaf)?;
        match leaf.is_older(spot.state, spot.at + 1) {
            true => self.pass_versions(leaf, spot),
            false => None,
        }
    }

    /// As [`Tree::behind_versions`], where one follows if the leaf has not changed.
    #[inline(never)]
    fn pass_versions(&self, leaf: &Block, spot: Spot) -> Option<Option<Spot>> {
        let newest = leaf.newest_from(spot.state, spot.at + 2).map(|at| Spot {
            at,
            record: leaf.record(spot.state, at),
            ..spot
        });
        let next = leaf.next(spot.state);
        if !leaf.is_still(spot.state) {
            return None;
        }
        if newest.is_some() || next == NONE {
            return Some(newest);
        }
        // If all of the next leaf are versions of the key too, there may be many more.
        let search = || {
            let key = self.record(spot.record).key;
            self.find(&self.target(key, 0)?)
        };
        Some(self.first_newest(next).or_else(search))
    }

    /// The first entry of a leaf that is not known to be an older version.
    fn first_newest(&self, number: u32) -> Option<Spot> {
        let leaf = self.leaf(number)?;
        let mut places = 0..leaf.view.len();
        leaf.spot(places.find(|at| !leaf.view.is_older(*at))?)
    }

    /// The entry before one.
    pub fn before(&self, spot: Spot) -> Option<Spot> {
        if let (Some(leaf), Some(at)) = (self.leaves.get(spot.leaf), spot.at.checked_sub(1)) {
            let record = leaf.record(spot.state, at);
            if leaf.is_still(spot.state) {
                return Some(Spot { at, record, ..spot });
            }
        }
        let record = self.record(spot.record);
        self.find_before(&self.target(record.key, record.sequence)?)
    }

    /// The entry behind one, for one who will read it soon: brings its record to the cache. `None` also if it is not
    /// cheap to find.
    #[inline(always)]
    pub fn fetch_after(&self, spot: Spot) -> Option<Spot> {
        let after = self.try_after(spot).ok()??;
        if after.at == 0
            && let Some(leaf) = self.leaves.get(after.leaf)
            && let Some(next) = self.leaves.get(leaf.next(after.state))
        {
            next.prefetch();
        }
        self.fetch(after.record);
        Some(after)
    }

    /// As [`Tree::fetch_after`] behind the older versions of the entry's key, or the leaf that goes on with these.
    #[inline]
    pub fn fetch_behind_versions(&self, spot: Spot) {
        let Some(leaf) = self.leaves.get(spot.leaf) else {
            return;
        };
        if !leaf.is_older(spot.state, spot.at + 1) {
            self.fetch_after(spot);
            return;
        }
        if let Some(at) = leaf.newest_from(spot.state, spot.at + 2) {
            self.fetch(leaf.record(spot.state, at));
        } else if let Some(next) = self.leaves.get(leaf.next(spot.state)) {
            next.prefetch();
        }
    }

    /// Some of the entries in order, each with a probability of 1 in `stride`: of all slots of all leaves one in so
    /// many is chosen, whether there is an entry in it or not. For a tree into which nobody inserts any more.
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
