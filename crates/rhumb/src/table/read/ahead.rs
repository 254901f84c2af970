//! A block that is asked of the device before it is needed.

use super::get::Asked;
use super::reader::TableReader;
use super::source::BlockSource;
use super::trace::NumberCache;
use crate::fs::ahead::Reading;
use crate::fs::ops;
use crate::table::form::filter::Filter;

/// A block that a thread reads.
#[derive(Debug)]
pub(super) struct Ahead {
    /// The number of its table.
    table: u64,
    block: u64,
    reading: Reading,
}

impl TableReader {
    /// Asks the device for the block in which the index expects a key, if the filter admits the key and the block is not in
    /// memory: through the operating system, or where that keeps no pages of the file, by a thread. Whether it did. Arguments
    /// as of [`TableReader::get`].
    #[cold]
    pub fn ask_ahead(
        &self,
        asked: &Asked<'_>,
        numbers: &mut NumberCache,
        source: &mut BlockSource,
    ) -> bool {
        let excludes = |filter: &Filter| !filter.may_contain(asked.hash);
        if self.filter.as_ref().is_some_and(excludes) {
            return false;
        }
        let Ok(expected) = self.expected_blocks(asked.key, asked.slice, numbers) else {
            return false;
        };
        let block = expected.first;
        if block != expected.last || self.frame_slots.holds(block) {
            return false;
        }
        let Some((offset, bytes)) = self.directory.extent(block) else {
            return false;
        };
        if ops::will_need(&*self.file, offset, bytes) {
            return true;
        }
        let Some(reading) = Reading::begin(&self.file, &self.path, (offset, bytes)) else {
            return false;
        };
        source.held_mut().ahead = Some(Box::new(Ahead {
            table: self.number,
            block,
            reading,
        }));
        true
    }

    /// The bytes of blocks that were asked for before; `None` if they were not, or could not be read.
    #[inline]
    pub(super) fn take_ahead(
        &self,
        blocks: (u64, u64),
        source: &mut BlockSource,
    ) -> Option<Vec<u8>> {
        let is_it = |ahead: &mut Box<Ahead>| {
            ahead.table == self.number && blocks == (ahead.block, ahead.block)
        };
        source.held_mut().ahead.take_if(is_it)?.reading.end()
    }
}
