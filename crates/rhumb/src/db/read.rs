//! The read path: views, gets, iterators, snapshots.

pub(in crate::db) mod above;
pub(in crate::db) mod entries;
pub(in crate::db) mod explain;
pub(in crate::db) mod iter;
pub(in crate::db) mod key;
pub(in crate::db) mod keys;
pub(in crate::db) mod lookup;
pub(in crate::db) mod multi_get;
pub(in crate::db) mod snapshot;
pub(in crate::db) mod value;
pub(in crate::db) mod view;
