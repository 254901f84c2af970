//! Models over tables, models that are learned behind writes, tuners, and the learned tier.
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
#[path = "../kit_values/mod.rs"]
mod kit_values;

mod bourbon_learns_behind_writes;
mod models_over_tables;
mod models_with_value_files;
mod tiers_are_converted;
mod tuners_choose_forms;
mod tuners_crash;
