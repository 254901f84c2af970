//! Knobs that several kinds have.

use crate::knob::Knob;

/// The position boundary.
pub(crate) const BOUNDARY: Knob = Knob {
    name: "boundary",
    about: "position boundary: the most keys that a window may hold",
    default: 16,
    min: 4,
    max: 1024,
    choices: &[],
};

/// How an updatable kind in memory restructures itself as keys are inserted and removed.
pub(crate) const UPKEEP: Knob = Knob {
    name: "upkeep",
    about: "restructuring in memory: with bounded memory and depth, or as published",
    default: 0,
    min: 0,
    max: 1,
    choices: &["bounded", "published"],
};
