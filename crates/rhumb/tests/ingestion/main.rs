//! Entries that arrive sorted, or nearly so.
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
#[path = "../kit_model/mod.rs"]
mod kit_model;

mod ingest_adds_all_at_once;
mod ingest_leaves_no_gap_in_logs;
mod ingest_refuses_bad_input;
mod model_nearly_sorted;
mod near_sorted_loads;
mod sorted_loads_are_not_merged;
