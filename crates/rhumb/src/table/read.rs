//! Open tables: gets, cursors, and the loading of blocks.

pub(in crate::table) mod ahead;
pub(in crate::table) mod block_run;
pub(in crate::table) mod cursor;
pub(in crate::table) mod get;
pub(in crate::table) mod learned;
pub(in crate::table) mod likely;
pub(in crate::table) mod load;
pub(in crate::table) mod loaded;
pub(in crate::table) mod model;
pub(in crate::table) mod plain;
pub(in crate::table) mod reader;
pub(in crate::table) mod rows;
pub(in crate::table) mod search;
pub(in crate::table) mod source;
#[cfg(feature = "internals")]
pub(in crate::table) mod stages;
pub(in crate::table) mod together;
pub(in crate::table) mod trace;
pub(in crate::table) mod training;
pub(in crate::table) mod verified;
