//! The index kinds, one file each; larger kinds have a folder beside it. `shared` holds what
//! several kinds use.

pub(crate) mod alex;
pub(crate) mod btree;
pub(crate) mod dili;
pub(crate) mod fiting_tree;
pub(crate) mod fp;
pub(crate) mod fp_raw;
pub(crate) mod greedy_plr_plus;
pub(crate) mod lipp;
pub(crate) mod lits;
pub(crate) mod nfl;
pub(crate) mod pgm;
pub(crate) mod pla;
pub(crate) mod plex;
pub(crate) mod plr;
pub(crate) mod pra;
pub(crate) mod radix_spline;
pub(crate) mod rmi;
pub(crate) mod rss;
pub(crate) mod shared;

pub(crate) use plr::plr_of;
pub(crate) use shared::lines::Segment;
pub(crate) use shared::reach::Reach;

// The example of CONTRIBUTING.md.
#[cfg(test)]
pub(crate) mod straight;
