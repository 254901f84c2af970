//! Checks of whole tables, and what is left of damaged ones.

mod keys;
pub(in crate::table) mod salvage;
pub(in crate::table) mod spread;
pub(in crate::table) mod verify;
