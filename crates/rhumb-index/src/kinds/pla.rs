//! Piecewise linear approximation of DobLIX (Heidari et al., section III-C2): one line a block, from the last point of the block
//! before to its own.
//!
//! Where a table is cut by this kind, a block ends before the first key at which that line would be off by more than `error`
//! ranks from any of its keys. The test takes constant time a key ([`crate::segment::corridor`]). Neighbouring lines share their
//! points, so a block takes 10 bytes and its share of the radix table.
//!
//! See [`super::shared::blocks`] for the guarantee.

use super::shared::blocks::{Blocks, BlocksBuilder, Fit};
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::Knob;

const ERROR: Knob = Knob {
    name: "error",
    about: "how many keys a slot may be off in tables cut by this kind (the published 32, 64, 128 and 256)",
    default: 128,
    min: 1,
    max: 4096,
    choices: &[],
};

pub(crate) const KIND: Kind = Kind {
    name: "pla",
    id: 17,
    about: "a line a block between last keys (DobLIX's PLA, Heidari et al.)",
    knobs: &[ERROR],
    needs_number: true,
    answers: Answers::Slots,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| {
        let fit = Fit::Between(ERROR.of(settings));
        Box::new(BlocksBuilder::new(&KIND, fit))
    },
    open: |bytes| Ok(Box::new(Blocks::open(&KIND, &bytes, false)?)),
};
