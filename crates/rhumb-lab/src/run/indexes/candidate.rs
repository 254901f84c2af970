//! The indexes to measure.

use std::fmt;

use rhumb_index::IndexSpec;
use rhumb_index::registry::{self, Answers};

use super::BOUNDS;

/// The parameter that must be equal when an index is compared with another implementation of its
/// kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// Keys in a block of fence pointers.
    Block(usize),
    /// The error bound; the position boundary is twice the bound plus 2.
    Eps(u64),
    /// The number of models in the last stage.
    Leaves(u64),
    /// No parameter.
    Nothing,
}

const BLOCKS: [usize; 2] = [16, 64];
const LEAVES: [u64; 2] = [8_192, 65_536];

/// An index to measure.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub spec: IndexSpec,
    pub parameter: Parameter,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parameter {
            Parameter::Block(keys) => write!(f, "{}, {keys} a block", self.spec),
            _ => write!(f, "{}", self.spec),
        }
    }
}

impl Candidate {
    /// Every registered kind with all its parameters. Kinds that know the exact rank of every key
    /// give the same answers for every boundary, and occur once; fence pointers occur with blocks of
    /// several sizes.
    pub fn all() -> Vec<Candidate> {
        let mut all = Vec::new();
        for kind in registry::kinds() {
            let Ok(spec) = kind.name.parse::<IndexSpec>() else {
                continue;
            };
            // Fence pointers, as they are by default, differ in their blocks alone.
            if spec.answers() != Answers::Windows {
                all.extend(Candidate::of(&spec));
                continue;
            }
            let bounds = BOUNDS.map(|eps| ("boundary", 2 * u64::from(eps) + 2));
            let leaves = LEAVES.map(|leaves| ("leaves", leaves));
            let knobs = bounds.into_iter().chain(leaves);
            let specs: Vec<_> = knobs
                .filter_map(|(knob, value)| spec.clone().with(knob, value).ok())
                .collect();
            if specs.is_empty() {
                all.extend(Candidate::of(&spec));
            }
            all.extend(specs.iter().flat_map(Candidate::of));
        }
        all
    }

    /// The candidates for a specification: fence pointers with blocks of several sizes, any other
    /// kind once.
    pub fn of(spec: &IndexSpec) -> Vec<Candidate> {
        let leaves = spec.named("leaves").filter(|leaves| *leaves > 0);
        let parameters = match (spec.answers(), leaves, spec.get("boundary")) {
            (Answers::Blocks | Answers::Slots, ..) => BLOCKS.map(Parameter::Block).to_vec(),
            (Answers::Windows, Some(leaves), _) => vec![Parameter::Leaves(leaves)],
            (Answers::Windows, None, Some(boundary)) => {
                vec![Parameter::Eps(boundary.saturating_sub(2) / 2)]
            }
            _ => vec![Parameter::Nothing],
        };
        let with = |parameter| Candidate {
            spec: spec.clone(),
            parameter,
        };
        parameters.into_iter().map(with).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_occurs_with_its_parameters() {
        let all: Vec<String> = Candidate::all().iter().map(Candidate::to_string).collect();
        for kind in registry::kinds() {
            assert!(all.iter().any(|name| name.starts_with(kind.name)));
        }
        for expected in ["fp, 16 a block", "fp-raw, 64 a block", "plr:boundary=18"] {
            assert!(all.iter().any(|name| name == expected), "{all:?}");
        }
        let of = |text: &str| Candidate::of(&text.parse().unwrap())[0].parameter;
        assert_eq!(of("plr:boundary=130"), Parameter::Eps(64));
        assert_eq!(of("fp"), Parameter::Block(16));
        assert_eq!(of("btree"), Parameter::Nothing);
        assert_eq!(
            all.iter().filter(|name| name.starts_with("btree")).count(),
            1
        );
    }
}
