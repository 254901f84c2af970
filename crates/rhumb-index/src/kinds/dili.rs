//! DILI: Li, Lu, Zhu, Ding, Yang and Pan, "DILI: A Distribution-Driven Learned Index", VLDB 2023
//! (sections 4 to 6).
//!
//! Built in two phases. The first goes from the bottom up: neighbouring pieces of keys are merged while
//! least-squares lines fit them, and a cost that weighs the search in a leaf against the layers above says
//! how many pieces are best; their first keys are the keys of the next layer. The second goes from the root
//! down: an internal node divides its range equally, by as many parts as the first phase found pieces there,
//! so that a child is computed; a leaf has twice as many slots as keys and a line of its own, and
//! keys that meet in a slot go below it. So a look-up searches nothing.
//!
//! Costs, for n keys: building O(n log n), with a small constant, as pieces start as blocks of 8 to 64 keys.
//! A look-up passes one internal node for keys that are spread evenly and two or three for most others, then
//! a leaf, each with one cache miss, and with one more for keys that met. An insertion is a look-up, and by and
//! by an adjustment: O(log n), amortised. A lower bound walks over empty slots in memory; the byte form
//! answers it like any look-up, since empty cells hold a copy of the next entry.
//!
//! # What differs from the published design and its code, and why
//!
//! - **Keys**: any `u64`; the public code takes signed ones from 0 on. Lines count in whole numbers from the
//!   node's base, with 128-bit products ([`mod@line`]): exact, monotone, and faster than floating point. Fits
//!   are centred; the public ones are not and give wrong answers beside outliers.
//! - **Phase one** starts from blocks of keys, as pieces of fewer than 16 keys on average are never chosen,
//!   and adds up moments, where the public code sums over all keys of both pieces at each merger: 50 to 80 ns a
//!   key in all, against 4 to 9 us. Mergers prefer small pieces where errors are alike; else straight
//!   stretches become one long piece among tiny ones. A layer of up to 2^16 pieces is the root's; above
//!   that there is another.
//! - **Phase two** adapts: a part that still holds several pieces becomes an internal node over the range of its
//!   own keys, not a leaf; a range may leave out an eighth of the pieces at either end, which share the first
//!   and the last part then, so that outliers and heavy tails cost most keys no level; levels are left out where
//!   they would separate nothing.
//! - **Leaves** take the better of the least-squares line and the one through their ends, by the conflicts counted.
//!   If both leave more than half of the keys together, as powers of two do, a line takes their place
//!   that halves them. Two to eight keys that meet stand side by side; the published leaf for that holds two.
//! - **Upkeep**: published, a leaf is adjusted when its average cost has doubled, with more slots a key
//!   each time (up to 6), unless it holds 8,192 keys or more. Then its last slot becomes a chain under
//!   sorted appends, which never end in the public code. `upkeep=published` keeps these rules; it only
//!   gives in where a key comes to stand 512 levels below a leaf, as deeper trees would overflow the stack, and
//!   takes back no memory before. By default, `upkeep=bounded`: a node is also built again when it has three times
//!   the keys that it was built with, or less than a quarter, and a leaf when it takes three times the memory;
//!   a nested leaf with four keys becomes a run; a leaf over 8,192 keys becomes a subtree; and where most
//!   new keys came at one end, the range gets room for twice as many there ([`upkeep`], [`inner`]). Depth is then
//!   O(log n) levels at worst and memory goes with the keys that are there, in any order in which they come and go.
//! - **Memory**: 33 bytes a key for keys spread evenly, in memory; 17 to 23 in the byte form, which has 1.4
//!   slots of 12 bytes a key ([`form`]). The public code's own count leaves out empty slots and nested
//!   leaves, half of what it takes.

mod bottom_up;
mod cell;
mod fit;
mod form;
mod inner;
mod leaf;
mod line;
mod top_down;
mod tree;
mod upkeep;

use self::form::DiliLayout;
use self::tree::Dili;
use self::upkeep::Upkeep;
use super::shared::exact::{ExactBuilder, ExactIndex};
use super::shared::knobs::{BOUNDARY, UPKEEP};
use crate::kind::{Answers, Kind};

pub(crate) const KIND: Kind = Kind {
    name: "dili",
    id: 12,
    about: "slots below a tree dealt out bottom-up, then top-down (Li et al., VLDB 2023)",
    knobs: &[BOUNDARY, UPKEEP],
    needs_number: true,
    answers: Answers::Exact,
    version: 1,
    in_memory: (
        Some(|settings| {
            let upkeep = match UPKEEP.of(settings) {
                0 => Upkeep::Bounded,
                _ => Upkeep::Published,
            };
            Box::new(Dili::new(upkeep))
        }),
        None,
    ),
    builder: |settings| Box::new(ExactBuilder::<DiliLayout>::new(settings)),
    open: |bytes| Ok(Box::new(ExactIndex::<DiliLayout>::open(bytes)?)),
};
