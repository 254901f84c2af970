//! Greedy piecewise linear regression over key numbers, as in Bourbon (OSDI 2020, section 4.1)
//! and DobLIX, with the algorithm of [`crate::segment::greedy`].
//!
//! See [`super::shared::lines`] for the guarantee and the byte form: after the common header there
//! are the lines and nothing else. Building takes constant time a key. A look-up descends a tree
//! over the M segments' first numbers ([`super::shared::lines::Tree`]) in O(log_16 M) nodes of 16
//! numbers, then reads one segment.

mod first_form;

use super::shared::knobs::BOUNDARY;
use super::shared::lines::{LineBuilder, LineIndex, LineKind, Segment, Tree, encode_lines};
use super::shared::retained::RETAINED;
use crate::IndexError;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::segment::greedy::Greedy;

pub(crate) const KIND: Kind = Kind {
    name: "plr",
    id: 3,
    about: "greedy piecewise linear regression (Xie et al., VLDBJ 2014), as in Bourbon and DobLIX",
    knobs: &[BOUNDARY, RETAINED],
    needs_number: true,
    answers: Answers::Windows,
    version: 2,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(LineBuilder::<Plr>::new(settings)),
    open: |bytes| {
        let bytes = match bytes.get(1) {
            Some(1) => first_form::to_second(&bytes)?.into(),
            _ => bytes,
        };
        Ok(Box::new(LineIndex::<Plr>::open(bytes)?))
    },
};

#[derive(Debug)]
struct Plr;

impl LineKind for Plr {
    type Fit = Greedy;
    type Route = Tree;

    fn kind() -> &'static Kind {
        &KIND
    }
}

/// The byte form of segments over this many keys, whose windows may be wider than `boundary`.
///
/// # Errors
/// [`IndexError::Unfit`] if one is wider than any boundary.
pub(crate) fn plr_of(
    segments: &[Segment],
    keys: u64,
    boundary: u64,
) -> Result<Vec<u8>, IndexError> {
    let widest = segments.iter().map(|segment| segment.reach.width()).max();
    let boundary = boundary.max(widest.unwrap_or(0)).max(BOUNDARY.min);
    if boundary > BOUNDARY.max {
        return Err(IndexError::Unfit {
            kind: KIND.name,
            why: format!("a window holds {boundary} keys: use fp"),
        });
    }
    let mut out = KIND.header().to_vec();
    encode_lines(segments, keys, boundary, &mut out);
    Ok(out)
}
