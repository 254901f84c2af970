//! The log that takes writes, and when it is sealed and replaced.

use std::collections::VecDeque;

use super::store::Store;
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::log_name;
use crate::fs::ops;
use crate::sync::lock;
use crate::version::{Change, Edit};
use crate::wal::LogWriter;

/// A log that is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct SealedLog {
    pub(super) id: u64,
    pub(super) bytes: u64,
    /// No operation in it has a larger sequence.
    pub(super) largest_sequence: Sequence,
}

/// What the leader of a commit group works on.
#[derive(Debug)]
pub(super) struct WriteState {
    /// The log that takes writes; `None` when one has to be made first, and in read-only stores.
    pub(super) log: Option<LogWriter>,
    /// A log whose end must be put into the manifest before another one is begun.
    pub(super) to_seal: Option<(u64, u64)>,
    pub(super) sealed: VecDeque<SealedLog>,
    /// The last sequence given out.
    pub(super) last_sequence: Sequence,
}

impl WriteState {
    pub(super) fn log_bytes(&self) -> u64 {
        let active = self.log.as_ref().map_or(0, LogWriter::end);
        self.sealed.iter().map(|l| l.bytes).sum::<u64>() + active
    }

    /// Notes that a log is complete and durable.
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
    /// Makes sure there is a log to write to. A sealed one's end goes into the manifest first, so
    /// that no frame behind it can ever come back.
    pub(super) fn ensure_log(&self, write: &mut WriteState) -> Result<()> {
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

    /// Ends the active log cleanly; the next write begins another, and the manifest will state where
    /// this one ends.
    pub(super) fn rotate_log(&self, write: &mut WriteState) -> Result<()> {
        let Some(mut log) = write.log.take() else {
            return Ok(());
        };
        if log.durable_end() < log.end() {
            self.synced(&mut log)?;
        }
        let (id, end) = (log.log_id(), log.end());
        let end = match log.close() {
            // Everything is durable, only the mark of the clean end is missing.
            Err(Error::DiskFull { .. }) => end,
            closed => closed.inspect_err(|e| self.fail(e))?,
        };
        write.seal(id, end);
        Ok(())
    }

    /// After a failed append: what was written before it stays, and is made durable, so that later
    /// logs continue a prefix.
    pub(super) fn seal_log(&self, write: &mut WriteState) -> Result<()> {
        let Some(mut log) = write.log.take() else {
            return Ok(());
        };
        self.synced(&mut log)?;
        write.seal(log.log_id(), log.end());
        Ok(())
    }

    /// Makes everything up to `sequence` durable, if it is not yet. Sealed logs are.
    pub(super) fn sync_log_through(&self, sequence: Sequence) -> Result<()> {
        let mut write = lock(&self.write);
        let sealed = write.sealed.back().map_or(0, |l| l.largest_sequence);
        match sequence > sealed {
            true => self.sync_log(&mut write),
            false => Ok(()),
        }
    }

    /// Makes everything in the active log durable. Sealed logs are.
    #[track_caller]
    pub(super) fn sync_log(&self, write: &mut WriteState) -> Result<()> {
        // A log whose sync failed while the caller waited for the lock is gone, not synced.
        self.check_writable()?;
        match &mut write.log {
            Some(log) if log.durable_end() < log.end() => self.synced(log),
            _ => Ok(()),
        }
    }

    /// Syncs a log; a failure ends all writing, since nothing is known of the disk after it.
    #[track_caller]
    pub(super) fn synced(&self, log: &mut LogWriter) -> Result<()> {
        log.sync().inspect_err(|e| self.fail(e))
    }

    /// Removes the logs whose operations are all in tables.
    pub(super) fn collect_logs(&self) -> Result<()> {
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
        // Where a log ends that no manifest names is of no use.
        write.to_seal.take_if(|(id, _)| gone.contains(id));
        drop(write);
        for id in gone {
            // A log that cannot be removed now is removed when the store is opened again.
            let _ = ops::remove(&**self.fs(), &self.dir.join(log_name(id)));
        }
        Ok(())
    }
}
