//! Checks of the frames in a store's logs, for all code that reads logs.

use std::path::PathBuf;

use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::LARGEST_NUMBER;
use crate::wal::Frame;

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
}

impl LogCheck {
    /// Checks a frame before its operations are looked at.
    ///
    /// # Errors
    /// [`Error::Corruption`] if its first sequence is not above all before, or above the largest.
    pub(crate) fn frame(&self, frame: &Frame<'_>) -> Result<()> {
        if frame.first_sequence <= self.last || frame.first_sequence > LARGEST_NUMBER {
            let expected = format!("a sequence above {}", self.last);
            return Err(self.damaged(&expected, &frame.first_sequence.to_string()));
        }
        Ok(())
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
