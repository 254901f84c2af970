//! How the active log is replaced, and what becomes of the others.
//!
//! The next log is begun ahead, so that writers go over to it without a call to the operating system. A
//! thread of its own then ends the log that was replaced and begins the one after. At most one log is
//! ending at a time; until it has ended, writers go on in the active one.

use std::time::Instant;

use super::logs::{self, Logs, SealedLog, WriteState};
use crate::db::store::Store;
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::fs::ops;
use crate::sync::{RankedGuard, lock};
use crate::version::{Change, Edit};
use crate::wal::LogWriter;

/// The active log may grow to this many times the bytes at which it is replaced, where the next one is
/// not ready.
const MOST_SEGMENTS: u64 = 4;

impl Store {
    /// Takes out the logs of earlier openings that are not needed: all their operations are in tables, or
    /// none counts.
    pub(in crate::db) fn take_unneeded_logs(&self, logs: &mut Logs) -> Vec<SealedLog> {
        let mut unneeded = logs.take_flushed(self.lowest_unflushed());
        let sealed = logs.sealed.drain(..);
        let (empty, sealed): (Vec<_>, Vec<_>) = sealed.partition(|log| log.bytes == 0);
        logs.sealed = sealed.into();
        unneeded.extend(empty);
        unneeded
    }

    /// Locks the write path, with a log that takes more.
    ///
    /// # Errors
    /// If the log is as long as it may become and the next one cannot be begun.
    pub(in crate::db) fn lock_to_write(&self) -> Result<RankedGuard<'_, WriteState>> {
        let write = lock(&self.write);
        let most = MOST_SEGMENTS * self.log_segment();
        if write.log.as_ref().is_none_or(|l| l.file().end() < most) {
            return Ok(write);
        }
        drop(write);
        let started = Instant::now();
        let waited = self.scheduler.signals.wait_while(|signals| {
            self.check_writable()?;
            signals.disk_full()?;
            Ok(lock(&self.logs).next.is_none())
        });
        let reason = "the next log is not ready";
        self.writes.held_up(reason, started.elapsed(), true);
        waited?;
        let mut write = lock(&self.write);
        if self.rotate_log(&mut write) {
            self.update_pressure();
        }
        Ok(write)
    }

    /// The bytes at which the active log is replaced.
    pub(in crate::db) fn log_segment(&self) -> u64 {
        let segment = self.options.write_buffer_bytes.max(1 << 20);
        segment.min(self.options.log_bytes / 4)
    }

    /// Replaces the active log by the one begun ahead, if that is there and the active one is not empty.
    /// If the logs take too much room, it also replaces the memtables that keep the oldest logs from being
    /// deleted. Returns whether it did; the threads must be woken then.
    pub(in crate::db) fn rotate_log(&self, write: &mut WriteState) -> bool {
        let rotated = lock(&self.logs).rotate(write);
        if rotated {
            self.rotate_oldest();
        }
        rotated
    }

    /// If the logs together take too much room, sends the memtables with writes of the oldest logs
    /// to be flushed, and what is kept back of these writes.
    fn rotate_oldest(&self) {
        let newest = self.newest_over(self.options.log_bytes);
        for keyspace in self.keyspaces.load().values() {
            keyspace.flush_whole_through(newest);
            let oldest = keyspace.view.load().active.smallest_sequence();
            if oldest.is_some_and(|oldest| oldest <= newest) {
                keyspace.view.rotate();
            }
        }
    }

    /// The largest sequence in the oldest logs that have to go for the logs to take `most` bytes; 0 if none has
    /// to.
    pub(in crate::db) fn newest_over(&self, most: u64) -> Sequence {
        lock(&self.logs).newest_over(most)
    }

    /// Ends the log that was replaced, and begins the next one ahead. Returns whether there was one to end.
    pub(in crate::db) fn end_replaced_log(&self) -> Result<bool> {
        let ended = logs::close_replaced(&self.logs).inspect_err(|e| self.fail(e))?;
        let Some(ended) = ended else {
            return Ok(false);
        };
        let unnamed = lock(&self.logs).unnamed.take();
        let next = match unnamed {
            Some(next) => next,
            None => self
                .create_log()
                .inspect_err(|e| self.fail_unless_full(e))?,
        };
        let end = Change::Log {
            id: ended.id,
            valid_end: ended.bytes,
        };
        let edit = vec![end, Change::BeginLogAhead(next.file().log_id())];
        let committed = self.commit_edit(&mut lock(&self.catalog), edit.into());
        let mut logs = lock(&self.logs);
        if let Err(e) = committed {
            logs.unnamed = Some(next);
            return Err(e);
        }
        logs.seal(ended, next);
        drop(logs);
        self.scheduler.signals.wake_all();
        self.collect_logs()?;
        Ok(true)
    }

    /// Creates an empty log, durably.
    fn create_log(&self) -> Result<LogWriter> {
        let (files, id) = (&self.files, self.files.new_number());
        let log = LogWriter::create(&*files.fs, &files.dir, id)?;
        ops::sync_dir(&*files.fs, &files.dir).inspect_err(|_| files.delete(FileKind::Log, id))?;
        Ok(log)
    }

    /// Makes everything durable that was written before the call. A failed sync makes the store read-only,
    /// since the state of the disk is unknown after it.
    #[track_caller]
    pub(in crate::db) fn sync_logs(&self) -> Result<()> {
        // If a sync failed before, what it covered is not durable.
        self.check_writable()?;
        logs::sync_all(&self.logs).inspect_err(|e| self.fail(e))
    }

    /// Makes everything up to `sequence` durable, which was written before the call.
    pub(in crate::db) fn sync_log_through(&self, sequence: Sequence) -> Result<()> {
        self.check_writable()?;
        logs::sync_through(&self.logs, sequence).inspect_err(|e| self.fail(e))
    }

    /// The lowest sequence that is in a memtable; one above all if there is none.
    pub(in crate::db) fn lowest_unflushed(&self) -> Sequence {
        let keyspaces = self.keyspaces.load();
        let lowest = keyspaces.values().filter_map(|k| k.view.lowest_unflushed());
        lowest.min().unwrap_or(Sequence::MAX)
    }

    /// Deletes the sealed logs whose operations are all in tables.
    pub(in crate::db) fn collect_logs(&self) -> Result<()> {
        let newest = lock(&self.logs)
            .sealed
            .back()
            .map(|log| log.largest_sequence);
        let Some(newest) = newest else {
            return Ok(());
        };
        // What is sealed meanwhile may have writes that came into memtables later.
        let lowest_unflushed = self.lowest_unflushed().min(newest + 1);
        let gone = lock(&self.logs).take_flushed(lowest_unflushed);
        if gone.is_empty() {
            return Ok(());
        }
        let changes: Vec<Change> = gone.iter().map(|log| Change::RemoveLog(log.id)).collect();
        if let Err(e) = self.commit_edit(&mut lock(&self.catalog), changes.into()) {
            let sealed = &mut lock(&self.logs).sealed;
            sealed.extend(gone);
            // Another thread may have taken out some, and put them back, meanwhile.
            sealed.make_contiguous().sort_by_key(|log| log.id);
            return Err(e);
        }
        for log in gone {
            self.files.delete(FileKind::Log, log.id);
        }
        Ok(())
    }

    /// Ends the logs cleanly, and removes those without writes. An edit says so: without it, damage to the
    /// last edit or to the end of a log could be mistaken for a torn tail.
    pub(in crate::db) fn end_logs(&self, write: &mut WriteState) -> Result<()> {
        let mut ended: Vec<(u64, u64)> = Vec::new();
        let replaced = logs::close_replaced(&self.logs).inspect_err(|e| self.fail(e))?;
        if let Some(log) = replaced {
            ended.push((log.id, log.bytes));
        }
        let mut empty = Vec::new();
        if let Some(log) = write.log.take() {
            match log.file().end() {
                0 => empty.push(log.file().log_id()),
                _ => {
                    let id = log.file().log_id();
                    ended.push((id, logs::close(log).inspect_err(|e| self.fail(e))?));
                }
            }
        }
        let (next, unnamed) = {
            let mut logs = lock(&self.logs);
            (logs.next.take(), logs.unnamed.take())
        };
        empty.extend(next.map(|log| log.file().log_id()));
        let ends = ended.into_iter();
        let mut changes: Vec<Change> = ends
            .map(|(id, valid_end)| Change::Log { id, valid_end })
            .collect();
        changes.extend(empty.iter().map(|id| Change::RemoveLog(*id)));
        if let Some(log) = unnamed {
            self.files.delete(FileKind::Log, log.file().log_id());
        }
        if self.end_manifest(&changes.into())? {
            let delete = |id| self.files.delete(FileKind::Log, id);
            empty.into_iter().for_each(delete);
        }
        Ok(())
    }

    /// Appends the last edit; returns whether it is durable.
    fn end_manifest(&self, edit: &Edit) -> Result<bool> {
        match &mut lock(&self.catalog).manifest {
            Some(manifest) if !manifest.broken() => match manifest.append(edit) {
                // Only this safeguard is missing.
                Err(Error::DiskFull { .. }) => Ok(false),
                ended => ended.map(|()| true),
            },
            _ => Ok(false),
        }
    }
}
