//! Replaying logs into memtables.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use super::log_check::LogCheck;
use crate::db::stats::RecoveryStats;
use crate::db::store::OpenKeyspace;
use crate::db::write::group::apply;
use crate::db::write::log::SealedLog;
use crate::entry::Sequence;
use crate::entry::operations::Operation;
use crate::error::{Error, Result};
use crate::fs::names::log_name;
use crate::options::Options;
use crate::version::State;
use crate::wal::{Frame, read_log};

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
    let mut last_in_logs = 0;
    let last_log = state.logs.keys().next_back().copied();
    for (&id, &valid_end) in &state.logs {
        let mut replay = LogReplay {
            check: LogCheck::new(dir.join(log_name(id)), state.next_keyspace_id, last_in_logs),
            state,
            keyspaces,
            write_buffer_bytes: options.write_buffer_bytes,
            operations: 0,
        };
        let summary = read_log(&*options.file_system, dir, id, valid_end, &mut |frame| {
            replay.frame(&frame)
        });
        let summary = summary.map_err(|e| named_but_missing(e, &dir.join(log_name(id))))?;
        if Some(id) == last_log {
            replay
                .check
                .end(&summary, valid_end, state.last_flushed())?;
        }
        last_in_logs = replay.check.last;
        replayed.recovery.log_frames += summary.frames;
        replayed.recovery.log_operations += replay.operations;
        replayed.recovery.torn_bytes += summary.torn_bytes;
        let bytes = summary.valid_end;
        replayed.sealed.push_back(SealedLog {
            id,
            bytes,
            largest_sequence: last_in_logs,
        });
    }
    replayed.last_sequence = replayed.last_sequence.max(last_in_logs);
    Ok(replayed)
}

/// Reports a missing log as corruption, since the manifest names it.
fn named_but_missing(error: Error, path: &Path) -> Error {
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Error::corruption(path, 0, "a log, as the manifest says", "no such file")
        }
        other => other,
    }
}

struct LogReplay<'a> {
    check: LogCheck,
    state: &'a State,
    keyspaces: &'a BTreeMap<u32, Arc<OpenKeyspace>>,
    write_buffer_bytes: u64,
    operations: u64,
}

impl LogReplay<'_> {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<()> {
        self.check.frame(frame)?;
        frame.operations(&mut |sequence, operation| self.operation(sequence, &operation))
    }

    /// Applies an operation, unless its keyspace was dropped or it is in a table already.
    fn operation(&mut self, sequence: Sequence, operation: &Operation<'_>) -> Result<()> {
        let id = operation.keyspace;
        self.check.operation(sequence, id)?;
        let known = self.state.keyspaces.get(&id);
        let keyspace = self.keyspaces.get(&id).zip(known);
        let Some((keyspace, _)) = keyspace.filter(|(_, k)| sequence >= k.lowest_unflushed) else {
            return Ok(());
        };
        let view = keyspace.view.load();
        apply(&view.active, sequence, &operation.op)?;
        self.operations += 1;
        if view.active.is_full(self.write_buffer_bytes) {
            keyspace.view.rotate();
        }
        Ok(())
    }
}
