//! The index kinds, one file each, and what several of them share.

pub(crate) mod fp;
pub(crate) mod fp_raw;
mod order;
pub(crate) mod plr;
mod separators;
