//! Damage is found, told, and repaired as far as that is possible.
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
#[path = "../kit_model/mod.rs"]
mod kit_model;
#[path = "../kit_mutation/mod.rs"]
mod kit_mutation;
#[path = "../kit_watchdog/mod.rs"]
mod kit_watchdog;
#[path = "../samples/mod.rs"]
mod samples;

mod damage_bytes;
mod dump_shows_files;
mod fuzz_decoders;
mod repair_lost_edits;
#[cfg(unix)]
mod repair_never_claims_too_much;
mod repair_saves_what_is_sound;
mod verify_finds_damage;
