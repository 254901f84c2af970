//! The FITing-Tree: segments of a shrinking cone under a B+-tree. Galakatos, Markovitch, Binnig,
//! Fonseca and Kraska, "FITing-Tree: A Data-aware Index Structure", SIGMOD 2019, sections 3 and 4,
//! for data that does not change.
//!
//! See [`super::shared::lines`] for the guarantee and the byte form: after the common header there
//! are the lines and nothing else. They are cut by [`crate::segment::cone`], by default as
//! published: a key joins a segment if its point lies in the cone, which makes about three times
//! the fewest segments possible. With `cone=wide` a key also joins if any line through the first
//! point is within the bound of all keys, which makes about 1.4 times the fewest. Building takes
//! constant time a key. A look-up descends a B+-tree over the M segments' first numbers
//! ([`super::shared::lines::Tree`]) in O(log_16 M) nodes of 16 numbers, then reads one segment; it
//! is the same for both rules.

use std::marker::PhantomData;

use super::shared::knobs::BOUNDARY;
use super::shared::lines::{LineBuilder, LineIndex, LineKind, Tree};
use super::shared::retained::RETAINED;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::Knob;
use crate::segment::Fit;
use crate::segment::cone::{Cone, WideCone};

/// When a key joins a segment.
const CONE: Knob = Knob {
    name: "cone",
    about: "a key joins a segment as published, if its point lies in the cone, or if any line fits",
    default: 0,
    min: 0,
    max: 1,
    choices: &["published", "wide"],
};

pub(crate) const KIND: Kind = Kind {
    name: "fiting-tree",
    id: 4,
    about: "FITing-Tree (Galakatos et al., SIGMOD 2019): shrinking cones under a B+-tree",
    knobs: &[BOUNDARY, RETAINED, CONE],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| match CONE.of(settings) {
        0 => Box::new(LineBuilder::<FitingTree<Cone>>::new(settings)),
        _ => Box::new(LineBuilder::<FitingTree<WideCone>>::new(settings)),
    },
    // The rule matters to building alone.
    open: |bytes| Ok(Box::new(LineIndex::<FitingTree<Cone>>::open(bytes)?)),
};

#[derive(Debug)]
struct FitingTree<F>(PhantomData<F>);

impl<F: Fit + Sync> LineKind for FitingTree<F> {
    type Fit = F;
    type Route = Tree;

    fn kind() -> &'static Kind {
        &KIND
    }
}
