//! A verified block in memory.

use std::cmp::Ordering;

use rhumb_index::search::prefetch;

use crate::entry::{Pointer, Sequence};
use crate::memory::{Pinned, Pins};
use crate::table::block::{BlockLayout, BlockView, Walk};
use crate::table::form::units::UnitShape;

/// So many bytes from the value of a found entry on are prefetched. With 256, scans of 10 values of 100 bytes were slower by a
/// twentieth; with 1,024 as fast.
const FIRST_VALUE_BYTES: usize = 512;

/// A verified block in memory.
#[derive(Debug, Clone)]
pub(in crate::table) struct LoadedBlock {
    /// Its number in the table.
    pub number: u64,
    /// Its raw form.
    pub bytes: Pinned,
    pub(super) layout: BlockLayout,
}

impl LoadedBlock {
    // Neither is inlined, so that each writes its layout where it is returned: a choice between two layouts
    // would be copied, at 50 instructions a get.
    #[inline(never)]
    pub(super) fn of_block(number: u64, bytes: Pinned, sequence_base: Sequence) -> LoadedBlock {
        LoadedBlock {
            number,
            layout: BlockLayout::of_sound(&bytes).above(sequence_base),
            bytes,
        }
    }

    #[inline(never)]
    pub(super) fn of_unit(
        number: u64,
        bytes: Pinned,
        shape: UnitShape,
        sequence_base: Sequence,
    ) -> LoadedBlock {
        LoadedBlock {
            number,
            layout: BlockLayout::of_unit(shape, bytes.len()).above(sequence_base),
            bytes,
        }
    }

    /// The block's entries.
    #[inline]
    pub fn view(&self) -> BlockView<'_> {
        BlockView::new(&self.bytes, &self.layout)
    }

    /// Whether `slot`, the lower bound of a key in this block, is proved to be its lower bound in
    /// the table: there is an entry at `slot`, and the entry before it is in this block too, or has
    /// a smaller key, or the fence key tells that.
    #[inline]
    pub fn proves_lower_bound(&self, slot: usize, key: &[u8]) -> bool {
        let view = self.view();
        let starts_here = || !view.continues() && view.compare(0, key) == Ordering::Equal;
        slot < view.count()
            && (slot > 0 || self.number == 0 || starts_here() || view.starts_below(key))
    }

    /// Whether it is known that no entry with `key` is at or behind `slot`, its lower bound in this block, which does not
    /// [prove](LoadedBlock::proves_lower_bound) to be that in the table: the key is above all of the block and below all behind.
    #[inline(never)]
    pub fn proves_absence(&self, slot: usize, key: &[u8]) -> bool {
        let view = self.view();
        slot == view.count() && view.ends_above(key)
    }

    /// Prefetches the value at `slot` and what lies behind it, given where a walk is, for one that begins there: other sources are asked
    /// meanwhile.
    #[inline]
    pub fn prefetch_values(&self, slot: usize, walk: Option<&Walk>) {
        let (start, _) = self.view().value_near(slot, walk);
        prefetch(&self.bytes, start..start + FIRST_VALUE_BYTES);
    }

    /// The value at `slot`, given where a walk is; empty for a delete and a pointer.
    #[inline]
    pub fn value_bytes(&self, slot: usize, walk: Option<&Walk>) -> &[u8] {
        let (start, len) = self.view().value_near(slot, walk);
        self.bytes.get(start..start + len).unwrap_or_default()
    }

    /// The value at `slot`, with a pin of its own from `pins`; empty for a delete and a pointer.
    #[inline]
    pub fn value(&self, slot: usize, walk: Option<&Walk>, pins: &mut Pins) -> Pinned {
        let (start, len) = self.view().value_near(slot, walk);
        self.bytes.part(start, len, pins)
    }

    /// The value at `slot`, which is that of a put and takes over the pin of the block.
    #[inline(always)]
    pub fn into_value(self, slot: usize) -> Pinned {
        let (start, len) = self.view().value_of_put(slot);
        self.bytes.into_part(start, len)
    }

    /// The pointer at `slot`, for an entry that is one.
    // Cold, so that gets and scans that meet none are as before.
    #[cold]
    #[inline(never)]
    pub fn pointer(&self, slot: usize) -> Pointer {
        self.view().pointer(slot)
    }
}
