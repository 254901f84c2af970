//! Measures one updatable kind in memory: loads, look-ups, scans and inserts. Each is timed alone,
//! and each answer is compared with the correct one.
//!
//! Times are CPU time of the thread. Look-ups are independent of each other.

use std::ops::ControlFlow;

use rhumb_index::IndexError;
use rhumb_index::check::SplitMix64;
use rhumb_index::updatable::{Depth, Key, Updatable};

use crate::error::{Error, Result};
use crate::measure::thread_cpu_time;
use crate::run::indexes::measure::{second_round, wrong};

/// Entries of a scan.
pub const WALK: usize = 100;
/// Look-ups for each scan.
const LOOK_UPS_A_WALK: usize = 30;
/// Represents no value; every rank is smaller.
const NOTHING: u64 = u64::MAX;

/// Sorted keys, whose values are their ranks, and the look-ups and inserts to run.
#[derive(Debug)]
pub struct Data<K: Key + ?Sized> {
    pub keys: Vec<K::Owned>,
    /// Present keys to look up, with their ranks.
    present: Vec<(K::Owned, u64)>,
    /// Absent keys to look up, each with the rank of the first key above it.
    absent: Vec<(K::Owned, u64)>,
    /// Every other rank, from 1 on, in random order, for inserts.
    arrivals: Vec<u32>,
}

impl<K: Key + ?Sized> Data<K> {
    /// Draws as many present keys to look up as there are absent ones, and the order of the
    /// inserts.
    pub fn new(keys: Vec<K::Owned>, absent: Vec<(K::Owned, u64)>, random: &mut SplitMix64) -> Self {
        let present = absent.iter().map(|_| {
            let rank = random.below(keys.len() as u64);
            (keys[rank as usize].clone(), rank)
        });
        let present = present.collect();
        let mut arrivals: Vec<u32> = (1..keys.len() as u32).step_by(2).collect();
        for i in (1..arrivals.len()).rev() {
            arrivals.swap(i, random.below(i as u64 + 1) as usize);
        }
        Data {
            keys,
            present,
            absent,
            arrivals,
        }
    }

    /// The entries with these ranks.
    fn entries(&self, ranks: impl Iterator<Item = usize>) -> Vec<(K::Owned, u64)> {
        ranks
            .map(|rank| (self.keys[rank].clone(), rank as u64))
            .collect()
    }
}

/// The times of one run, in nanoseconds a key, a look-up or a scan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub load: f64,
    pub look_up: f64,
    pub absent: f64,
    /// A binary search over the sorted keys, for the present and the absent keys, right before
    /// each.
    pub yardstick: [f64; 2],
    /// A scan of [`WALK`] entries from a present key on.
    pub walk: f64,
    /// Inserts in random order, and inserts in ascending order above all other keys.
    pub insert: [f64; 2],
}

/// Size and depth of an index.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shape {
    pub bytes: usize,
    pub depth: Depth,
    /// Bytes after the inserts in random order, and after the inserts in ascending order.
    pub after: [usize; 2],
}

/// Makes an empty index.
pub type Make<'a, K> = &'a dyn Fn() -> std::result::Result<Box<dyn Updatable<K>>, IndexError>;

/// Loads an index, looks up and scans in it, and inserts into two more indexes.
///
/// # Errors
/// Wrong answers, and errors of the index.
pub fn once<K: Key + ?Sized>(
    name: &str,
    make: Make<'_, K>,
    data: &Data<K>,
    yardstick: &dyn Fn(&K) -> usize,
) -> Result<(Shape, Times)> {
    let all = 0..data.keys.len();
    let (index, load) = loaded(name, make, data.entries(all.clone()))?;
    let mut times = Times {
        load,
        ..Times::default()
    };
    let mut shape = Shape {
        bytes: index.size_in_bytes(),
        depth: index.depth(),
        after: [0; 2],
    };
    let search = |key: &K| yardstick(key) as u64;
    let get = |key: &K| index.get(key).unwrap_or(NOTHING);
    times.yardstick[0] = time("binary search", &data.present, |rank| rank, search)?;
    times.look_up = time(name, &data.present, |rank| rank, get)?;
    times.yardstick[1] = time("binary search", &data.absent, |rank| rank, search)?;
    times.absent = time(name, &data.absent, |_| NOTHING, get)?;
    times.walk = walks(name, &*index, data)?;
    drop(index);
    let evens = data.entries(all.clone().step_by(2));
    let arrivals = data.arrivals.iter().map(|rank| *rank as usize);
    (shape.after[0], times.insert[0]) = inserts(name, make, data, evens, arrivals)?;
    let half = data.keys.len() / 2;
    let lower = data.entries(0..half);
    (shape.after[1], times.insert[1]) = inserts(name, make, data, lower, half..all.end)?;
    Ok((shape, times))
}

/// An index loaded with these entries, and nanoseconds a key to load it.
fn loaded<K: Key + ?Sized>(
    name: &str,
    make: Make<'_, K>,
    entries: Vec<(K::Owned, u64)>,
) -> Result<(Box<dyn Updatable<K>>, f64)> {
    let mut index = make().map_err(|error| Error::index(&name, error))?;
    let start = thread_cpu_time();
    let loaded = index.bulk_load(&entries);
    let took = thread_cpu_time().saturating_sub(start);
    loaded.map_err(|error| Error::index(&name, error))?;
    Ok((index, took.as_nanos() as f64 / entries.len().max(1) as f64))
}

/// Nanoseconds a look-up, in the second of two rounds. `expected` gives the correct answer for a
/// rank.
///
/// # Errors
/// The first wrong answer.
pub fn time<K: Key + ?Sized>(
    name: &str,
    probes: &[(K::Owned, u64)],
    expected: impl Fn(u64) -> u64,
    find: impl Fn(&K) -> u64,
) -> Result<f64> {
    let (found, took) = second_round(probes, |(key, _)| find(K::borrowed(key)));
    for ((key, rank), found) in probes.iter().zip(found) {
        if found != expected(*rank) {
            return Err(wrong_value(name, "look up", key, [expected(*rank), found]));
        }
    }
    Ok(took)
}

fn wrong_value(
    name: &str,
    operation: &'static str,
    key: &impl std::fmt::Debug,
    values: [u64; 2],
) -> Error {
    let told = values.map(|value| match value {
        NOTHING => "nothing".to_string(),
        value => format!("value {value}"),
    });
    wrong(name, operation, key, told)
}

/// Nanoseconds a scan.
fn walks<K: Key + ?Sized>(name: &str, index: &dyn Updatable<K>, data: &Data<K>) -> Result<f64> {
    let count = data.present.len().div_ceil(LOOK_UPS_A_WALK);
    let from = data.present.get(..count).unwrap_or_default();
    let mut found = vec![(0, 0); from.len()];
    let start = thread_cpu_time();
    for (answer, (key, _)) in found.iter_mut().zip(from) {
        let (mut left, mut sum) = (WALK, 0);
        index.walk(K::borrowed(key), &mut |_, value| {
            sum += value;
            left -= 1;
            match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        *answer = (WALK - left, sum);
    }
    let took = thread_cpu_time().saturating_sub(start);
    for ((key, rank), (entries, sum)) in from.iter().zip(found) {
        let ranks = *rank..data.keys.len().min(*rank as usize + WALK) as u64;
        if (entries as u64, sum) != (ranks.end - ranks.start, ranks.clone().sum()) {
            return Err(wrong_value(name, "scan", key, [ranks.sum(), sum]));
        }
    }
    Ok(took.as_nanos() as f64 / count.max(1) as f64)
}

/// The bytes of an index loaded with some entries after further inserts, and nanoseconds an insert.
fn inserts<K: Key + ?Sized>(
    name: &str,
    make: Make<'_, K>,
    data: &Data<K>,
    entries: Vec<(K::Owned, u64)>,
    ranks: impl Iterator<Item = usize>,
) -> Result<(usize, f64)> {
    let (mut index, _) = loaded(name, make, entries)?;
    let arriving = data.entries(ranks);
    let start = thread_cpu_time();
    let mut inserted = 0;
    for (key, value) in &arriving {
        inserted += u64::from(index.insert(K::borrowed(key), *value));
    }
    let took = thread_cpu_time().saturating_sub(start);
    let len = data.keys.len() as u64;
    if inserted != arriving.len() as u64 || index.len() as u64 != len {
        return Err(wrong_value(
            name,
            "insert",
            &"keys",
            [len, index.len() as u64],
        ));
    }
    // Check that all entries are present and in order.
    let mut next = 0;
    if let Some(first) = data.keys.first() {
        index.walk(K::borrowed(first), &mut |_, value| {
            let is_next = value == next;
            next += u64::from(is_next);
            match is_next {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
    }
    if next != len {
        return Err(wrong_value(name, "scan after inserts", &"all", [len, next]));
    }
    time(
        name,
        &data.present,
        |rank| rank,
        |key: &K| index.get(key).unwrap_or(NOTHING),
    )?;
    let ns = took.as_nanos() as f64 / arriving.len().max(1) as f64;
    Ok((index.size_in_bytes(), ns))
}
