//! Flushes: each writes a memtable to a table.

use std::sync::Arc;
use std::time::Instant;

use super::scheduler::{Running, Scheduler};
use crate::compaction::{Counters, Outcome, flush as write_tables};
use crate::db::store::{OpenKeyspace, Store};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::sync::lock;

/// A running flush of the oldest waiting memtable of a keyspace. Dropping it allows the next one.
pub(in crate::db) struct Flush<'a> {
    scheduler: &'a Scheduler,
    keyspace: Arc<OpenKeyspace>,
    memtable: Arc<Memtable>,
}

impl<'a> Flush<'a> {
    pub(super) fn begin(
        scheduler: &'a Scheduler,
        running: &mut Running,
        keyspace: Arc<OpenKeyspace>,
        memtable: Arc<Memtable>,
    ) -> Self {
        running.of(keyspace.id).flushing = true;
        Flush {
            scheduler,
            keyspace,
            memtable,
        }
    }
}

impl Drop for Flush<'_> {
    fn drop(&mut self) {
        // Nobody is woken: the thread that ends a flush looks for the next one itself.
        self.scheduler
            .change(self.keyspace.id, |jobs| jobs.flushing = false);
    }
}

impl Store {
    /// # Errors
    /// [`Error::NoSuchKeyspace`] if the keyspace was dropped meanwhile; nothing is lost then.
    pub(super) fn flush_memtable(&self, flush: &Flush<'_>) -> Result<()> {
        let (keyspace, memtable) = (&flush.keyspace, flush.memtable.clone());
        if memtable.is_empty() {
            return self.install(keyspace, &Outcome::default(), &[memtable], |_| {});
        }
        let started = Instant::now();
        // Without the sync, these writes could survive a crash that loses earlier writes to another
        // keyspace.
        self.sync_log_through(memtable.largest_sequence().unwrap_or(0))?;
        let memtables = [memtable];
        let counters = Counters::default();
        let mut outcome = self.with_context(keyspace, &counters, &|_| {}, |context| {
            write_tables(context, &memtables)
        })?;
        let placement = self.place_tables(keyspace, &mut outcome);
        let bytes: u64 = outcome.levels.adds.iter().map(|(_, t)| t.file_bytes).sum();
        self.install(keyspace, &outcome, &memtables, |w| {
            w.flushes += 1;
            w.flushed_bytes += bytes;
            w.direct_placements += placement.below_level0();
            w.flush_time += started.elapsed();
            w.flush_training_time += Counters::time(&counters.training_nanos);
            w.flush_write_time += Counters::time(&counters.write_nanos);
        })?;
        drop(placement);
        self.collect_logs()
    }

    /// Flushes everything that was written to a keyspace so far, and waits for it.
    pub(in crate::db) fn flush_keyspace(&self, keyspace: &Arc<OpenKeyspace>) -> Result<()> {
        self.check_writable()?;
        let newest = {
            let mut write = lock(&self.write);
            if !keyspace.view.load().active.is_empty() {
                keyspace.view.rotate();
                // A new log, if it is ready, so that the old one can be deleted as soon as its writes are
                // in tables, without waiting until it is full.
                self.rotate_log(&mut write);
            }
            keyspace.view.load().waiting.first().cloned()
        };
        // Another thread may have flushed it already, but the replaced log has to be ended.
        self.update_pressure();
        let Some(newest) = newest else { return Ok(()) };
        self.scheduler.signals.wait_while(|signals| {
            self.check_writable()?;
            signals.disk_full()?;
            // Nobody flushes a keyspace that was dropped meanwhile.
            let is_open = self.keyspaces.load().contains_key(&keyspace.id);
            let view = keyspace.view.load();
            Ok(is_open && view.waiting.iter().any(|m| Arc::ptr_eq(m, &newest)))
        })
    }
}
