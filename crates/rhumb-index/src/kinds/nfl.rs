//! NFL (Wu, Cui, Yu et al., "NFL: Robust Learned Index via Distribution Transformation", VLDB 2022): a small
//! normalising flow makes keys nearly uniform, and an after-flow learned index (AFLI) places them.
//!
//! A number's slot follows from a model; the numbers of a slot stand in a bucket, and where there are too
//! many the slot leads on to a dense node or to a node with a model of its own. Here a slot *is* its
//! bucket, one cache line of 64 bytes ([`line`]), so that a look-up reads one line for each level:
//! mostly one. A look-up takes O(levels), at most [`form::DEEPEST`]; lower bounds cost the same, as an
//! empty slot says which rank comes next. Building takes a few passes over the entries of each level.
//!
//! What differs from the paper, and why:
//!
//! - The flow is trained at build, on the table's own numbers, with a bounded number of steps and
//!   without randomness ([`train`]). It has one input that is linear in the number and one that is
//!   logarithmic, weights that are not negative and activations made of + - * / alone ([`flow`]), so it is
//!   weakly monotone in floating point and gives the same bits everywhere. Look-ups use a table of its
//!   images ([`warped`]) in whole numbers, which costs them a fifth. Order never follows from
//!   it being strict: numbers that it maps alike come to one slot, and numbers themselves are compared.
//! - Only the root uses it. Below, a slot is so short a piece of the distribution that a line over
//!   the numbers serves; that also bounds the depth for any input.
//! - It is kept only if it lowers the tail of conflicts by a tenth, as published, and if fewer reads
//!   outweigh its evaluation in the cost model of [`survey`] too. Nothing is timed.
//! - A bucket always fills a line: six numbers, as published at most, or eleven where they are near
//!   each other, which halves the memory. What the paper takes from the tail of conflicts, the room
//!   given to a slot, is chosen for each node by the same cost model.
//! - A dense node has at most six buckets, told apart by separators inside the slot that leads to them; it
//!   stands wherever a slot has so few numbers, as no model is needed there.

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
    about: "buckets placed by a line, or by a small normalising flow where it pays (Wu et al., 2022)",
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
    about: "a normalising flow in front: auto (where it pays), never or always",
    default: 0,
    min: 0,
    max: 2,
    choices: &["auto", "never", "always"],
};
