//! What a scan costs behind range deletes, and that it shows what it should; cursors over ranges.

mod clipped;
mod jumps;
