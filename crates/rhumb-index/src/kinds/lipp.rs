//! LIPP (Wu et al., "Updatable Learned Index with Precise Positions", VLDB 2021): a tree of nodes
//! whose linear models give the exact slot of a key. A slot is empty, holds an entry, or leads to a
//! child for the keys that share it, so a look-up never searches.
//!
//! In memory ([`Lipp`], for integers), with n keys in nodes up to depth D, which is O(log n):
//!
//! - `get` takes D cache misses: a slot is in one cache line with its tags, and the model of a
//!   child is in the slot that leads to it.
//! - `put` takes the same, and amortised O(log n) for rebuilding (section 4.3 of the paper).
//! - `walk`, and with it `lower_bound`, which the paper does not have, descends and then scans
//!   slots in order. Over S empty slots in a row it reads S / 3 cache lines; nodes of more than 96
//!   slots have a bit for each line instead. Nodes are built with at most 16 slots for each used
//!   one, or some dozens, so a whole walk takes linear time.
//! - Memory is linear in n. Most nodes have as many slots as when built: 2 a key from 10^6 keys on,
//!   3 from 10^5, else 4, of 21.3 bytes each. In the worst case a node is built with 16 slots for
//!   each used one, rounded up by a seventh, and a load uses 2n: 780 bytes a key. Puts and removals
//!   can in theory raise that to 8n, in nodes with room for appends of three times the size, plus
//!   as much free memory. The worst histories of the tests, windows of keys that zoom in, take 390
//!   bytes a key from 1,000 keys on, and 30 KB more with few keys.
//!
//! Differences from the published design, with reasons:
//!
//! - If the model with the fewest conflicts does not exist, the published design uses a line
//!   through two quantiles. This one uses a line that never leaves more than two thirds of the keys
//!   together ([`fmcd`]), and fewer slots where most would stay empty. Depth and memory are
//!   therefore bounded for any set of keys.
//! - Two or three keys that share a slot go into one cache line, with a model that always separates
//!   them.
//! - Nodes of any size are rebuilt, not only those of less than 10^6 keys: when they are 4 times as
//!   large as built, if a tenth of the new keys are below them, and when as many keys were put
//!   below them as they were built for, even if others were removed. If half as many new keys as
//!   there were are outside a model's range, the node is rebuilt at once, with as much room again
//!   on that side. Sorted appends then fill it slot by slot, where the published rule makes a chain
//!   at the right edge. A node is also rebuilt when half of its keys are gone, and the whole tree
//!   when more memory is free than used. A single rebuild takes the time of a bulk load.
//!
//! With `upkeep=published` nodes are rebuilt as published, and depth is not bounded: 20 million
//! sorted appends end at a mean of 39 levels instead of 1.2. A sliding window of 100 keys makes a
//! chain one level longer for every 62 operations, as none of its nodes ever grows. There is one
//! exception: if the path to a new key is longer than 1,000 nodes, the topmost node of up to 10^6
//! keys is rebuilt, so that the call stack cannot overflow.
//!
//! As an index of a table it is a [`form::SlotTree`]: building takes linear time for each level,
//! and a look-up or lower bound reads one slot of 16 bytes a level.

mod arena;
mod cache_line;
mod fmcd;
mod form;
mod map;
mod model;
mod plant;
mod table;
mod upkeep;
mod walk;

#[cfg(test)]
mod tests;

use super::shared::exact::{ExactBuilder, ExactIndex};
use super::shared::knobs::{BOUNDARY, UPKEEP};
use crate::kind::{Answers, Kind};
use map::Lipp;
use table::Table;

pub(crate) const KIND: Kind = Kind {
    name: "lipp",
    id: 11,
    about: "nodes whose models give exact slots (Wu et al., VLDB 2021)",
    knobs: &[BOUNDARY, UPKEEP],
    needs_number: true,
    answers: Answers::Exact,
    version: 1,
    in_memory: (Some(|settings| Box::new(Lipp::new(settings))), None),
    builder: |settings| Box::new(ExactBuilder::<Table>::new(settings)),
    open: |bytes| Ok(Box::new(ExactIndex::<Table>::open(bytes)?)),
};
