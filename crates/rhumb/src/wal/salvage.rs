//! What can still be read of a log, damage or not.

use std::ops::Range;

use super::frame::{HEADER_BYTES, Header, may_start};
use crate::entry::Sequence;

/// A frame whose checksum is right.
#[derive(Debug, Clone)]
pub(crate) struct SoundFrame {
    /// Where it starts in the log, in bytes.
    pub offset: usize,
    /// Whether it is a clean end.
    pub clean_end: bool,
    /// The sequence of its first operation.
    pub first_sequence: Sequence,
    /// How many operations it says it has.
    pub count: u32,
    /// What was known to be durable when it was written.
    pub durable: u64,
    /// Where its operations stand in the log.
    pub payload: Range<usize>,
}

/// All frames of the log with this id whose checksums are right, in the order of the file, those
/// behind damage too: a frame knows its place.
pub(crate) fn sound_frames(log: &[u8], log_id: u64) -> Vec<SoundFrame> {
    let mut frames = Vec::new();
    let mut at = 0;
    while at + HEADER_BYTES <= log.len() {
        let found = may_start(log, log_id, at).then(|| Header::decode(log, log_id, at).ok());
        let Some(header) = found.flatten() else {
            at += 1;
            continue;
        };
        let end = at + header.frame_bytes();
        frames.push(SoundFrame {
            offset: at,
            clean_end: header.kind == CLEAN_END,
            first_sequence: header.first_sequence,
            count: header.count,
            durable: header.durable,
            payload: at + HEADER_BYTES..end,
        });
        at = end;
    }
    frames
}

const CLEAN_END: u8 = super::frame::FrameKind::CleanEnd as u8;
