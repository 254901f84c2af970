//! Parts that several index kinds use: builders and readers of families of kinds, knobs, and the
//! arithmetic behind the window guarantee.

pub(super) mod blocks;
pub(super) mod exact;
pub(super) mod fixed_line;
pub(super) mod front;
pub(super) mod gallop;
pub(super) mod in_turn;
pub(super) mod knobs;
pub(super) mod least_squares;
pub(super) mod lines;
pub(super) mod logarithm;
pub(super) mod order;
pub(super) mod reach;
pub(crate) mod retained;
pub(super) mod runs;
pub(super) mod separators;
pub(super) mod spans;
pub(super) mod spline;
pub(super) mod strings;
