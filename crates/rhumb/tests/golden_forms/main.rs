//! Files that earlier builds wrote are read as they were, and written anew to the byte.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[path = "../golden/mod.rs"]
mod golden;

mod blocks;
mod files;
mod ingested;
mod options;
mod repair_keeps_given_sequences;
mod tables;
mod values;
