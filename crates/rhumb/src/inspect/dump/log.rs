//! A log as text: its frames and their operations.

use std::io::Write;
use std::path::Path;

use super::{key, output, value};
use crate::entry::operations::Op;
use crate::error::{Error, Result};
use crate::wal::{SoundFrame, sound_frames};

/// Writes the frames of a log, including those behind damage.
pub(super) fn dump(path: &Path, log: &[u8], log_id: u64, out: &mut dyn Write) -> Result<()> {
    let frames = sound_frames(log, log_id);
    if frames.is_empty() && !log.is_empty() {
        let expected = format!("a frame of log {log_id}");
        return Err(Error::corruption(path, 0, expected, "none"));
    }
    output(writeln!(out, "log {log_id}, {} bytes", log.len()))?;
    let mut end = 0;
    for frame in &frames {
        gap(end, frame.offset, out)?;
        dump_frame(frame, log, out)?;
        end = frame.payload.end;
    }
    gap(end, log.len(), out)
}

fn gap(from: usize, to: usize, out: &mut dyn Write) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let bytes = to - from;
    output(writeln!(out, "{from}: {bytes} bytes that are no frame"))
}

fn dump_frame(frame: &SoundFrame, log: &[u8], out: &mut dyn Write) -> Result<()> {
    let (offset, durable) = (frame.offset, frame.durable);
    if frame.clean_end {
        return output(writeln!(out, "{offset}: clean end"));
    }
    let (count, mut sequence) = (frame.count, frame.first_sequence);
    output(writeln!(
        out,
        "{offset}: {count} operations from sequence {sequence}, durable below {durable}"
    ))?;
    for operation in frame.operations(log) {
        let Ok(operation) = operation else {
            return output(writeln!(
                out,
                "  {sequence}: an operation of an unknown kind"
            ));
        };
        let what = match operation.op {
            Op::Put { key: k, value: v } => format!("put {} = {}", key(k), value(v)),
            Op::Delete { key: k } => format!("delete {}", key(k)),
            Op::RangeDelete { start, end } => {
                format!("delete range {} to {} (excluded)", key(start), key(end))
            }
        };
        let keyspace = operation.keyspace;
        output(writeln!(out, "  {sequence}: keyspace {keyspace}: {what}"))?;
        sequence = sequence.saturating_add(1);
    }
    Ok(())
}
