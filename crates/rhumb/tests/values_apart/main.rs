//! Values that lie apart from their keys, in value files.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[path = "../kit_values/mod.rs"]
mod kit_values;

mod collected;
mod from_keys;
mod groups;
mod read_once;
