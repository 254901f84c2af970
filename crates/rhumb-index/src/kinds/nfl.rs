//! NFL (Wu, Cui, Yu et al., "NFL: Robust Learned Index via Distribution Transformation", VLDB
//! 2022): a small normalising flow makes keys nearly uniform, and an after-flow learned index
//! (AFLI) places them.
//!
//! A model computes the slot of a number, and the numbers of a slot are in a bucket. A slot with
//! too many numbers leads to a dense node or to a node with a model of its own. Here a slot *is*
//! its bucket, one cache line of 64 bytes ([`cache_line`]), so that a look-up reads one line for
//! each level: mostly one. A look-up takes O(levels), at most [`form::DEEPEST`]. Lower bounds cost
//! the same, as an empty slot holds the rank that comes next. Building takes a few passes over the
//! entries of each level.
//!
//! Differences from the paper, with reasons:
//!
//! - The flow is trained at build time, on the table's own numbers, with a bounded number of steps
//!   and without randomness ([`train`]). It has one input that is linear in the number and one that
//!   is logarithmic, weights that are not negative and activations made of + - * / alone
//!   ([`flow`]), so it is weakly monotone in floating point and gives the same bits on every
//!   machine. Look-ups use a table of its images ([`warped`]) with integer arithmetic, at a fifth
//!   of the cost. The flow need not be strictly monotone: numbers with equal images share a slot,
//!   where the numbers themselves are compared.
//! - Only the root uses the flow. Below it, a slot covers so short a part of the distribution that
//!   a line over the numbers suffices; lines also bound the depth for any input.
//! - The flow is kept only if it lowers the tail of conflicts by a tenth, as published, and if the
//!   reads that it saves outweigh its evaluation in the cost model of [`survey`]. Nothing is timed.
//! - A bucket always fills a cache line: six numbers, the published maximum, or eleven where they
//!   are near each other, which halves the memory. The paper derives the room for each slot from
//!   the tail of conflicts; here the same cost model chooses it for each node.
//! - A dense node has at most six buckets, told apart by separators inside the slot that leads to
//!   them. It is used wherever a slot has few enough numbers, since no model is needed there.

mod cache_line;
mod flow;
mod form;
mod lay;
mod model;
mod survey;
#[cfg(test)]
mod tests;
mod train;
mod warped;

use super::shared::exact::{ExactBuilder, ExactIndex};
use super::shared::knobs::BOUNDARY;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::Knob;

pub(crate) const KIND: Kind = Kind {
    name: "nfl",
    id: 14,
    about: "buckets placed by a line, or by a normalising flow if it saves time (Wu et al., 2022)",
    knobs: &[BOUNDARY, FLOW],
    needs_number: true,
    answers: Answers::Exact,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(ExactBuilder::<form::Afli>::new(settings)),
    open: |bytes| Ok(Box::new(ExactIndex::<form::Afli>::open(bytes)?)),
};

/// Whether a flow is used.
const FLOW: Knob = Knob {
    name: "flow",
    about: "normalising flow before the root: auto (if it saves time), never or always",
    default: 0,
    min: 0,
    max: 2,
    choices: &["auto", "never", "always"],
};
