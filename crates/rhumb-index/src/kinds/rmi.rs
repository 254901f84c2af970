//! A recursive model index of two layers: Kraska, Beutel, Chi, Dean and Polyzotis, "The case for
//! learned index structures", SIGMOD 2018, in the form of Marcus et al., "Benchmarking learned
//! indexes", VLDB 2020.
//!
//! A *root*, a line or a monotone cubic, distributes the numbers over many *leaves*; each leaf is a
//! line fitted to its numbers. The root only predicts the leaf: a look-up walks from there to the
//! leaf whose range of first numbers contains the number (`base(i) <= q < base(i + 1)`), so
//! correctness does not depend on the root's rounding. Numbers below all keys belong to the first
//! leaf.
//!
//! A leaf predicts p = f(q), clamped to its ranks. All its windows have one width w and are p - w/2
//! .. p + (w + 1)/2, halves rounded down. Offset and width are measured with the arithmetic of
//! look-ups such that the window of each number holds all ranks of its *run*, the keys that share
//! it.
//!
//! Proof. Let the distinct numbers be x0 < x1 < ..., ri the first rank of xi and ni
//! the length of its run, so that r(i+1) = ri + ni, and let lo(q) and hi(q) be the ends of the
//! window. Both are monotone within a leaf since f is, and lo(xi) <= ri, ri + ni <= hi(xi).
//!
//! - A key with number xi, present or not, has its rank in ri .. ri + ni or its lower bound in
//!   ri ..= ri + ni: inside.
//! - A number q between xi and x(i+1), both in one leaf, has the lower bound r(i+1), and
//!   lo(q) <= lo(x(i+1)) <= r(i+1) = ri + ni <= hi(xi) <= hi(q).
//! - If xi is the last number of its leaf, r(i+1) <= hi(q) holds as before, and lo(q) <= r(i+1)
//!   since f is clamped to the leaf's ranks, all below r(i+1). This covers the gap between two
//!   leaves and the numbers above the last key.
//! - Below x0 the lower bound is 0, f is f(x0), and lo(x0) <= r0 = 0. If the first leaf is empty,
//!   its window is 0 .. 0.
//!
//! Clamping f moves no window off a run, since the runs lie within the leaf's ranks too.
//!
//! Over the whole table predictions do not descend: f does not within a leaf, the ranks of a leaf are
//! below those of the next one that is not empty, and the leaf of a number is that of its range,
//! whatever the root predicts. So entries can be placed by them, as TridentKV does (Lu et al.,
//! "TridentKV: a read-optimized LSM-tree based KV store via adaptive indexing and space-efficient
//! partitioning", TPDS 2022), once all keys are known: the only segment closes at the end.
//!
//! The second layer grows until the position boundary holds: the builder searches for the fewest
//! leaves with which the windows of 99 % of the keys are within the boundary, up to one leaf for each number.
//! The others may be wider; [`crate::Index::widest_window`] tells the widest. With `within=100` the
//! boundary holds for all windows, and is a promise. If even that does not suffice, the keys are
//! unfit. Where the specification gives the number of leaves, windows are as wide as they
//! have to be.
//!
//! Building takes time linear in the keys for each number of leaves that is tried, and memory for
//! their numbers. A look-up computes the prediction and reads the leaves from there to the right
//! one, mostly one or two.
//!
//! Byte form, version 1, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  M, number of leaves
//!      8     8  N, number of keys, below 2^32
//!     16     8  start of the root's range, a number
//!     24     8  scale (f64): t is the scaled distance of a number from the start
//!     32    24  c1, c2, c3 (f64): the predicted leaf is c3 t^3 + c2 t^2 + c1 t
//!     56     4  position boundary that every leaf keeps, or 0 if there is none
//!     60     1  1 if the first leaf is for the numbers below the root's range, else 0
//!     61     3  reserved, zero
//!     64   24M  leaves
//!
//! leaf
//!      0     8  base: its first number
//!      8     4  its first rank
//!     12     4  slope, ranks for each number (f32), at least 0
//!     16     4  offset, in ranks (i32)
//!     20     4  width of its windows, in ranks
//! ```
//!
//! An empty leaf has the base and the first rank of the next one. The last leaf is not empty.

mod builder;
mod choose;
mod lay;
mod leaf;
mod points;
mod reader;
mod root;

use super::shared::knobs::BOUNDARY;
use super::shared::retained::RETAINED;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::Knob;

/// The number of leaves; if it is given, the position boundary is not kept.
const LEAVES: Knob = Knob {
    name: "leaves",
    about: "number of leaves; 0: as many as `within` needs; else the boundary is not kept",
    default: 0,
    min: 0,
    max: 1 << 24,
    choices: &[],
};

/// The share of the keys for which the position boundary holds.
const WITHIN: Knob = Knob {
    name: "within",
    about: "percent of the keys whose windows keep the boundary; 100: all windows do",
    default: 99,
    min: 1,
    max: 100,
    choices: &[],
};

/// The model that predicts the leaf.
const ROOT: Knob = Knob {
    name: "root",
    about: "model that predicts the leaf: linear, cubic, or whichever spreads keys best",
    default: 0,
    min: 0,
    max: 2,
    choices: &["best", "linear", "cubic"],
};

pub(crate) const KIND: Kind = Kind {
    name: "rmi",
    id: 6,
    about: "recursive model index of two layers (Kraska et al., SIGMOD 2018)",
    knobs: &[BOUNDARY, LEAVES, ROOT, RETAINED, WITHIN],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(builder::RmiBuilder::new(settings)),
    open: |bytes| Ok(Box::new(reader::Rmi::open(bytes)?)),
};
