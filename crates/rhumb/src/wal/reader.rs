//! Reading a log back, and distinguishing a torn tail from damage.

use std::path::{Path, PathBuf};

use super::frame::{FrameKind, Frames, HEADER_BYTES, Header};
use crate::entry::Sequence;
use crate::entry::operations::{Op, Operation, OperationIter};
use crate::error::{Error, Result};
use crate::fs::{FileSystem, names, ops};

/// Sees an operation, its sequence and, if it is a put that is the record of a value, where it lies in the log.
pub(crate) type Visit<'v> = dyn FnMut(Sequence, Operation<'_>, Option<u64>) -> Result<()> + 'v;

/// A commit group read back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    path: &'a Path,
    /// Where the payload starts in the log.
    offset: u64,
    /// The sequence of the first operation; each later one has the next sequence.
    pub(crate) first_sequence: Sequence,
    /// The number of operations.
    pub(crate) count: u32,
    /// The encoded operations.
    pub(super) payload: &'a [u8],
    /// Whether a checksum follows each put.
    sealed: bool,
}

impl<'a> Frame<'a> {
    /// Decodes the operations.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kind of operation that this build does not know,
    /// [`Error::Corruption`] if the payload does not hold exactly `count` operations, and the
    /// errors of `visit`, which has seen the operations before the failure.
    pub(crate) fn operations(&self, visit: &mut Visit<'_>) -> Result<()> {
        let mut seen = 0u32;
        let mut operations = OperationIter::maybe_sealed(self.payload, self.sealed);
        loop {
            let at = self.offset + operations.position() as u64;
            let Some(operation) = operations.next() else {
                break;
            };
            let operation = operation.map_err(|e| e.into_error(self.path, self.offset))?;
            let sequence = self.first_sequence.checked_add(seen.into());
            let Some(sequence) = sequence.filter(|_| seen < self.count) else {
                return Err(self.miscounted("more"));
            };
            let is_put = matches!(operation.op, Op::Put { .. });
            visit(sequence, operation, (self.sealed && is_put).then_some(at))?;
            seen += 1;
        }
        if seen < self.count {
            return Err(self.miscounted(&seen.to_string()));
        }
        Ok(())
    }

    fn miscounted(&self, found: &str) -> Error {
        let (count, first) = (self.count, self.first_sequence);
        let expected = format!("{count} operations from sequence {first}");
        Error::corruption(self.path, self.offset, expected, found)
    }
}

/// What a log was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogSummary {
    /// Where the last frame that counts ends, in bytes.
    pub(crate) valid_end: u64,
    /// The number of frames with operations.
    pub(crate) frames: u64,
    /// Whether the log was closed by its writer.
    pub(crate) clean: bool,
    /// The number of bytes after the valid end, which are ignored.
    pub(crate) torn_bytes: u64,
}

/// A log that was read, with the checksums of its frames verified.
#[derive(Debug)]
pub(crate) struct ReadLog {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The frames with operations, with their offsets.
    frames: Vec<(usize, Header)>,
    /// What it holds.
    pub(crate) summary: LogSummary,
    /// The largest offset that a frame, or the manifest, says was durable.
    pub(crate) durable_end: u64,
}

impl ReadLog {
    /// Reads the log with this file number. `known_end` is the valid end if the manifest names one. The
    /// whole log is held in memory.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the log is missing, or damaged below an offset known to have been synced;
    /// [`Error::Unsupported`] if a newer build wrote it; any read error.
    pub(crate) fn open(
        fs: &dyn FileSystem,
        directory: &Path,
        log_id: u64,
        known_end: Option<u64>,
    ) -> Result<ReadLog> {
        let path = directory.join(names::log_name(log_id));
        match ops::if_found(ops::read_all_from_disk(fs, &path))? {
            Some(bytes) => Self::from_bytes(path, bytes, log_id, known_end),
            None => {
                let expected = "a log, as the manifest says";
                Err(Error::corruption(&path, 0, expected, "no such file"))
            }
        }
    }

    /// [`ReadLog::open`] of the bytes of a log.
    pub(super) fn from_bytes(
        path: PathBuf,
        bytes: Vec<u8>,
        log_id: u64,
        known_end: Option<u64>,
    ) -> Result<ReadLog> {
        let mut scan = Scan {
            path: &path,
            log: &bytes,
            log_id,
            end: 0,
            durable: known_end.unwrap_or(0),
            clean: false,
            frames: Vec::new(),
        };
        scan.read(known_end)?;
        scan.search_later_frames()?;
        scan.refuse_damage()?;
        let summary = LogSummary {
            valid_end: scan.end as u64,
            frames: scan.frames.len() as u64,
            clean: scan.clean,
            torn_bytes: (bytes.len() - scan.end) as u64,
        };
        let (frames, durable_end) = (scan.frames, scan.durable);
        Ok(ReadLog {
            path,
            bytes,
            frames,
            summary,
            durable_end,
        })
    }

    /// The sequence of its first operation.
    pub(crate) fn first_sequence(&self) -> Option<Sequence> {
        self.frames.first().map(|(_, header)| header.first_sequence)
    }

    /// Passes the frames to `visit`, in order. Their operations are decoded only then, so if this fails,
    /// the caller must discard what `visit` collected.
    ///
    /// # Errors
    /// Those of `visit`.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(Frame<'_>) -> Result<()>) -> Result<()> {
        for (start, header) in &self.frames {
            let payload = start + HEADER_BYTES..start + header.frame_bytes();
            visit(Frame {
                path: &self.path,
                offset: (start + HEADER_BYTES) as u64,
                first_sequence: header.first_sequence,
                count: header.count,
                payload: self.bytes.get(payload).unwrap_or_default(),
                sealed: header.is_sealed(),
            })?;
        }
        Ok(())
    }
}

/// Makes the contents of a log durable. Recovery does so before it writes anything that depends on
/// what was replayed.
///
/// # Errors
/// If the log is missing or the sync failed.
pub(crate) fn sync_log(fs: &dyn FileSystem, directory: &Path, log_id: u64) -> Result<()> {
    ops::sync_file(fs, &directory.join(names::log_name(log_id)))
}

struct Scan<'a> {
    path: &'a Path,
    log: &'a [u8],
    log_id: u64,
    /// Where the last frame read so far ends.
    end: usize,
    /// The largest offset known to have been durable.
    durable: u64,
    /// Whether the last frame read is a clean end.
    clean: bool,
    /// The frames with operations, with their offsets.
    frames: Vec<(usize, Header)>,
}

impl Scan<'_> {
    /// Reads frames from the start up to the first offset without a frame, or up to the known end.
    fn read(&mut self, known_end: Option<u64>) -> Result<()> {
        while known_end != Some(self.end as u64) {
            let Ok(header) = Header::decode(self.log, self.log_id, self.end) else {
                break;
            };
            let at = self.end as u64;
            let kind = header.check(self.path, at)?;
            let end = self.end + header.frame_bytes();
            if self.clean {
                return Err(Error::corruption(
                    self.path,
                    at,
                    "nothing after the clean end",
                    "a frame",
                ));
            }
            if let Some(known) = known_end.filter(|known| *known < end as u64) {
                let found = format!("a frame that ends at {end}");
                return Err(Error::corruption(
                    self.path,
                    known,
                    "the end of the log",
                    found,
                ));
            }
            match kind {
                FrameKind::Operations | FrameKind::Sealed => self.frames.push((self.end, header)),
                FrameKind::CleanEnd => self.clean = true,
            }
            self.durable = self.durable.max(header.durable);
            self.end = end;
        }
        Ok(())
    }

    /// Searches the bytes after the end for later frames, which state how much of the log was
    /// durable.
    fn search_later_frames(&mut self) -> Result<()> {
        let frames = Frames::new(self.log, self.log_id);
        let mut from = self.end;
        while let Some((at, header)) = frames.next(from) {
            header.check(self.path, at as u64)?;
            self.durable = self.durable.max(header.durable);
            from = at + header.frame_bytes();
        }
        Ok(())
    }

    fn refuse_damage(&self) -> Result<()> {
        if self.end as u64 >= self.durable {
            return Ok(());
        }
        let (expected, found) = match Header::decode(self.log, self.log_id, self.end) {
            Err(no) => (no.expected, no.found),
            Ok(_) => ("the end of the log".to_owned(), "a frame".to_owned()),
        };
        let durable = self.durable;
        let expected = format!("{expected} (the log was synced up to {durable})");
        Err(Error::corruption(
            self.path,
            self.end as u64,
            expected,
            found,
        ))
    }
}
