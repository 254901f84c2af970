//! Builds, look-ups and the yardstick. Each is timed alone, and each answer is compared with the
//! correct one.
//!
//! Times are CPU time of the thread. Probes are drawn beforehand, and look-ups are independent of
//! each other, so the processor may overlap them.

use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Duration;

use rhumb_index::check::SplitMix64;
use rhumb_index::registry::Answers;
use rhumb_index::search::lower_bound_u64;
use rhumb_index::{Index, IndexError, Position, Probe, Window, registry};

use super::candidate::{Candidate, Parameter};
use crate::error::{Error, Result};
use crate::measure::thread_cpu_time;

/// Keys to look up, each with its rank, or if it is absent with the rank of the first key above it.
#[derive(Debug)]
pub struct Probes {
    pub keys: Vec<u64>,
    pub ranks: Vec<u32>,
}

impl Probes {
    /// Random present keys.
    pub fn present(keys: &[u64], count: usize, random: &mut SplitMix64) -> Probes {
        let rank = |_| random.below(keys.len() as u64) as u32;
        let ranks: Vec<u32> = (0..count).map(rank).collect();
        let keys = ranks.iter().map(|rank| keys[*rank as usize]).collect();
        Probes { keys, ranks }
    }

    /// Random absent keys, each between random neighbours with a gap. If there are hardly any gaps,
    /// there are fewer absent keys, but at least one, which is above or below all keys.
    pub fn absent(keys: &[u64], count: usize, random: &mut SplitMix64) -> Probes {
        const PATIENCE: usize = 100;
        let (mut absent, mut ranks) = (Vec::new(), Vec::new());
        for _ in 0..count * PATIENCE {
            let rank = random.below(keys.len() as u64 - 1) as usize;
            let room = keys[rank + 1] - keys[rank] - 1;
            if room > 0 {
                absent.push(keys[rank] + 1 + random.below(room));
                ranks.push(rank as u32 + 1);
            }
            if ranks.len() == count {
                break;
            }
        }
        if ranks.is_empty() {
            let above = keys.last().and_then(|last| last.checked_add(1));
            absent.push(above.unwrap_or_else(|| keys[0] - 1));
            ranks.push(above.map_or(0, |_| keys.len() as u32));
        }
        Probes {
            keys: absent,
            ranks,
        }
    }

    /// Nanoseconds a look-up, in the second of two rounds.
    ///
    /// # Errors
    /// The first wrong answer.
    pub fn time(&self, name: &str, find: impl Fn(u64) -> usize) -> Result<f64> {
        let (found, took) = second_round(&self.keys, |key| find(*key));
        for ((key, rank), found) in self.keys.iter().zip(&self.ranks).zip(found) {
            if found != *rank as usize {
                let told = [u64::from(*rank), found as u64].map(|rank| format!("rank {rank}"));
                return Err(wrong(name, "look up", key, told));
            }
        }
        Ok(took)
    }
}

/// Answers to look-ups, and nanoseconds a look-up, in the second of two rounds.
///
/// The answers are stored, to be compared with the correct ones afterwards. (A sum in a register
/// would be pushed and popped by every call, and the processor would treat the next look-up as
/// dependent on the answer of this one.)
pub fn second_round<P, A: Clone + Default>(probes: &[P], find: impl Fn(&P) -> A) -> (Vec<A>, f64) {
    let mut found = vec![A::default(); probes.len()];
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        let start = thread_cpu_time();
        for (answer, probe) in found.iter_mut().zip(probes) {
            *answer = find(probe);
        }
        took = thread_cpu_time().saturating_sub(start);
    }
    let each = took.as_nanos() as f64 / probes.len().max(1) as f64;
    (found, each)
}

/// The error for a wrong answer.
pub fn wrong(
    name: &str,
    operation: &'static str,
    key: &impl std::fmt::Debug,
    [expected, found]: [String; 2],
) -> Error {
    Error::WrongAnswer {
        store: name.to_string(),
        operation,
        key: format!("{key:?}"),
        expected,
        found,
    }
}

/// The window that an index gives for a probe in a table of `keys` keys. A block of `block` keys,
/// as fence pointers give it, becomes a window.
pub fn window(index: &dyn Index, probe: Probe<'_>, keys: usize, block: u64) -> Window {
    match index.locate(probe) {
        Position::Window(window) => window,
        Position::Block(number) | Position::Slot { block: number, .. } => Window {
            lo: number * block,
            hi: ((number + 1) * block).min(keys as u64),
        },
    }
}

/// The yardstick, equivalent to `std::lower_bound`: a binary search with branches over all keys.
/// The processor predicts the branches and so reads ahead while it waits for memory.
///
/// Over 10M uniform keys it took 280 to 287 ns, and `std::lower_bound` by `g++ -O3 -march=native`
/// 282 to 290 ns, on one machine of 2 cores (AMD EPYC); over `osm` 295 to 309 and 268 to 281 ns.
/// Without the branch it took 375 to 450 ns.
pub fn lower_bound(keys: &[u64], key: u64) -> usize {
    let (mut first, mut len) = (0, keys.len());
    while len > 0 {
        let half = len / 2;
        if keys[first + half] < key {
            // Has no cost, and prevents the compiler from replacing the branch by a conditional
            // move.
            compiler_fence(Ordering::SeqCst);
            first += half + 1;
            len -= half + 1;
        } else {
            len = half;
        }
    }
    first
}

/// An index over its keys.
#[derive(Debug)]
pub struct Built<'a> {
    pub index: Box<dyn Index>,
    keys: &'a [u64],
    /// Whether a number alone leads to a window.
    by_window: bool,
    /// Keys in a block, if the index answers with blocks.
    block: u64,
}

impl<'a> Built<'a> {
    /// Builds the byte form and opens it.
    ///
    /// # Errors
    /// Any error of the builder.
    pub fn new(candidate: &Candidate, keys: &'a [u64]) -> Result<Built<'a>, IndexError> {
        let mut builder = registry::builder(&candidate.spec)?;
        let block = match candidate.parameter {
            Parameter::Block(block) => block,
            _ => keys.len(),
        };
        let mut before: Option<u64> = None;
        for keys in keys.chunks(block.max(1)) {
            if let (Some(before), Some(first)) = (before, keys.first()) {
                builder.cut(&before.to_be_bytes(), &first.to_be_bytes());
            }
            builder.push_numbers(keys)?;
            before = keys.last().copied();
        }
        Ok(Built {
            index: registry::open(builder.finish()?)?,
            keys,
            by_window: candidate.spec.kind().needs_number
                && candidate.spec.answers() != Answers::Slots,
            block: block as u64,
        })
    }

    /// The rank of a key, or that of the first key above it.
    pub fn find(&self, key: u64) -> usize {
        let window = match self.by_window {
            true => self.index.window(key),
            false => {
                let probe = Probe {
                    key: &key.to_be_bytes(),
                    number: key,
                };
                window(&*self.index, probe, self.keys.len(), self.block)
            }
        };
        lower_bound_u64(self.keys, window, key)
    }
}

/// The times of one run, in nanoseconds a key or a look-up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// From the first key to an opened index.
    pub build: f64,
    /// Look-ups of present keys.
    pub look_up: f64,
    /// Look-ups of absent keys.
    pub absent: f64,
    /// The yardstick over the same probes, right before each.
    pub yardstick: [f64; 2],
}

/// Builds once, and times both kinds of look-ups, each right after the yardstick. Also returns the
/// bytes of the index. `None` if the kind cannot serve these keys.
///
/// # Errors
/// Wrong answers, and errors of the builder other than [`IndexError::Unfit`].
pub fn once(
    candidate: &Candidate,
    keys: &[u64],
    [present, absent]: [&Probes; 2],
) -> Result<Option<(usize, Times)>> {
    let name = candidate.to_string();
    let start = thread_cpu_time();
    let built = match Built::new(candidate, keys) {
        Ok(built) => built,
        Err(IndexError::Unfit { .. }) => return Ok(None),
        Err(error) => return Err(Error::index(&name, error)),
    };
    let build = thread_cpu_time().saturating_sub(start);
    let mut times = Times {
        build: build.as_nanos() as f64 / keys.len() as f64,
        ..Times::default()
    };
    let yardstick = |probes: &Probes| probes.time("binary search", |key| lower_bound(keys, key));
    let find = |key| built.find(key);
    times.yardstick[0] = yardstick(present)?;
    times.look_up = present.time(&name, find)?;
    times.yardstick[1] = yardstick(absent)?;
    times.absent = absent.time(&name, find)?;
    Ok(Some((built.index.size_in_bytes(), times)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_have_the_correct_ranks() {
        let keys: Vec<u64> = (0..1_000u64).map(|rank| rank * rank + 5).collect();
        let mut random = SplitMix64::new(4);
        let present = Probes::present(&keys, 500, &mut random);
        let absent = Probes::absent(&keys, 500, &mut random);
        for probes in [&present, &absent] {
            assert_eq!(probes.keys.len(), 500);
            let took = probes.time("search", |key| lower_bound(&keys, key));
            assert!(took.unwrap() > 0.0);
            let off = |key| lower_bound(&keys, key) + usize::from(key > 900_000);
            let error = probes.time("search", off).unwrap_err().to_string();
            assert!(error.contains("WRONG ANSWER by search"), "{error}");
        }
        let there = |key: &u64| keys.binary_search(key).is_ok();
        assert!(present.keys.iter().all(there) && !absent.keys.iter().any(there));
    }

    #[test]
    fn consecutive_keys_have_an_absent_one() {
        let random = &mut SplitMix64::new(4);
        for (keys, expected) in [
            ((5..50).collect::<Vec<u64>>(), (50, 45)),
            ((u64::MAX - 9..=u64::MAX).collect(), (u64::MAX - 10, 0)),
        ] {
            let absent = Probes::absent(&keys, 10, random);
            assert_eq!((absent.keys[0], absent.ranks[0]), expected);
        }
    }

    #[test]
    fn every_candidate_answers_correctly() {
        let keys: Vec<u64> = (0..3_000u64).map(|rank| rank * rank * 7).collect();
        let random = &mut SplitMix64::new(4);
        let present = Probes::present(&keys, 300, random);
        let absent = Probes::absent(&keys, 300, random);
        for candidate in Candidate::all() {
            let once = once(&candidate, &keys, [&present, &absent]).unwrap();
            let (bytes, times) = once.unwrap();
            assert!(
                bytes > 0 && times.build > 0.0 && times.look_up > 0.0,
                "{candidate}"
            );
        }
    }
}
