//! The text form of an index kind and its knobs, such as `plr:boundary=16`.

use std::fmt;

use crate::IndexError;
use crate::kind::{Answers, Kind};
use crate::knob::Settings;

/// Which index to build: a registered kind and a value for each of its knobs.
///
/// The text form is the kind's name, then knobs after a colon, separated by commas. A knob that is
/// not named has its default, or a value that the builder of the index chooses for its keys.
/// Displaying a specification names the same knobs, and parsing that text gives an equal
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
    settings: Settings,
}

impl IndexSpec {
    /// A kind with no knobs named.
    pub(crate) fn of(kind: &'static Kind) -> Self {
        let settings = Settings::new(kind.knobs);
        IndexSpec { kind, settings }
    }

    /// Parses the text form for one of these kinds.
    pub(crate) fn read(text: &str, kinds: &'static [Kind]) -> Result<Self, IndexError> {
        let (name, knobs) = text.split_once(':').unwrap_or((text, ""));
        let kind = kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
            IndexError::Spec(format!(
                "no index kind {name:?}: use one of {}",
                names.join(", ")
            ))
        })?;
        let mut spec = IndexSpec::of(kind);
        for setting in knobs.split(',').filter(|setting| !setting.is_empty()) {
            let unreadable = |why: &str| refused(kind, &format!("{setting:?} in {text:?} {why}"));
            let Some((knob, value)) = setting.split_once('=') else {
                return Err(unreadable("is not of the form knob=value"));
            };
            if spec.named(knob).is_some() {
                return Err(unreadable("names a knob twice"));
            }
            let known = kind.knobs.iter().find(|known| known.name == knob);
            // For an unknown knob `with` returns the error.
            let Some(value) = known.map_or(Some(0), |known| known.parse(value)) else {
                return Err(unreadable("has no valid value"));
            };
            spec = spec.with(knob, value)?;
        }
        Ok(spec)
    }

    /// The kind.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// The value of a knob; `None` if the kind has no such knob.
    pub fn get(&self, knob: &str) -> Option<u64> {
        self.settings.get(knob)
    }

    /// The value of a knob if the specification names it.
    pub fn named(&self, knob: &str) -> Option<u64> {
        self.settings.named(knob)
    }

    /// The values of the kind's knobs.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The guaranteed most keys of a window: the position boundary, if the kind has one above 0 and keeps
    /// it for all windows. `rmi` does only with `within=100`, which a number of leaves excludes.
    pub fn promised_window(&self) -> Option<u64> {
        let keeps_all = self.get("within").unwrap_or(100) == 100;
        let leaves = self.get("leaves").unwrap_or(0);
        let boundary = self.get("boundary").filter(|boundary| *boundary > 0);
        boundary.filter(|_| keeps_all && leaves == 0)
    }

    /// The form of the answers: that of the kind, which `retained=1` and `over=keys` change. Fence pointers with a position
    /// boundary are told by [`IndexSpec::promised_window`]: they answer with windows too.
    pub fn answers(&self) -> Answers {
        match self.kind.answers {
            _ if self.get("retained") == Some(1) => Answers::Exact,
            // The kind is over the bounds of blocks otherwise.
            Answers::Blocks if self.get("over") == Some(1) => Answers::Windows,
            answers => answers,
        }
    }

    /// Whether builders use [`crate::IndexBuilder::cut`]; fence pointers with a position boundary accept cuts without effect.
    pub fn uses_cuts(&self) -> bool {
        matches!(self.kind.answers, Answers::Blocks | Answers::Slots)
    }

    /// Whether windows hold exactly the keys that are looked up, so that no entry is read in vain:
    /// for exact kinds, or if mapped keys are retained.
    pub fn is_exact(&self) -> bool {
        self.answers() == Answers::Exact
    }

    /// Sets a knob of the specification, replacing its value.
    ///
    /// # Errors
    /// [`IndexError::Spec`] if the kind has no such knob, the value is out of its range, or a number
    /// of leaves would be named together with a position boundary or the share of the keys that
    /// keeps it: with a number of leaves, neither can be kept.
    pub fn with(mut self, knob: &str, value: u64) -> Result<Self, IndexError> {
        let kind = self.kind;
        let Some((known, slot)) = self.settings.slot(knob) else {
            return Err(refused(kind, &format!("there is no knob {knob:?}")));
        };
        if !(known.min..=known.max).contains(&value) {
            return Err(refused(kind, &format!("{knob}={value} is out of range")));
        }
        *slot = Some(value);
        let leaves = self.named("leaves").unwrap_or(0);
        for aim in ["boundary", "within"] {
            if let Some(value) = self.named(aim).filter(|_| leaves > 0) {
                return Err(refused(
                    kind,
                    &format!("{aim}={value} is not kept with leaves={leaves}: name one of them"),
                ));
            }
        }
        Ok(self)
    }
}

/// The error for a setting that a kind does not accept, with all settings that it does accept.
fn refused(kind: &Kind, why: &str) -> IndexError {
    let knobs = kind.knobs.iter();
    let knobs: Vec<_> = knobs
        .map(|knob| format!("{} ({})", knob.name, knob.values()))
        .collect();
    let knobs = match knobs.is_empty() {
        true => "none".to_string(),
        false => knobs.join(", "),
    };
    IndexError::Spec(format!("{why}: the knobs of {} are {knobs}", kind.name))
}

impl fmt::Display for IndexSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        let mut before = ':';
        for (knob, value) in self.settings.iter() {
            if let Some(value) = value {
                write!(f, "{before}{}={}", knob.name, knob.text_of(value))?;
                before = ',';
            }
        }
        Ok(())
    }
}

impl PartialEq for IndexSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.settings == other.settings
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
    fn a_share_of_the_keys_or_a_number_of_leaves_excludes_a_guaranteed_window() {
        let promised = |text: &str| text.parse::<IndexSpec>().unwrap().promised_window();
        assert_eq!([promised("fp"), promised("fp:boundary=0")], [None; 2]);
        assert_eq!(promised("fp-raw:boundary=3"), Some(3));
        assert_eq!(promised("plr"), Some(16));
        assert_eq!(promised("rmi:boundary=64,leaves=0"), None);
        assert_eq!(promised("rmi:boundary=64,within=100"), Some(64));
        assert_eq!(promised("rmi:boundary=64,within=99"), None);
        assert_eq!(promised("rmi:leaves=9"), None);
    }

    #[test]
    fn retained_keys_make_a_kind_exact() {
        let exact = |text: &str| text.parse::<IndexSpec>().unwrap().is_exact();
        assert!(exact("plr:retained=1"));
        assert!(!exact("plr") && !exact("pgm:retained=0") && !exact("fp"));
    }

    #[test]
    fn errors_name_the_choices() {
        let message = |text: &str| text.parse::<IndexSpec>().unwrap_err().to_string();
        assert!(message("pgn").contains("fp, fp-raw, plr"));
        for setting in [
            "epsilon=8",
            "boundary=3",
            "boundary",
            "boundary=",
            "boundary=many",
            "boundary=99999999999999999999",
            "boundary=16,boundary=16",
        ] {
            let message = message(&format!("plr:{setting}"));
            let knobs = "the knobs of plr are boundary (4 to 1024), retained (0 to 1)";
            assert!(message.ends_with(knobs), "{message}");
        }
        assert!(message("rmi:root=1").contains("root (best, linear, cubic)"));
        assert!(message("rmi:boundary=64,leaves=9").contains("name one of them"));
        assert!(message("rmi:leaves=9,boundary=64").contains("name one of them"));
        assert!(message("rmi:within=100,leaves=9").contains("name one of them"));
        assert!(message("rmi:within=0").contains("within (1 to 100)"));
        assert!(message("fp:boundary=1025").contains("boundary (0 to 1024)"));
        assert!(message("fp:x").contains("the knobs of fp are boundary"));
        assert!(message("").contains("fp, fp-raw, plr"));
    }
}
