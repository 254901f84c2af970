//! Appending to a log.

use std::mem;
use std::path::{Path, PathBuf};

use super::frame::{FrameKind, HEADER_BYTES, Header};
use super::places::LoggedValues;
use super::seal::seal;
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::{FileSystem, WriteFile, names, ops};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, lock};

/// The most buffer memory that is kept between two frames.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// Copying so many bytes takes longer than a call of the operating system. Tests have parts of both kinds.
const LONG_PART_BYTES: usize = if cfg!(test) { 100 } else { 32 << 10 };

/// The file of a log that is being written. One thread appends, through its [`LogWriter`]; any thread may
/// sync it meanwhile.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    log_id: u64,
    /// The end of the last complete frame, in bytes.
    end: AtomicU64,
    durable_end: AtomicU64,
    /// Whether a sync failed: the bytes written since the last successful one may be lost, even if a later
    /// sync succeeds.
    failed: AtomicBool,
    /// Held during a sync. The system reports a failure to one caller only.
    syncing: Mutex<()>,
}

/// A log open for appending. It accepts appends until a sync fails, or an append fails other than on a full
/// disk.
#[derive(Debug)]
pub(crate) struct LogWriter {
    log: Arc<LogFile>,
    /// Whether part of a frame may follow the last complete one.
    torn: bool,
    buffer: Vec<u8>,
    values: LoggedValues,
}

impl LogFile {
    /// Makes everything durable that was appended before the call.
    ///
    /// # Errors
    /// If this sync or an earlier one failed: what was appended since the last successful one may
    /// be lost.
    #[track_caller]
    pub(crate) fn sync(&self) -> Result<()> {
        self.sync_through(self.end())
    }

    /// Makes everything below `end` durable, which was appended before the call.
    ///
    /// # Errors
    /// As [`LogFile::sync`].
    #[track_caller]
    pub(crate) fn sync_through(&self, end: u64) -> Result<()> {
        if end <= self.durable_end() {
            return Ok(());
        }
        let _syncing = lock(&self.syncing);
        self.check_synced()?;
        if end <= self.durable_end() {
            return Ok(());
        }
        // What is appended while the sync is under way may not be covered by it.
        let end = self.end();
        ops::sync(&*self.file, &self.path).inspect_err(|_| {
            self.failed.store(true, Ordering::Release);
        })?;
        self.durable_end.store(end, Ordering::Release);
        Ok(())
    }

    fn check_synced(&self) -> Result<()> {
        match self.failed.load(Ordering::Acquire) {
            true => Err(self.refusal("sync of")),
            false => Ok(()),
        }
    }

    fn refusal(&self, what: &str) -> Error {
        let path = self.path.display();
        Error::ReadOnly {
            reason: format!("an earlier {what} {path} failed; open the store again"),
        }
    }

    /// The end of the last complete frame, in bytes. If an append failed, part of a frame may
    /// follow.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The offset up to which the log is durable, in bytes.
    pub(crate) fn durable_end(&self) -> u64 {
        self.durable_end.load(Ordering::Acquire)
    }

    /// The file number.
    pub(crate) fn log_id(&self) -> u64 {
        self.log_id
    }
}

impl LogWriter {
    /// Creates the empty log with this file number in `directory`. Its name is durable after the next sync
    /// of the directory.
    ///
    /// # Errors
    /// If it exists or cannot be created.
    pub(crate) fn create(fs: &dyn FileSystem, directory: &Path, log_id: u64) -> Result<Self> {
        let path = directory.join(names::log_name(log_id));
        let log = LogFile {
            file: ops::create(fs, &path)?,
            path,
            log_id,
            end: AtomicU64::new(0),
            durable_end: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            syncing: Mutex::new(()),
        };
        Ok(LogWriter {
            log: Arc::new(log),
            torn: false,
            buffer: Vec::new(),
            values: LoggedValues::default(),
        })
    }

    /// The file, for threads that sync it.
    pub(crate) fn file(&self) -> &Arc<LogFile> {
        &self.log
    }

    /// Appends a commit group: `count` encoded operations, the first with this sequence. They are the
    /// concatenation of `operations`. It is durable after the next [`LogFile::sync`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for 4 GiB of operations or more, and [`Error::DiskFull`], which leave the log
    /// as it was. After any other error the group may or may not be found when the log is read, and the log
    /// accepts no more appends.
    pub(crate) fn append(
        &mut self,
        first_sequence: Sequence,
        operations: &[&[u8]],
        count: u32,
    ) -> Result<()> {
        self.append_group(FrameKind::Operations, first_sequence, operations, count)
    }

    /// As [`LogWriter::append`], with a checksum behind each put, so that tables may point to its value; each part
    /// holds whole operations. The places of the values that `belongs_apart` names are kept.
    ///
    /// # Errors
    /// As [`LogWriter::append`].
    pub(crate) fn append_sealed(
        &mut self,
        first_sequence: Sequence,
        operations: &[&[u8]],
        count: u32,
        belongs_apart: impl Fn(u32, usize) -> bool,
    ) -> Result<()> {
        let (id, begin) = (self.log.log_id, self.log.end() + HEADER_BYTES as u64);
        let pieces = seal(operations, (id, begin));
        let parts = pieces
            .iter()
            .flat_map(|piece| [piece.operations, piece.checksum()]);
        let parts: Vec<&[u8]> = parts.collect();
        self.append_group(FrameKind::Sealed, first_sequence, &parts, count)?;
        for put in pieces.iter().filter_map(|piece| piece.put.as_ref()) {
            if belongs_apart(put.keyspace, put.value_len) {
                let sequence = first_sequence + put.before;
                self.values
                    .add(put.keyspace, sequence, (put.offset, put.bytes));
            }
        }
        Ok(())
    }

    /// The places of values, which this writer gives away.
    pub(crate) fn take_values(&mut self) -> LoggedValues {
        mem::take(&mut self.values)
    }

    /// Whether it holds values that tables may point to.
    pub(crate) fn has_values(&self) -> bool {
        self.values.keyspace().is_some()
    }

    fn append_group(
        &mut self,
        kind: FrameKind,
        first_sequence: Sequence,
        operations: &[&[u8]],
        count: u32,
    ) -> Result<()> {
        let bytes: usize = operations.iter().map(|part| part.len()).sum();
        let payload_length = u32::try_from(bytes).map_err(|_| {
            Error::InvalidArgument(format!(
                "a batch of {bytes} bytes does not fit into the log: write batches below 4 GiB"
            ))
        })?;
        let header = Header {
            payload_length,
            kind: kind as u8,
            reserved: [0; 3],
            count,
            first_sequence,
            durable: self.log.durable_end(),
        };
        self.append_frame(header, operations)
    }

    fn append_frame(&mut self, header: Header, payload: &[&[u8]]) -> Result<()> {
        let log = &*self.log;
        log.check_synced()?;
        if self.torn {
            return Err(log.refusal("write to"));
        }
        let end = log.end();
        self.buffer.clear();
        let encoded = header.encode(log.log_id, end, payload);
        self.buffer.extend_from_slice(&encoded);
        // If the write panics, part of the frame may follow.
        self.torn = true;
        let written = write_parts(log, &mut self.buffer, payload);
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER_BYTES);
        match written {
            Ok(()) => {
                let end = end + header.frame_bytes() as u64;
                log.end.store(end, Ordering::Release);
                self.torn = false;
            }
            Err(Error::DiskFull { .. }) => self.cut()?,
            Err(_) => {}
        }
        written
    }

    /// Cuts off what was written of a frame for which there was no room.
    fn cut(&mut self) -> Result<()> {
        let log = &*self.log;
        ops::truncate(&*log.file, &log.path, log.end()).map_err(|e| Error::ReadOnly {
            reason: format!("part of a write stays at the end of the log: {e}"),
        })?;
        self.torn = false;
        Ok(())
    }

    /// Makes everything durable and marks the end as clean. Returns the length of the log.
    ///
    /// # Errors
    /// If this, or an earlier append or sync, failed: the log then ends like one after a crash.
    pub(crate) fn close(mut self) -> Result<u64> {
        // A clean end states that everything before it is synced, so it must not reach the disk
        // earlier.
        self.log.sync()?;
        let header = Header {
            payload_length: 0,
            kind: FrameKind::CleanEnd as u8,
            reserved: [0; 3],
            count: 0,
            first_sequence: 0,
            durable: self.log.end(),
        };
        self.append_frame(header, &[])?;
        self.log.sync()?;
        Ok(self.log.end())
    }
}

/// Writes `buffer`, and then the parts of a payload: short ones by way of the buffer, so that they take one
/// call together, and long ones from where they lie.
fn write_parts(log: &LogFile, buffer: &mut Vec<u8>, payload: &[&[u8]]) -> Result<()> {
    for part in payload {
        if part.len() < LONG_PART_BYTES {
            buffer.extend_from_slice(part);
        } else {
            ops::write_all(&*log.file, &log.path, buffer)?;
            buffer.clear();
            ops::write_all(&*log.file, &log.path, part)?;
        }
    }
    ops::write_all(&*log.file, &log.path, buffer)
}
