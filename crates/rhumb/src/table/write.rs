//! Writing tables.

pub(in crate::table) mod blocks;
mod cutter;
pub(in crate::table) mod index_choice;
pub(in crate::table) mod placing;
pub(in crate::table) mod units;
pub(in crate::table) mod writer;
