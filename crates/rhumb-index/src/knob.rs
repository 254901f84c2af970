//! The knobs of index kinds, and their values.

/// An integer setting of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Its name in a specification.
    pub name: &'static str,
    /// Its meaning, with the unit.
    pub about: &'static str,
    /// The value if a specification does not name it.
    pub default: u64,
    /// The least value accepted.
    pub min: u64,
    /// The greatest value accepted.
    pub max: u64,
    /// The names of the values from 0 on in texts; empty if they are written as numbers.
    pub choices: &'static [&'static str],
}

impl Knob {
    /// The value for a text.
    pub(crate) fn parse(&self, text: &str) -> Option<u64> {
        match self.choices {
            [] => text.parse().ok(),
            choices => (0..)
                .zip(choices)
                .find(|(_, name)| **name == text)
                .map(|(value, _)| value),
        }
    }

    /// The allowed values as a text: names, or a range of numbers.
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

    /// The text for a value.
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
    /// One value for each knob, in their order; `None` if the knob is not named.
    values: Vec<Option<u64>>,
}

impl Settings {
    /// No knobs named.
    pub(crate) fn new(knobs: &'static [Knob]) -> Self {
        let values = vec![None; knobs.len()];
        Settings { knobs, values }
    }

    /// The value of a knob; `None` if the kind has no such knob.
    pub(crate) fn get(&self, knob: &str) -> Option<u64> {
        let known = self.knobs.iter().find(|known| known.name == knob)?;
        Some(self.named(knob).unwrap_or(known.default))
    }

    /// The value of a knob if it is named.
    pub(crate) fn named(&self, knob: &str) -> Option<u64> {
        self.iter().find(|(known, _)| known.name == knob)?.1
    }

    /// All knobs, with their values if they are named.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Knob, Option<u64>)> {
        self.knobs.iter().zip(self.values.iter().copied())
    }

    /// A knob and the place of its value.
    pub(crate) fn slot(&mut self, knob: &str) -> Option<(&'static Knob, &mut Option<u64>)> {
        let mut slots = self.knobs.iter().zip(&mut self.values);
        slots.find(|(known, _)| known.name == knob)
    }
}
