//! Checks that an index keeps the contract of [`Index`].
//!
//! [`check`] builds an index over given keys, opens it from its bytes, and compares its answers
//! with the correct ones: for every key, for both neighbours of every key, for random absent keys,
//! and for keys at both ends of the key space. [`distributions`] makes the keys.
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
//!
//! [`check_own`] does the same for an index from outside this crate, given as a closure:
//!
//! ```
//! use rhumb_index::check::{Own, SplitMix64, check_own, distributions};
//! use rhumb_index::{Position, Window};
//!
//! let keys = distributions::by_name("uuid").unwrap().keys(&mut SplitMix64::new(1), 1000);
//! // An index with the first of every 16 keys.
//! let fences: Vec<_> = keys.iter().step_by(16).collect();
//! let locate = |key: &[u8]| {
//!     let block = fences.partition_point(|fence| fence.as_slice() <= key).saturating_sub(1);
//!     let lo = 16 * block as u64;
//!     Position::Window(Window { lo, hi: (lo + 16).min(1000) })
//! };
//! let own = Own { name: "every 16th key", keys: &keys, cut_every: 16, widest: 16, random: 500 };
//! assert!(check_own(&own, 1, locate).unwrap().lookups >= 3500);
//! ```

pub mod distributions;
pub mod fuzz;

pub mod updatable;

pub use crate::random::SplitMix64;
#[cfg(test)]
pub(crate) use crate::random::from_env;

use crate::{Index, IndexError, IndexSpec, KeyMap, Position, Probe, Window, registry};

/// What to check: keys, index and look-ups.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// Sorted distinct keys.
    pub keys: &'a [Vec<u8>],
    /// The index to build over them.
    pub spec: &'a IndexSpec,
    /// Blocks start at every multiple of this rank; at least 1.
    pub cut_every: usize,
    /// The map that numbers the keys; `None` for the map of exactly these keys.
    pub map: Option<&'a KeyMap>,
    /// How many random absent keys to look up.
    pub random: usize,
}

impl<'a> Case<'a> {
    /// A case that uses the map of exactly these keys and makes no random look-ups.
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

/// The number of look-ups, and the sizes they met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All look-ups.
    pub lookups: u64,
    /// Look-ups of present keys.
    pub present: u64,
    /// The most ranks that a window held; 0 for kinds that answer with blocks or slots.
    pub widest: u64,
    /// Bytes of the index.
    pub index_bytes: usize,
    /// Bytes of the key map; 0 for kinds that need no numbers.
    pub map_bytes: usize,
}

/// Why a check failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The index could not be built or opened. [`IndexError::Unfit`] is a permitted result if many
    /// keys share numbers.
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
        /// The part of the contract that is violated.
        what: &'static str,
        /// The answer.
        got: String,
    },
}

/// An index of any implementation, to be checked by [`check_own`].
#[derive(Debug, Clone, Copy)]
pub struct Own<'a> {
    /// Its name in errors.
    pub name: &'a str,
    /// The sorted distinct keys it was built with.
    pub keys: &'a [Vec<u8>],
    /// For an index that answers with blocks: blocks start at every multiple of this rank; at least
    /// 1.
    pub cut_every: usize,
    /// For an index that answers with windows: the most ranks that a window may hold.
    pub widest: u64,
    /// How many random absent keys to look up.
    pub random: usize,
}

/// Checks the answers of an index given as a closure from a key to its [`Position`]: of all keys,
/// of both neighbours of each, of strings below and above all, and of random ones.
///
/// Answers are compared with the contract of [`Index`]. Further properties of registered kinds,
/// such as monotone predictions, are checked only by [`check`].
///
/// # Errors
/// [`CheckError::Violation`] for the first violation, [`IndexError::Unsorted`] if the keys do not
/// ascend.
pub fn check_own(
    own: &Own<'_>,
    seed: u64,
    mut locate: impl FnMut(&[u8]) -> Position,
) -> Result<Counts, CheckError> {
    let mut pairs = own.keys.iter().zip(own.keys.iter().skip(1));
    if let Some(at) = pairs.position(|(key, next)| key >= next) {
        return Err(IndexError::Unsorted {
            rank: at as u64 + 1,
        }
        .into());
    }
    let mut run = Run {
        own: *own,
        locate: &mut locate,
        counts: Counts::default(),
    };
    run.all(seed)?;
    Ok(run.counts)
}

/// Builds, opens and checks an index; the seed determines the random absent keys.
///
/// Takes a few look-ups for each key; only random keys and some neighbours need a binary search.
///
/// # Errors
/// The first violation, or the error of building or opening.
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
    let name = case.spec.to_string();
    let own = Own {
        name: &name,
        keys: case.keys,
        cut_every: case.cut_every,
        widest: index.widest_window(),
        random: case.random,
    };
    let needs_number = index.needs_number();
    let number = |key: &[u8]| if needs_number { map.number(key) } else { 0 };
    let mut locate = |key: &[u8]| {
        let number = number(key);
        let probe = Probe { key, number };
        (0..2).for_each(|step| index.prefetch(probe, step));
        index.locate(probe)
    };
    let mut run = Run {
        own,
        locate: &mut locate,
        counts: Counts::default(),
    };
    run.extent(index.extent())?;
    run.promised(case.spec.promised_window())?;
    run.predictions(case.spec, &*index, map)?;
    run.all(seed)?;
    run.counts.index_bytes = index.size_in_bytes();
    run.counts.map_bytes = if needs_number { map.size_in_bytes() } else { 0 };
    Ok(run.counts)
}

/// The map of exactly these keys.
pub fn map_of<K: AsRef<[u8]>>(keys: &[K]) -> KeyMap {
    keys.iter().collect()
}

/// Builds the byte form of the case's index.
///
/// # Errors
/// The error of the builder.
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

/// A check in progress.
struct Run<'a> {
    own: Own<'a>,
    locate: &'a mut dyn FnMut(&[u8]) -> Position,
    counts: Counts,
}

impl Run<'_> {
    fn blocks(&self) -> u64 {
        let blocks = self.own.keys.len().div_ceil(self.own.cut_every.max(1));
        blocks.max(1) as u64
    }

    fn extent(&self, extent: u64) -> Result<(), CheckError> {
        if extent != self.own.keys.len() as u64 && extent != self.blocks() {
            return Err(self.violation(&[], 0, "the extent is that of the keys", extent));
        }
        Ok(())
    }

    fn promised(&self, boundary: Option<u64>) -> Result<(), CheckError> {
        let widest = self.own.widest;
        match boundary {
            Some(boundary) if widest > boundary => {
                Err(self.violation(&[], 0, "no window exceeds the position boundary", widest))
            }
            _ => Ok(()),
        }
    }

    fn predictions(
        &self,
        spec: &IndexSpec,
        index: &dyn Index,
        map: &KeyMap,
    ) -> Result<(), CheckError> {
        // If mapped keys are retained, windows are narrower than the model's.
        let model = match (spec.get("retained"), spec.promised_window()) {
            (Some(1), promised) => promised.unwrap_or(index.extent()),
            _ => 0,
        };
        let bound = index.widest_window().max(model);
        let mut predicted = 0;
        for (rank, key) in self.own.keys.iter().enumerate() {
            let prediction = index.predict(map.number(key)).unwrap_or(predicted);
            if prediction < predicted || prediction > rank as u64 + bound {
                return Err(self.violation(key, rank, "predictions are monotone", prediction));
            }
            predicted = prediction;
        }
        Ok(())
    }

    fn all(&mut self, seed: u64) -> Result<(), CheckError> {
        self.present_and_neighbours()?;
        self.absent(&[])?;
        self.absent(&[0xff; 300])?;
        let mut random = SplitMix64::new(seed);
        for _ in 0..self.own.random {
            self.absent(&near_miss(&mut random, self.own.keys))?;
        }
        Ok(())
    }

    fn present_and_neighbours(&mut self) -> Result<(), CheckError> {
        let keys = self.own.keys;
        let mut probe = Vec::new();
        for (rank, key) in keys.iter().enumerate() {
            self.lookup(key, rank, true)?;
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

    /// Looks up a key that is probably absent; a binary search gives its correct rank.
    fn absent(&mut self, key: &[u8]) -> Result<(), CheckError> {
        let found = self
            .own
            .keys
            .binary_search_by(|known| known.as_slice().cmp(key));
        self.lookup(key, found.unwrap_or_else(|rank| rank), found.is_ok())
    }

    fn lookup(&mut self, key: &[u8], rank: usize, present: bool) -> Result<(), CheckError> {
        self.counts.lookups += 1;
        self.counts.present += u64::from(present);
        let position = (self.locate)(key);
        let (what, holds) = match position {
            Position::Window(window) => {
                self.counts.widest = self.counts.widest.max(window.len());
                (
                    "the window holds the rank and is as narrow as promised",
                    self.is_window_right(window, rank as u64, present),
                )
            }
            Position::Block(block) => (
                "the block holds the rank",
                self.is_block_right(block, rank, present),
            ),
            Position::Slot { block, slot } => (
                "the block holds the rank, and the slot is one of its own",
                self.is_block_right(block, rank, present) && self.is_slot(block, slot),
            ),
        };
        if holds {
            Ok(())
        } else {
            Err(self.violation(key, rank, what, format!("{position:?}")))
        }
    }

    fn is_window_right(&self, window: Window, rank: u64, present: bool) -> bool {
        let inside = window.lo <= rank && (rank < window.hi || !present && rank == window.hi);
        inside && window.hi <= self.own.keys.len() as u64 && window.len() <= self.own.widest
    }

    fn is_block_right(&self, block: u64, rank: usize, present: bool) -> bool {
        let every = self.own.cut_every.max(1);
        if block >= self.blocks() {
            return false;
        }
        let starts_next = rank as u64 == (block + 1) * every as u64;
        let ends = rank == self.own.keys.len() && block + 1 == self.blocks();
        let inside = (rank / every) as u64 == block;
        inside || !present && (starts_next || ends)
    }

    fn is_slot(&self, block: u64, slot: u64) -> bool {
        let every = self.own.cut_every.max(1) as u64;
        let rank = block.saturating_mul(every).saturating_add(slot);
        slot < every && (rank as usize) < self.own.keys.len().max(1)
    }

    fn violation(
        &self,
        key: &[u8],
        rank: usize,
        what: &'static str,
        got: impl ToString,
    ) -> CheckError {
        CheckError::Violation {
            spec: self.own.name.to_string(),
            keys: self.own.keys.len(),
            key: key.to_vec(),
            rank: rank as u64,
            what,
            got: got.to_string(),
        }
    }
}

/// Turns a key followed by 0x00 into a string just below the key. Returns false for the empty key,
/// which has none below it.
fn step_back(probe: &mut Vec<u8>) -> bool {
    probe.pop();
    match probe.pop() {
        // Without its last 0x00 the key is the string directly below.
        Some(0) => true,
        Some(last) => {
            probe.extend([last - 1, 0xff, 0xff]);
            true
        }
        None => false,
    }
}

/// A string near a stored one, or any string.
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
