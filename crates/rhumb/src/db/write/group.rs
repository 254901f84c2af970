//! The write path: a group of batches is appended to the log, inserted into the memtables, synced
//! if asked for, and then published as a whole.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::batch::WriteBatch;
use super::logs::WriteState;
use super::swap::{CompareAndSwapError, Condition};
use crate::db::read::view::View;
use crate::db::store::{OpenKeyspace, Store};
use crate::db::upkeep::background::{Crew, Unwinding};
use crate::entry::operations::{Op, OperationIter};
use crate::entry::{EntryKind, Sequence};
use crate::error::{Error, Result};
use crate::memtable::MemtableWriter;
use crate::options::Durability;
use crate::sync::atomic::Ordering;
use crate::sync::{RankedGuard, lock};

/// The most bytes of batches that are joined in one log frame.
const LONGEST_GROUP: usize = 64 << 20;

/// A writer that waits looks for the places of so many operations at most.
const MOST_APPROACHED: usize = 4;

/// A log to whose values tables may point is replaced with the memtable, and at this many times the bytes of others.
const LOGGED_SEGMENTS: u64 = 2;

/// Shorter waits of buffered writes for the syncs of others are not counted.
const NOTED_WAIT: Duration = Duration::from_millis(1);

/// This many logs left by earlier openings are flushed to tables when the store is opened.
const MANY_LOGS: usize = 8;

/// A batch that is to be written.
#[derive(Debug)]
pub(in crate::db) struct Request<'a> {
    pub(in crate::db) batch: Cow<'a, WriteBatch>,
    pub(in crate::db) durability: Durability,
    pub(in crate::db) condition: Option<Box<Condition>>,
}

impl Request<'_> {
    /// For the queue, where other threads write it. A batch that its owner keeps is copied.
    fn queued(self) -> Request<'static> {
        Request {
            batch: Cow::Owned(self.batch.into_owned()),
            durability: self.durability,
            condition: self.condition,
        }
    }
}

/// What became of a request: written, or not since its condition did not hold; or the error.
pub(in crate::db) type Written = Result<Result<(), CompareAndSwapError>>;

impl Store {
    /// Writes a batch, together with those that other threads submit meanwhile.
    pub(in crate::db) fn submit(&self, request: Request<'_>) -> Written {
        self.check_writable()?;
        if request.batch.is_empty() {
            return Ok(Ok(()));
        }
        let buffered = request.durability == Durability::Buffered;
        let group_syncs = &self.published.group_syncs;
        let syncs = group_syncs.load(Ordering::Relaxed);
        let submitted = self.queue.submit(
            request,
            buffered,
            |request| approach(&request.batch),
            Request::queued,
            |request| self.commit_alone(request),
            |group| self.commit_group(&group),
        );
        let Some((written, waited)) = submitted else {
            return Err(queue_is_broken());
        };
        if buffered && waited >= NOTED_WAIT && group_syncs.load(Ordering::Relaxed) > syncs {
            let reason = "writes of others are synced";
            self.writes.held_up(reason, waited, true);
        }
        written
    }

    /// Writes a group. Returns one result for each request, in order.
    pub(in crate::db) fn commit_group(&self, group: &[Request<'_>]) -> Vec<Written> {
        let unwinding = Unwinding::fails(self, "a write panicked");
        let written = self.commit(group);
        unwinding.end();
        written
    }

    /// Writes a single request, as [`Store::commit_group`] without its lists.
    fn commit_alone(&self, request: &Request<'_>) -> Written {
        let unwinding = Unwinding::fails(self, "a write panicked");
        let written = self.take_turn(request.batch.bytes()).and_then(|mut write| {
            request.batch.check_keyspaces()?;
            self.write_frame(&mut write, &[request])
        });
        unwinding.end();
        let checked = written?.and_then(|mut checked| checked.pop());
        checked.unwrap_or(Ok(Ok(())))
    }

    /// Waits for the turn of a group of so many bytes.
    fn take_turn(&self, bytes: usize) -> Result<RankedGuard<'_, WriteState>> {
        self.check_writable()?;
        self.wait_for_room(bytes)?;
        self.lock_to_write()
    }

    fn commit(&self, group: &[Request<'_>]) -> Vec<Written> {
        let bytes = group.iter().map(|r| r.batch.bytes()).sum();
        let mut write = match self.take_turn(bytes) {
            Ok(write) => write,
            Err(e) => return group.iter().map(|_| Err(e.clone())).collect(),
        };
        let checks: Vec<Result<()>> = group.iter().map(|r| r.batch.check_keyspaces()).collect();
        let accepted: Vec<&Request<'_>> = group
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
    fn write_in_frames(&self, write: &mut WriteState, group: &[&Request<'_>]) -> Vec<Written> {
        let mut results = Vec::with_capacity(group.len());
        let mut rest = group;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |r: &&&Request<'_>| {
                bytes += r.batch.bytes();
                bytes <= LONGEST_GROUP
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (frame, later) = rest.split_at(count);
            match self.write_frame(write, frame) {
                Ok(Some(checked)) => results.extend(checked),
                Ok(None) => results.extend(frame.iter().map(|_| Ok(Ok(())))),
                // What a condition was compared with may not have been written either.
                Err(e) => results.extend(frame.iter().map(|_| Err(e.clone()))),
            }
            rest = later;
        }
        results
    }

    /// Writes the requests of a frame whose conditions hold. Returns which these are, if there are
    /// conditions.
    fn write_frame(
        &self,
        write: &mut WriteState,
        frame: &[&Request<'_>],
    ) -> Result<Option<Vec<Written>>> {
        // Checked again, since the store may have been closed or have failed while the caller waited for
        // the lock, or while it wrote the frame before.
        self.check_writable()?;
        if frame.iter().all(|r| r.condition.is_none()) {
            return self.write_group(write, frame).map(|()| None);
        }
        let (checked, accepted) = self.check_conditions(frame, write.last_sequence);
        if !accepted.is_empty() {
            self.write_group(write, &accepted)?;
        }
        Ok(Some(checked))
    }

    fn write_group(&self, write: &mut WriteState, group: &[&Request<'_>]) -> Result<()> {
        let first = write.last_sequence + 1;
        let log_bytes = self.append(write, first, group)?;
        let count: u64 = group.iter().map(|r| r.batch.len() as u64).sum();
        write.last_sequence += count;
        insert(first, group).inspect_err(|e| self.fail(e))?;
        if group.iter().any(|r| r.durability == Durability::Immediate) {
            self.queue.slows_down();
            self.sync_logs()?;
            self.published.group_syncs.fetch_add(1, Ordering::Relaxed);
        }
        let user_bytes: usize = group.iter().map(|r| r.batch.user_bytes()).sum();
        let published = &*self.published;
        published
            .user_bytes
            .fetch_add(user_bytes as u64, Ordering::Relaxed);
        published.log_bytes.fetch_add(log_bytes, Ordering::Relaxed);
        published
            .sequence
            .store(write.last_sequence, Ordering::Release);
        self.rotate_full(write, group);
        Ok(())
    }

    /// Appends the group to the log as one frame. Returns the bytes that it takes.
    pub(in crate::db) fn append(
        &self,
        write: &mut WriteState,
        first: Sequence,
        group: &[&Request<'_>],
    ) -> Result<u64> {
        let Some(log) = &mut write.log else {
            return Err(Error::Closed);
        };
        let before = log.file().end();
        let counts = group.iter().map(|r| r.batch.operations.count());
        let count = counts.fold(0, u32::saturating_add);
        let appended = match group {
            _ if group.iter().any(|r| r.batch.separates) => {
                log.append_sealed(first, &parts_of(group), count, |id, len| {
                    let mut keyspaces = group.iter().flat_map(|r| &r.batch.keyspaces);
                    keyspaces
                        .find(|k| k.id == id)
                        .is_some_and(|k| k.leaves_in_log(len))
                })
            }
            [one] => log.append(first, &[one.batch.operations.bytes()], count),
            many => log.append(first, &parts_of(many), count),
        };
        match appended {
            Ok(()) => Ok(log.file().end() - before),
            // These leave the log as it was.
            Err(e @ (Error::InvalidArgument(_) | Error::DiskFull { .. })) => Err(e),
            Err(e) => {
                self.fail(&e);
                Err(e)
            }
        }
    }

    /// Replaces the log if it is full, and full memtables: in this order, since a flush may begin as soon as a memtable waits, and
    /// asks for the values in logs that have ended or are ending.
    pub(in crate::db) fn rotate_full(&self, write: &mut WriteState, group: &[&Request<'_>]) {
        let most_bytes = self.options.write_buffer_bytes;
        let keyspaces = || {
            let all = group.iter().flat_map(|request| &request.batch.keyspaces);
            // The batches of a group are mostly about one keyspace.
            let mut last = None;
            all.filter(move |keyspace| last.replace(keyspace.id) != Some(keyspace.id))
        };
        let (mut any_full, mut with_log, mut any_lacks_index) = (false, false, false);
        for keyspace in keyspaces() {
            let view = keyspace.view.load();
            if view.active.is_full(most_bytes) {
                any_full = true;
                with_log |= keyspace.leaves_values_in_log();
            }
            any_lacks_index |= view.active.lacks_index();
        }
        let segment = self.log_segment();
        let log_is_full = write
            .log
            .as_ref()
            .is_some_and(|log| match log.has_values() {
                // It ends with the memtable, so that the tables of a flush can point to the values in it.
                true => with_log || log.file().end() >= LOGGED_SEGMENTS * segment,
                false => log.file().end() >= segment,
            });
        let log_rotated = log_is_full && self.rotate_log(write);
        let is_full = |keyspace: &OpenKeyspace| keyspace.view.load().active.is_full(most_bytes);
        if any_full {
            // Each once: the memtable that takes the place of a full one is empty.
            let full = keyspaces().filter(|keyspace| is_full(keyspace));
            full.for_each(|keyspace| keyspace.view.rotate());
        }
        // Behind that, since its memory may fill a memtable.
        if any_lacks_index {
            keyspaces().for_each(|keyspace| keyspace.view.load().active.begin_index(most_bytes));
        }
        if any_full || log_rotated {
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

/// The encoded operations of each request of a group.
fn parts_of<'a>(group: &[&'a Request<'_>]) -> Vec<&'a [u8]> {
    group.iter().map(|r| r.batch.operations.bytes()).collect()
}

/// The error once a leader of the commit queue has panicked.
pub(in crate::db) fn queue_is_broken() -> Error {
    let reason = "an earlier write panicked; close the store and open it again".to_string();
    Error::ReadOnly { reason }
}

/// Looks where the operations of a short batch belong in the memtable, so that their insertion finds in the processor's
/// caches what it reads. For writers that wait for others anyway.
fn approach(batch: &WriteBatch) {
    let [keyspace] = &batch.keyspaces[..] else {
        return;
    };
    let view = keyspace.view.load();
    let operations = OperationIter::new(batch.operations.bytes()).flatten();
    for operation in operations.take(MOST_APPROACHED) {
        if let Op::Put { key, .. } | Op::Delete { key } = operation.op {
            view.active.approach(key);
        }
    }
}

/// Inserts the operations of a group into the memtables without publishing them.
fn insert(first: Sequence, group: &[&Request<'_>]) -> Result<()> {
    let mut sequence = first;
    group.iter().try_for_each(|request| {
        let first = sequence;
        sequence += request.batch.len() as u64;
        insert_batch(&request.batch, first)
    })
}

fn insert_batch(batch: &WriteBatch, first: Sequence) -> Result<()> {
    let operations = OperationIter::new(batch.operations.bytes()).flatten();
    let mut operations = (first..).zip(operations);
    if let [keyspace] = &batch.keyspaces[..] {
        let view = keyspace.view.load();
        let mut writer = view.active.writer();
        return operations.try_for_each(|(sequence, operation)| {
            view.note_above(&operation.op);
            apply(&mut writer, sequence, &operation.op)
        });
    }
    let keyspaces = batch.keyspaces.iter();
    let views: Vec<(u32, Arc<View>)> = keyspaces.map(|k| (k.id, k.view.load_full())).collect();
    let writers = views
        .iter()
        .map(|(id, view)| (*id, view, view.active.writer()));
    let mut writers: Vec<(u32, &Arc<View>, MemtableWriter<'_>)> = writers.collect();
    operations.try_for_each(|(sequence, operation)| {
        let place = writers
            .iter_mut()
            .find(|(id, ..)| *id == operation.keyspace);
        place.map_or(Ok(()), |(_, view, writer)| {
            view.note_above(&operation.op);
            apply(writer, sequence, &operation.op)
        })
    })
}

/// Inserts one operation into a memtable.
pub(in crate::db) fn apply(
    memtable: &mut MemtableWriter<'_>,
    sequence: Sequence,
    op: &Op<'_>,
) -> Result<()> {
    match *op {
        Op::Put { key, value } => memtable.insert(key, sequence, EntryKind::Put, value),
        Op::Delete { key } => memtable.insert(key, sequence, EntryKind::Delete, &[]),
        Op::RangeDelete { start, end } => {
            memtable.delete_range(start, end, sequence);
            Ok(())
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::fs::{
        DataLoss, DirectoryLoss, Fault, FaultAt, FaultyFileSystem, FileSystem, Loss,
        MemoryFileSystem, Plan,
    };
    use crate::options::Options;

    /// The keys that a store in these files has.
    fn keys(file_system: Arc<dyn FileSystem>) -> Vec<Vec<u8>> {
        let options = Options {
            file_system,
            ..Options::default()
        };
        keys_of(&Db::open("/store", options).unwrap())
    }

    fn keys_of(db: &Db) -> Vec<Vec<u8>> {
        let entries = db.iter().unwrap();
        entries.map(|entry| entry.unwrap().0.to_vec()).collect()
    }

    /// What a write returns of whose calls one fails, alone or as a group, and what the next one returns; which keys are
    /// there then, after a loss of power that takes all that was not synced, and after one that takes nothing.
    fn outcome(
        fail: (u64, Fault),
        durability: Durability,
        value: &[u8],
        alone: bool,
    ) -> (Vec<String>, [Vec<Vec<u8>>; 3]) {
        let memory = MemoryFileSystem::new();
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let options = Options {
            file_system: Arc::new(faulty.clone()),
            ..Options::default()
        };
        let db = Db::open("/store", options).unwrap();
        db.put("a", "1").unwrap();
        db.sync().unwrap();
        let mut batch = WriteBatch::new();
        batch.put(&db, "b", value).unwrap();
        batch.delete(&db, "a").unwrap();
        let (call, fault) = fail;
        faulty.set_plan(Plan {
            fault: Some((FaultAt::Call(faulty.calls() + call), fault)),
            ..Plan::default()
        });
        let written = match alone {
            true => db.write_with(&batch, durability),
            false => {
                let request = Request {
                    batch: Cow::Owned(batch),
                    durability,
                    condition: None,
                };
                let written = db.handle.store.commit_group(&[request]).pop();
                written.unwrap().map(|swapped| swapped.unwrap())
            }
        };
        let now = keys_of(&db);
        let next = db.put("c", "1");
        let after = |data| {
            let directory = DirectoryLoss::Lost;
            keys(Arc::new(memory.crash(Loss { data, directory }, 1)))
        };
        let kept = [now, after(DataLoss::Lost), after(DataLoss::Kept)];
        if written.is_ok() && durability == Durability::Immediate {
            assert!(kept[1].contains(&b"b".to_vec()), "{fail:?}");
        }
        if written.is_err() {
            assert!(!kept[0].contains(&b"b".to_vec()), "{fail:?}");
        }
        for keys in &kept {
            // All of the batch or nothing.
            let (a, b) = (keys.contains(&b"a".to_vec()), keys.contains(&b"b".to_vec()));
            assert_ne!(a, b, "{fail:?}");
        }
        let said = [written, next].map(|result| format!("{result:?}"));
        (said.to_vec(), kept)
    }

    /// A writer that comes alone leads at once. What it promises must not depend on that.
    #[test]
    fn a_failed_write_ends_alone_as_it_does_in_a_group() {
        let mut failed = 0;
        for durability in [Durability::Immediate, Durability::Buffered] {
            // In one call with the header of the frame, and in one of its own.
            for value in [&[7; 10][..], &[7; 50_000]] {
                for call in 1..=4 {
                    for fault in Fault::ALL {
                        let outcome = |alone| outcome((call, fault), durability, value, alone);
                        let alone = outcome(true);
                        assert_eq!(alone, outcome(false), "{call} {fault:?} {durability:?}");
                        failed += usize::from(alone.0[0].starts_with("Err"));
                    }
                }
            }
        }
        assert!(failed >= 8, "{failed} writes failed");
    }
}
