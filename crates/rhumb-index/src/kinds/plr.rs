//! Greedy piecewise linear regression over key numbers, as in Bourbon (OSDI 2020, section 4.1)
//! and DobLIX, with the algorithm of [`crate::segment::greedy`].
//!
//! Trained on one point for each distinct number: its first rank. Keys that share a number are a
//! *run*. With `f` a segment's line, `error` the largest distance between `f` and a trained rank,
//! and `run` the longest run, the window of a number is `f - error .. f + error + run`.
//!
//! Why that is right. Let the distinct numbers be x0 < x1 < ..., ri the first rank of xi and ni
//! the length of its run, so that r(i+1) = ri + ni. `f` is monotone, and within a segment
//! ri - error <= f(xi) <= ri + error.
//!
//! - A key with number xi, present or not, stands in or at the end of the run: its rank or lower
//!   bound is at least ri >= f(xi) - error and at most ri + ni <= f(xi) + error + run, and a
//!   present key's rank is below ri + ni, so it is in the window with `hi` excluded.
//! - A number q between xi and x(i+1), both in one segment, has the lower bound r(i+1). By
//!   monotony r(i+1) >= f(x(i+1)) - error >= f(q) - error, and r(i+1) = ri + ni <= f(xi) + error
//!   + run <= f(q) + error + run.
//! - If xi is the last number of its segment, the second half stands, and the first does since
//!   `f` is clamped to the segment's ranks, all below r(i+1). This covers the gap between two
//!   segments and the numbers above the last key.
//! - Below x0 the lower bound is 0 and f is f(x0) <= error, so the window starts at 0.
//!
//! `error` and `run` are measured per segment after rounding, by the lookup's own arithmetic.
//!
//! Byte form, version 1, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  M, number of segments
//!      8     8  N, number of keys, below 2^32
//!     16     2  position boundary: 2 error + run of every segment is at most this
//!     18     2  flags: bit 0, there is a column of runs; without it every run is 1
//!     20     4  reserved, zero
//!     24    8M  number of each segment's first key, ascending
//!           4M  rank of each segment's first key, ascending from 0
//!           4M  slope, ranks a number (f32), at least 0
//!           2M  offset: prediction for the first key less its rank, in 1/64 of a rank (i16)
//!           2M  error, in ranks
//!           2M  longest run, in keys; only with the column of runs
//! ```
//!
//! A segment takes 20 bytes, or 22 where numbers repeat.

mod builder;
mod reader;

use crate::registry::Kind;
use crate::spec::Knob;

const BOUNDARY: Knob = Knob {
    name: "boundary",
    about: "position boundary: the most keys that a window may hold",
    default: 16,
    min: 4,
    max: 1024,
};

pub(crate) const KIND: Kind = Kind {
    name: "plr",
    id: 3,
    about: "greedy piecewise linear regression (Xie et al., VLDBJ 2014), as in Bourbon and DobLIX",
    knobs: &[BOUNDARY],
    needs_number: true,
    version: 1,
    builder: |spec| {
        let boundary = spec.get(BOUNDARY.name).unwrap_or(BOUNDARY.default);
        Box::new(builder::PlrBuilder::new(boundary))
    },
    open: |bytes| Ok(Box::new(reader::Plr::open(bytes)?)),
};

/// Flag of the column of runs.
const RUNS: u16 = 1;

/// One piece of the model.
#[derive(Debug, Clone, Copy)]
struct Segment {
    line: crate::segment::Line,
    /// The largest distance between prediction and first rank, in ranks.
    error: u16,
    /// The longest run of keys with one number.
    run: u16,
}

impl Segment {
    /// How many ranks its windows hold, before clamping.
    fn width(&self) -> u64 {
        2 * u64::from(self.error) + u64::from(self.run)
    }
}
