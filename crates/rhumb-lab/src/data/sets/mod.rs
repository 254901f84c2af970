//! The data sets by name, for experiments, `gen` and `list`.

mod list;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use self::list::SETS;
use self::list::{Entry, Kind, Source, YCSB_VALUE};
use super::numbers::distinct;
use super::{Arrivals, Input, Pairs, Random, Sizes, Strings};
use super::{decimal, git, paths, runs, sequence, sosd, texts, ycsb};
use crate::error::{Error, Result};

/// A data set: a name, followed by a colon and a file or directory if it is read from one, such as
/// `osm` or `sosd:fb_200M_uint64`.
#[derive(Debug, Clone)]
pub struct SetSpec {
    entry: &'static Entry,
    source: Option<PathBuf>,
}

impl FromStr for SetSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<SetSpec> {
        let (name, source) = match text.split_once(':') {
            Some((name, source)) => (name, Some(source).filter(|source| !source.is_empty())),
            None => (text, None),
        };
        let entry = SETS.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| {
            Error::Usage(format!("there is no set {name:?}: see `rhumb-lab list`"))
        })?;
        match (entry.source, source) {
            (Source::Nothing, Some(source)) => Err(Error::Usage(format!(
                "set {name} is not read from a file: leave out {source:?}"
            ))),
            (Source::Must(_), None) => Err(Error::Usage(format!(
                "set {name} is read from a file or directory: write {}",
                entry.usage()
            ))),
            (_, source) => Ok(SetSpec {
                entry,
                source: source.map(PathBuf::from),
            }),
        }
    }
}

impl fmt::Display for SetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        match &self.source {
            Some(source) => write!(f, ":{}", source.display()),
            None => Ok(()),
        }
    }
}

impl SetSpec {
    /// The published sizes of values; 8 bytes if the set has no values of its own.
    pub fn value_sizes(&self) -> Sizes {
        match self.entry.kind {
            Kind::YcsbUniform | Kind::YcsbZipf(_) | Kind::YcsbGaps(_) => YCSB_VALUE,
            Kind::Digits(entry) => entry.values,
            _ => Sizes::Fixed(8),
        }
    }

    /// Whether its integers are 0, 1, 2 and so on, of which there can be any number.
    pub fn is_counting(&self) -> bool {
        self.entry.kind == Kind::Counting
    }

    /// `count` ascending distinct integers, at most 2^32, the same for the same seed. A set that is
    /// read from a file gives at most `count`, as contiguous runs of 1,000 spread evenly over the
    /// file.
    ///
    /// # Errors
    /// If this set has no integers, cannot be read, or has fewer than two.
    pub fn numbers(&self, count: usize, seed: u64) -> Result<Vec<u64>> {
        let all = match self.entry.kind {
            Kind::Numbers(set) => set.make(count, seed),
            Kind::LookAlike(set) => set.make(count, seed),
            Kind::Counting => (0..count as u64).collect(),
            Kind::Uni => {
                let mut random = Random::new(seed, 0x1e16);
                distinct(count, || random.below(10_000_000_000_000_000))
            }
            Kind::GitOffsets => git::offsets(self.path()?)?,
            Kind::GitTimes => ascending(self.commit_times()?),
            Kind::Arrivals => ascending(sequence::numbers(self.path()?)?),
            Kind::Sosd => sosd::numbers(self.path()?)?,
            _ => {
                return Err(Error::Usage(format!(
                    "set {self} has no integers: choose a set of integers, see `rhumb-lab list`"
                )));
            }
        };
        let kept = if count < all.len() {
            let runs = runs(all.len(), count).into_iter();
            runs.flat_map(|run| &all[run]).copied().collect()
        } else {
            all
        };
        self.enough(kept.len())?;
        Ok(kept)
    }

    /// The set with values of the given sizes, or of its own sizes if none are given. `hold_out`
    /// more keys are made (or read), as absent keys; [`SetSpec::numbers`] describes `count`.
    ///
    /// # Errors
    /// If the set cannot be read, or has fewer than two keys.
    pub fn input(
        &self,
        count: usize,
        sizes: Option<Sizes>,
        hold_out: usize,
        seed: u64,
    ) -> Result<Input> {
        let (name, all) = (self.to_string(), count + hold_out);
        if let (Kind::Paths, None) = (self.entry.kind, sizes) {
            let pairs = self.paths()?;
            let pairs = pairs.pick(&runs(pairs.len(), all));
            self.enough(pairs.len())?;
            return Ok(Input::with_own_values(&name, &pairs, hold_out, seed));
        }
        let sizes = sizes.unwrap_or_else(|| self.value_sizes());
        let Arrivals { keys, order } = self.arrivals(all, seed)?;
        let input = Input::with_random_values(&name, &keys, sizes, hold_out, seed);
        Ok(match order {
            Some(order) => input.arriving(&order),
            None => input,
        })
    }

    fn arrivals(&self, count: usize, seed: u64) -> Result<Arrivals> {
        let all: Arrivals = match self.entry.kind {
            Kind::YcsbUniform => decimal::keys(count, seed).into(),
            Kind::YcsbZipf(theta) => ycsb::updates(theta, count, seed),
            Kind::YcsbGaps(theta) => ycsb::gaps(theta, count, seed).into(),
            Kind::Digits(entry) => decimal::of_lengths(entry.keys, count, seed).into(),
            Kind::Paths => self.paths()?.keys.into(),
            Kind::Words => self.words()?.into(),
            Kind::GitTimes => Arrivals::new(&self.commit_times()?, Strings::of_numbers),
            Kind::Arrivals => Arrivals::new(&sequence::numbers(self.path()?)?, Strings::of_numbers),
            _ => Strings::of_numbers(self.numbers(count, seed)?).into(),
        };
        let some = all.at_most(count);
        self.enough(some.keys.len())?;
        Ok(some)
    }

    fn commit_times(&self) -> Result<Vec<u64>> {
        match &self.source {
            Some(repository) => git::times(repository),
            None => git::sample_times(),
        }
    }

    fn paths(&self) -> Result<Pairs> {
        match &self.source {
            Some(path) => paths::file(path),
            None => paths::slice(),
        }
    }

    fn words(&self) -> Result<Strings> {
        if let Some(path) = &self.source {
            return texts::word_list(path);
        }
        let found = texts::dictionary().map(|(words, _)| words);
        found.ok_or_else(|| {
            let why = "there is no word list in /usr/share/dict: install one (on Debian: wamerican), or \
                       name a file with one word on each line, as words:FILE";
            Error::Usage(why.to_string())
        })
    }

    /// The file or directory; parsing refused sets that need one and have none.
    fn path(&self) -> Result<&Path> {
        let missing = || Error::Usage(format!("write {}", self.entry.usage()));
        self.source.as_deref().ok_or_else(missing)
    }

    fn enough(&self, keys: usize) -> Result<()> {
        if keys < 2 {
            return Err(Error::Usage(format!(
                "set {self} gives {keys} distinct keys, but at least two are needed: ask for more or choose another"
            )));
        }
        Ok(())
    }
}

fn ascending(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
