//! Stores of which every operation is known by its sequence, and ways to damage their files.
#![allow(dead_code, reason = "each test uses its part")]

pub mod history;
pub mod mutate;
pub mod special;
