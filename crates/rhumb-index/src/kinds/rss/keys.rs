//! A tree of splines over all keys, as published (sections 3 and 4). Its answers are windows.
//!
//! A node covers keys that share all bytes up to its depth. Its spline maps the chunk of a key to a rank with an error below
//! `error`: through its knots exactly. Keys that share a chunk are a *run*. A run of `error` keys or more is *redirected*: by a
//! list that tells the lengths of the keys that end inside the chunk, and, for the others, the child node whose depth begins behind
//! the chunk. There is a knot at such a run and at the chunk behind it, so that splines are exact around it too.
//!
//! Where blocks are cut, there is a knot as well, and runs that blocks part are redirected. Windows end at the knots on both sides
//! of a key. So the window of a present key never reaches into two blocks, unless versions of a key go on in the next one: a
//! table that is cut by bytes and by nothing else is searched by reading one block. DobLIX (Heidari et al., section III) cuts blocks at nodes and knots instead, which takes 1.4
//! times as many blocks of file paths at an error of 128.
//!
//! A radix table leads to a few knots: of 18 bits at the root, 12 in its children and 8 below, as DobLIX sets them, and with no
//! more cells than knots need. Look-ups take O(log N) steps a level, and building takes time linear in the bytes of the keys, which
//! are held until then.
//!
//! # Form
//!
//! ```text
//! 8 bytes number of keys, 4 bytes error, 4 bytes length of all nodes, the nodes, the root first
//! a node: 4 bytes first key, 4 bytes number of keys, 4 bytes K, number of knots, 4 bytes R, number of redirected runs,
//!         4 bytes number of cells, 2 bytes length of the prefix, 1 byte shift of the radix table, 1 byte 0, the prefix
//!         the cells, 4 bytes each
//!         K chunks
//!         K ranks, 4 bytes each
//!         R x 12 bytes: the knot, a bit for each length of keys that end inside the chunk, the place of the child or 0
//! ```

mod build;
mod spline;
mod tree;

pub(super) use build::KeysBuilder;
pub(super) use tree::Tree;

/// Where the nodes start.
const NODES_AT: usize = super::FORM_AT + 16;

/// Bytes of a node before its prefix.
const NODE_HEADER: usize = 24;

/// Bytes of a redirected run.
const REDIRECT: usize = 12;

/// The most bits of the radix table of a node, by the number of nodes above it.
const MOST_BITS: [u32; 3] = [18, 12, 8];

/// With this many knots or fewer there is no radix table.
const FEW_KNOTS: usize = 16;
