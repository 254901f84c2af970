//! Replaying logs into memtables.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use super::log_check::LogCheck;
use crate::db::stats::RecoveryStats;
use crate::db::store::OpenKeyspace;
use crate::db::write::group::apply;
use crate::db::write::logs::SealedLog;
use crate::entry::operations::{Op, Operation};
use crate::entry::{Pointer, Sequence};
use crate::error::Result;
use crate::options::Options;
use crate::version::State;
use crate::wal::LoggedValues;

/// The outcome of replaying the logs.
pub(in crate::db) struct Replayed {
    pub(in crate::db) sealed: VecDeque<SealedLog>,
    pub(in crate::db) last_sequence: Sequence,
    pub(in crate::db) recovery: RecoveryStats,
}

/// Puts the operations in the logs that are not in tables yet into memtables.
///
/// # Errors
/// If a log that the manifest names is missing, or is damaged below its durable end.
pub(in crate::db) fn replay(
    dir: &Path,
    options: &Options,
    state: &State,
    keyspaces: &BTreeMap<u32, Arc<OpenKeyspace>>,
) -> Result<Replayed> {
    let mut replayed = Replayed {
        sealed: VecDeque::new(),
        last_sequence: state.last_sequence,
        recovery: RecoveryStats::default(),
    };
    let mut check = LogCheck::new(state.next_keyspace_id, state.last_flushed());
    let mut replay = LogReplay {
        state,
        keyspaces,
        write_buffer_bytes: options.write_buffer_bytes,
        operations: 0,
    };
    let named: BTreeSet<u64> = state.value_files().collect();
    for (&id, &log) in &state.logs {
        let fs = &*options.file_system;
        let mut values = LoggedValues::default();
        let summary = check.read(fs, dir, (id, log), &mut |sequence, operation, record| {
            let record_bytes = replay.operation(sequence, &operation)?;
            if let Some(place) = record.zip(record_bytes) {
                values.add(operation.keyspace, sequence, place);
            }
            Ok(())
        })?;
        // A log gets a second name only once, and an earlier opening gave it one.
        let values =
            (values.keyspace().is_some() && !named.contains(&id)).then(|| Arc::new(values));
        replayed.recovery.log_frames += summary.frames;
        replayed.recovery.torn_bytes += summary.torn_bytes;
        replayed.sealed.push_back(SealedLog {
            id,
            bytes: summary.valid_end,
            largest_sequence: check.last(),
            values,
        });
    }
    check.end()?;
    replayed.recovery.log_operations = replay.operations;
    replayed.last_sequence = replayed.last_sequence.max(check.last());
    Ok(replayed)
}

struct LogReplay<'a> {
    state: &'a State,
    keyspaces: &'a BTreeMap<u32, Arc<OpenKeyspace>>,
    write_buffer_bytes: u64,
    operations: u64,
}

impl LogReplay<'_> {
    /// Applies an operation, unless its keyspace was dropped or it is in a table already. Returns the bytes of its record,
    /// if it has a value that may stay in the log.
    fn operation(&mut self, sequence: Sequence, operation: &Operation<'_>) -> Result<Option<u64>> {
        let id = operation.keyspace;
        let known = self.state.keyspaces.get(&id);
        let keyspace = self.keyspaces.get(&id).zip(known);
        let Some((keyspace, _)) = keyspace.filter(|(_, k)| sequence >= k.lowest_unflushed) else {
            return Ok(None);
        };
        let view = keyspace.view.load();
        apply(&mut view.active.writer(), sequence, &operation.op)?;
        self.operations += 1;
        view.active.begin_index(self.write_buffer_bytes);
        if view.active.is_full(self.write_buffer_bytes) {
            keyspace.view.rotate();
        }
        Ok(match operation.op {
            Op::Put { key, value } if keyspace.leaves_in_log(value.len()) => {
                Some(Pointer::record_bytes(id, key.len(), value.len() as u64))
            }
            _ => None,
        })
    }
}
