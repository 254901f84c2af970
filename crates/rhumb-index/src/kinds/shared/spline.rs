//! A linear spline through some of the keys, the *knots*, and a *top* that finds the knots around a
//! number: shared by RadixSpline and PLEX.
//!
//! Knots are chosen by [`crate::segment::corridor`]. The model `f` interpolates between the first
//! ranks of two neighbouring knots. Segment i holds the numbers from knot i up to, not including,
//! knot i + 1. The last segment holds all numbers from the last knot on, where `f` is that knot's
//! rank.
//!
//! `f` is clamped to the segment's ranks, from its knot's rank to one below the next knot's. See
//! [`super::reach`] for the proof that windows are correct. Where no numbers repeat, every run is 1
//! and all segments share one error. Otherwise each segment has its own error and run, so that 2
//! error + run stays within the position boundary wherever runs are long.
//!
//! The byte form is described in `FORMAT.md`: a header of 32 bytes, 12 bytes a knot, 4 bytes a
//! segment where numbers repeat, and the top, which may leave out some knots at either end. A
//! knot's number and rank are stored together, so that a look-up reads both knots it interpolates
//! between from one or two cache lines.

mod builder;
mod hist_tree;
mod knots;
mod radix;
mod reader;
#[cfg(test)]
mod tests;
mod top;

pub(in crate::kinds) use builder::SplineBuilder;
pub(in crate::kinds) use hist_tree::{HistTree, Survey};
pub(in crate::kinds) use knots::{KNOT, Knot, halvings_of};
pub(in crate::kinds) use radix::RadixTable;
pub(in crate::kinds) use reader::Spline;
pub(in crate::kinds) use top::{CELL, LeftOut, Top};

use crate::kind::HEADER;

/// Where the knots start.
const KNOTS_AT: usize = HEADER + 28;

/// Bytes of a segment's error and run.
const REACH: usize = 4;

/// Set if each segment has its own error and run.
const REACHES: u8 = 1;
