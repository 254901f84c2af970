//! What is measured by hand: every test here is ignored, and says how it is run.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[path = "../kit_measured/mod.rs"]
mod kit_measured;
#[path = "../kit_values/mod.rs"]
mod kit_values;

mod tiers_measured;
mod value_files_measured;
