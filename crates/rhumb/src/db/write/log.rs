//! The active log, and how logs are sealed, replaced and deleted.

use std::collections::VecDeque;

use crate::db::store::Store;
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::log_name;
use crate::fs::ops;
use crate::sync::lock;
use crate::version::{Change, Edit};
use crate::wal::LogWriter;

/// A complete log, to which nothing is appended any more.
#[derive(Debug, Clone, Copy)]
pub(in crate::db) struct SealedLog {
    pub(in crate::db) id: u64,
    pub(in crate::db) bytes: u64,
    /// The largest sequence among its operations, or a larger one.
    pub(in crate::db) largest_sequence: Sequence,
}

/// The state of the write path, guarded by the write lock.
#[derive(Debug)]
pub(in crate::db) struct WriteState {
    /// The active log; `None` if the next write has to create one, and in read-only stores.
    pub(in crate::db) log: Option<LogWriter>,
    /// The id and end of a sealed log whose end must be put into the manifest before another log is
    /// begun.
    pub(in crate::db) to_seal: Option<(u64, u64)>,
    pub(in crate::db) sealed: VecDeque<SealedLog>,
    /// The last sequence that was assigned.
    pub(in crate::db) last_sequence: Sequence,
}

impl WriteState {
    pub(in crate::db) fn log_bytes(&self) -> u64 {
        let active = self.log.as_ref().map_or(0, LogWriter::end);
        self.sealed.iter().map(|l| l.bytes).sum::<u64>() + active
    }

    /// Records that a log is complete and durable.
    fn seal(&mut self, id: u64, bytes: u64) {
        self.to_seal = Some((id, bytes));
        self.sealed.push_back(SealedLog {
            id,
            bytes,
            largest_sequence: self.last_sequence,
        });
    }
}

impl Store {
    /// Makes sure that there is an active log. The end of the log sealed before it is put into the
    /// manifest first, so that nothing behind that end can ever be replayed.
    pub(in crate::db) fn ensure_log(&self, write: &mut WriteState) -> Result<()> {
        if write.log.is_some() {
            return Ok(());
        }
        let id = self.new_file();
        let mut edit = Edit::default();
        if let Some((sealed, end)) = write.to_seal {
            edit.changes.push(Change::Log {
                id: sealed,
                valid_end: end,
            });
        }
        edit.changes.push(Change::BeginLog(id));
        let log = LogWriter::create(&**self.fs(), &self.dir, id);
        let log = log.inspect_err(|e| self.fail_unless_full(e))?;
        let mut catalog = lock(&self.catalog);
        if let Err(e) = self.commit_edit(&mut catalog, edit) {
            catalog.strays.push(self.dir.join(log_name(id)));
            return Err(e);
        }
        write.to_seal = None;
        write.log = Some(log);
        Ok(())
    }

    /// Ends the active log cleanly. The next write begins another log, with an edit that states
    /// where this one ends.
    pub(in crate::db) fn rotate_log(&self, write: &mut WriteState) -> Result<()> {
        let Some(mut log) = write.log.take() else {
            return Ok(());
        };
        if log.durable_end() < log.end() {
            self.synced(&mut log)?;
        }
        let (id, end) = (log.log_id(), log.end());
        let end = match log.close() {
            // Everything is durable; only the mark of the clean end is missing.
            Err(Error::DiskFull { .. }) => end,
            closed => closed.inspect_err(|e| self.fail(e))?,
        };
        write.seal(id, end);
        Ok(())
    }

    /// Makes everything up to `sequence` durable. Sealed logs are durable already.
    pub(in crate::db) fn sync_log_through(&self, sequence: Sequence) -> Result<()> {
        let mut write = lock(&self.write);
        let sealed = write.sealed.back().map_or(0, |l| l.largest_sequence);
        match sequence > sealed {
            true => self.sync_log(&mut write),
            false => Ok(()),
        }
    }

    /// Makes everything in the active log durable. Sealed logs are durable already.
    #[track_caller]
    pub(in crate::db) fn sync_log(&self, write: &mut WriteState) -> Result<()> {
        // If a sync failed while the caller waited for the lock, that log is no longer active, but
        // it is not durable either.
        self.check_writable()?;
        match &mut write.log {
            Some(log) if log.durable_end() < log.end() => self.synced(log),
            _ => Ok(()),
        }
    }

    /// Syncs a log. A failure makes the store read-only, since the state of the disk is unknown
    /// after it.
    #[track_caller]
    pub(in crate::db) fn synced(&self, log: &mut LogWriter) -> Result<()> {
        log.sync().inspect_err(|e| self.fail(e))
    }

    /// Deletes the sealed logs whose operations are all in tables.
    pub(in crate::db) fn collect_logs(&self) -> Result<()> {
        let mut write = lock(&self.write);
        let keyspaces = self.keyspaces.load();
        let pin = keyspaces
            .values()
            .filter_map(|k| k.view.lowest_unflushed())
            .min();
        let pin = pin.unwrap_or(write.last_sequence + 1);
        let mut edit = Edit::default();
        let gone: Vec<u64> = write
            .sealed
            .iter()
            .take_while(|l| l.largest_sequence < pin)
            .map(|l| l.id)
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        for id in &gone {
            edit.changes.push(Change::RemoveLog(*id));
        }
        self.commit_edit(&mut lock(&self.catalog), edit)?;
        write.sealed.drain(..gone.len());
        // The manifest needs no end for a log that it no longer names.
        write.to_seal.take_if(|(id, _)| gone.contains(id));
        drop(write);
        for id in gone {
            // A log that cannot be removed now is removed when the store is opened again.
            let _ = ops::remove(&**self.fs(), &self.dir.join(log_name(id)));
        }
        Ok(())
    }
}
