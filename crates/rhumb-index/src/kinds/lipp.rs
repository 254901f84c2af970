//! LIPP (Wu et al., "Updatable Learned Index with Precise Positions", VLDB 2021): a tree of nodes whose linear
//! models say exactly in which slot a key is. A slot is empty, or has an entry, or leads to a child for the
//! keys that share it; so no look-up searches.
//!
//! Alone in memory ([`Lipp`], for integers), with n keys and nodes that lie D deep, D in O(log n):
//!
//! - `get` takes D cache misses: a slot lies in one cache line with its tags, and the model of a child in the slot
//!   that leads to it.
//! - `put` takes the same, and amortised O(log n) for rebuilding (section 4.3 of the paper).
//! - `walk`, and so `lower_bound`, which the paper has not, goes down and then over slots in order. Of
//!   S empty slots in a row it reads S / 3 cache lines, in nodes of more than 96 slots a bit for each. Nodes are
//!   built with at most 16 slots, or some dozens, for each that is used, so a whole walk takes linear time.
//! - Memory is linear in n: mostly as nodes have it when built, 2 slots a key from 10^6 keys on, 3 from 10^5, and else
//!   4; 21.3 bytes a slot. At worst a node is built with 16 slots for each that is used, rounded up by a seventh,
//!   and a load uses 2n: 780 bytes a key. Puts and removals can, in theory, bring that to 8n, in nodes with
//!   room for appends of three times the size, and to as much again that is free. The worst histories of the
//!   tests, windows of keys that zoom in, come to 390 bytes a key from 1,000 keys on, and with few keys to 30 KB more.
//!
//! What differs from the published design, and why:
//!
//! - Where the model with the fewest conflicts does not exist, no line through two quantiles is taken, but one that
//!   never leaves more than two thirds of the keys together ([`fmcd`]); and there are fewer slots
//!   where most would stay empty. So depth and memory are bounded for any set of keys.
//! - Two or three keys that share a slot go into one cache line, with a model that always separates them.
//! - Nodes of any size are rebuilt, not only those of less than 10^6 keys: once they are 4 times as large as
//!   built, if a tenth of the new keys lie below them, and once as many keys were put below them as they were built
//!   for, even if others went. Where half as many new keys as there were lie beyond a model's
//!   range, the node is rebuilt at once, with as much room again on that side: sorted appends fill
//!   it slot by slot, where the published rule makes a chain at the right edge. A node is also
//!   rebuilt when half of its keys are gone, and everything when more memory is free than used. A rebuild takes
//!   the time of a bulk load at once.
//!
//! With `upkeep=published` nodes are rebuilt as published, and depth has no such bound: 20 million sorted appends end
//! at a mean of 39 levels instead of 1.2. A window of 100 keys that slides on makes a chain a level longer for
//! every 62 operations, as no node of it ever grows. That alone is not kept: where the way to a new key is
//! longer than 1,000 nodes, the topmost of up to 10^6 keys is rebuilt, so that nothing overflows the call stack.
//!
//! As an index of a table it is a [`form::SlotTree`]: built in linear time for each level, one slot of 16
//! bytes read a level, lower bounds among them.

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
