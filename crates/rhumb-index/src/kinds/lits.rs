//! LITS (Yang and Chen, "LITS: An Optimized Learned Index for Strings", VLDB 2024): an index of
//! strings that maps the bytes of a key to a number with a small table, and the number to a slot
//! with a line.
//!
//! - The *hash-enhanced prefix table* (section 3 there, [`hpt`]) maps a string to a number that
//!   approximates its share of all keys: each byte narrows an interval according to how often it
//!   follows the bytes before it.
//! - *Model nodes* skip the prefix that their keys share and map the rest of each key to a slot
//!   ([`line`]).
//! - *Compact leaves* hold up to 16 keys ([`pack`]).
//! - *Tries* ([`partings`]) are used where a model would cost more ([`plan`], [`costs`]).
//!
//! A look-up takes O(L) steps for a key of L bytes, and mostly three nodes. So does a lower bound,
//! because every node and leaf is ordered and an absent key's place in a leaf gives its rank. An
//! insert moves entries within a leaf, in any order of keys, and contributes to one or two rebuilds
//! for each level of models. Building takes constant time for each key in each of O(log n) levels,
//! mostly two or three.
//!
//! Differences from the published design, with reasons:
//!
//! - Any bytes, lengths and numbers of keys are supported. The published code has 7-bit characters
//!   that end with a NUL, needs 1,000 strings at the first load, and does not find some keys of
//!   more than 255 bytes.
//! - The table uses integers, so that numbers never descend while strings ascend, for all strings;
//!   the published one multiplies doubles. It is trained on a sample and has as many rows as the
//!   keys justify (up to 2 MiB; the published one always has 2 MiB), only the bytes that occur, and
//!   a share for the end of a string. It chooses among several contexts, while the published one
//!   hashes the position and the previous byte.
//! - Neighbouring slots share a leaf, and there is one slot a key, not two: a leaf is ordered, so
//!   it needs no slot for each of its keys, and no slot is empty.
//! - Leaves compare eight bytes at once after the prefix that their keys share, instead of 2-byte
//!   hashes of keys stored elsewhere. This gives the place of absent keys too, and needs no second
//!   access to memory.
//! - Trie nodes have up to 64 children, adapted to the keys as in HOT, but separated by the
//!   shortest strings between neighbours instead of by single bits, and balanced. Chains of
//!   prefixes therefore do not make them deep, and they are searched in the same way as leaves.
//! - Three costs of steps replace the published table of latencies, which depends only on the
//!   number of keys and bytes; the cost of a model is computed from the slots that its keys fall
//!   into. The costs were measured once ([`costs`]), so that equal keys give equal bytes in every
//!   process and on every machine. With `choice=measured` they are measured on the current machine,
//!   once in each process, as the published table must be: equal keys then give equal bytes within
//!   a process only.
//! - In memory, full leaves become tries, which grow as B-trees do ([`grow`]). With
//!   `upkeep=bounded` the root and models are rebuilt when three times as many keys were inserted
//!   or removed as they were built for, and every node when three in four of its keys are gone; the
//!   table is retrained with the root. With either upkeep the whole index is rebuilt when three in
//!   four of the bytes of keys are gone. Memory is therefore that of the keys times a constant
//!   factor, plus 4 KiB. `upkeep=published` rebuilds a node when it has four times its keys or
//!   half, and keeps the first table. Beyond the published rules, it also rebuilds a node when 16
//!   times its keys were inserted or removed: otherwise sliding windows would leave a level behind
//!   every few dozen keys.
//! - With either upkeep a node of n keys is rebuilt when an insert finds more than 8 + 3 log2 n
//!   levels below it, so depth is O(log n) for any order of insertions and removals.

mod builder;
mod costs;
mod form;
mod grow;
mod hpt;
mod keys;
mod leaf;
mod line;
mod memory;
mod node;
mod pack;
mod partings;
mod plan;
mod train;
mod walk;

use self::builder::LitsBuilder;
use self::costs::Costs;
use self::form::Form;
use self::memory::{Lits, Upkeep};
use self::plan::Choice;
use super::shared::knobs::UPKEEP;
use crate::kind::{Answers, Kind};
use crate::knob::{Knob, Settings};

/// Which nodes are built.
const CHOICE: Knob = Knob {
    name: "choice",
    about: "nodes: the cheaper by measured or fixed costs, models where they separate keys, or tries",
    // The default was added last: existing values keep their numbers.
    default: 3,
    min: 0,
    max: 3,
    choices: &["measured", "model", "trie", "fixed"],
};

pub(crate) const KIND: Kind = Kind {
    name: "lits",
    id: 13,
    about: "LITS: models over a hash-enhanced prefix table, tries, compact leaves (Yang and Chen, VLDB 2024)",
    knobs: &[CHOICE, UPKEEP],
    needs_number: false,
    answers: Answers::Exact,
    version: 1,
    in_memory: (
        None,
        Some(|settings| {
            let upkeep = match UPKEEP.of(settings) {
                0 => Upkeep::Bounded,
                _ => Upkeep::Published,
            };
            Box::new(Lits::new(choice(settings), upkeep))
        }),
    ),
    builder: |settings| Box::new(LitsBuilder::new(choice(settings))),
    open: |bytes| Ok(Box::new(Form::open(bytes)?)),
};

fn choice(settings: &Settings) -> Choice {
    match CHOICE.of(settings) {
        0 => Choice::Cheaper(Costs::measured()),
        1 => Choice::Model,
        2 => Choice::Trie,
        _ => Choice::Cheaper(Costs::FIXED),
    }
}

#[cfg(test)]
mod tests;
