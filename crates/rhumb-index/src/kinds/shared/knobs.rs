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

/// How an updatable kind keeps its shape while keys come and go, alone in memory.
pub(crate) const UPKEEP: Knob = Knob {
    name: "upkeep",
    about: "alone in memory: bounded (memory and depth are, in any order of keys), or as published",
    default: 0,
    min: 0,
    max: 1,
    choices: &["bounded", "published"],
};
