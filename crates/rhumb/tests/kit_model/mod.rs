//! Operation lists over the public API: generated, run against a store, and run against a model
//! that must answer the same.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test uses a part of the kit, and all of it is test code"
)]

pub mod choices;
pub mod generate;
pub mod model;
pub mod operation;
pub mod runs;
pub mod session;
pub mod settings;
pub mod shrink;
