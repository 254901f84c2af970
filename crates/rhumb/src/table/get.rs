//! Answers one get from one table.

use std::sync::Arc;

use super::load::BlockSource;
use super::reader::TableReader;
use super::search::Expected;
use super::trace::NumberCache;
use crate::entry::{RangeDeletes, Sequence, Version};
use crate::error::Result;

impl TableReader {
    /// The newest version of `key` that is not newer than `visible`; `None` if there is none.
    /// `hash` is [`super::hash_key`] of the key; `numbers` belongs to this key too. Range deletes are
    /// not looked at: ask [`TableReader::covering`]. Gets of ascending keys may share a `source`.
    ///
    /// If the key is `likely` to be here, a model is asked in the time that the filter takes to come
    /// from memory; else that is in vain too often. Fence pointers wait for memory themselves, and would
    /// make gets of absent keys two to three times as long.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn get(
        &self,
        key: &[u8],
        hash: u64,
        visible: Sequence,
        numbers: &mut NumberCache,
        source: &mut BlockSource,
        likely: bool,
    ) -> Result<Option<Version>> {
        source.trace.tables_probed += 1;
        let ahead =
            (likely && self.index.needs_number()).then(|| self.expected_blocks(key, numbers));
        if let Some(filter) = &self.filter {
            if !filter.may_contain(hash) {
                source.trace.filter_negative += 1;
                return Ok(None);
            }
            source.trace.filter_positive += 1;
        }
        let expected = ahead.unwrap_or_else(|| self.expected_blocks(key, numbers));
        let found = self.find(&expected, key, visible, source);
        if self.filter.is_some() && matches!(found, Ok(None)) {
            source.trace.filter_false_positive += 1;
        }
        found
    }

    /// Asks for the part of the filter that answers for `hash`.
    #[inline]
    pub fn prefetch_filter(&self, hash: u64) {
        if let Some(filter) = &self.filter {
            filter.prefetch(hash);
        }
    }

    /// The same for one who knows where the index expects the key, and that the filter has it.
    #[inline]
    pub(super) fn find(
        &self,
        expected: &Expected,
        key: &[u8],
        visible: Sequence,
        source: &mut BlockSource,
    ) -> Result<Option<Version>> {
        let Some((block, slot)) = self.lower_bound_at(expected, key, visible, source)? else {
            return Ok(None);
        };
        source.keep(&block);
        let view = block.view();
        if !view.has_key(slot, key) {
            return Ok(None);
        }
        Ok(Some(Version {
            sequence: view.sequence(slot),
            kind: view.kind(slot),
            value: block.into_value(slot),
        }))
    }

    /// The greatest sequence, not above `visible`, of a range delete of this table that covers `key`.
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
