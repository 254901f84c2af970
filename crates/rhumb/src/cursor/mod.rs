//! Reading memtables and tables in key order: cursors over each of them, their merge, and the cursor
//! that shows the keys visible at a sequence.

mod ahead;
mod clipped;
mod coverage;
mod level;
mod merge;
mod resolved;
mod source;
mod visible;

pub(crate) use clipped::ClippedCursor;
pub(crate) use level::LevelCursor;
pub(crate) use merge::MergeCursor;
pub(crate) use resolved::ResolvedCursor;
pub(crate) use source::Source;
pub(crate) use visible::VisibleCursor;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
