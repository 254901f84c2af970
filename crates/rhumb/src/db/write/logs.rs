//! The logs of an open store, and how they become durable: the complete ones first, so that no write is
//! durable before those that came before it.

use std::collections::VecDeque;

use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::sync::{Arc, Ranked, lock};
use crate::wal::{LogFile, LogWriter, LoggedValues};

/// A complete log, to which nothing is appended any more.
#[derive(Debug, Clone)]
pub(in crate::db) struct SealedLog {
    pub(in crate::db) id: u64,
    pub(in crate::db) bytes: u64,
    /// The largest sequence among its operations, or a larger one.
    pub(in crate::db) largest_sequence: Sequence,
    /// The values in it that tables may point to; `None` once some do, or if there are none.
    pub(in crate::db) values: Option<Arc<LoggedValues>>,
}

impl SealedLog {
    /// Whether tables of a keyspace may point to values in it.
    fn has_values_of(&self, keyspace: u32) -> bool {
        let owner = self.values.as_ref().and_then(|values| values.keyspace());
        owner == Some(keyspace)
    }
}

/// The state of the write path, guarded by the write lock.
#[derive(Debug)]
pub(in crate::db) struct WriteState {
    /// The active log; `None` in stores that are read-only or closed.
    pub(in crate::db) log: Option<LogWriter>,
    /// The last sequence that was assigned.
    pub(in crate::db) last_sequence: Sequence,
}

/// The logs. Its lock is never held during a call to the operating system.
#[derive(Debug, Default)]
pub(in crate::db) struct Logs {
    /// The log that takes writes.
    active: Option<Arc<LogFile>>,
    /// The log begun ahead, which the manifest names.
    pub(super) next: Option<LogWriter>,
    /// The log that was active before, until its end is in the manifest.
    ending: Option<EndingLog>,
    /// A log begun ahead that could not be put into the manifest yet.
    pub(super) unnamed: Option<LogWriter>,
    /// The complete logs, whose ends are in the manifest, oldest first.
    pub(in crate::db) sealed: VecDeque<SealedLog>,
}

#[derive(Debug)]
struct EndingLog {
    file: Arc<LogFile>,
    /// `None` once the log is closed.
    writer: Option<LogWriter>,
    log: SealedLog,
}

impl Logs {
    /// The logs that were found when a store was opened.
    pub(in crate::db) fn new(sealed: VecDeque<SealedLog>) -> Self {
        Logs {
            sealed,
            ..Logs::default()
        }
    }

    /// Adds the first logs to be written, which the manifest names.
    pub(in crate::db) fn begin(&mut self, active: &LogWriter, next: LogWriter) {
        self.active = Some(active.file().clone());
        self.next = Some(next);
    }

    /// The bytes of all logs.
    pub(in crate::db) fn bytes(&self) -> u64 {
        let active = self.active.as_ref().map_or(0, |log| log.end());
        self.complete().map(|log| log.bytes).sum::<u64>() + active
    }

    /// The logs that take no more writes, oldest first.
    pub(in crate::db) fn complete(&self) -> impl Iterator<Item = &SealedLog> {
        let ending = self.ending.as_ref().map(|ending| &ending.log);
        self.sealed.iter().chain(ending)
    }

    /// Whether a log is ending that may have values of a keyspace with sequences up to this one.
    pub(in crate::db) fn is_ending(&self, keyspace: u32, through: Sequence) -> bool {
        let ending = self.ending.as_ref();
        !self.has_ended(through) && ending.is_some_and(|e| e.log.has_values_of(keyspace))
    }

    /// The sealed logs to whose values tables of a keyspace may point.
    pub(in crate::db) fn with_values_of(&self, keyspace: u32) -> Vec<SealedLog> {
        let sealed = self.sealed.iter();
        sealed
            .filter(|log| log.has_values_of(keyspace))
            .cloned()
            .collect()
    }

    /// Notes that tables point to the values of some logs. No others will: a log gets a second name only once.
    pub(in crate::db) fn give_values_away(&mut self, logs: &[u64]) {
        for log in &mut self.sealed {
            log.values.take_if(|_| logs.contains(&log.id));
        }
    }

    /// Replaces the active log by the one begun ahead, if that is there and the active one is not empty.
    /// Returns whether it did.
    pub(super) fn rotate(&mut self, write: &mut WriteState) -> bool {
        let Some(active) = write.log.as_mut().filter(|l| l.file().end() > 0) else {
            return false;
        };
        let Some(next) = self.next.take() else {
            return false;
        };
        self.active = Some(next.file().clone());
        debug_assert!(
            self.ending.is_none(),
            "a log ends while there is a next one"
        );
        let mut ended = std::mem::replace(active, next);
        let file = ended.file().clone();
        let values = ended.has_values().then(|| Arc::new(ended.take_values()));
        let log = SealedLog {
            values,
            id: file.log_id(),
            bytes: file.end(),
            largest_sequence: write.last_sequence,
        };
        let writer = Some(ended);
        self.ending = Some(EndingLog { file, writer, log });
        true
    }

    /// Notes that the manifest has the end of the log that was replaced, and names the next one.
    pub(super) fn seal(&mut self, ended: SealedLog, next: LogWriter) {
        self.next = Some(next);
        self.ending = None;
        self.sealed.push_back(ended);
    }

    /// The log that was replaced, and its end.
    fn unsynced(&self) -> Option<(Arc<LogFile>, u64)> {
        let ending = self.ending.as_ref()?;
        Some((ending.file.clone(), ending.log.bytes))
    }

    /// Whether everything up to `sequence` is in logs that have ended, and so is durable.
    fn has_ended(&self, sequence: Sequence) -> bool {
        sequence <= self.sealed.back().map_or(0, |log| log.largest_sequence)
    }

    /// The largest sequence in the oldest complete logs that have to go for the logs to take `most` bytes;
    /// 0 if none has to.
    pub(super) fn newest_over(&self, most: u64) -> Sequence {
        let mut over = self.bytes().saturating_sub(most);
        let mut newest = 0;
        for log in self.complete() {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(log.bytes);
            newest = log.largest_sequence;
        }
        newest
    }

    /// Takes out the oldest sealed logs, as long as all their operations are below `lowest_unflushed`.
    pub(in crate::db) fn take_flushed(&mut self, lowest_unflushed: Sequence) -> Vec<SealedLog> {
        let flushed = |log: &&SealedLog| log.largest_sequence < lowest_unflushed;
        let count = self.sealed.iter().take_while(flushed).count();
        self.sealed.drain(..count).collect()
    }
}

/// Makes the log that was replaced durable, before anything in the active one becomes so. Returns the active
/// log.
///
/// # Errors
/// If a sync fails.
fn sync_replaced(logs: &Ranked<Logs>) -> Result<Option<Arc<LogFile>>> {
    let (ending, active) = {
        let logs = lock(logs);
        (logs.unsynced(), logs.active.clone())
    };
    if let Some((file, end)) = ending {
        file.sync_through(end)?;
    }
    Ok(active)
}

/// Makes everything durable that was written before the call.
///
/// # Errors
/// If a sync fails.
#[track_caller]
pub(super) fn sync_all(logs: &Ranked<Logs>) -> Result<()> {
    match sync_replaced(logs)? {
        Some(active) => active.sync(),
        None => Ok(()),
    }
}

/// Makes everything up to `sequence` durable, which was written before the call.
///
/// # Errors
/// If a sync fails.
pub(super) fn sync_through(logs: &Ranked<Logs>, sequence: Sequence) -> Result<()> {
    let (ended, complete) = {
        let logs = lock(logs);
        let complete = logs.complete().last();
        (
            logs.has_ended(sequence),
            complete.is_some_and(|log| sequence <= log.largest_sequence),
        )
    };
    if ended {
        Ok(())
    } else if complete {
        sync_replaced(logs).map(|_| ())
    } else {
        sync_all(logs)
    }
}

/// Makes the log that was replaced durable and marks its end as clean. Returns it; `None` if there is none.
///
/// # Errors
/// If a sync fails, or a write other than on a full disk.
pub(super) fn close_replaced(logs: &Ranked<Logs>) -> Result<Option<SealedLog>> {
    // While a log is ending there is no next one, so that none can be replaced: each look at it finds the same.
    // If none is ending, one that is replaced from here on is ended by the next call.
    let Some((file, end)) = lock(logs).unsynced() else {
        return Ok(None);
    };
    file.sync_through(end)?;
    let writer = {
        let mut logs = lock(logs);
        logs.ending.as_mut().and_then(|ending| ending.writer.take())
    };
    let closed = writer.map(close).transpose()?;
    let mut logs = lock(logs);
    Ok(logs.ending.as_mut().map(|ending| {
        ending.log.bytes = closed.unwrap_or(ending.log.bytes);
        ending.log.clone()
    }))
}

/// Ends a log cleanly, and returns its end.
///
/// # Errors
/// If a sync fails, or a write other than on a full disk.
pub(super) fn close(log: LogWriter) -> Result<u64> {
    let end = log.file().end();
    log.file().sync_through(end)?;
    match log.close() {
        // Everything is durable; only the mark of the clean end is missing.
        Err(Error::DiskFull { .. }) => Ok(end),
        closed => closed,
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::entry::EntryKind;
    use crate::fs::{FileSystem, MemoryFileSystem};
    use crate::sync::Rank;
    use std::path::Path;

    fn create(fs: &MemoryFileSystem, id: u64) -> LogWriter {
        LogWriter::create(fs, Path::new("/logs"), id).unwrap()
    }

    fn append(log: &mut LogWriter, sequence: Sequence) {
        let payload = [EntryKind::Put as u8; 4];
        log.append(sequence, &[&payload], 1).unwrap();
    }

    /// A writer goes over to the next log; the thread of the logs ends the one before; a third thread wants the
    /// first write durable. Whoever returns from a sync finds durable what it asked for, and the second log is
    /// never durable before the first.
    #[test]
    fn loom_a_log_is_durable_before_the_next_one() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let fs = MemoryFileSystem::new();
            fs.create_dir(Path::new("/logs")).unwrap();
            let (mut first, second) = (create(&fs, 1), create(&fs, 2));
            append(&mut first, 1);
            let files = [first.file().clone(), second.file().clone()];
            let end = files[0].end();
            let in_order = move |files: &[Arc<LogFile>; 2]| {
                // In this order: a sync between the two reads makes the first one durable first.
                let second = files[1].durable_end();
                assert!(second == 0 || files[0].durable_end() >= end);
            };
            let mut logs = Logs::new(VecDeque::new());
            logs.begin(&first, second);
            let logs = Arc::new(Ranked::new(Rank::Logs, logs));

            let (theirs, their_files) = (logs.clone(), files.clone());
            let ender = loom::thread::spawn(move || {
                let ended = close_replaced(&theirs).unwrap();
                if let Some(ended) = ended {
                    let next = LogWriter::create(&fs, Path::new("/logs"), 3).unwrap();
                    lock(&theirs).seal(ended, next);
                }
                in_order(&their_files);
            });
            let (theirs, their_files) = (logs.clone(), files.clone());
            let syncer = loom::thread::spawn(move || {
                sync_through(&theirs, 1).unwrap();
                assert!(their_files[0].durable_end() >= end);
                in_order(&their_files);
            });
            let mut write = WriteState {
                log: Some(first),
                last_sequence: 1,
            };
            assert!(lock(&logs).rotate(&mut write));
            append(write.log.as_mut().unwrap(), 2);
            sync_all(&logs).unwrap();
            assert!(files[1].durable_end() >= files[1].end());
            in_order(&files);
            ender.join().unwrap();
            syncer.join().unwrap();
        });
    }
}
