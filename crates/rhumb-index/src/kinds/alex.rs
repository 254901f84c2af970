//! ALEX: Ding, Minhas, Yu, Wang, Do, Li, Zhang, Chandramouli, Gehrke, Kossmann, Lomet and Kraska, "ALEX: An
//! Updatable Adaptive Learned Index", SIGMOD 2020.
//!
//! Data nodes are gapped arrays under a line each (section 3 of the paper), found through a tree of inner
//! nodes that compute the place of a child (section 4). Density is 0.7 when loaded, at most 0.8, and 0.6 after a full node
//! has grown; a node has at most 16 MiB. A node that is full or whose insertions cost more than expected gets a
//! new line or is split, whichever is cheaper, sideways into its parent if that has places. Bulk
//! loading shares out entries by the fan-out tree and the published costs: 20 for a step of
//! exponential search and for a level, 0.5 for an entry moved, 5e-7 for a byte of nodes.
//!
//! Costs, for n entries, with `upkeep=bounded`:
//!
//! - A look-up or lower bound takes a subtraction, a shift and a read for each inner node, a multiplication for
//!   the data node, and mostly two lines of the cache there; else O(log e) steps, e being how far the line is off.
//!   As a rule there are one or two inner nodes; after any insertions in any order there are at most 2.5 log2(n)
//!   + 8 levels. A walk goes from data node to data node.
//! - An insertion moves entries up to the nearest gap, on average about two. Where insertions into a node come to
//!   cost more than twelve steps and a hundred moves each, the node is laid out anew or split; before that they
//!   move at most 8 entries for each of its slots. Nodes are laid out anew only after insertions that pay for it,
//!   so that they lay out O(log n) entries each, amortised. A single one may wait long: mostly for one data
//!   node, seldom for all below an inner node.
//! - Building takes a least-squares line and a layout for each level of the fan-out tree that is tried: 30 to
//!   140 ns an entry for ten million. A data node is not loaded at an expected cost above 300.
//! - Memory is 23 to 25 bytes an entry as loaded, 16 of them for key and value, and at most 120 an entry and 10
//!   thousand. In a table it is 17 or 18 bytes ([`form`]).
//!
//! What differs from the published design, and why:
//!
//! - Inner nodes have slopes that are powers of two, not numbers of children. Then children are found exactly
//!   in integers, and a node can be refined or go on to either side without a key changing its child.
//! - Gaps hold copies: the key of the next entry. So no search looks for gaps, and as a bitmap tells them from
//!   entries, which a look-up needs for hardly any key ([`leaf`]), no key is kept for marks: 0 and 2^64 - 1 may be
//!   stored.
//! - Keys and values lie in the same lines of the cache, and the search begins by counting in two of them.
//! - The fan-out tree is over the part of the numbers where the entries are ([`fanout`]), so that outliers do not
//!   make a root that separates nothing. Entries that no tree divides, as where every interval half as wide has as
//!   many, are halved by rank, if that costs less or one data node more than 300.
//! - Costs are means over the entries of a node, but insertions may all come to one place: a node that a new line
//!   would leave packed there is split whatever the mean ([`upkeep`]). So a burst into few of the numbers of
//!   a large node soon has nodes of its own.
//! - Inner nodes grow to at most 16 places a child; the published ones up to 2^20 places (its memory after
//!   late outliers). Where that does not do, a node is put below, and where this makes a way long, inner nodes on it
//!   are built anew once insertions have paid for that.
//! - A node at whose edge entries keep coming grows there, in either direction, without a new line; when it has
//!   its largest size, or costs too much, what is behind that edge is laid out as if it were loaded.
//! - A full node always gets a new line by least squares over 512 of its entries or more; look-ups are not
//!   counted in its costs, as they do not change the index.
//! - Removal gives memory back: a node that is less than a quarter full is laid out anew, and so is an index of
//!   less than 8 entries a node.
//!
//! `upkeep=published` has fan-out trees over all numbers, 2^20 places, and means as the only costs; it halves
//! only a node that is to be split, builds nothing below an inner node anew, and keeps nodes however few entries
//! removals have left them. Neither depth nor memory nor the cost of an insertion is bounded then. All else is
//! as above.
//!
//! In a table the index is what bulk loading gives, written down by [`form`].

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
