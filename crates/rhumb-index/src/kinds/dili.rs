//! DILI: Li, Lu, Zhu, Ding, Yang and Pan, "DILI: A Distribution-Driven Learned Index", VLDB 2023
//! (sections 4 to 6).
//!
//! An index is built in two phases. The first works bottom-up: neighbouring pieces of keys are
//! merged as long as least-squares lines fit them, and a cost that weighs the search in a leaf
//! against the layers above decides how many pieces are best; their first keys are the keys of the
//! next layer. The second works top-down: an internal node divides its range equally, into as many
//! parts as the first phase found pieces there, so that the child of a key is computed. A leaf has
//! twice as many slots as keys and a line of its own; keys that collide in a slot are stored below
//! it. A look-up therefore needs no search in any node.
//!
//! Costs, for n keys: building takes O(n log n) with a small constant, since pieces start as blocks
//! of 8 to 64 keys. A look-up passes one internal node for evenly spread keys and two or three for
//! most others, then a leaf. Each costs one cache miss, and collided keys cost one more. An
//! insertion is a look-up and now and then an adjustment: O(log n), amortised. In memory a lower
//! bound walks over empty slots; the byte form answers it like any look-up, since empty cells hold
//! a copy of the next entry.
//!
//! # Differences from the published design and its code, with reasons
//!
//! - **Keys**: any `u64`; the public code takes signed integers from 0 on. Lines use integers
//!   relative to the node's base, with 128-bit products ([`mod@line`]): they are exact, monotone,
//!   and faster than floating point. Fits are centred; the public ones are not and give wrong
//!   answers beside outliers.
//! - **Phase one** starts from blocks of keys, since pieces of fewer than 16 keys on average are
//!   never chosen, and adds up moments, where the public code sums over all keys of both pieces at
//!   each merger: 50 to 80 ns a key in total against 4 to 9 us. Of mergers with similar errors,
//!   those of small pieces come first; otherwise straight stretches would become one long piece
//!   among tiny ones. A layer of up to 2^16 pieces is the root's; larger layers get another layer
//!   above.
//! - **Phase two** adapts: a part that still holds several pieces becomes an internal node over the
//!   range of its own keys, not a leaf. A range may leave out up to an eighth of the pieces at
//!   either end, which then share the first or the last part, so that outliers and heavy tails cost
//!   most keys no level. Levels that would separate nothing are left out.
//! - **Leaves** use the least-squares line or the line through the first and last key, whichever
//!   has fewer collisions. If both leave more than half of the keys in one slot, as with powers of
//!   two, a line that halves the keys is used. Two to eight keys that collide are stored side by
//!   side; the published leaf for that holds two.
//! - **Upkeep**: by the published rules a leaf is adjusted when its average cost has doubled, each
//!   time with more slots a key (up to 6), unless it holds 8,192 keys or more. Its last slot then
//!   becomes a chain under sorted appends, which never terminate in the public code.
//!   `upkeep=published` keeps these rules and adds one: a leaf is also adjusted when a key is
//!   inserted more than 512 levels below it, as deeper trees would overflow the stack. It never
//!   reclaims memory before an adjustment. By default, `upkeep=bounded`, a node is also rebuilt
//!   when it has three times as many keys as it was built with, or less than a quarter, and a leaf
//!   when it takes three times its memory. A nested leaf with four keys becomes a run, and a leaf
//!   of more than 8,192 keys becomes a subtree. Where most new keys arrived at one end, the range
//!   gets room for twice as many there ([`upkeep`], [`inner`]). Depth is then O(log n) in the worst
//!   case and memory is proportional to the present keys, in any order of insertions and removals.
//! - **Memory**: 33 bytes a key in memory for evenly spread keys; 17 to 23 in the byte form, which
//!   has 1.4 slots of 12 bytes a key ([`form`]). The size that the public code reports leaves out
//!   empty slots and nested leaves, half of the true size.

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
    about: "tree planned bottom-up and built top-down, leaves with slots (Li et al., VLDB 2023)",
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
