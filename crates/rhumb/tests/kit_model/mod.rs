//! Lists of operations on the public API: generated, run on a store, and run on a model, whose
//! answers must be the same.

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
