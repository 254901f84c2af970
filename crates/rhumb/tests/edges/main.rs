//! What happens at the edges: sizes, shapes, bounds, options and handles that few stores see.
//!
//! One program, since each costs seconds to link.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

#[path = "../damage/mod.rs"]
mod damage;
#[path = "../kit/mod.rs"]
mod kit;
#[path = "../kit_watchdog/mod.rs"]
mod kit_watchdog;
#[path = "../kit_mutation/special.rs"]
mod special;

mod concurrent_readers;
mod dropped_keyspaces;
mod forged_files;
mod handles;
mod many_versions;
mod options;
mod range_deletes;
mod scans;
mod shapes;
mod short_logs;
mod sizes;
mod small_logs;
mod space;
#[cfg(unix)]
mod special_files;
mod windows_over_tables;
