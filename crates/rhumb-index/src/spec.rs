//! The text that names an index kind and its knobs, such as `plr:boundary=16`.

use std::fmt;
use std::str::FromStr;

use crate::IndexError;
use crate::registry::{self, Kind};

/// A whole-numbered knob of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Its name in a specification.
    pub name: &'static str,
    /// What it sets, with its unit.
    pub about: &'static str,
    /// The value taken where a specification does not name it.
    pub default: u64,
    /// The least value accepted.
    pub min: u64,
    /// The greatest value accepted.
    pub max: u64,
}

/// Which index to build: a registered kind and a value for each of its knobs.
///
/// The text form is the kind's name, then knobs after a colon, separated by commas. A knob that is
/// not named has its default, or what whoever builds the index chooses for the keys at hand.
/// Displaying a specification names the knobs that were named, and parsing that text gives the same
/// specification.
///
/// ```
/// let spec: rhumb_index::IndexSpec = "plr".parse()?;
/// assert_eq!(spec.to_string(), "plr");
/// assert_eq!((spec.get("boundary"), spec.named("boundary")), (Some(16), None));
/// # Ok::<(), rhumb_index::IndexError>(())
/// ```
#[derive(Debug, Clone)]
pub struct IndexSpec {
    kind: &'static Kind,
    /// One value for each of the kind's knobs, in their order; `None` where it is not named.
    values: Vec<Option<u64>>,
}

impl Default for IndexSpec {
    /// `plr` with its default knobs.
    fn default() -> Self {
        IndexSpec::of(&crate::kinds::plr::KIND)
    }
}

impl IndexSpec {
    /// A kind with no knob named.
    fn of(kind: &'static Kind) -> Self {
        let values = vec![None; kind.knobs.len()];
        IndexSpec { kind, values }
    }

    /// The kind that is named.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// A knob's value, or `None` where the kind has no such knob.
    pub fn get(&self, knob: &str) -> Option<u64> {
        let known = self.kind.knobs.iter().find(|known| known.name == knob)?;
        Some(self.named(knob).unwrap_or(known.default))
    }

    /// A knob's value where the specification names it.
    pub fn named(&self, knob: &str) -> Option<u64> {
        let mut knobs = self.kind.knobs.iter().zip(&self.values);
        knobs.find(|(known, _)| known.name == knob)?.1.to_owned()
    }

    /// The same specification with one knob set.
    ///
    /// # Errors
    /// [`IndexError::Spec`] if the kind has no such knob or the value is out of its range.
    pub fn with(mut self, knob: &str, value: u64) -> Result<Self, IndexError> {
        let kind = self.kind;
        let place = kind
            .knobs
            .iter()
            .zip(&mut self.values)
            .find(|(known, _)| known.name == knob);
        let Some((known, slot)) = place else {
            let names: Vec<_> = kind.knobs.iter().map(|known| known.name).collect();
            let choices = if names.is_empty() {
                "none".into()
            } else {
                names.join(", ")
            };
            return Err(IndexError::Spec(format!(
                "index kind {} has no knob {knob:?}: it has {choices}",
                kind.name
            )));
        };
        if !(known.min..=known.max).contains(&value) {
            return Err(IndexError::Spec(format!(
                "{knob}={value} of index kind {} is out of range: use {} to {}",
                kind.name, known.min, known.max
            )));
        }
        *slot = Some(value);
        Ok(self)
    }
}

impl FromStr for IndexSpec {
    type Err = IndexError;

    fn from_str(text: &str) -> Result<Self, IndexError> {
        let (name, knobs) = text.split_once(':').unwrap_or((text, ""));
        let kinds = registry::kinds();
        let kind = kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
            IndexError::Spec(format!(
                "no index kind {name:?}: use one of {}",
                names.join(", ")
            ))
        })?;
        let mut spec = IndexSpec::of(kind);
        for setting in knobs.split(',').filter(|setting| !setting.is_empty()) {
            let parsed = setting
                .split_once('=')
                .map(|(knob, value)| (knob, value.parse::<u64>()));
            let Some((knob, Ok(value))) = parsed else {
                return Err(IndexError::Spec(format!(
                    "cannot read {setting:?} in {text:?}: write knob=number, such as boundary=16"
                )));
            };
            spec = spec.with(knob, value)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for IndexSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        let mut before = ':';
        for (knob, value) in self.kind.knobs.iter().zip(&self.values) {
            if let Some(value) = value {
                write!(f, "{before}{}={value}", knob.name)?;
                before = ',';
            }
        }
        Ok(())
    }
}

impl PartialEq for IndexSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.values == other.values
    }
}

impl Eq for IndexSpec {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in [
            "fp",
            "fp-raw",
            "plr",
            "plr:boundary=16",
            "plr:boundary=1024",
        ] {
            let spec: IndexSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(spec.to_string().parse::<IndexSpec>().unwrap(), spec);
        }
    }

    #[test]
    fn errors_name_the_choices() {
        let message = |text: &str| text.parse::<IndexSpec>().unwrap_err().to_string();
        assert!(message("pgn").contains("fp, fp-raw, plr"));
        assert!(message("plr:epsilon=8").contains("boundary"));
        assert!(message("plr:boundary=3").contains("4 to 1024"));
        assert!(message("plr:boundary").contains("knob=number"));
        assert!(message("fp:boundary=3").contains("none"));
        assert!(message("").contains("fp, fp-raw, plr"));
    }
}
