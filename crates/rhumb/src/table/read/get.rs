//! Gets from one table.

use std::sync::Arc;

use super::model::SliceRef;
use super::reader::TableReader;
use super::search::Expected;
use super::source::BlockSource;
use super::trace::{GetTrace, NumberCache};
use crate::entry::{Content, EntryKind, RangeDeletes, Sequence, Version};
use crate::error::Result;
use crate::memory::Pinned;
use crate::table::block::{FoundPut, PutRow};
use crate::table::form::filter::hash_key;

/// What is asked of a table, besides the numbers and the blocks that look-ups share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub key: &'a [u8],
    /// [`super::hash_key`] of the key.
    pub hash: u64,
    /// The largest sequence that is seen.
    pub visible: Sequence,
    /// Whether the key is probably in the table.
    pub likely: bool,
    /// The table's slice of a model over several tables.
    pub slice: Option<SliceRef<'a>>,
}

impl<'a> Asked<'a> {
    /// A get in a table that probably has the key, and is found by its own index.
    pub fn alone(key: &'a [u8], visible: Sequence) -> Self {
        Asked {
            key,
            hash: hash_key(key),
            visible,
            likely: true,
            slice: None,
        }
    }
}

impl TableReader {
    /// The newest version of a key that is not newer than what is visible; `None` if there is none. `numbers` belongs
    /// to the key. Range deletes are ignored: see [`TableReader::covering`]. Gets of ascending keys may
    /// share a `source`.
    ///
    /// If the key is likely to be in the table, a model is evaluated while the filter is loaded
    /// from memory; otherwise this would too often be in vain. Fence pointers are not: they wait
    /// for memory themselves, and would make gets of absent keys two to three times as slow.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn get(
        &self,
        asked: &Asked<'_>,
        numbers: &mut NumberCache,
        source: &mut BlockSource,
    ) -> Result<Option<Version>> {
        let mut found = None;
        self.get_into(asked, numbers, source, &mut found)?;
        Ok(found)
    }

    /// As [`TableReader::get`], into `found`, which must be `None`: a version is large, and returned from one call to the next it
    /// would be moved each time.
    ///
    /// # Errors
    /// As [`TableReader::get`].
    pub fn get_into(
        &self,
        asked: &Asked<'_>,
        numbers: &mut NumberCache,
        source: &mut BlockSource,
        found: &mut Option<Version>,
    ) -> Result<()> {
        let (key, slice) = (asked.key, asked.slice);
        source.trace.tables_probed += 1;
        let ahead = match (asked.likely, self.learned_for(slice)) {
            (true, Some(learned)) => Some(learned.expected(key, numbers)),
            (true, None) => {
                let finder = self.finder(slice)?;
                let needs_number = finder.model.needs_number();
                needs_number.then(|| self.expected_by(finder, key, numbers))
            }
            (false, _) => None,
        };
        if self.excludes(asked.hash, &mut source.trace) {
            return Ok(());
        }
        let expected = match ahead {
            Some(expected) => expected,
            None => self.expected_blocks(key, slice, numbers)?,
        };
        self.prefetch_expected(&expected);
        source.trace.model_probes += u32::from(slice.is_some());
        self.find_behind_filter(&expected, asked, source, found)
    }

    /// Whether the filter says that the key with this hash is absent.
    #[inline]
    pub(super) fn excludes(&self, hash: u64, trace: &mut GetTrace) -> bool {
        let Some(filter) = &self.filter else {
            return false;
        };
        let excludes = !filter.may_contain(hash);
        match excludes {
            true => trace.filter_negative += 1,
            false => trace.filter_positive += 1,
        }
        excludes
    }

    /// The rest of a get whose key the filter did not exclude.
    #[inline]
    pub(super) fn find_behind_filter(
        &self,
        expected: &Expected,
        asked: &Asked<'_>,
        source: &mut BlockSource,
        found: &mut Option<Version>,
    ) -> Result<()> {
        self.find(expected, asked, source, found)?;
        if self.filter.is_some() && found.is_none() {
            source.trace.filter_false_positive += 1;
        }
        Ok(())
    }

    /// Prefetches the part of the filter for `hash`.
    #[inline]
    pub fn prefetch_filter(&self, hash: u64) {
        if let Some(filter) = &self.filter {
            filter.prefetch(hash);
        }
    }

    /// The get after the filter, given where the index expects the key.
    #[inline]
    pub(in crate::table) fn find(
        &self,
        expected: &Expected,
        asked: &Asked<'_>,
        source: &mut BlockSource,
        into: &mut Option<Version>,
    ) -> Result<()> {
        match self.find_put(expected, asked, source, into) {
            Ok(()) => Ok(()),
            Err(block) => self.find_by_layout(expected, asked, source, block, into),
        }
    }

    /// The usual get: of a put in the only block where the key is expected, which is in memory and of the form that
    /// [needs no layout](PutRow).
    ///
    /// # Errors
    /// The block, if it was asked for and is in memory, where the get has to go on.
    // A function of its own: what all other gets need would be kept in the registers of this one.
    #[inline(never)]
    fn find_put(
        &self,
        expected: &Expected,
        asked: &Asked<'_>,
        source: &mut BlockSource,
        into: &mut Option<Version>,
    ) -> std::result::Result<(), Option<Pinned>> {
        source.enter_table(self.number);
        source.trace.count_window(expected.ranks);
        let number = expected.first;
        if number != expected.last || source.shares(number) {
            return Err(None);
        }
        let block = self.block_in_memory(number, source).ok_or(None)?;
        match self.put_in(&block, expected, asked) {
            Some(put) => {
                *into = Some(self.version_of(put, block));
                Ok(())
            }
            None => Err(Some(block)),
        }
    }

    /// A get from blocks of any form. The `block` at `expected.first`, if it is the only one where the key is expected, may be
    /// pinned already.
    #[inline(never)]
    fn find_by_layout(
        &self,
        expected: &Expected,
        asked: &Asked<'_>,
        source: &mut BlockSource,
        block: Option<Pinned>,
        into: &mut Option<Version>,
    ) -> Result<()> {
        let (key, visible) = (asked.key, asked.visible);
        let mut found_in = block.map(|bytes| self.loaded(expected.first, bytes));
        let found = self.lower_bound_at::<true>(expected, key, visible, source, &mut found_in)?;
        let (Some(found), Some(block)) = (found, &found_in) else {
            return Ok(());
        };
        let slot = found.slot;
        source.keep(block);
        let view = block.view();
        if !found.has_key && !view.has_key(slot, key) {
            return Ok(());
        }
        let (sequence, kind) = (view.sequence(slot), view.kind(slot));
        let content = match kind {
            EntryKind::Put => found_in.map(|block| Content::Here(block.into_value(slot))),
            EntryKind::Delete => None,
            EntryKind::Pointer => Some(Content::Apart(block.pointer(slot))),
        };
        *into = Some(Version {
            sequence,
            kind,
            content: content.unwrap_or_else(Content::none),
        });
        Ok(())
    }

    /// The put of a key in the block where it is expected, if that is of the form which [needs no layout](PutRow) and certainly
    /// has what the get looks for.
    #[inline]
    fn put_in(&self, block: &[u8], expected: &Expected, asked: &Asked<'_>) -> Option<FoundPut> {
        // Units have no headers.
        if self.directory.unit_shape(expected.first).is_some() {
            return None;
        }
        let visible = asked.visible.checked_sub(self.sequence_base)?;
        PutRow::of(block)?.find(asked.key, visible, expected.slot)
    }

    /// A put with its value, which takes over the pin of the block.
    #[inline]
    fn version_of(&self, put: FoundPut, block: Pinned) -> Version {
        let (start, len) = put.value;
        Version {
            sequence: put.sequence.wrapping_add(self.sequence_base),
            kind: EntryKind::Put,
            content: Content::Here(block.into_part(start, len)),
        }
    }

    /// The largest sequence, not above `visible`, of the table's range deletes that cover `key`.
    #[inline]
    pub fn covering(&self, key: &[u8], visible: Sequence) -> Option<Sequence> {
        if self.range_deletes.is_empty() {
            return None;
        }
        self.range_deletes.covering(key, visible)
    }

    /// The range deletes of the table.
    pub fn range_deletes(&self) -> &Arc<RangeDeletes> {
        &self.range_deletes
    }
}
