//! Ends blocks that are full of bytes before their last entries, which begin the next block: where that makes a shorter
//! separator, or where the index would not know the slots of their keys closely enough.

use std::mem;

use super::BlockWriter;
use crate::error::Result;
use crate::table::block::NewEntry;

impl BlockWriter {
    /// As [`BlockWriter::push`]; a block that is full may leave its last entries to the new one, where that makes a shorter
    /// separator.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn push_parting(&mut self, entry: &NewEntry<'_>, limit: usize) -> Result<()> {
        while !self.block.push_parting(entry, limit) {
            let mut next = mem::take(&mut self.next);
            self.block.part(entry, &mut next);
            let behind = match next.count() {
                0 => entry.key,
                _ => next.first_key(),
            };
            self.close(Some(behind))?;
            self.next = mem::replace(&mut self.block, next);
            if self.block.count() > 1 && self.block.raw_bytes() > limit {
                // In other groups than before, the keys share so much less that not all fit.
                let moved = mem::take(&mut self.block);
                moved.each(0..moved.count(), |entry| self.push(entry, limit))?;
            }
        }
        Ok(())
    }

    /// As [`BlockWriter::push`]; a block that is full keeps the keys that the index admits in one, and leaves the others to the
    /// new one.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn push_admitted(&mut self, entry: &NewEntry<'_>, limit: usize) -> Result<()> {
        while !self.block.push_within(entry, limit) {
            self.close_admitted(limit, Some(entry.key))?;
        }
        Ok(())
    }

    /// Ends the open block, of at most `limit` raw bytes, and those that follow from what the index does not admit in it.
    /// `behind` is the first key behind them, if that is known.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn close_all_admitted(&mut self, limit: usize, behind: Option<&[u8]>) -> Result<()> {
        while self.block.count() > 0 {
            self.close_admitted(limit, behind)?;
        }
        Ok(())
    }

    /// Ends the open block if the index admits all of its keys in one. If not, makes several of it, each of at most `limit`
    /// bytes, and leaves the last one open. Takes time linear in the entries.
    fn close_admitted(&mut self, limit: usize, behind: Option<&[u8]>) -> Result<()> {
        if !self.index.is_fit() {
            return self.close(behind);
        }
        let skip = usize::from(self.continues());
        let own = self.block.distinct_keys().skip(skip);
        let numbers: Vec<u64> = own.map(|key| self.number(key)).collect();
        let mut admitted = self.index.admits(&numbers);
        if admitted == numbers.len() {
            return self.close_numbered(&numbers, behind);
        }
        let whole = mem::take(&mut self.block);
        let firsts: Vec<usize> = whole.first_entries().skip(skip).collect();
        let (mut at, mut rest) = (0, &numbers[..]);
        loop {
            let key = numbers.len() - rest.len();
            let end = firsts.get(key + admitted).copied();
            let end = end.unwrap_or(whole.count());
            // Fewer entries may take more bytes, since the form of a block depends on all of them.
            let full = whole.each(at..end, |entry| {
                let fits = self.block.push_within(entry, limit);
                at += usize::from(fits);
                fits.then_some(()).ok_or(())
            });
            if full.is_ok() && end == whole.count() {
                return Ok(());
            }
            self.close_numbered(rest, Some(whole.key(at)))?;
            let key = firsts.partition_point(|first| *first < at);
            rest = numbers.get(key..).unwrap_or_default();
            admitted = self.index.admits(rest);
        }
    }
}
