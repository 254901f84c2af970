//! The write path: a group of batches is appended to the log, inserted into the memtables, synced
//! if asked for, and then published as a whole.

use std::sync::Arc;
use std::time::Duration;

use super::batch::WriteBatch;
use super::logs::WriteState;
use super::swap::{CompareAndSwapError, Condition};
use crate::db::store::{OpenKeyspace, Store};
use crate::db::upkeep::background::{Crew, Unwinding};
use crate::entry::operations::{Op, OperationIter, Operations};
use crate::entry::{EntryKind, Sequence};
use crate::error::{Error, Result};
use crate::memtable::Memtable;
use crate::options::Durability;
use crate::sync::atomic::Ordering;
use crate::sync::lock;

/// The most bytes of batches that are joined in one log frame.
const LONGEST_GROUP: usize = 64 << 20;

/// Shorter waits of buffered writes for the syncs of others are not counted.
const NOTED_WAIT: Duration = Duration::from_millis(1);

/// This many logs left by earlier openings are flushed to tables when the store is opened.
const MANY_LOGS: usize = 8;

/// A batch in the commit queue.
#[derive(Debug)]
pub(in crate::db) struct Request {
    pub(in crate::db) batch: WriteBatch,
    pub(in crate::db) durability: Durability,
    pub(in crate::db) condition: Option<Box<Condition>>,
}

/// What became of a request: written, or not since its condition did not hold; or the error.
pub(in crate::db) type Written = Result<Result<(), CompareAndSwapError>>;

impl Store {
    /// Writes a batch, together with those that other threads submit meanwhile.
    pub(in crate::db) fn submit(&self, request: Request) -> Written {
        self.check_writable()?;
        if request.batch.is_empty() {
            return Ok(Ok(()));
        }
        let buffered = request.durability == Durability::Buffered;
        let syncs = self.group_syncs.load(Ordering::Relaxed);
        let submitted = self.queue.submit(request, |group| self.commit_group(group));
        let Some((written, waited)) = submitted else {
            return Err(queue_is_broken());
        };
        if buffered && waited >= NOTED_WAIT && self.group_syncs.load(Ordering::Relaxed) > syncs {
            let reason = "writes of others are synced";
            self.writes.held_up(reason, waited, true);
        }
        written
    }

    /// Writes a group. Returns one result for each request, in order.
    pub(in crate::db) fn commit_group(&self, group: Vec<Request>) -> Vec<Written> {
        let unwinding = Unwinding::fails(self, "a write panicked");
        let written = self.commit(group);
        unwinding.end();
        written
    }

    fn commit(&self, group: Vec<Request>) -> Vec<Written> {
        let bytes = group.iter().map(|r| r.batch.bytes()).sum();
        let locked = self
            .check_writable()
            .and_then(|()| self.wait_for_room(bytes))
            .and_then(|()| self.lock_to_write());
        let mut write = match locked {
            Ok(write) => write,
            Err(e) => return group.iter().map(|_| Err(e.clone())).collect(),
        };
        let checks: Vec<Result<()>> = group.iter().map(|r| r.batch.check_keyspaces()).collect();
        let accepted: Vec<&Request> = group
            .iter()
            .zip(&checks)
            .filter(|(_, c)| c.is_ok())
            .map(|(r, _)| r)
            .collect();
        let mut written = self.write_in_frames(&mut write, &accepted).into_iter();
        let result = |check: Result<()>| check.and_then(|()| written.next().unwrap_or(Ok(Ok(()))));
        checks.into_iter().map(result).collect()
    }

    /// Writes a group as one frame, or as several if one would be too long.
    fn write_in_frames(&self, write: &mut WriteState, group: &[&Request]) -> Vec<Written> {
        let mut results = Vec::with_capacity(group.len());
        let mut rest = group;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |r: &&&Request| {
                bytes += r.batch.bytes();
                bytes <= LONGEST_GROUP
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (frame, later) = rest.split_at(count);
            results.extend(self.write_frame(write, frame));
            rest = later;
        }
        results
    }

    /// Writes the requests of a frame whose conditions hold.
    fn write_frame(&self, write: &mut WriteState, frame: &[&Request]) -> Vec<Written> {
        // Checked again, since the store may have been closed or have failed while the caller waited for
        // the lock, or while it wrote the frame before.
        let written = self.check_writable().and_then(|()| {
            if frame.iter().all(|r| r.condition.is_none()) {
                return self.write_group(write, frame).map(|()| None);
            }
            let (checked, accepted) = self.check_conditions(frame, write.last_sequence);
            if !accepted.is_empty() {
                self.write_group(write, &accepted)?;
            }
            Ok(Some(checked))
        });
        match written {
            Ok(Some(checked)) => checked,
            Ok(None) => frame.iter().map(|_| Ok(Ok(()))).collect(),
            // What a condition was compared with may not have been written either.
            Err(e) => frame.iter().map(|_| Err(e.clone())).collect(),
        }
    }

    fn write_group(&self, write: &mut WriteState, group: &[&Request]) -> Result<()> {
        let first = write.last_sequence + 1;
        self.append(write, first, group)?;
        let count: u64 = group.iter().map(|r| r.batch.len() as u64).sum();
        write.last_sequence += count;
        let touched = insert(first, group).inspect_err(|e| self.fail(e))?;
        if group.iter().any(|r| r.durability == Durability::Immediate) {
            self.sync_logs()?;
            self.group_syncs.fetch_add(1, Ordering::Relaxed);
        }
        self.published.store(write.last_sequence, Ordering::Release);
        let user_bytes: usize = group.iter().map(|r| r.batch.user_bytes()).sum();
        self.writes.update(|w| w.user_bytes += user_bytes as u64);
        self.rotate_full(write, &touched);
        Ok(())
    }

    /// Appends the group to the log as one frame.
    pub(in crate::db) fn append(
        &self,
        write: &mut WriteState,
        first: Sequence,
        group: &[&Request],
    ) -> Result<()> {
        let joined;
        let operations = match group {
            [one] => &one.batch.operations,
            many => {
                let mut all = Operations::default();
                for request in many {
                    all.extend(&request.batch.operations);
                }
                joined = all;
                &joined
            }
        };
        let Some(log) = &mut write.log else {
            return Err(Error::Closed);
        };
        let before = log.file().end();
        let appended = log.append(first, operations.bytes(), operations.count());
        match appended {
            Ok(()) => {
                let bytes = log.file().end() - before;
                self.writes.update(|w| w.log_bytes += bytes);
                Ok(())
            }
            // These leave the log as it was.
            Err(e @ (Error::InvalidArgument(_) | Error::DiskFull { .. })) => Err(e),
            Err(e) => {
                self.fail(&e);
                Err(e)
            }
        }
    }

    /// Replaces full memtables, and the log if it is full.
    pub(in crate::db) fn rotate_full(&self, write: &mut WriteState, touched: &[Arc<OpenKeyspace>]) {
        let mut rotated = false;
        for keyspace in touched {
            if (keyspace.view.load().active).is_full(self.options.write_buffer_bytes) {
                keyspace.view.rotate();
                rotated = true;
            }
        }
        let segment = self.log_segment();
        let full = write
            .log
            .as_ref()
            .is_some_and(|l| l.file().end() >= segment);
        rotated |= full && self.rotate_log(write);
        if rotated {
            self.update_pressure();
        }
    }

    /// Flushes the writes of many small logs that earlier openings left, since every opening reads
    /// them all. Together they hold less than a write buffer. The flush is done here, since the
    /// store may be closed before the flush thread gets to it.
    pub(in crate::db) fn flush_many_logs(&self) -> Result<()> {
        let (logs, bytes) = {
            let logs = lock(&self.logs);
            (logs.sealed.len(), logs.bytes())
        };
        if logs < MANY_LOGS || bytes >= self.options.write_buffer_bytes {
            return Ok(());
        }
        for keyspace in self.keyspaces.load().values() {
            keyspace.flush_whole_through(self.visible());
            if !keyspace.view.load().active.is_empty() {
                keyspace.view.rotate();
            }
        }
        loop {
            match self.do_most_urgent(Crew::Flush) {
                Ok(true) => {}
                // The background threads try again when there is room.
                Ok(false) | Err(Error::DiskFull { .. }) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
    }
}

/// The error once a leader of the commit queue has panicked.
pub(in crate::db) fn queue_is_broken() -> Error {
    let reason = "an earlier write panicked; close the store and open it again".to_string();
    Error::ReadOnly { reason }
}

/// Inserts the operations of a group into the memtables without publishing them. Returns the
/// keyspaces written to.
fn insert(first: Sequence, group: &[&Request]) -> Result<Vec<Arc<OpenKeyspace>>> {
    let mut touched: Vec<Arc<OpenKeyspace>> = Vec::new();
    let mut sequence = first;
    for request in group {
        let batch = &request.batch;
        let memtables: Vec<(u32, Arc<Memtable>)> = batch
            .keyspaces
            .iter()
            .map(|k| (k.id, k.view.load().active.clone()))
            .collect();
        for operation in OperationIter::new(batch.operations.bytes()).flatten() {
            if let Some((_, memtable)) = memtables.iter().find(|(id, _)| *id == operation.keyspace)
            {
                apply(memtable, sequence, &operation.op)?;
            }
            sequence += 1;
        }
        for keyspace in &batch.keyspaces {
            if !touched.iter().any(|t| t.id == keyspace.id) {
                touched.push(keyspace.clone());
            }
        }
    }
    Ok(touched)
}

/// Inserts one operation into a memtable.
pub(in crate::db) fn apply(memtable: &Memtable, sequence: Sequence, op: &Op<'_>) -> Result<()> {
    match *op {
        Op::Put { key, value } => memtable.insert(key, sequence, EntryKind::Put, value),
        Op::Delete { key } => memtable.insert(key, sequence, EntryKind::Delete, &[]),
        Op::RangeDelete { start, end } => {
            memtable.delete_range(start, end, sequence);
            Ok(())
        }
    }
}
