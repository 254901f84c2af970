//! Concurrent writers of which it is known, for each moment, what the store may hold.
//!
//! Each writer has keys of its own in two keyspaces, and its operations follow from the seed, so that
//! its keys after its first n operations are known, whatever the others do meanwhile. Each operation
//! is one step of the commit order and sets a marker, from which n is read. Across writers, vector clocks
//! tell which operations have to come before which: those that were acknowledged, or seen in a snapshot,
//! before an operation began.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test uses a part of the kit, and all of it is test code"
)]

pub mod history;
pub mod judge;
pub mod keeper;
pub mod load;
pub mod reader;
pub mod run;

/// The keyspaces of the writers.
pub const KEYSPACES: [&str; 2] = [rhumb::DEFAULT_KEYSPACE, "other"];
