//! Tries to break the promises of an index.
//!
//! [`check`] builds an index over given keys, opens it from its bytes, and compares what it
//! answers with the truth: for every key, for both neighbours of every key, for random absent
//! keys, and for keys at both ends of the key space. [`distributions`] makes the keys.
//!
//! ```
//! use rhumb_index::check::{Case, SplitMix64, check, distributions};
//!
//! let keys = distributions::by_name("lognormal").unwrap().keys(&mut SplitMix64::new(1), 1000);
//! let spec = "plr:boundary=16".parse()?;
//! let counts = check(&Case { keys: &keys, spec: &spec, cut_every: 16, map: None, random: 500 }, 1)
//!     .unwrap();
//! assert!(counts.lookups >= 3500 && counts.widest <= 16);
//! # Ok::<(), rhumb_index::IndexError>(())
//! ```

pub mod distributions;
pub mod fuzz;
mod random;
pub mod updatable;

pub use random::SplitMix64;
#[cfg(test)]
pub(crate) use random::from_env;

use crate::{Index, IndexError, IndexSpec, KeyMap, Position, Probe, registry};

/// What to check.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// Sorted distinct keys.
    pub keys: &'a [Vec<u8>],
    /// The index to build over them.
    pub spec: &'a IndexSpec,
    /// A block starts at every rank that this divides; at least 1.
    pub cut_every: usize,
    /// The map that numbers the keys; without one, the map of exactly these keys.
    pub map: Option<&'a KeyMap>,
    /// How many random absent keys to look up.
    pub random: usize,
}

impl<'a> Case<'a> {
    /// A case whose keys are numbered by the map of exactly these keys, without random look-ups.
    pub fn new(keys: &'a [Vec<u8>], spec: &'a IndexSpec, cut_every: usize) -> Self {
        Case {
            keys,
            spec,
            cut_every,
            map: None,
            random: 0,
        }
    }
}

/// What was looked up, and what it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All look-ups.
    pub lookups: u64,
    /// Look-ups of keys that are there.
    pub present: u64,
    /// The most ranks that a window held; 0 for kinds that answer with blocks.
    pub widest: u64,
    /// Footprint of the index.
    pub index_bytes: usize,
    /// Footprint of the key map; 0 for kinds that need no numbers.
    pub map_bytes: usize,
}

/// Why a check did not pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The index could not be built or opened. [`IndexError::Unfit`] is an honest answer where
    /// keys tie.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An answer breaks the contract.
    #[error("{spec} over {keys} keys, key {key:02x?}, true rank {rank}: {what}, got {got}")]
    Violation {
        /// The index.
        spec: String,
        /// How many keys it holds.
        keys: usize,
        /// The key that was looked up.
        key: Vec<u8>,
        /// Its rank, or its lower bound if it is absent.
        rank: u64,
        /// The promise that is broken.
        what: &'static str,
        /// The answer.
        got: String,
    },
}

/// Builds, opens and checks one index; the seed picks the random absent keys.
///
/// Costs a few look-ups a key; only random keys and some neighbours need a binary search.
///
/// # Errors
/// The first broken promise, or the error of building or opening.
pub fn check(case: &Case<'_>, seed: u64) -> Result<Counts, CheckError> {
    let own_map;
    let map = match case.map {
        Some(map) => map,
        None => {
            own_map = map_of(case.keys);
            &own_map
        }
    };
    let index = registry::open(build(case, map)?)?;
    let mut run = Run {
        case,
        map,
        index: index.as_ref(),
        counts: Counts::default(),
    };
    run.counts.index_bytes = index.size_in_bytes();
    run.counts.map_bytes = if index.needs_number() {
        map.size_in_bytes()
    } else {
        0
    };
    run.extent()?;
    run.present_and_neighbours()?;
    run.absent(&[])?;
    run.absent(&[0xff; 300])?;
    let mut random = SplitMix64::new(seed);
    for _ in 0..case.random {
        run.absent(&near_miss(&mut random, case.keys))?;
    }
    Ok(run.counts)
}

/// The map of exactly these keys.
pub fn map_of<K: AsRef<[u8]>>(keys: &[K]) -> KeyMap {
    keys.iter().collect()
}

/// Builds the byte form of the case's index.
///
/// # Errors
/// What the builder says.
pub fn build(case: &Case<'_>, map: &KeyMap) -> Result<Vec<u8>, IndexError> {
    let mut builder = registry::builder(case.spec)?;
    let mut before: &[u8] = &[];
    for (rank, key) in case.keys.iter().enumerate() {
        let number = if case.spec.kind().needs_number {
            map.number(key)
        } else {
            0
        };
        if rank > 0 && rank % case.cut_every.max(1) == 0 {
            builder.cut(before, key);
        }
        builder.push(key, number)?;
        before = key;
    }
    builder.finish()
}

/// A check under way.
struct Run<'a> {
    case: &'a Case<'a>,
    map: &'a KeyMap,
    index: &'a dyn Index,
    counts: Counts,
}

impl Run<'_> {
    fn extent(&self) -> Result<(), CheckError> {
        let keys = self.case.keys.len();
        let blocks = keys.div_ceil(self.case.cut_every.max(1)).max(1);
        let extent = self.index.extent();
        if extent != keys as u64 && extent != blocks as u64 {
            return Err(self.violation(&[], 0, "the extent is that of the keys", extent));
        }
        match self.case.spec.promised_window() {
            Some(boundary) if self.index.widest_window() > boundary => {
                let widest = self.index.widest_window();
                Err(self.violation(&[], 0, "no window exceeds the position boundary", widest))
            }
            _ => Ok(()),
        }
    }

    fn present_and_neighbours(&mut self) -> Result<(), CheckError> {
        let keys = self.case.keys;
        let mut predicted = 0;
        let mut probe = Vec::new();
        // Where mapped keys are retained, windows are narrower than the model's.
        let spec = self.case.spec;
        let model = match (spec.get("retained"), spec.promised_window()) {
            (Some(1), promised) => promised.unwrap_or(self.index.extent()),
            _ => 0,
        };
        let bound = self.index.widest_window().max(model);
        for (rank, key) in keys.iter().enumerate() {
            self.lookup(key, rank, true)?;
            let number = self.map.number(key);
            let prediction = self.index.predict(number).unwrap_or(predicted);
            if prediction < predicted || prediction > rank as u64 + bound {
                return Err(self.violation(key, rank, "predictions are monotone", prediction));
            }
            predicted = prediction;
            probe.clone_from(key);
            probe.push(0);
            let next = keys.get(rank + 1);
            self.lookup(&probe, rank + 1, next == Some(&probe))?;
            if step_back(&mut probe) {
                self.absent(&probe)?;
            }
        }
        Ok(())
    }

    /// Looks up a key that is probably absent, with the truth from a binary search.
    fn absent(&mut self, key: &[u8]) -> Result<(), CheckError> {
        let found = self
            .case
            .keys
            .binary_search_by(|known| known.as_slice().cmp(key));
        self.lookup(key, found.unwrap_or_else(|rank| rank), found.is_ok())
    }

    fn lookup(&mut self, key: &[u8], rank: usize, present: bool) -> Result<(), CheckError> {
        let needs_number = self.index.needs_number();
        let number = if needs_number {
            self.map.number(key)
        } else {
            0
        };
        self.counts.lookups += 1;
        self.counts.present += u64::from(present);
        let position = self.index.locate(Probe { key, number });
        let (what, holds) = match position {
            Position::Window(window) => {
                self.counts.widest = self.counts.widest.max(window.len());
                let rank = rank as u64;
                let inside =
                    window.lo <= rank && (rank < window.hi || !present && rank == window.hi);
                let bounded =
                    window.hi <= self.index.extent() && window.len() <= self.index.widest_window();
                (
                    "the window holds the rank and is as narrow as promised",
                    inside && bounded,
                )
            }
            Position::Block(block) => {
                let every = self.case.cut_every.max(1);
                let starts_next = rank as u64 == (block + 1) * every as u64;
                let ends = rank == self.case.keys.len() && block + 1 == self.index.extent();
                let inside = (rank / every) as u64 == block;
                let right = inside || !present && (starts_next || ends);
                (
                    "the block holds the rank",
                    right && block < self.index.extent(),
                )
            }
        };
        if holds {
            Ok(())
        } else {
            Err(self.violation(key, rank, what, format!("{position:?}")))
        }
    }

    fn violation(
        &self,
        key: &[u8],
        rank: usize,
        what: &'static str,
        got: impl ToString,
    ) -> CheckError {
        CheckError::Violation {
            spec: self.case.spec.to_string(),
            keys: self.case.keys.len(),
            key: key.to_vec(),
            rank: rank as u64,
            what,
            got: got.to_string(),
        }
    }
}

/// Turns a key followed by 0x00 into a string just below the key; there is none below the empty
/// key.
fn step_back(probe: &mut Vec<u8>) -> bool {
    probe.pop();
    match probe.pop() {
        // Without its last 0x00 it is the string directly below.
        Some(0) => true,
        Some(last) => {
            probe.extend([last - 1, 0xff, 0xff]);
            true
        }
        None => false,
    }
}

/// A string near to a stored one, or any string.
fn near_miss(random: &mut SplitMix64, keys: &[Vec<u8>]) -> Vec<u8> {
    let Some(key) = random.choose(keys).filter(|_| random.clone().below(4) > 0) else {
        let len = random.below(20) as usize;
        return random.bytes(len, 256);
    };
    let mut probe = key.clone();
    match random.below(4) {
        0 => probe.truncate(random.below(probe.len() as u64 + 1) as usize),
        1 => probe.push(random.next_u64() as u8),
        _ => {
            let at = random.below(probe.len() as u64) as usize;
            if let Some(byte) = probe.get_mut(at) {
                *byte = random.next_u64() as u8;
            }
        }
    }
    probe
}
