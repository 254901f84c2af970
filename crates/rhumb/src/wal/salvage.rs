//! Reading what is left of a damaged log.

use std::ops::Range;

use super::frame::{Frames, HEADER_BYTES};
use crate::entry::Sequence;
use crate::entry::operations::OperationIter;

/// A frame whose checksum matches.
#[derive(Debug, Clone)]
pub(crate) struct SoundFrame {
    /// Its offset in the log, in bytes.
    pub offset: usize,
    /// Whether it is a clean end.
    pub clean_end: bool,
    /// The sequence of its first operation.
    pub first_sequence: Sequence,
    /// The number of its operations according to its header.
    pub count: u32,
    /// The offset up to which the log was known to be durable when the frame was written.
    pub durable: u64,
    /// The position of its operations in the log.
    pub payload: Range<usize>,
    sealed: bool,
}

impl SoundFrame {
    /// Its operations, in the log that it was found in.
    pub fn operations<'a>(&self, log: &'a [u8]) -> OperationIter<'a> {
        let payload = log.get(self.payload.clone()).unwrap_or_default();
        OperationIter::maybe_sealed(payload, self.sealed)
    }
}

/// All frames of the log with this id whose checksums match, in file order, including those after
/// damage: a frame's header tells where it belongs.
pub(crate) fn sound_frames(log: &[u8], log_id: u64) -> Vec<SoundFrame> {
    let (mut frames, mut from) = (Vec::new(), 0);
    let all = Frames::new(log, log_id);
    while let Some((at, header)) = all.next(from) {
        let end = at + header.frame_bytes();
        frames.push(SoundFrame {
            offset: at,
            clean_end: header.kind == CLEAN_END,
            first_sequence: header.first_sequence,
            count: header.count,
            durable: header.durable,
            payload: at + HEADER_BYTES..end,
            sealed: header.is_sealed(),
        });
        from = end;
    }
    frames
}

const CLEAN_END: u8 = super::frame::FrameKind::CleanEnd as u8;
