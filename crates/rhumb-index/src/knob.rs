//! What can be set of an index kind, and the values that are set.

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
    /// The names by which texts call the values from 0 on; empty where they are numbers.
    pub choices: &'static [&'static str],
}

impl Knob {
    /// The value that a text means.
    pub(crate) fn parse(&self, text: &str) -> Option<u64> {
        match self.choices {
            [] => text.parse().ok(),
            choices => (0..)
                .zip(choices)
                .find(|(_, name)| **name == text)
                .map(|(value, _)| value),
        }
    }

    /// The values that it may have, for people: names, or a range of numbers.
    pub(crate) fn values(&self) -> String {
        match self.choices {
            [] => format!("{} to {}", self.min, self.max),
            choices => choices.join(", "),
        }
    }

    /// The knob's value in the settings of a kind that has it.
    pub(crate) fn of(&self, settings: &Settings) -> u64 {
        settings.get(self.name).unwrap_or(self.default)
    }

    /// How a text writes a value.
    pub(crate) fn text_of(&self, value: u64) -> String {
        let name = usize::try_from(value)
            .ok()
            .and_then(|i| self.choices.get(i));
        name.map_or_else(|| value.to_string(), |name| name.to_string())
    }
}

/// A value for each of a kind's knobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    knobs: &'static [Knob],
    /// One for each knob, in their order; `None` where none is named.
    values: Vec<Option<u64>>,
}

impl Settings {
    /// No knob named.
    pub(crate) fn new(knobs: &'static [Knob]) -> Self {
        let values = vec![None; knobs.len()];
        Settings { knobs, values }
    }

    /// A knob's value, or `None` where the kind has no such knob.
    pub(crate) fn get(&self, knob: &str) -> Option<u64> {
        let known = self.knobs.iter().find(|known| known.name == knob)?;
        Some(self.named(knob).unwrap_or(known.default))
    }

    /// A knob's value where it is named.
    pub(crate) fn named(&self, knob: &str) -> Option<u64> {
        self.iter().find(|(known, _)| known.name == knob)?.1
    }

    /// Every knob, with its value where it is named.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Knob, Option<u64>)> {
        self.knobs.iter().zip(self.values.iter().copied())
    }

    /// A knob, and where its value is kept.
    pub(crate) fn slot(&mut self, knob: &str) -> Option<(&'static Knob, &mut Option<u64>)> {
        let mut slots = self.knobs.iter().zip(&mut self.values);
        slots.find(|(known, _)| known.name == knob)
    }
}
