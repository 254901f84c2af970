//! The command from end to end.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

mod common;
mod errors_are_one_sentence;
mod escapes_round_trip;
mod json_output;
mod keyspaces;
mod load_formats;
mod load_sorted;
mod load_stops_at_what_it_cannot_read;
mod load_survives_sigkill;
mod repair_says_what_is_not_known;
mod scan_options;
