//! What makes each kind that kind: how many pieces it cuts, how much room it gives, how deep it is, what it
//! chooses by its costs and when it builds anew. A change that turns one kind into another, or into a worse
//! one, answers as well as before; it is these tests that see it.
//!
//! Most figures are exact counts over keys of a fixed seed, made with integers only. Where a figure is not
//! computed beside the assertion, the comment says where it comes from. A count that changes where
//! nothing was to change is a fault; where a rule is exchanged, the new figures belong into the same commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alex;
mod btree;
mod dili;
mod fences;
mod fiting_tree;
mod keys;
mod lines;
mod lipp;
mod lits;
mod nfl;
mod pgm;
mod plex;
mod plr;
mod radix_spline;
mod rmi;
mod spline;

use rhumb_index::updatable::Updatable;
use rhumb_index::{IndexSpec, registry};

/// The byte form over ascending numbers.
fn form(spec: &str, numbers: &[u64]) -> Vec<u8> {
    let mut builder = registry::builder(&spec.parse::<IndexSpec>().unwrap()).unwrap();
    builder.push_numbers(numbers).unwrap();
    builder.finish().unwrap()
}

/// An empty index over integers, alone in memory.
fn in_memory(spec: &str) -> Box<dyn Updatable<u64>> {
    registry::in_memory(&spec.parse().unwrap()).unwrap()
}

/// The same with these keys loaded.
fn loaded(spec: &str, keys: &[u64]) -> Box<dyn Updatable<u64>> {
    let mut index = in_memory(spec);
    let entries: Vec<_> = keys.iter().map(|key| (*key, 1)).collect();
    index.bulk_load(&entries).unwrap();
    index
}

/// The little-endian number of `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(wide)
}

/// A count of four bytes.
fn count(bytes: &[u8], at: usize) -> usize {
    number::<4>(bytes, at) as usize
}
