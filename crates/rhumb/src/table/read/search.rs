//! Finds the lower bound of a key: the index tells where to look first, the entries decide.
//!
//! The lower bound is the first entry at or after `(key, sequence)`. The first and last entries of
//! every block that is read tell whether the lower bound is before it, in it or after it; the
//! search ends only with such a proof. The first probe is where the index points, so with a sound
//! index it is nearly always the last one too. Of a key between two blocks, the fence keys of either tell where its lower bound
//! is; a get, which needs no entry but its own, then reads one block. With an unsound index the search gallops and
//! bisects, and finds the same entry.

use rhumb_index::{Position, Probe, Window};

use super::loaded::LoadedBlock;
use super::model::{Finder, SliceRef};
use super::reader::TableReader;
use super::source::BlockSource;
use super::trace::NumberCache;
use crate::entry::Sequence;
use crate::error::Result;

/// Determines which block to read next.
#[derive(Debug)]
struct Probes {
    /// The lower bound is not before the start of block `low`, and not after the start of block
    /// `high`.
    low: u64,
    high: u64,
    /// The blocks in which it is expected, including the last one.
    first: u64,
    last: u64,
    /// How far to look next if it is not there.
    step: u64,
}

impl Probes {
    /// The next block to probe, in `low..high`, which must not be empty.
    fn next(&mut self) -> u64 {
        let (first, last) = (self.first.max(self.low), self.last.min(self.high - 1));
        if first <= last {
            return first + (last - first) / 2;
        }
        // It is elsewhere. Probe the far end of ever wider ranges next to where it was expected.
        let step = self.step;
        self.step = step.saturating_mul(2);
        if self.last < self.low {
            self.first = self.low;
            self.last = self.low.saturating_add(step - 1).min(self.high - 1);
            self.last
        } else {
            self.last = self.high - 1;
            self.first = self.high.saturating_sub(step).max(self.low);
            self.first
        }
    }
}

/// Where an index expects a key.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::table) struct Expected {
    /// The blocks in which it is expected, including the last one.
    pub first: u64,
    pub last: u64,
    /// How far into the cell of block `first`, if a model predicts that: the block's slot hint is
    /// relative to this.
    pub(super) slot: Option<u64>,
    /// The number of ranks in the window, if the index returned one.
    pub(super) ranks: u32,
}

impl Expected {
    /// In the blocks of a window of the table's ranks, given the block of a rank and the first rank of a block, if it has one.
    /// The model's own window holds so many `ranks`.
    #[inline]
    pub(super) fn in_window(
        window: Window,
        ranks: u64,
        block_of: impl Fn(u64) -> u64,
        first_rank: impl Fn(u64) -> Option<u64>,
    ) -> Self {
        let first = block_of(window.lo);
        let last_rank = window.hi.saturating_sub(1);
        let is_in_first = || first_rank(first + 1).is_some_and(|next| last_rank < next);
        let last = match last_rank <= window.lo || is_in_first() {
            true => first,
            false => block_of(last_rank).max(first),
        };
        Expected {
            first,
            last,
            slot: None,
            ranks: u32::try_from(ranks).unwrap_or(u32::MAX),
        }
    }

    /// The block where a search looks first.
    #[inline]
    pub(super) fn probe(&self) -> u64 {
        self.first + (self.last - self.first) / 2
    }

    fn slot_in(&self, block: u64) -> Option<u64> {
        self.slot.filter(|_| block == self.first)
    }
}

/// Where the lower bound of a key is in its block.
#[derive(Debug)]
pub(in crate::table) struct Found {
    pub slot: usize,
    /// Whether it is already known that the entry has the key: if not, it still may.
    pub has_key: bool,
}

impl TableReader {
    /// Prefetches what a search from here on will read first, if that is in memory.
    #[inline(always)]
    pub(super) fn prefetch_expected(&self, expected: &Expected) {
        self.prefetch_block(expected.probe(), expected.slot.unwrap_or(0));
    }

    /// The slot of the first entry at or after `(key, sequence)`, and puts its block `into` a place that is empty and stays so if
    /// there is none.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    #[inline]
    pub(super) fn lower_bound(
        &self,
        key: &[u8],
        sequence: Sequence,
        slice: Option<SliceRef<'_>>,
        numbers: &mut NumberCache,
        source: &mut BlockSource,
        into: &mut Option<LoadedBlock>,
    ) -> Result<Option<usize>> {
        let expected = self.expected_blocks(key, slice, numbers)?;
        self.prefetch_expected(&expected);
        source.trace.count_window(expected.ranks);
        let found = self.lower_bound_at::<false>(&expected, key, sequence, source, into)?;
        Ok(found.map(|found| found.slot))
    }

    /// As [`TableReader::lower_bound`], given where the index expects the key, and where to leave the block, which is large to
    /// move. If it is there already, it is block `expected.first`, the only one where the key is expected. A `GET` may also find
    /// nothing if the lower bound has another key.
    ///
    /// # Errors
    /// As [`TableReader::lower_bound`].
    // Left to itself, the compiler makes a call of it in gets as soon as something elsewhere changes: 5 % of a get.
    #[inline(always)]
    pub(in crate::table) fn lower_bound_at<const GET: bool>(
        &self,
        expected: &Expected,
        key: &[u8],
        sequence: Sequence,
        source: &mut BlockSource,
        found_in: &mut Option<LoadedBlock>,
    ) -> Result<Option<Found>> {
        if self.directory.blocks() == 0 {
            return Ok(None);
        }
        if expected.first == expected.last {
            let block = match &mut *found_in {
                Some(block) => {
                    debug_assert_eq!(block.number, expected.first);
                    block
                }
                none => none.insert(match self.block_at_hand(expected.first, source) {
                    Some(block) => block,
                    None => self.read_block(expected.first, source)?,
                }),
            };
            let (slot, has_key) = block.view().find_near(key, sequence, expected.slot);
            if block.proves_lower_bound(slot, key) {
                return Ok(Some(Found { slot, has_key }));
            }
            if GET && block.proves_absence(slot, key) {
                source.keep(block);
                return Ok(None);
            }
            source.held_mut().recent = found_in.take();
        }
        let found = self.search::<GET>(expected, key, sequence, source);
        source.forget_unless_shared();
        Ok(found?.map(|(block, slot)| {
            *found_in = Some(block);
            let has_key = false;
            Found { slot, has_key }
        }))
    }

    /// Searches block by block, starting where the index points.
    #[cold]
    fn search<const GET: bool>(
        &self,
        expected: &Expected,
        key: &[u8],
        sequence: Sequence,
        source: &mut BlockSource,
    ) -> Result<Option<(LoadedBlock, usize)>> {
        let (first, last) = (expected.first, expected.last);
        let mut probes = Probes {
            low: 0,
            high: self.directory.blocks(),
            first,
            last,
            step: 1,
        };
        let mut at_high = None;
        while probes.low < probes.high {
            let probe = probes.next();
            let window = (first.max(probes.low), last.min(probes.high - 1));
            if window.0 < window.1 && (window.0..=window.1).contains(&probe) {
                self.read_window(window, probe, source);
            }
            let Some(block) = self.first_with_entries(probe, probes.high, source)? else {
                probes.high = probe;
                continue;
            };
            let view = block.view();
            let slot = view.lower_bound_near(key, sequence, expected.slot_in(block.number));
            if block.proves_lower_bound(slot, key) {
                return Ok(Some((block, slot)));
            }
            if GET && block.proves_absence(slot, key) {
                source.keep(&block);
                return Ok(None);
            }
            if slot == view.count() {
                probes.low = block.number + 1;
                continue;
            }
            // The empty blocks between `probe` and this one hold no entries either.
            probes.high = probe;
            at_high = Some(block);
        }
        // The lower bound lies between two neighbouring blocks: it is the start of the second one.
        Ok(at_high.map(|block| (block, 0)))
    }

    /// The first block of `from..to` that has entries. Only placed tables have blocks without.
    fn first_with_entries(
        &self,
        from: u64,
        to: u64,
        source: &mut BlockSource,
    ) -> Result<Option<LoadedBlock>> {
        for number in from..to {
            let block = self.block(number, source)?;
            if block.view().count() > 0 {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Where the table's slice of a model, or else a learned model or its own index, expects the key.
    ///
    /// # Errors
    /// If its own index is not in memory yet, and cannot be read.
    #[inline]
    pub(in crate::table) fn expected_blocks(
        &self,
        key: &[u8],
        slice: Option<SliceRef<'_>>,
        numbers: &mut NumberCache,
    ) -> Result<Expected> {
        match self.learned_for(slice) {
            Some(learned) => Ok(learned.expected(key, numbers)),
            None => Ok(self.expected_by(self.finder(slice)?, key, numbers)),
        }
    }

    /// Where a model expects the key.
    #[inline(always)]
    pub(in crate::table) fn expected_by(
        &self,
        finder: Finder<'_>,
        key: &[u8],
        numbers: &mut NumberCache,
    ) -> Expected {
        let model = finder.model;
        let number = model.number_by(key, numbers);
        if self.directory.is_placed()
            && let Some(predicted) = model.index.predict(number)
            && let Some(place) = self.directory.place(predicted, number)
        {
            return Expected {
                first: place.block,
                last: place.block,
                slot: Some(place.slot),
                ranks: 0,
            };
        }
        let last_block = self.directory.blocks().saturating_sub(1);
        let one = |block: u64, slot| Expected {
            first: block.min(last_block),
            last: block.min(last_block),
            slot,
            ranks: 0,
        };
        let rows = self.frame_slots.beside(finder.first_block);
        match model.index.locate_beside(Probe { key, number }, rows) {
            Position::Block(block) => one(block.saturating_sub(finder.first_block), None),
            Position::Slot { block, slot } => one(block, Some(slot)),
            Position::Window(window) => {
                let directory = &self.directory;
                Expected::in_window(
                    finder.own_ranks(window),
                    window.len(),
                    |rank| directory.block_of_rank(rank),
                    |block| directory.first_rank(block),
                )
            }
        }
    }
}
