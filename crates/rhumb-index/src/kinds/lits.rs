//! LITS (Yang and Chen, "LITS: An Optimized Learned Index for Strings", VLDB 2024): an index of strings
//! that sends the bytes of a key through a small table to a number, and the number through a line to a
//! slot.
//!
//! - The *hash-enhanced prefix table* (section 3 there, [`hpt`]) makes a number of a string that is about its
//!   share of all keys: each byte narrows an interval, by how often it follows the bytes before it.
//! - *Model nodes* leave out what their keys share and send the rest to slots ([`line`]).
//! - *Compact leaves* hold up to 16 keys ([`pack`]).
//! - *Tries* ([`partings`]) stand where the model would do badly, by comparing costs ([`plan`], [`costs`]).
//!
//! A look-up takes O(L) steps for a key of L bytes, and mostly three nodes; so does a lower bound, for
//! every node and leaf is ordered and an absent key's place in a leaf is its rank. An insert moves entries
//! within a leaf, in any order of keys, and takes part in a rebuild or two for each level of models. A key takes constant time in each of O(log n) levels to
//! build, mostly two or three.
//!
//! What is not as published, and why:
//!
//! - Any bytes, any lengths, any number of keys: the published code has 7-bit characters that end with a
//!   NUL, wants 1,000 strings at the first load, and does not find some keys of more than 255 bytes.
//! - The table is integers, so that numbers never descend while strings ascend, whatever the strings are; there
//!   they are products of doubles. It is trained on a sample, has as many rows as the keys
//!   are worth (up to 2 MiB; there always 2 MiB), only the bytes that occur, a share for the end of a
//!   string, and tries several contexts, where the published one hashes position and previous byte.
//! - Neighbouring slots share a leaf, and there is one slot a key, not two: a leaf is ordered, so it
//!   needs no slot for each of its keys, and no slot is empty.
//! - Leaves compare eight bytes at once behind what their keys share instead of 2-byte hashes of keys
//!   elsewhere: that gives the place of absent keys too, and needs no second look at memory.
//! - The trie's nodes have up to 64 children, as HOT's adapt to the keys, but they are parted by the shortest
//!   strings between neighbours instead of by single bits, and are balanced: so no chain of prefixes
//!   makes them deep, and they are searched as leaves are.
//! - Three costs of steps take the place of the published table of latencies, which looks at the number of
//!   keys and bytes only; what a model costs is computed of the slots that its keys fall into. The costs
//!   were measured once ([`costs`]), so that equal keys give equal bytes in every process and on every
//!   machine. With `choice=measured` they are measured on the machine at hand, once in a process, as the
//!   published table has to be: equal keys give equal bytes within a process only.
//! - Alone in memory, full leaves become tries, which grow as B-trees do ([`grow`]). `upkeep=bounded`: the
//!   root and models are built anew when three times as many keys came or went as they were built
//!   for, and every node when three in four are gone; with the root the table is trained anew. All is
//!   built anew, whatever the upkeep, when three in four of the bytes of keys are gone. So memory is that of the
//!   keys but for a constant factor, and 4 KiB. `upkeep=published` builds a node anew when it has four times
//!   its keys or half, and keeps the first table; what is not published is that it does so too when 16 times
//!   its keys came or went: windows that slide would else leave a level behind every few dozen keys.
//! - With either upkeep a node is built anew when an insert below it finds more than 8 + 3 log2 n levels, n
//!   being its keys: so depth is O(log n), whatever keys come and go in whatever order.

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
    about: "nodes: the cheaper ones by costs measured here or fixed ones, models where they part keys, tries",
    // The default came last, and a value keeps its number.
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
