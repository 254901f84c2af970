//! Writes: batches, durability, swaps, back-pressure, and what keyspaces and statistics tell of them.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[macro_use]
#[path = "../kit/mod.rs"]
mod kit;

mod basic;
mod batches_are_used_again;
mod buffered_writes_wait_for_no_sync;
mod clones_of_a_store;
mod compare_and_swap;
mod durability_of_each_write;
mod edge_panicking_file_system;
mod full_disk_leaves_nothing;
mod keyspace_options;
mod merges_keep_to_a_rate;
mod stats_tell_where_time_went;
