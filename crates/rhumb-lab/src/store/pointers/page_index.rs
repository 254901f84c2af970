//! The static index of a sorted run: which pages may hold a key.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rhumb_index::{Index, IndexBuilder, IndexError, IndexSpec, KeyMap, Window, registry};

use super::leco::Compressed;
use crate::error::{Error, Result};

/// How the pages of a key are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// By a PGM-index whose windows are at most as wide as a page, so that they touch two pages at most.
    Pgm,
    /// By binary search among the compressed first keys of pages.
    Leco,
}

/// An index of pages under construction. Keys are numbered by a key map, as indexes of rhumb do it.
pub struct PageIndexBuilder {
    map: KeyMap,
    /// Pairs in a page.
    per_page: u64,
    pairs: u64,
    learner: Learner,
}

enum Learner {
    /// In a lock that is never taken: builders cannot be shared by threads, and what holds one is.
    Pgm(Mutex<Box<dyn IndexBuilder>>),
    /// The numbers of the first keys of pages.
    Leco(Vec<u64>),
}

/// An index of pages.
#[derive(Debug)]
pub struct PageIndex {
    map: KeyMap,
    per_page: u64,
    finder: Finder,
}

#[derive(Debug)]
enum Finder {
    Pgm(Box<dyn Index>),
    Leco(Compressed),
}

/// What the kinds of `rhumb-index` allow as the width of a window.
const WINDOWS: std::ops::RangeInclusive<u64> = 4..=1_024;

impl PageIndexBuilder {
    /// For keys that the map was made of, among others perhaps.
    ///
    /// # Errors
    /// None that is known.
    pub fn new(form: Form, map: KeyMap, per_page: u64) -> Result<PageIndexBuilder> {
        let learner = match form {
            Form::Leco => Learner::Leco(Vec::new()),
            Form::Pgm => {
                let width = per_page.clamp(*WINDOWS.start(), *WINDOWS.end());
                let spec: IndexSpec = format!("pgm:boundary={width}").parse().map_err(unfit)?;
                let mut builder = registry::builder(&spec).map_err(unfit)?;
                builder.trust_order();
                Learner::Pgm(Mutex::new(builder))
            }
        };
        Ok(PageIndexBuilder {
            map,
            per_page,
            pairs: 0,
            learner,
        })
    }

    /// Adds the next key of the run.
    ///
    /// # Errors
    /// If a PGM-index cannot have it.
    pub fn push(&mut self, key: &[u8]) -> Result<()> {
        let is_first = self.pairs.is_multiple_of(self.per_page);
        self.pairs += 1;
        match &mut self.learner {
            Learner::Pgm(builder) => {
                let builder = builder.get_mut().unwrap_or_else(PoisonError::into_inner);
                builder.push(key, self.map.number(key)).map_err(unfit)
            }
            Learner::Leco(firsts) => {
                if is_first {
                    firsts.push(self.map.number(key));
                }
                Ok(())
            }
        }
    }

    /// The index.
    ///
    /// # Errors
    /// If too many keys share a number for a PGM-index.
    pub fn finish(self) -> Result<PageIndex> {
        let finder = match self.learner {
            Learner::Leco(firsts) => Finder::Leco(Compressed::new(&firsts)),
            Learner::Pgm(builder) => {
                let builder = builder.into_inner().unwrap_or_else(PoisonError::into_inner);
                let bytes = builder.finish().map_err(unfit)?;
                Finder::Pgm(registry::open(bytes).map_err(unfit)?)
            }
        };
        Ok(PageIndex {
            map: self.map,
            per_page: self.per_page,
            finder,
        })
    }
}

impl PageIndex {
    /// The pages that may hold a key. If it is absent, the first key above it is in them, or the first behind them.
    pub fn of(&self, key: &[u8]) -> Range<u64> {
        let number = self.map.number(key);
        match &self.finder {
            Finder::Pgm(index) => {
                let Window { lo, hi } = index.window(number);
                lo / self.per_page..hi.div_ceil(self.per_page)
            }
            Finder::Leco(firsts) => {
                let end = firsts.partition_point(|first| first <= number);
                // Keys of 8 bytes are their numbers. Others may share one, and begin a page before.
                let start = match self.map.kind() == "identity" {
                    true => end,
                    false => firsts.partition_point(|first| first < number),
                };
                start.saturating_sub(1) as u64..end as u64
            }
        }
    }

    /// Bytes of memory.
    pub fn size_in_bytes(&self) -> u64 {
        let finder = match &self.finder {
            Finder::Pgm(index) => index.size_in_bytes(),
            Finder::Leco(firsts) => firsts.size_in_bytes(),
        };
        (finder + self.map.size_in_bytes()) as u64
    }
}

/// The error of an index that cannot serve the keys.
fn unfit(error: IndexError) -> Error {
    Error::Usage(format!(
        "hybrid-pgm cannot hold these keys: {error}; take hybrid-leco or btree-disk for them"
    ))
}
