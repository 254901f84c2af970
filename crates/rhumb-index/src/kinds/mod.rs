//! The index kinds, one file each, bigger ones with a folder beside it, and what several of them share.

pub(crate) mod alex;
pub(crate) mod btree;
pub(crate) mod dili;
mod exact;
pub(crate) mod fiting_tree;
pub(crate) mod fp;
pub(crate) mod fp_raw;
mod knobs;
mod lines;
pub(crate) mod lipp;
pub(crate) mod lits;
pub(crate) mod nfl;
mod order;
pub(crate) mod pgm;
pub(crate) mod plex;
pub(crate) mod plr;
pub(crate) mod radix_spline;
mod reach;
pub(crate) mod retained;
pub(crate) mod rmi;
mod runs;
mod separators;
mod spline;
