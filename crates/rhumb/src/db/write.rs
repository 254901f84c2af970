//! The write path: batches, the commit queue, the logs, back-pressure.

pub(in crate::db) mod batch;
pub(in crate::db) mod commit_queue;
pub(in crate::db) mod group;
pub(in crate::db) mod logs;
pub(in crate::db) mod pressure;
pub(in crate::db) mod rotation;
pub(in crate::db) mod swap;
