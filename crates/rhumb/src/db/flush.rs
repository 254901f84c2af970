//! Memtables become tables of level 0.

use std::sync::Arc;
use std::time::Instant;

use super::store::{OpenKeyspace, Store};
use crate::compaction::{Counters, Outcome, flush};
use crate::error::{Error, Result};
use crate::fs::ops;
use crate::memtable::Memtable;
use crate::sync::lock;

impl Store {
    /// Flushes the oldest waiting memtable of some keyspace; whether there was one.
    pub(super) fn flush_one(&self) -> Result<bool> {
        self.check_writable()?;
        // The other threads may be merging for long, and each flush replaces views.
        self.free_views();
        // The oldest write of all first: it holds back the logs.
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
            // Dropped meanwhile: nobody misses these writes.
            Err(Error::NoSuchKeyspace(_)) => Ok(true),
            result => result.map(|()| true),
        }
    }

    /// # Errors
    /// [`Error::NoSuchKeyspace`] if the keyspace was dropped meanwhile, which is no harm.
    fn flush_memtable(&self, keyspace: &OpenKeyspace, memtable: Arc<Memtable>) -> Result<()> {
        if memtable.is_empty() {
            return self.install(keyspace, &Outcome::default(), &[memtable], |_| {});
        }
        let started = Instant::now();
        // Otherwise these writes could outlive earlier ones of another keyspace.
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

    /// Removes the tables just made for a keyspace that was dropped before they could be installed.
    pub(super) fn discard_if_dropped(&self, outcome: &Outcome, error: &Error) {
        if !matches!(error, Error::NoSuchKeyspace(_)) {
            return;
        }
        for table in outcome.made() {
            // What stays is removed when the store is opened again.
            let _ = ops::remove(&**self.fs(), &self.files.table_path(table.number));
        }
    }

    /// Turns everything written to a keyspace so far into tables, and waits for it.
    pub(super) fn flush_keyspace(&self, keyspace: &Arc<OpenKeyspace>) -> Result<()> {
        self.check_writable()?;
        let newest = {
            let mut write = lock(&self.write);
            if !keyspace.view.load().active.is_empty() {
                keyspace.view.rotate();
                // Its log can go when it is a table, and need not wait for the next write.
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
    fn flushed_memtables_go_while_all_else_is_busy() {
        let mut options = Options::in_memory();
        options.compaction_threads = 1;
        let db = Db::open("flush", options).unwrap();
        // As one long merge would, this keeps the only other thread.
        let busy = lock(&db.handle.store.merges);
        let mut flushed = Vec::new();
        for n in 0..8u64 {
            db.put(n.to_be_bytes(), "value").unwrap();
            flushed.push(Arc::downgrade(&db.state().view.load().active));
            db.flush().unwrap();
        }
        // The thread that flushed the last one may not have come to free it yet.
        flushed.pop();
        let kept = flushed.iter().filter(|m| m.upgrade().is_some()).count();
        drop(busy);
        assert_eq!(kept, 0, "memtables are kept that are tables already");
    }
}
