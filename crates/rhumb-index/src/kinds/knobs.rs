//! Knobs that several kinds have.

use crate::IndexSpec;
use crate::spec::Knob;

/// The position boundary.
pub(crate) const BOUNDARY: Knob = Knob {
    name: "boundary",
    about: "position boundary: the most keys that a window may hold",
    default: 16,
    min: 4,
    max: 1024,
    choices: &[],
};

impl Knob {
    /// The knob's value in a specification of a kind that has it.
    pub(crate) fn of(&self, spec: &IndexSpec) -> u64 {
        spec.get(self.name).unwrap_or(self.default)
    }
}
