//! Replaying logs into memtables.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use super::log_check::LogCheck;
use crate::db::stats::RecoveryStats;
use crate::db::store::OpenKeyspace;
use crate::db::write::group::apply;
use crate::db::write::logs::SealedLog;
use crate::entry::Sequence;
use crate::entry::operations::Operation;
use crate::error::Result;
use crate::options::Options;
use crate::version::State;

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
    for (&id, &log) in &state.logs {
        let fs = &*options.file_system;
        let summary = check.read(fs, dir, (id, log), &mut |sequence, operation| {
            replay.operation(sequence, &operation)
        })?;
        replayed.recovery.log_frames += summary.frames;
        replayed.recovery.torn_bytes += summary.torn_bytes;
        replayed.sealed.push_back(SealedLog {
            id,
            bytes: summary.valid_end,
            largest_sequence: check.last(),
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
    /// Applies an operation, unless its keyspace was dropped or it is in a table already.
    fn operation(&mut self, sequence: Sequence, operation: &Operation<'_>) -> Result<()> {
        let id = operation.keyspace;
        let known = self.state.keyspaces.get(&id);
        let keyspace = self.keyspaces.get(&id).zip(known);
        let Some((keyspace, _)) = keyspace.filter(|(_, k)| sequence >= k.lowest_unflushed) else {
            return Ok(());
        };
        let view = keyspace.view.load();
        apply(&mut view.active.writer(), sequence, &operation.op)?;
        self.operations += 1;
        if view.active.is_full(self.write_buffer_bytes) {
            keyspace.view.rotate();
        }
        Ok(())
    }
}
