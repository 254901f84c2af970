//! Values that stay in the log that they were written to: tables of a flush point to them there.

use std::collections::BTreeMap;

use super::context::Context;
use super::merge::Survivor;
use crate::entry::{EntryKind, Pointer};
use crate::fs::names::FileKind;
use crate::fs::ops;
use crate::sync::Arc;
use crate::wal::LoggedValues;

/// The values of a log stay in it if they take at least one in so many of its bytes.
const LEAST_USE: u64 = 2;

/// A complete log, durable to its end, with values of the keyspace that is flushed.
#[derive(Debug, Clone)]
pub(crate) struct LoggedFile {
    /// Its file number, which it has as a value file too.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
    /// Where the values lie.
    pub values: Arc<LoggedValues>,
}

/// How many bytes of each log would stay in use.
#[derive(Debug, Default)]
pub(super) struct LogUse(BTreeMap<u64, u64>);

impl LogUse {
    /// Counts an entry that survives.
    pub fn count(&mut self, context: &Context<'_>, entry: &Survivor<'_>) {
        if let Some(pointer) = logged(context, entry) {
            let (keyspace, key_len) = (context.keyspace, entry.key.len());
            let bytes = Pointer::record_bytes(keyspace, key_len, pointer.len.into());
            *self.0.entry(pointer.file).or_default() += bytes;
        }
    }

    /// Gives each log that is used enough a second name as a value file, and returns these logs. The names are durable
    /// after the next sync of the directory. Where the file system cannot do that, or the name is taken, the values
    /// are moved, as those of the other logs.
    pub fn link(&self, context: &Context<'_>) -> Vec<LoggedFile> {
        let files = context.files;
        let is_kept = |log: &&LoggedFile| {
            let used = self.0.get(&log.number).copied().unwrap_or(0);
            let names = [FileKind::Log, FileKind::Values].map(|kind| files.path(kind, log.number));
            used > 0
                && used.saturating_mul(LEAST_USE) >= log.bytes
                && ops::link(&*files.fs, &names[0], &names[1]).is_ok()
        };
        context.logged.iter().filter(is_kept).cloned().collect()
    }
}

/// Where the value of an entry lies in one of the logs, if it does and belongs apart from its key.
#[inline]
pub(super) fn logged(context: &Context<'_>, entry: &Survivor<'_>) -> Option<Pointer> {
    if context.logged.is_empty() || entry.kind != EntryKind::Put {
        return None;
    }
    let least = context.table.separate_values?;
    if entry.value.len() < least as usize {
        return None;
    }
    context.logged.iter().find_map(|log| {
        let offset = log.values.offset_of(entry.sequence)?;
        Pointer::new(log.number, offset, entry.value.len())
    })
}
