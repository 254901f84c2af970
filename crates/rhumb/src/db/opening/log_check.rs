//! Reads the logs of a store in order, decides which of them count, and checks them against each other;
//! for all code that reads logs.

use std::path::{Path, PathBuf};

use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::FileSystem;
use crate::fs::names::{LARGEST_NUMBER, log_name};
use crate::version::LogState;
use crate::wal::{Frame, LogSummary, ReadLog, Visit};

/// Checks logs, in the order of their ids, against the manifest and each other: sequences must ascend over
/// all logs, every keyspace must have been created, and a log begun ahead must continue the one before it.
#[derive(Debug)]
pub(crate) struct LogCheck {
    /// The id that the next new keyspace gets: all keyspaces have smaller ids.
    next_keyspace_id: u32,
    /// The last sequence up to which a keyspace was flushed; the logs were durable through it before.
    last_flushed: Sequence,
    /// The last sequence so far.
    last: Sequence,
    /// Whether the log read last may have lost its end.
    open: bool,
    /// Whether later logs do not count, since the end of one before them is lost.
    cut: bool,
    /// The log that the last operation, or the next one, is in.
    tail: Option<Tail>,
}

#[derive(Debug)]
struct Tail {
    path: PathBuf,
    end: u64,
    first: Option<Sequence>,
    open: bool,
}

impl LogCheck {
    /// A check of all logs of a store. Where it is not known what was flushed, `last_flushed` is 0.
    pub(crate) fn new(next_keyspace_id: u32, last_flushed: Sequence) -> Self {
        LogCheck {
            next_keyspace_id,
            last_flushed,
            last: 0,
            open: false,
            cut: false,
            tail: None,
        }
    }

    /// The last sequence so far, 0 if there is none.
    pub(crate) fn last(&self) -> Sequence {
        self.last
    }

    /// Reads the next log, and passes its operations to `visit`. A log begun ahead that does not count is
    /// a torn tail as a whole.
    ///
    /// # Errors
    /// If the log cannot be read; [`Error::Corruption`] if it is damaged, or if it shows that the log before
    /// it is; the errors of `visit`.
    pub(crate) fn read(
        &mut self,
        fs: &dyn FileSystem,
        directory: &Path,
        (id, state): (u64, LogState),
        visit: &mut Visit<'_>,
    ) -> Result<LogSummary> {
        let before_is_open = std::mem::take(&mut self.open);
        let log = ReadLog::open(fs, directory, id, state.end())?;
        let path = directory.join(log_name(id));
        self.cut |= before_is_open && state == LogState::BegunAhead && self.leaves_a_gap(&log);
        if self.cut {
            self.refuse_lost_end(&log, &path)?;
            return Ok(LogSummary {
                valid_end: 0,
                frames: 0,
                clean: false,
                torn_bytes: log.summary.valid_end + log.summary.torn_bytes,
            });
        }
        log.visit(&mut |frame| {
            self.frame(&frame, &path)?;
            frame.operations(&mut |sequence, operation, record| {
                self.operation(sequence, operation.keyspace, &path)?;
                visit(sequence, operation, record)
            })
        })?;
        self.open = state.end().is_none() && !log.summary.clean;
        let tail = Tail {
            path,
            end: log.summary.valid_end,
            first: log.first_sequence(),
            open: self.open,
        };
        // Behind a log without a known end, one begun ahead may be there before its first operation.
        let only_begun = tail.first.is_none() && tail.open && state == LogState::BegunAhead;
        if !(only_begun && self.open_log().is_some()) {
            self.tail = Some(tail);
        }
        Ok(log.summary)
    }

    /// Whether operations are missing between those so far and a log begun ahead.
    fn leaves_a_gap(&self, log: &ReadLog) -> bool {
        log.first_sequence()
            .is_some_and(|first| first != self.last + 1)
    }

    /// Refuses a log behind a lost end, if that end was durable: nothing of a log is synced, and nothing
    /// is flushed, before the logs before it are durable.
    fn refuse_lost_end(&mut self, log: &ReadLog, path: &Path) -> Result<()> {
        let flushed = log
            .first_sequence()
            .is_some_and(|first| first <= self.last_flushed);
        if log.durable_end == 0 && !flushed {
            return Ok(());
        }
        // What follows is as damaged; it need not be reported for each log.
        self.cut = false;
        let (lost, end) = match &self.tail {
            Some(tail) => (&*tail.path, tail.end),
            None => (path, 0),
        };
        let first = log.first_sequence().unwrap_or(0);
        let expected = format!(
            "operations up to the sequence before {first}, with which {} begins",
            path.display()
        );
        let found = format!("the end of the log behind sequence {}", self.last);
        Err(Error::corruption(lost, end, expected, found))
    }

    /// Checks a frame before its operations are looked at.
    fn frame(&self, frame: &Frame<'_>, path: &Path) -> Result<()> {
        if frame.first_sequence <= self.last || frame.first_sequence > LARGEST_NUMBER {
            let expected = format!("a sequence above {}", self.last);
            let found = frame.first_sequence.to_string();
            return Err(Error::corruption(path, 0, expected, found));
        }
        Ok(())
    }

    /// Checks an operation of the frame that was checked last.
    fn operation(&mut self, sequence: Sequence, keyspace: u32, path: &Path) -> Result<()> {
        self.last = sequence;
        if keyspace >= self.next_keyspace_id {
            let found = format!("keyspace {keyspace}");
            return Err(Error::corruption(
                path,
                0,
                "a keyspace that was created",
                found,
            ));
        }
        Ok(())
    }

    /// Notes that the next log is missing, so that nothing is known of its end.
    pub(crate) fn skip(&mut self) {
        self.open = false;
    }

    /// The log in which the operations end, if it was not closed and no manifest names its end.
    pub(crate) fn open_log(&self) -> Option<&Path> {
        let tail = self.tail.as_ref().filter(|tail| tail.open);
        tail.map(|tail| &*tail.path)
    }

    /// Checks the end of the log in which the operations end, if it was not closed and no manifest names
    /// its end. A flush writes a table only when the log is durable through the table's last write. So such
    /// a log that begins before the last flushed sequence and ends before it has lost what followed. Logs
    /// before it may have ended there: that their ends are not named does not mean that writes followed.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the log ends before.
    pub(crate) fn end(&self) -> Result<()> {
        let last_flushed = self.last_flushed;
        let begins_before = |tail: &&Tail| tail.first.is_some_and(|first| first <= last_flushed);
        let tail = self.tail.as_ref().filter(|tail| tail.open);
        let Some(tail) = tail
            .filter(begins_before)
            .filter(|_| self.last < last_flushed)
        else {
            return Ok(());
        };
        let expected = format!("operations up to sequence {last_flushed}, which were flushed");
        let found = format!("the end of the log behind sequence {}", self.last);
        Err(Error::corruption(&tail.path, tail.end, expected, found))
    }
}
