//! The header of a frame: encoding it, and recognising a frame.

use std::mem;
use std::path::Path;

use crate::entry::Sequence;
use crate::entry::checksum;
use crate::entry::stretches::Stretches;
use crate::entry::varint::Reader;
use crate::error::{Error, Result};

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 48;

/// The offset in a header of the log id, which the frame's offset follows.
const IDENTITY: usize = 16;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameKind {
    /// A commit group.
    Operations = 1,
    /// The end of a log that was closed: nothing follows, and everything before is synced.
    CleanEnd = 2,
    /// A commit group each of whose puts is followed by a checksum, so that it is the record of a value.
    Sealed = 3,
}

/// The fields of a header, except the frame's identity (log id and offset).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) payload_length: u32,
    pub(super) kind: u8,
    pub(super) reserved: [u8; 3],
    pub(super) count: u32,
    pub(super) first_sequence: Sequence,
    pub(super) durable: u64,
}

/// Why there is no frame at an offset.
#[derive(Debug)]
pub(super) struct NoFrame {
    pub(super) expected: String,
    pub(super) found: String,
}

/// Whether the identity of a frame of this log stands at `at`. A cheap test: the frame itself may
/// be incomplete or damaged.
#[inline]
fn may_start(log: &[u8], log_id: u64, at: usize) -> bool {
    let identity = log
        .get(at..)
        .and_then(|rest| rest.get(IDENTITY..HEADER_BYTES));
    let Some((id, rest)) = identity.and_then(|bytes| bytes.split_first_chunk()) else {
        return false;
    };
    let offset = rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    u64::from_le_bytes(*id) == log_id && offset == Some(at as u64)
}

/// The frames of a log, found by their identities and checksums wherever they stand.
pub(super) struct Frames<'a> {
    log: &'a [u8],
    checksums: Stretches<'a>,
    log_id: u64,
}

impl<'a> Frames<'a> {
    pub(super) fn new(log: &'a [u8], log_id: u64) -> Self {
        Frames {
            log,
            checksums: Stretches::new(log),
            log_id,
        }
    }

    /// The first sound frame from `from` on, and where it stands.
    pub(super) fn next(&self, from: usize) -> Option<(usize, Header)> {
        let last = self.log.len().checked_sub(HEADER_BYTES)?;
        (from..=last).find_map(|at| Some((at, self.at(at)?)))
    }

    #[inline]
    fn at(&self, at: usize) -> Option<Header> {
        if !may_start(self.log, self.log_id, at) {
            return None;
        }
        let (crc, header) = Header::fields(self.log.get(at..)?)?;
        let computed = self.checksums.crc(at + 4..at + header.frame_bytes())?;
        let computed = computed.wrapping_add(checksum::stamp(self.log_id, at as u64));
        (crc == computed).then_some(header)
    }
}

impl Header {
    /// Encodes the header of the frame with this payload, a concatenation of parts, at `offset` of the log.
    pub(super) fn encode(&self, log_id: u64, offset: u64, payload: &[&[u8]]) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let mut rest = header.as_mut_slice();
        let mut put = |bytes: &[u8]| {
            if let Some((field, behind)) = mem::take(&mut rest).split_at_mut_checked(bytes.len()) {
                field.copy_from_slice(bytes);
                rest = behind;
            }
        };
        put(&[0; 4]);
        put(&self.payload_length.to_le_bytes());
        put(&[self.kind]);
        put(&self.reserved);
        put(&self.count.to_le_bytes());
        put(&log_id.to_le_bytes());
        put(&offset.to_le_bytes());
        put(&self.first_sequence.to_le_bytes());
        put(&self.durable.to_le_bytes());
        if let Some((crc, covered)) = header.split_first_chunk_mut() {
            let checksum = payload
                .iter()
                .fold(checksum::crc(covered), |checksum, part| {
                    checksum::crc_append(checksum, part)
                });
            let checksum = checksum.wrapping_add(checksum::stamp(log_id, offset));
            *crc = checksum.to_le_bytes();
        }
        header
    }

    /// The header of the frame at `at`, if the frame is complete and its checksum matches.
    pub(super) fn decode(log: &[u8], log_id: u64, at: usize) -> Result<Header, NoFrame> {
        let rest = log.get(at..).unwrap_or_default();
        let Some((crc, header)) = Self::fields(rest) else {
            let found = format!("only {} bytes before the end of the file", rest.len());
            return Err(NoFrame::new("a frame", found));
        };
        if !may_start(log, log_id, at) {
            let expected = format!("a frame of log {log_id} for this offset");
            return Err(NoFrame::new(expected, "other bytes"));
        }
        let Some(frame) = rest.get(..header.frame_bytes()) else {
            let expected = format!("a frame of {} bytes", header.frame_bytes());
            let found = format!("only {} bytes before the end of the file", rest.len());
            return Err(NoFrame::new(expected, found));
        };
        let covered = frame.get(4..).unwrap_or_default();
        let right = checksum::stamped(covered, log_id, at as u64);
        if crc != right {
            let expected = format!("a frame with checksum {crc:08x}");
            return Err(NoFrame::new(expected, format!("checksum {right:08x}")));
        }
        Ok(header)
    }

    fn fields(bytes: &[u8]) -> Option<(u32, Header)> {
        let mut reader = Reader::new(bytes);
        let crc = reader.u32()?;
        let payload_length = reader.u32()?;
        let kind = reader.u8()?;
        let reserved = [reader.u8()?, reader.u8()?, reader.u8()?];
        let count = reader.u32()?;
        reader.take(16)?;
        let header = Header {
            payload_length,
            kind,
            reserved,
            count,
            first_sequence: reader.u64()?,
            durable: reader.u64()?,
        };
        Some((crc, header))
    }

    /// Whether a checksum follows each put.
    pub(super) fn is_sealed(&self) -> bool {
        self.kind == FrameKind::Sealed as u8
    }

    /// Bytes of the header and its payload.
    pub(super) fn frame_bytes(&self) -> usize {
        HEADER_BYTES + self.payload_length as usize
    }

    /// Checks the fields of a header whose checksum matches, and returns the kind of the frame.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kind that this build does not know, [`Error::Corruption`] for
    /// fields that no build writes.
    pub(super) fn check(&self, path: &Path, at: u64) -> Result<FrameKind> {
        let kind = match self.kind {
            1 => FrameKind::Operations,
            2 => FrameKind::CleanEnd,
            3 => FrameKind::Sealed,
            other => {
                let (path, what) = (path.to_path_buf(), format!("log frames of kind {other}"));
                return Err(Error::Unsupported { path, what });
            }
        };
        let end = kind == FrameKind::CleanEnd;
        if self.reserved != [0; 3] {
            return Err(Error::corruption(
                path,
                at,
                "zeros in the reserved bytes",
                "other values",
            ));
        }
        if self.durable > at || (end && self.durable != at) {
            let found = format!("durable offset {}", self.durable);
            let expected = "the frame's own offset or, unless it is a clean end, a smaller one";
            return Err(Error::corruption(path, at, expected, found));
        }
        if end && (self.payload_length, self.count) != (0, 0) {
            return Err(Error::corruption(
                path,
                at,
                "a clean end without operations",
                "one with operations",
            ));
        }
        Ok(kind)
    }
}

impl NoFrame {
    fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        let (expected, found) = (expected.into(), found.into());
        NoFrame { expected, found }
    }
}
