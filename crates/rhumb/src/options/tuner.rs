//! Who chooses the index and the cut of new tables.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::Error;

/// Who chooses the index of new tables and how they are cut: the user or the store. As text `off`, `cost`, `cost:nu=0.5`,
/// `q-learning:nu=1,seed=7,alpha=0.2,gamma=0.8` or `bourbon:wait=50ms,covers=table`; what a text leaves out is as usual.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Tuner {
    /// [`Options::index`](crate::Options::index) and [`Options::table`](crate::Options::table), or what a keyspace says
    /// of its own.
    #[default]
    Off,
    /// The store, for each table, by cost. It begins with what is set. Behind the first merge, and again where entries of another
    /// size arrive, it writes a sample of a table of some MiB in each form that differs, measures gets and scans in it, and
    /// deletes it: 1 to 2 seconds and 60 MB, of memory too for that time. New tables then take the form that costs least for the
    /// gets and scans of the last time, for what the cache held of them, and by what gets took in its tables: one get in 64 is
    /// timed. Without reads nothing changes. What was measured is remembered from one opening to the next. Not for a learned
    /// tier, nor where tables are cut by entries.
    Cost {
        /// The weight of time against memory, 0 to 1: with 1 the fastest form is chosen, with 0 the one whose index and
        /// directory take least memory, and with 0.9 half of the memory is worth 8 % of the time.
        nu: f64,
    },
    /// DobLIX's agent, by Q-learning over the error bound of models of blocks (32 to 256, or least squares) and the bytes of
    /// blocks (4 to 32 KiB), for comparison: one step every 20 tables, trained before on samples as [`Tuner::Cost`] measures
    /// them. It goes on trying other forms now and then. Where keys do not take all of its forms, what is set stays.
    QLearning {
        /// The weight of time against memory, as in [`Tuner::Cost`].
        nu: f64,
        /// What its random numbers begin with.
        seed: u64,
        /// The learning rate, 0 to 1: how much an episode changes what was learned. Published: 0.2.
        alpha: f64,
        /// The discount, 0 to 1: how much what follows an episode counts. Published: 0.8.
        gamma: f64,
    },
    /// Bourbon's learning in the background (OSDI 2020, section 4): new tables stay as they are set, and models of those whose
    /// own index is none, such as [fence pointers](crate::Options::index), are learned beside it, by a thread of their own.
    /// A model is a piecewise linear regression with an error of 8, lies in memory alone, and is learned again after the next
    /// opening. Which tables are worth it, and which first, is told by what one get in 64 took in earlier tables of the level,
    /// with and without models; until enough is known, all are. Not for a learned tier, nor where one index covers several
    /// tables ([`Levels::granularity`](crate::Levels::granularity)).
    Bourbon {
        /// How old a table is before it may be learned, at most a day: many do not live for long.
        wait: Duration,
        /// What a model covers.
        covers: Covers,
    },
}

/// What a model of [`Tuner::Bourbon`] covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Covers {
    /// One table.
    #[default]
    Table,
    /// All tables of a run of a level that have no model yet, once none of the run is younger than the wait; only neighbours whose keys
    /// are numbered alike, as those of a run mostly are. Learning is given up where the run changes meanwhile. Tables that stay in it keep what
    /// they have of a model. For stores that are read for longer than it takes to read a level.
    Level,
}

impl Covers {
    const fn name(self) -> &'static str {
        match self {
            Covers::Table => "table",
            Covers::Level => "level",
        }
    }

    fn named(name: &str) -> Option<Covers> {
        let all = [Covers::Table, Covers::Level];
        all.into_iter().find(|covers| covers.name() == name)
    }
}

/// Time counts for most, and of forms that are equally fast the smaller one is chosen.
const USUAL_NU: f64 = 0.9;
/// The published agent goes by time alone.
const PUBLISHED_NU: f64 = 1.0;
/// The published learning rate and discount.
pub(crate) const PUBLISHED_RATES: (f64, f64) = (0.2, 0.8);
/// Bourbon's T_wait: about as long as learning the largest tables takes.
const PUBLISHED_WAIT: Duration = Duration::from_millis(50);
/// Nobody learns later than after a day, and no clock ends before.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
const EXPECTED: &str = "off, cost, cost:nu=0.5, q-learning:nu=1,seed=7,alpha=0.2,gamma=0.8 \
     (nu from 0 for memory to 1 for time; alpha and gamma from 0 to 1) or bourbon:wait=50ms,covers=table|level";

impl Tuner {
    /// An error, in the words of the code, if a value is out of its range.
    pub(crate) fn check(self) -> Result<(), Error> {
        let settings: &[(&str, f64)] = match self {
            Tuner::Off => &[],
            Tuner::Bourbon { wait, .. } if wait <= LONGEST_WAIT => &[],
            Tuner::Bourbon { wait, .. } => {
                let message =
                    format!("the wait of Options::tuner is {wait:?}: set it to at most a day");
                return Err(Error::InvalidArgument(message));
            }
            Tuner::Cost { nu } => &[("nu", nu)],
            Tuner::QLearning {
                nu, alpha, gamma, ..
            } => &[("nu", nu), ("alpha", alpha), ("gamma", gamma)],
        };
        let mut wrong = settings.iter().filter(|(_, x)| !(0.0..=1.0).contains(x));
        wrong.next().map_or(Ok(()), |(name, x)| {
            let message =
                format!("the {name} of Options::tuner is {x}: set it to a number from 0 to 1");
            Err(Error::InvalidArgument(message))
        })
    }

    /// Bourbon's, as published.
    pub(super) const fn bourbon() -> Tuner {
        Tuner::Bourbon {
            wait: PUBLISHED_WAIT,
            covers: Covers::Table,
        }
    }

    /// The tuner of a name, as it usually is.
    fn named(name: &str) -> Option<Tuner> {
        Some(match name {
            "off" => Tuner::Off,
            "cost" => Tuner::Cost { nu: USUAL_NU },
            "q-learning" => Tuner::QLearning {
                nu: PUBLISHED_NU,
                seed: 0,
                alpha: PUBLISHED_RATES.0,
                gamma: PUBLISHED_RATES.1,
            },
            "bourbon" => Tuner::bourbon(),
            _ => return None,
        })
    }

    /// The same with a setting of its text; `None` if it has no such setting.
    fn with(mut self, setting: &str) -> Option<Tuner> {
        let (name, value) = setting.split_once('=')?;
        match (&mut self, name) {
            (Tuner::Cost { nu } | Tuner::QLearning { nu, .. }, "nu") => *nu = value.parse().ok()?,
            (Tuner::QLearning { seed, .. }, "seed") => *seed = value.parse().ok()?,
            (Tuner::QLearning { alpha, .. }, "alpha") => *alpha = value.parse().ok()?,
            (Tuner::QLearning { gamma, .. }, "gamma") => *gamma = value.parse().ok()?,
            (Tuner::Bourbon { covers, .. }, "covers") => *covers = Covers::named(value)?,
            (Tuner::Bourbon { wait, .. }, "wait") => {
                let millis: f64 = value.strip_suffix("ms")?.parse().ok()?;
                *wait = Duration::try_from_secs_f64(millis / 1000.0).ok()?;
            }
            _ => return None,
        }
        Some(self)
    }
}

impl fmt::Display for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tuner::Off => f.write_str("off"),
            Tuner::Cost { nu } => write!(f, "cost:nu={nu}"),
            Tuner::QLearning {
                nu,
                seed,
                alpha,
                gamma,
            } => write!(
                f,
                "q-learning:nu={nu},seed={seed},alpha={alpha},gamma={gamma}"
            ),
            Tuner::Bourbon { wait, covers } => {
                let millis = wait.as_micros() as f64 / 1000.0;
                write!(f, "bourbon:wait={millis}ms,covers={}", covers.name())
            }
        }
    }
}

impl FromStr for Tuner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, Some(settings)),
            None => (text, None),
        };
        let mut settings = settings
            .into_iter()
            .flat_map(|settings| settings.split(','));
        let tuner = settings.try_fold(Tuner::named(name), |tuner, setting| {
            tuner?.with(setting).map(Some)
        });
        tuner
            .flatten()
            .filter(|tuner| tuner.check().is_ok())
            .ok_or_else(|| Error::InvalidArgument(format!("tuner {text:?}: expected {EXPECTED}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_others_are_refused_with_the_choices() {
        for text in [
            "off",
            "cost:nu=0.9",
            "cost:nu=0",
            "q-learning:nu=0.5,seed=7,alpha=0.5,gamma=0",
            "bourbon:wait=0ms,covers=table",
            "bourbon:wait=12.5ms,covers=level",
        ] {
            assert_eq!(text.parse::<Tuner>().unwrap().to_string(), text);
        }
        for (text, full) in [
            ("cost", "cost:nu=0.9"),
            ("q-learning", "q-learning:nu=1,seed=0,alpha=0.2,gamma=0.8"),
            (
                "q-learning:seed=3,gamma=1",
                "q-learning:nu=1,seed=3,alpha=0.2,gamma=1",
            ),
            ("bourbon", "bourbon:wait=50ms,covers=table"),
            ("bourbon:covers=level", "bourbon:wait=50ms,covers=level"),
        ] {
            assert_eq!(text.parse::<Tuner>().unwrap().to_string(), full);
        }
        for text in [
            "",
            "on",
            "cost:",
            "cost:nu=",
            "cost:nu=2",
            "cost:nu=NaN",
            "cost:alpha=0.5",
            "q-learning:alpha=1.5",
            "q-learning:gamma=-0.1",
            "off:nu=1",
            "bourbon:wait=5",
            "bourbon:wait=-5ms",
            "bourbon:wait=1e12ms",
            "bourbon:nu=1",
            "bourbon:covers=store",
        ] {
            let error = text.parse::<Tuner>().unwrap_err().to_string();
            assert!(
                error.contains("off, cost, cost:nu=0.5, q-learning"),
                "{error}"
            );
        }
        assert!(Tuner::Cost { nu: -0.1 }.check().is_err());
    }
}
