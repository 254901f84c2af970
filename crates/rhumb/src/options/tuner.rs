//! Who chooses the index and the cut of new tables.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Who chooses the index of new tables and how they are cut: the user or the store. As text `off`, `cost` or
/// `cost:nu=0.5`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Tuner {
    /// [`Options::index`](crate::Options::index) and [`Options::table`](crate::Options::table), or what a keyspace says
    /// of its own.
    #[default]
    Off,
    /// The store, for each table, by cost. It begins with what is set. At the first merge, and again where entries of another
    /// size arrive, it writes a sample of a table of some MiB in each form that differs, measures gets and scans in it, and
    /// deletes it: some seconds in the background. New tables then take the form that costs least for the gets and scans of
    /// the last time, for what the cache held of them, and by what gets took in its tables: one get in 64 is timed. Without
    /// reads nothing changes. Not for a learned tier, nor where tables are cut by entries.
    Cost {
        /// The weight of time against memory, 0 to 1: with 1 the fastest form is chosen, with 0 the one whose index and
        /// directory take least memory.
        nu: f64,
    },
}

/// Time counts for most, and of forms that are equally fast the smaller one is chosen.
const USUAL_NU: f64 = 0.9;
const EXPECTED: &str = "off, cost or cost:nu=0.5 (0 for memory to 1 for time)";

impl Tuner {
    /// An error, in the words of the code, if a value is out of its range.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Tuner::Cost { nu } if !(0.0..=1.0).contains(&nu) => Err(Error::InvalidArgument(
                format!("Tuner::Cost::nu is {nu}: set it to a number from 0 to 1"),
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tuner::Off => f.write_str("off"),
            Tuner::Cost { nu } => write!(f, "cost:nu={nu}"),
        }
    }
}

impl FromStr for Tuner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = || Error::InvalidArgument(format!("tuner {text:?}: expected {EXPECTED}"));
        let tuner = match text.split_once(":nu=") {
            None if text == "off" => Tuner::Off,
            None if text == "cost" => Tuner::Cost { nu: USUAL_NU },
            Some(("cost", nu)) => Tuner::Cost {
                nu: nu.parse().map_err(|_| refused())?,
            },
            _ => return Err(refused()),
        };
        tuner.check().map_err(|_| refused())?;
        Ok(tuner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_others_are_refused_with_the_choices() {
        for text in ["off", "cost:nu=0.9", "cost:nu=0", "cost:nu=1"] {
            assert_eq!(text.parse::<Tuner>().unwrap().to_string(), text);
        }
        assert_eq!("cost".parse::<Tuner>().unwrap().to_string(), "cost:nu=0.9");
        for text in [
            "",
            "on",
            "cost:",
            "cost:nu=",
            "cost:nu=2",
            "cost:nu=NaN",
            "off:nu=1",
        ] {
            let error = text.parse::<Tuner>().unwrap_err().to_string();
            assert!(error.contains("off, cost or cost:nu=0.5"), "{error}");
        }
        assert!(Tuner::Cost { nu: -0.1 }.check().is_err());
    }
}
