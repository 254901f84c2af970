//! Piecewise regression approximation of DobLIX (Heidari et al., section III-C2): one least-squares line a block.
//!
//! It cuts no blocks short. A block takes 16 bytes and its share of the radix table, and slots are off by about 0.7 times as
//! much as those of `pla`.
//!
//! See [`super::shared::blocks`] for the guarantee.

use super::shared::blocks::{Blocks, BlocksBuilder, Fit};
use crate::kind::{Answers, FORM_ONLY, Kind};

pub(crate) const KIND: Kind = Kind {
    name: "pra",
    id: 18,
    about: "a least-squares line a block (DobLIX's PRA, Heidari et al.)",
    knobs: &[],
    needs_number: true,
    answers: Answers::Slots,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |_| Box::new(BlocksBuilder::new(&KIND, Fit::Own)),
    open: |bytes| Ok(Box::new(Blocks::open(&KIND, &bytes, true)?)),
};
