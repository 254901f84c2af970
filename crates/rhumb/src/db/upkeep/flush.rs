//! Flushes: each writes a memtable to tables, together with what flushes before it kept back, and may keep
//! back entries itself.

use std::sync::Arc;
use std::time::Instant;

use super::scheduler::{Running, Scheduler};
use crate::compaction::{
    Arrivals, Context, Counters, Flushed, LoggedFile, Order, Outcome, Parts, are_in_memory,
    counts_hidden, flush as write_tables,
};
use crate::db::read::view::FlushedMemtable;
use crate::db::store::{OpenKeyspace, Store};
use crate::entry::Sequence;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::options::Compaction;
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::version::Table;

/// Entries are kept back whose log lies within this part of the bytes that logs may take, so that they are
/// seldom the reason why logs take too much.
const LOGS_HELD: u64 = 2;

/// At most these parts of a write buffer, so many out of so many, are kept back: a half that is early, a quarter
/// that is late, and what the memory for both is larger than they are.
const MOST_HELD: (u64, u64) = (7, 8);

/// Tables point to the values in a log if what else is in it, which stays garbage, takes no more than one in so many parts
/// of the garbage that is allowed.
const MOST_LOST: u64 = 4;

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
        // Only flushes change what is kept back, and one runs at a time.
        let held = keyspace.view.load().held.clone();
        let whole = must_be_whole(keyspace, &memtable, held.as_ref());
        if memtable.is_empty() && !(whole && held.is_some()) {
            let flushed = FlushedMemtable { memtable, held };
            return self.install(keyspace, &Outcome::default(), Some(&flushed), |_| {});
        }
        let (order, parts) = self.divide(keyspace, &memtable, held.as_ref(), whole)?;
        let started = Instant::now();
        // Without the sync, these writes could survive a crash that loses earlier writes to another
        // keyspace. What is kept back from before was synced then.
        let through = memtable.largest_sequence().unwrap_or(0);
        self.sync_log_through(through)?;
        let logged = self.logged_values(keyspace.id, through)?;
        let levels = keyspace.view.load().levels.clone();
        let runs = levels.all_runs();
        let tables = runs.map(|(_, run)| run.tables().iter().map(|t| &**t).collect());
        let older: Vec<Vec<&Table>> = tables.collect();
        let memtables: Vec<_> = [&memtable].into_iter().chain(&held).cloned().collect();
        let counters = Counters::default();
        let flushed = self.with_context(keyspace, &counters, &|_| {}, |context| {
            let context = Context {
                logged: &logged,
                keeps_blocks: are_in_memory(levels.tables().map(|(_, table)| table)),
                older: match counts_hidden(&levels, context.table, context.tier) {
                    true => &older,
                    false => &[],
                },
                ..*context
            };
            write_tables(&context, &memtables, &parts, self.most_held())
        })?;
        let Flushed { mut outcome, held } = flushed;
        let value_files = outcome.value_files.iter();
        let named: Vec<u64> = value_files.map(|(number, _)| *number).collect();
        let placement = self.place_tables(keyspace, &mut outcome);
        let bytes = outcome.bytes();
        let flushed = FlushedMemtable { memtable, held };
        self.install(keyspace, &outcome, Some(&flushed), |w| {
            w.flushes += 1;
            w.partial_flushes += u64::from(flushed.held.is_some());
            w.flushed_bytes += bytes;
            w.direct_placements += placement.below_level0();
            w.flush_time += started.elapsed();
            w.flush_training_time += Counters::time(&counters.training_nanos);
            w.flush_write_time += Counters::time(&counters.write_nanos);
        })?;
        drop(placement);
        lock(&self.logs).give_values_away(&named);
        *lock(&keyspace.order) = order;
        self.collect_logs()
    }

    /// The logs with values of a keyspace up to a sequence, to which the tables of a flush may point. A log that is
    /// ending is waited for, since its end is part of what a table says of it.
    fn logged_values(&self, keyspace: u32, through: Sequence) -> Result<Vec<LoggedFile>> {
        self.scheduler.signals.wait_while(|signals| {
            if !lock(&self.logs).is_ending(keyspace, through) {
                return Ok(false);
            }
            self.check_writable()?;
            signals.disk_full()?;
            Ok(true)
        })?;
        let logs = lock(&self.logs).with_values_of(keyspace);
        let allowed = u64::from(self.options.over_provision_percent);
        let logged = logs.into_iter().filter_map(|log| {
            let (bytes, values) = (log.bytes, log.values?);
            let lost = bytes.saturating_sub(values.bytes());
            let most = values.bytes().saturating_mul(allowed) / 100 / MOST_LOST;
            (lost <= most).then_some(LoggedFile {
                number: log.id,
                bytes,
                values,
            })
        });
        Ok(logged.collect())
    }

    /// What is known of the order of keys after a flush, and the parts into which it divides them.
    fn divide(
        &self,
        keyspace: &OpenKeyspace,
        memtable: &Memtable,
        held: Option<&Arc<Memtable>>,
        whole: bool,
    ) -> Result<(Order, Parts)> {
        let leveled = self.options.levels.compaction == Compaction::Leveled;
        if !leveled || !self.may_hold_back.load(Ordering::Relaxed) {
            return Ok((Order::default(), Parts::whole()));
        }
        let expired = self.newest_over(self.options.log_bytes / LOGS_HELD);
        let arrivals = Arrivals::of(memtable);
        let (order, cut) = lock(&keyspace.order).survey(&arrivals, held.is_none(), expired);
        let parts = match cut.filter(|_| !whole) {
            Some(cut) => Parts::of(&cut, memtable, held, expired)?,
            None => Parts::whole(),
        };
        Ok((order, parts))
    }

    /// The most bytes of memory for what one keyspace keeps back.
    fn most_held(&self) -> u64 {
        let (parts, of) = MOST_HELD;
        self.options.write_buffer_bytes / of * parts
    }

    /// Flushes everything that was written to a keyspace so far, and waits for it.
    pub(in crate::db) fn flush_keyspace(&self, keyspace: &Arc<OpenKeyspace>) -> Result<()> {
        self.check_writable()?;
        let newest = {
            let mut write = lock(&self.write);
            // Also what is kept back, now or by a flush that is running.
            keyspace.flush_whole_through(write.last_sequence);
            let is_empty = || keyspace.view.load().active.is_empty();
            if !is_empty() {
                // A new log, if it is ready, so that the old one can be deleted as soon as its writes are
                // in tables, without waiting until it is full. First, as in `rotate_full`: a flush may begin as soon
                // as the memtable waits for it.
                self.rotate_log(&mut write);
            }
            // If the logs took too much room, the memtable was replaced with the log.
            if !is_empty() {
                keyspace.view.rotate();
            }
            write.last_sequence
        };
        // Another thread may have flushed it already, but the replaced log has to be ended.
        self.update_pressure();
        self.scheduler.signals.wait_while(|signals| {
            let view = keyspace.view.load();
            if !view.has_sealed(newest) {
                return Ok(false);
            }
            drop(view);
            self.check_writable()?;
            signals.disk_full()?;
            // Nobody flushes a keyspace that was dropped meanwhile.
            Ok(self.keyspaces.load().contains_key(&keyspace.id))
        })
    }
}

/// Whether a flush must keep nothing back: somebody waits for what it writes, a log does, or range deletes are
/// among it, whose keys cannot be told from others by where they lie.
fn must_be_whole(
    keyspace: &OpenKeyspace,
    memtable: &Memtable,
    held: Option<&Arc<Memtable>>,
) -> bool {
    let memtables = held.map(|m| &**m).into_iter().chain([memtable]);
    let oldest = memtables.filter_map(|m| m.smallest_sequence()).min();
    oldest.is_some_and(|s| keyspace.is_flushed_whole(s)) || memtable.range_deletes().is_some()
}
