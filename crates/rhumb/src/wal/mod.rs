//! The log: writes that may not be in tables yet, in frames of one commit group each.
//!
//! ```text
//! 0   4  crc of bytes 4..48 and the payload, stamped with (log id, offset of the frame)
//! 4   4  payload length
//! 8   1  frame kind: 1 = operations, 2 = clean end, 3 = sealed operations
//! 9   3  reserved
//! 12  4  number of operations
//! 16  8  log id: the file number
//! 24  8  offset of this frame in the log
//! 32  8  sequence of the first operation
//! 40  8  durable offset: everything below it was synced before this frame was written
//! 48     payload
//! ```

mod frame;
mod places;
mod reader;
mod salvage;
mod seal;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use places::LoggedValues;
pub(crate) use reader::{Frame, LogSummary, ReadLog, Visit, sync_log};
pub(crate) use salvage::{SoundFrame, sound_frames};
pub(crate) use writer::{LogFile, LogWriter};
