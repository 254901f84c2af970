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

/// Knobs whose values are written as names, in the order of the values from 0 on.
const NAMED: [(&str, &[&str]); 1] = [("root", &["best", "linear", "cubic"])];

impl Knob {
    /// The names by which texts call the values from 0 on; empty where they are numbers.
    pub fn choices(&self) -> &'static [&'static str] {
        let named = NAMED.iter().find(|(name, _)| *name == self.name);
        named.map_or(&[], |(_, choices)| choices)
    }

    /// The value that a text means.
    fn parse(&self, text: &str) -> Option<u64> {
        match self.choices() {
            [] => text.parse().ok(),
            choices => (0..)
                .zip(choices)
                .find(|(_, name)| **name == text)
                .map(|(value, _)| value),
        }
    }

    /// How a text writes a value.
    fn text_of(&self, value: u64) -> String {
        let name = usize::try_from(value)
            .ok()
            .and_then(|i| self.choices().get(i));
        name.map_or_else(|| value.to_string(), |name| name.to_string())
    }
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

    /// The most keys that a window may hold, by promise: the position boundary, if the kind has one
    /// and nothing is named that leaves windows as wide as they come out.
    pub fn promised_window(&self) -> Option<u64> {
        let leaves = self.get("leaves").unwrap_or(0);
        self.get("boundary").filter(|_| leaves == 0)
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
            let unreadable =
                |how: &str| IndexError::Spec(format!("cannot read {setting:?} in {text:?}: {how}"));
            let Some((knob, value)) = setting.split_once('=') else {
                return Err(unreadable("write knob=number, such as boundary=16"));
            };
            let known = kind.knobs.iter().find(|known| known.name == knob);
            // That a kind has no such knob is said below.
            let Some(value) = known.map_or(Some(0), |known| known.parse(value)) else {
                let choices = known.map_or(&[][..], Knob::choices);
                return Err(unreadable(&match choices {
                    [] => "write knob=number, such as boundary=16".to_string(),
                    choices => format!("use one of {}", choices.join(", ")),
                }));
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
                write!(f, "{before}{}={}", knob.name, knob.text_of(*value))?;
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
            "rmi:root=cubic",
            "rmi:boundary=64,leaves=0,root=best",
        ] {
            let spec: IndexSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(spec.to_string().parse::<IndexSpec>().unwrap(), spec);
        }
    }

    #[test]
    fn a_number_of_leaves_takes_the_promise_back() {
        let promised = |text: &str| text.parse::<IndexSpec>().unwrap().promised_window();
        assert_eq!(promised("fp"), None);
        assert_eq!(promised("plr"), Some(16));
        assert_eq!(promised("rmi:boundary=64,leaves=0"), Some(64));
        assert_eq!(promised("rmi:boundary=64,leaves=9"), None);
    }

    #[test]
    fn errors_name_the_choices() {
        let message = |text: &str| text.parse::<IndexSpec>().unwrap_err().to_string();
        assert!(message("pgn").contains("fp, fp-raw, plr"));
        assert!(message("plr:epsilon=8").contains("boundary"));
        assert!(message("plr:boundary=3").contains("4 to 1024"));
        assert!(message("plr:boundary").contains("knob=number"));
        assert!(message("plr:boundary=many").contains("knob=number"));
        assert!(message("rmi:root=1").contains("best, linear, cubic"));
        assert!(message("fp:boundary=3").contains("none"));
        assert!(message("").contains("fp, fp-raw, plr"));
    }
}
