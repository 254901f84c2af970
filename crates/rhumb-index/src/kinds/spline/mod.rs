//! A linear spline through some of the keys, the *knots*, and a *top* that leads to the right
//! knot: what RadixSpline and PLEX share.
//!
//! Knots are picked by [`crate::segment::corridor`]. The model `f` interpolates between the first
//! ranks of two neighbouring knots; segment i holds the numbers from knot i up to, not including,
//! knot i + 1, and the last one all from the last knot on, where `f` is that knot's rank.
//!
//! Trained on one point for each distinct number: its first rank. Keys that share a number are a
//! *run*. With `error` the largest distance between `f` and a trained rank of the segment, and
//! `run` its longest run, the window of a number is `f - error .. f + error + run`.
//!
//! Why that is right. Let the distinct numbers be x0 < x1 < ..., ri the first rank of xi and ni
//! the length of its run, so that r(i+1) = ri + ni. `f` is monotone, and clamped to the segment's
//! ranks: from its knot's rank to one below the next knot's.
//!
//! - A key with number xi, present or not, stands in or at the end of the run: its rank or lower
//!   bound is at least ri >= f(xi) - error and at most ri + ni <= f(xi) + error + run, and a
//!   present key's rank is below ri + ni, so it is in the window with `hi` excluded.
//! - A number q between xi and x(i+1), both in one segment, has the lower bound r(i+1). By
//!   monotony r(i+1) >= f(x(i+1)) - error >= f(q) - error, and r(i+1) = ri + ni <= f(xi) + error
//!   + run <= f(q) + error + run.
//! - If x(i+1) is the knot that ends the segment of xi, the second half stands, and the first does
//!   since f(q) is clamped below that knot's rank, which is r(i+1).
//! - Above the last number the same holds with the number of keys for r(i+1). Below x0 the lower
//!   bound is 0, and f is r0 = 0.
//!
//! `error` and `run` are measured after rounding, by the look-up's own arithmetic. Where no numbers
//! repeat, every run is 1, and one error serves all segments; else each segment has its own, so that
//! 2 error + run stays within the position boundary wherever runs are long.
//!
//! The byte form is described in `FORMAT.md`: a header of 32 bytes, 12 bytes a knot, 4 bytes a
//! segment where numbers repeat, and the top, which may leave out some knots at either end. A knot's
//! number and rank stand together, so that a look-up reads the two it interpolates between from one
//! or two cache lines.

mod builder;
mod hist_tree;
mod knots;
mod radix;
mod reader;
#[cfg(test)]
mod tests;
mod top;

pub(super) use builder::SplineBuilder;
pub(super) use hist_tree::{HistTree, Survey};
pub(super) use knots::{KNOT, Knot, halvings_of};
pub(super) use radix::RadixTable;
pub(super) use reader::Spline;
pub(super) use top::{CELL, LeftOut, Top};

use crate::registry::HEADER;

/// Where the knots start.
const KNOTS_AT: usize = HEADER + 28;

/// Bytes of the error and the run of a segment.
const BOUND: usize = 4;

/// Flag of the column of bounds.
const BOUNDS: u8 = 1;

/// How far a segment's windows reach from its predictions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bound {
    /// The largest distance between prediction and first rank, in ranks.
    error: u16,
    /// The longest run of keys with one number.
    run: u16,
}

impl Bound {
    /// How many ranks the windows hold, before clamping.
    fn width(self) -> u64 {
        2 * u64::from(self.error) + u64::from(self.run)
    }
}
