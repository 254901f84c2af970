//! What kinds promise of answers, bytes, slots and sizes, and how the crate is laid out.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

mod an_own_index_is_checked;
mod answers_without_keys_or_cuts;
mod equal_keys_give_equal_bytes;
mod fences_follow_versions;
mod fences_stand_at_the_boundary;
mod imports_run_downwards;
mod placement_by_model;
mod sizes_stay_small;
mod slots_are_near;
