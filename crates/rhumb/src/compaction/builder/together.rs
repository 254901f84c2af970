//! Collects puts, and adds them to tables together.

use std::mem;

use super::Builder;
use crate::compaction::merge::{Survivor, Takes};
use crate::cursor::Picked;
use crate::entry::Sequence;
use crate::error::Result;
use crate::table::{BlockRun, Puts};

impl Takes for Builder<'_> {
    #[inline]
    fn take(&mut self, entry: &Survivor<'_>) -> Result<()> {
        match self.has_batch()? && self.batch.take(entry) {
            true => Ok(()),
            false => self.take_alone(entry),
        }
    }

    #[inline]
    fn take_put(&mut self, run: &BlockRun, sequence: Sequence) -> Result<bool> {
        Ok(self.has_batch()? && self.batch.take_put(run, sequence))
    }

    fn wanted(&self, sizes: (usize, usize)) -> usize {
        match self.batches && self.waiting.is_empty() {
            true => self.batch.wanted(sizes),
            false => 0,
        }
    }

    fn take_picked(&mut self, picked: &Picked<'_>, sequences: impl Iterator<Item = Sequence>) {
        self.batch.take_picked(picked, sequences);
    }

    #[inline]
    fn last_key(&self) -> &[u8] {
        self.batch.last_key()
    }
}

impl Builder<'_> {
    /// Whether there is a batch for the next entry, which has room. One that is full is written now and not before, since its last
    /// key is asked for up to then.
    #[inline]
    fn has_batch(&mut self) -> Result<bool> {
        if self.batch.is_full() {
            self.add_batch()?;
        }
        Ok(self.batches && self.waiting.is_empty())
    }

    /// Adds the puts of the batch, and begins another.
    #[inline(never)]
    pub(super) fn add_batch(&mut self) -> Result<()> {
        let batch = mem::take(&mut self.batch);
        let added = self.add_puts(batch.puts());
        self.batch = batch;
        self.batch.clear();
        added
    }

    fn add_puts(&mut self, mut rest: Puts<'_>) -> Result<()> {
        while rest.len() > 0 {
            // Up to the next estimate: no table ends before it.
            let left = self.estimate_after.saturating_sub(self.since_estimate);
            let before = rest.count_within(left.saturating_sub(1) as usize, 0);
            let part = rest.part(0..before + 1);
            self.end_before(part.key(0))?;
            self.writer()?.add_puts(&part)?;
            rest = rest.part(part.len()..rest.len());
            self.count_bytes(part.bytes() as u64);
        }
        Ok(())
    }
}
