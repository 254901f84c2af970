//! Gets, seeks, scans and snapshots.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[path = "../kit/mod.rs"]
mod kit;

mod ends_and_sizes;
mod iterators_owe_nothing_to_former_ones;
mod multi_get_reads_blocks_once;
mod range_deletes_take_any_bounds;
mod seeks_go_where_the_model_does;
mod snapshots_answer_like_keyspaces;
mod windows_read_exactly;
mod writes_leave_blocks_in_memory;
