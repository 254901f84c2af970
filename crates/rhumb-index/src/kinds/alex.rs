//! ALEX: Ding, Minhas, Yu, Wang, Do, Li, Zhang, Chandramouli, Gehrke, Kossmann, Lomet and Kraska,
//! "ALEX: An Updatable Adaptive Learned Index", SIGMOD 2020.
//!
//! Data nodes are gapped arrays with a line each (section 3 of the paper), found through a tree of
//! inner nodes that compute the place of a child (section 4). The density of a data node is 0.7
//! when loaded, at most 0.8, and 0.6 after a full node has grown; a node has at most 16 MiB. A node
//! that is full, or whose insertions cost more than expected, gets a new line or is split,
//! whichever is cheaper. It is split sideways into its parent if the parent has places for that.
//! Bulk loading divides entries by the fan-out tree and the published costs: 20 for a step of
//! exponential search and for a level, 0.5 for each entry moved, 5e-7 for a byte of nodes.
//!
//! Costs, for n entries, with `upkeep=bounded`:
//!
//! - A look-up or lower bound takes a subtraction, a shift and a read for each inner node, a
//!   multiplication for the data node, and mostly two cache lines there; otherwise O(log e) steps
//!   for an error e of the line. Usually there are one or two inner nodes; after any insertions in
//!   any order there are at most 2.5 log2(n) + 8 levels. A walk follows links between data nodes.
//! - An insertion moves entries up to the nearest gap, on average about two. When insertions into a
//!   node cost more than twelve steps and a hundred moves on average, the node is rebuilt or split;
//!   before that they move at most 8 entries for each of its slots. Nodes are rebuilt only after
//!   insertions that pay for it, so that an insertion causes O(log n) entries to be laid out again,
//!   amortised. A single insertion may take long: mostly for one data node, seldom for all nodes
//!   below an inner node.
//! - Building fits a line and a layout for each level of the fan-out tree that is tried: 30 to 140
//!   ns an entry for ten million entries. No data node is loaded at an expected cost above 300.
//! - Memory is 23 to 25 bytes an entry as loaded, 16 of them for key and value, and at most 120 an
//!   entry plus 10 thousand. In a table it is 17 or 18 bytes ([`form`]).
//!
//! Differences from the published design, with reasons:
//!
//! - Slopes of inner nodes are powers of two; numbers of children are not. Children are then
//!   computed exactly with integers, and a node can be refined or extended to either side without
//!   any key changing its child.
//! - Gaps hold a copy of the next entry's key, so no search has to skip gaps. A bitmap tells gaps
//!   from entries, and hardly any look-up needs it ([`leaf`]). No key is reserved as a mark: 0 and
//!   2^64 - 1 may be stored.
//! - Keys and values lie in the same cache lines, and a search starts by counting in two of them.
//! - The fan-out tree covers the part of the numbers where the entries are ([`fanout`]), so that
//!   outliers do not make a root that separates nothing. Entries that no tree divides, for example
//!   if every interval half as wide has as many, are halved by rank if that costs less or one data
//!   node would cost more than 300.
//! - Costs are means over the entries of a node, but all insertions may go to one place. A node
//!   that a new line would leave packed at that place is split whatever the mean ([`upkeep`]), so
//!   that a burst into a small part of a large node soon has nodes of its own.
//! - Inner nodes grow to at most 16 places a child; the published ones grow to 2^20 places, so that
//!   late outliers take much memory. If that is not enough, an inner node is added below. Where
//!   this makes a path long, inner nodes on it are rebuilt once insertions have paid for that.
//! - A node at whose edge entries keep arriving grows there, in either direction, without a new
//!   line. When it has its largest size, or costs too much, the entries away from that edge are
//!   laid out as in a bulk load.
//! - A full node always gets a new least-squares line over 512 of its entries or more. Look-ups do
//!   not count in its costs, as they do not change the index.
//! - Removal frees memory: a node that is less than a quarter full is rebuilt, and so is an index
//!   of less than 8 entries a node.
//!
//! `upkeep=published` has fan-out trees over all numbers, 2^20 places, and means as the only costs.
//! It halves a node only when splitting it, never rebuilds the nodes below an inner node, and keeps
//! nodes that removals have left almost empty. Neither depth nor memory nor the cost of an
//! insertion is then bounded. All else is as above.
//!
//! In a table the index is a bulk-loaded one, written by [`form`].

#[cfg(test)]
mod bounds;
mod fanout;
mod fit;
mod form;
mod inner;
mod leaf;
mod put;
#[cfg(test)]
mod tests;
mod tree;
mod upkeep;

use super::shared::exact::{ExactBuilder, ExactIndex};
use super::shared::knobs::{BOUNDARY, UPKEEP};
use crate::kind::{Answers, Kind};
use form::Form;
use tree::Alex;

pub(crate) const KIND: Kind = Kind {
    name: "alex",
    id: 10,
    about: "gapped arrays under a tree of linear models (Ding et al., SIGMOD 2020)",
    knobs: &[BOUNDARY, UPKEEP],
    needs_number: true,
    answers: Answers::Exact,
    version: 1,
    in_memory: (
        Some(|settings| Box::new(Alex::new(UPKEEP.of(settings) == 0))),
        None,
    ),
    builder: |settings| Box::new(ExactBuilder::<Form>::new(settings)),
    open: |bytes| Ok(Box::new(ExactIndex::<Form>::open(bytes)?)),
};
