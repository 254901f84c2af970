//! What a scan costs behind range deletes, and that it shows what it should, there and between entries of other sources; cursors
//! over ranges.

mod beside;
mod clipped;
mod jumps;
