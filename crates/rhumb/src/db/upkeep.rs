//! Background work: flushes, merges, and how they change the set of tables.

mod above;
pub(in crate::db) mod background;
pub(in crate::db) mod compact;
pub(in crate::db) mod flush;
pub(in crate::db) mod install;
mod jobs;
mod learning;
mod level_models;
pub(in crate::db) mod merges;
mod placement;
mod rate_limit;
pub(in crate::db) mod scheduler;
pub(in crate::db) mod signals;
mod tuning;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
