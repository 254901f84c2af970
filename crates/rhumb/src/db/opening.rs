//! Opening a store: its manifest, its logs, what an earlier opening left.

pub(in crate::db) mod leftovers;
pub(in crate::db) mod log_check;
pub(in crate::db) mod open;
pub(in crate::db) mod replay;
