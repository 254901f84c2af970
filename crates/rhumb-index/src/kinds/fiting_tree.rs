//! The FITing-Tree: segments of a shrinking cone under a B+-tree. Galakatos, Markovitch, Binnig,
//! Fonseca and Kraska, "FITing-Tree: A Data-aware Index Structure", SIGMOD 2019, sections 3 and 4,
//! for data that does not change.
//!
//! See [`super::shared::lines`] for the guarantee and the byte form: after the common header there
//! are the lines and nothing else. They are cut by [`crate::segment::cone`], which makes about
//! three times the fewest segments possible but is the cheapest to train. Building takes constant
//! time a key. A look-up descends a B+-tree over the M segments' first numbers
//! ([`super::shared::lines::Tree`]) in O(log_16 M) nodes of 16 numbers, then reads one segment.

use super::shared::knobs::BOUNDARY;
use super::shared::lines::{LineBuilder, LineIndex, LineKind, Tree};
use super::shared::retained::RETAINED;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::segment::cone::Cone;

pub(crate) const KIND: Kind = Kind {
    name: "fiting-tree",
    id: 4,
    about: "FITing-Tree (Galakatos et al., SIGMOD 2019): shrinking cones under a B+-tree",
    knobs: &[BOUNDARY, RETAINED],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(LineBuilder::<FitingTree>::new(settings)),
    open: |bytes| Ok(Box::new(LineIndex::<FitingTree>::open(bytes)?)),
};

#[derive(Debug)]
struct FitingTree;

impl LineKind for FitingTree {
    type Fit = Cone;
    type Route = Tree;

    fn kind() -> &'static Kind {
        &KIND
    }
}
