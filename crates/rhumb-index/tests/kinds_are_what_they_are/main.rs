//! Tests of the properties that define each kind: the number of pieces, the room left for
//! insertions, the depth, the choices by cost, and when nodes are rebuilt. A change that turns a
//! kind into another kind, or into a worse one, still gives right answers; only these tests detect
//! it.
//!
//! Most figures are exact counts over keys of a fixed seed, made with integers only. If a figure is
//! not computed next to the assertion, the comment states its source. An unintended change of a
//! count is a bug; a commit that replaces a rule must contain the new figures.

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

/// An empty updatable index over integers.
fn in_memory(spec: &str) -> Box<dyn Updatable<u64>> {
    registry::in_memory(&spec.parse().unwrap()).unwrap()
}

/// An updatable index with these keys loaded.
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
