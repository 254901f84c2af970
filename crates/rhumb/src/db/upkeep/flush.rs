//! Flushes: each writes a memtable to a table in level 0.

use std::sync::Arc;
use std::time::Instant;

use crate::compaction::{Counters, Outcome, flush};
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::fs::ops;
use crate::memtable::Memtable;
use crate::sync::lock;

impl Store {
    /// Flushes the memtable with the oldest write among the oldest waiting memtables of all
    /// keyspaces. Returns whether there was a memtable to flush.
    pub(in crate::db) fn flush_one(&self) -> Result<bool> {
        self.check_writable()?;
        // The compaction threads may be busy for long, and every flush replaces views.
        self.free_views();
        // The oldest write comes first, since it keeps its log from being deleted.
        let keyspaces = self.keyspaces.load();
        let waiting = keyspaces.values().filter_map(|keyspace| {
            let oldest = keyspace.view.load().waiting.last().cloned();
            oldest.map(|memtable| (keyspace.clone(), memtable))
        });
        let waiting = waiting.min_by_key(|(_, memtable)| memtable.smallest_sequence());
        let Some((keyspace, memtable)) = waiting else {
            return Ok(false);
        };
        match self.flush_memtable(&keyspace, memtable) {
            // The keyspace was dropped meanwhile, so its writes need not be flushed.
            Err(Error::NoSuchKeyspace(_)) => Ok(true),
            result => result.map(|()| true),
        }
    }

    /// # Errors
    /// [`Error::NoSuchKeyspace`] if the keyspace was dropped meanwhile; nothing is lost then.
    fn flush_memtable(&self, keyspace: &OpenKeyspace, memtable: Arc<Memtable>) -> Result<()> {
        if memtable.is_empty() {
            return self.install(keyspace, &Outcome::default(), &[memtable], |_| {});
        }
        let started = Instant::now();
        // Without the sync, these writes could survive a crash that loses earlier writes to another
        // keyspace.
        self.sync_log_through(memtable.largest_sequence().unwrap_or(0))?;
        let memtables = [memtable];
        let counters = Counters::default();
        let outcome =
            self.with_context(keyspace, &counters, |context| flush(context, &memtables))?;
        let bytes: u64 = outcome.levels.adds.iter().map(|(_, t)| t.file_bytes).sum();
        self.install(keyspace, &outcome, &memtables, |w| {
            w.flushes += 1;
            w.flushed_bytes += bytes;
            w.flush_time += started.elapsed();
            w.flush_training_time += Counters::time(&counters.training_nanos);
            w.flush_write_time += Counters::time(&counters.write_nanos);
        })
        .inspect_err(|e| self.discard_if_dropped(&outcome, e))?;
        self.collect_logs()
    }

    /// Deletes the new tables if `error` says that the keyspace was dropped before they could be
    /// installed.
    pub(in crate::db) fn discard_if_dropped(&self, outcome: &Outcome, error: &Error) {
        if !matches!(error, Error::NoSuchKeyspace(_)) {
            return;
        }
        for table in outcome.made() {
            // A file that remains is deleted when the store is opened again.
            let _ = ops::remove(&**self.fs(), &self.files.table_path(table.number));
        }
    }

    /// Flushes everything that was written to a keyspace so far, and waits for it.
    pub(in crate::db) fn flush_keyspace(&self, keyspace: &Arc<OpenKeyspace>) -> Result<()> {
        self.check_writable()?;
        let newest = {
            let mut write = lock(&self.write);
            if !keyspace.view.load().active.is_empty() {
                keyspace.view.rotate();
                // A new log, so that the old one can be deleted as soon as its writes are in
                // tables, without waiting for the next write.
                self.rotate_log(&mut write)?;
            }
            keyspace.view.load().waiting.first().cloned()
        };
        let Some(newest) = newest else { return Ok(()) };
        self.update_pressure();
        self.signals.wake_all();
        self.signals.wait_while(|signals| {
            self.check_writable()?;
            signals.disk_full()?;
            Ok(keyspace
                .view
                .load()
                .waiting
                .iter()
                .any(|m| Arc::ptr_eq(m, &newest)))
        })
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::options::Options;

    #[test]
    fn flushed_memtables_are_freed_while_all_other_threads_are_busy() {
        let mut options = Options::in_memory();
        options.compaction_threads = 1;
        let db = Db::open("flush", options).unwrap();
        // Occupies the only compaction thread, as a long merge would.
        let busy = lock(&db.handle.store.merges);
        let mut flushed = Vec::new();
        for n in 0..8u64 {
            db.put(n.to_be_bytes(), "value").unwrap();
            flushed.push(Arc::downgrade(&db.state().view.load().active));
            db.flush().unwrap();
        }
        // The flush thread may not have freed the last memtable yet.
        flushed.pop();
        let kept = flushed.iter().filter(|m| m.upgrade().is_some()).count();
        drop(busy);
        assert_eq!(kept, 0, "flushed memtables are still held");
    }
}
