//! Key maps, the last mile, and kinds that change in place.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[path = "../common/mod.rs"]
mod common;

mod key_maps_are_monotone;
mod key_maps_follow_the_rule;
mod last_mile;
mod updatable_kinds_match_a_map;
