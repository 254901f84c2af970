//! Appending to a log.

use std::path::{Path, PathBuf};

use super::frame::{FrameKind, Header};
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::{FileSystem, WriteFile, names, ops};

/// The most buffer memory that is kept between two frames.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// A log open for writing. It accepts appends until a sync fails, or an append fails other than on a full
/// disk.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    log_id: u64,
    end: u64,
    durable_end: u64,
    state: LogState,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogState {
    /// The file ends with a whole frame.
    Sound,
    /// Part of a frame may follow the last complete one.
    Torn,
    /// A sync failed: the bytes written since the last successful one may be lost, even if a later
    /// sync succeeds.
    Unsynced,
}

impl LogWriter {
    /// Creates the empty log with this file number in `directory`, durably.
    ///
    /// # Errors
    /// If it exists or cannot be created; after a failure its file may exist.
    pub(crate) fn create(fs: &dyn FileSystem, directory: &Path, log_id: u64) -> Result<Self> {
        let path = directory.join(names::log_name(log_id));
        let file = ops::create(fs, &path)?;
        ops::sync_dir(fs, directory)?;
        Ok(LogWriter {
            file,
            path,
            log_id,
            end: 0,
            durable_end: 0,
            state: LogState::Sound,
            buffer: Vec::new(),
        })
    }

    /// Appends a commit group: `count` encoded operations, the first with this sequence. It is
    /// durable after the next [`LogWriter::sync`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for 4 GiB of operations or more, and [`Error::DiskFull`], which leave the log
    /// as it was. After any other error the group may or may not be found when the log is read, and the log
    /// accepts no more appends.
    pub(crate) fn append(
        &mut self,
        first_sequence: Sequence,
        operations: &[u8],
        count: u32,
    ) -> Result<()> {
        let payload_length = u32::try_from(operations.len()).map_err(|_| {
            let bytes = operations.len();
            Error::InvalidArgument(format!(
                "a batch of {bytes} bytes does not fit into the log: write batches below 4 GiB"
            ))
        })?;
        let header = Header {
            payload_length,
            kind: FrameKind::Operations as u8,
            reserved: [0; 3],
            count,
            first_sequence,
            durable: self.durable_end,
        };
        self.append_frame(header, operations)
    }

    fn append_frame(&mut self, header: Header, payload: &[u8]) -> Result<()> {
        if self.state != LogState::Sound {
            return Err(self.refusal());
        }
        header.encode(self.log_id, self.end, payload, &mut self.buffer);
        let written = ops::write_all(&*self.file, &self.path, &self.buffer);
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER_BYTES);
        match written {
            Ok(()) => self.end += header.frame_bytes() as u64,
            Err(Error::DiskFull { .. }) => self.cut()?,
            Err(_) => self.state = LogState::Torn,
        }
        written
    }

    /// Cuts off what was written of a frame for which there was no room.
    fn cut(&mut self) -> Result<()> {
        ops::truncate(&*self.file, &self.path, self.end).map_err(|e| {
            self.state = LogState::Torn;
            Error::ReadOnly {
                reason: format!("part of a write stays at the end of the log: {e}"),
            }
        })
    }

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// If this sync or an earlier one failed: what was appended since the last successful one may
    /// be lost.
    #[track_caller]
    pub(crate) fn sync(&mut self) -> Result<()> {
        if self.state == LogState::Unsynced {
            return Err(self.refusal());
        }
        if let Err(e) = ops::sync(&*self.file, &self.path) {
            self.state = LogState::Unsynced;
            return Err(e);
        }
        self.durable_end = self.end;
        Ok(())
    }

    fn refusal(&self) -> Error {
        let what = match self.state {
            LogState::Unsynced => "sync of",
            LogState::Sound | LogState::Torn => "write to",
        };
        let path = self.path.display();
        Error::ReadOnly {
            reason: format!("an earlier {what} {path} failed; open the store again"),
        }
    }

    /// The end of the last complete frame, in bytes. If an append failed, part of a frame may
    /// follow.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The offset up to which the log is durable, in bytes.
    pub(crate) fn durable_end(&self) -> u64 {
        self.durable_end
    }

    /// The file number.
    pub(crate) fn log_id(&self) -> u64 {
        self.log_id
    }

    /// Makes everything durable and marks the end as clean. Returns the length of the log.
    ///
    /// # Errors
    /// If this, or an earlier append or sync, failed: the log then ends like one after a crash.
    pub(crate) fn close(mut self) -> Result<u64> {
        // A clean end states that everything before it is synced, so it must not reach the disk
        // earlier.
        if self.durable_end < self.end {
            self.sync()?;
        }
        let header = Header {
            payload_length: 0,
            kind: FrameKind::CleanEnd as u8,
            reserved: [0; 3],
            count: 0,
            first_sequence: 0,
            durable: self.end,
        };
        self.append_frame(header, &[])?;
        self.sync()?;
        Ok(self.end)
    }
}
