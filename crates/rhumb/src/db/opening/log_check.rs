//! Checks of the frames in a store's logs, for all code that reads logs.

use std::path::PathBuf;

use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::LARGEST_NUMBER;
use crate::wal::{Frame, LogSummary};

/// Checks a log against the manifest and the logs before it: sequences must ascend over all logs,
/// and every keyspace must have been created.
#[derive(Debug)]
pub(crate) struct LogCheck {
    /// The path of the log.
    pub path: PathBuf,
    /// The id that the next new keyspace gets: all keyspaces have smaller ids.
    pub next_keyspace_id: u32,
    /// The last sequence so far, in this log and the logs before it.
    pub last: Sequence,
    /// The first sequence of this log.
    first: Option<Sequence>,
}

impl LogCheck {
    /// A check of the log at `path`; the logs before it end with the sequence `last`, 0 if there is none.
    pub(crate) fn new(path: PathBuf, next_keyspace_id: u32, last: Sequence) -> Self {
        LogCheck {
            path,
            next_keyspace_id,
            last,
            first: None,
        }
    }

    /// Checks a frame before its operations are looked at.
    ///
    /// # Errors
    /// [`Error::Corruption`] if its first sequence is not above all before, or above the largest.
    pub(crate) fn frame(&mut self, frame: &Frame<'_>) -> Result<()> {
        if frame.first_sequence <= self.last || frame.first_sequence > LARGEST_NUMBER {
            let expected = format!("a sequence above {}", self.last);
            return Err(self.damaged(&expected, &frame.first_sequence.to_string()));
        }
        self.first.get_or_insert(frame.first_sequence);
        Ok(())
    }

    /// Checks the end of the last log, if it was not closed and no manifest names its end (`known_end`).
    /// A flush writes a table only when the log is durable through the table's last write. So a last log
    /// that begins before the last flushed sequence and ends before it has lost what followed. Logs before
    /// it may have ended there: that their ends are not named does not mean that writes followed.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the log ends before.
    pub(crate) fn end(
        &self,
        summary: &LogSummary,
        known_end: Option<u64>,
        last_flushed: Sequence,
    ) -> Result<()> {
        let open = known_end.is_none() && !summary.clean;
        let held = self.first.is_some_and(|first| first <= last_flushed);
        if !(open && held && self.last < last_flushed) {
            return Ok(());
        }
        let expected = format!("operations up to sequence {last_flushed}, which were flushed");
        let found = format!("the end of the log behind sequence {}", self.last);
        Err(Error::corruption(
            &self.path,
            summary.valid_end,
            expected,
            found,
        ))
    }

    /// Checks an operation of the frame that was checked last.
    ///
    /// # Errors
    /// [`Error::Corruption`] if its keyspace was never created.
    pub(crate) fn operation(&mut self, sequence: Sequence, keyspace: u32) -> Result<()> {
        self.last = sequence;
        if keyspace >= self.next_keyspace_id {
            let found = format!("keyspace {keyspace}");
            return Err(self.damaged("a keyspace that was created", &found));
        }
        Ok(())
    }

    fn damaged(&self, expected: &str, found: &str) -> Error {
        Error::corruption(&self.path, 0, expected, found)
    }
}
