//! Shared by the kinds whose model is a row of straight lines: `plr`, `fiting-tree` and `pgm`. They
//! differ in how they cut the keys into segments ([`crate::segment`]) and in how they find the
//! segment of a number ([`Route`]).
//!
//! See [`super::reach`] for the proof that windows are correct; error and longest run are measured
//! for each segment.
//!
//! Byte form of the lines, little-endian, columns end to end:
//!
//! ```text
//! offset  size  field
//!      0     4  M, number of segments
//!      4     8  N, number of keys, below 2^32
//!     12     2  position boundary: 2 error + run of every segment is at most this
//!     14     2  flags: bit 0 is set if there is a column of runs; without it every run is 1
//!     16     4  reserved, zero
//!     20    8M  number of each segment's first key, ascending
//!       12M+12  M records, and a final record whose rank is N and whose other fields are unused
//!           2M  longest run of each segment, in keys; only with the column of runs
//!
//! record
//!      0     4  rank of the first key, ascending from 0
//!      4     4  slope, ranks a number (f32), at least 0
//!      8     2  offset: prediction for the first key less its rank, in 1/64 of a rank (i16)
//!     10     2  error, in ranks
//! ```
//!
//! A segment takes 20 bytes, or 22 where numbers repeat. The numbers are in a column of their own
//! because they are searched; a look-up then reads one record and the rank of the next.

mod builder;
mod index;
mod reader;
mod tree;

use std::fmt::Debug;

pub(crate) use builder::{LineBuilder, cut_numbers, encode_lines};
pub(crate) use index::LineIndex;
pub(crate) use reader::Lines;
pub(crate) use tree::Tree;

use crate::IndexError;
use crate::bytes::Reader;
use crate::kind::Kind;
use crate::kinds::shared::reach::Reach;
use crate::knob::Settings;
use crate::segment::{Fit, Line};

/// Set if there is a column of runs.
const RUNS: u16 = 1;

/// Bytes of a record.
const RECORD: usize = 12;

/// A kind whose model is a row of lines.
pub(crate) trait LineKind: Debug + Send + Sync + 'static {
    /// How keys are cut into segments.
    type Fit: Fit;
    /// How the segment of a number is found.
    type Route: Route;
    /// Its name, knobs, and how it is built and opened.
    fn kind() -> &'static Kind;
}

/// Finds the segment of a number.
pub(crate) trait Route: Debug + Send + Sync + Sized {
    /// Appends its own bytes, if any, after the lines.
    fn encode(_: &Settings, _segments: &[Segment], _out: &mut Vec<u8>) {}

    /// Reads what [`Route::encode`] appended.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if the bytes do not belong to these lines.
    fn open(reader: &mut Reader<'_>, lines: &Lines) -> Result<Self, IndexError>;

    /// The last segment that starts at or below the number; segment 0 if there is none. There must
    /// be at least one segment.
    fn find(&self, bytes: &[u8], lines: &Lines, number: u64) -> usize;

    /// Bytes of memory, those of the byte form not counted.
    fn size_in_bytes(&self) -> usize;
}

/// One segment of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub line: Line,
    pub reach: Reach,
}
