//! Compares an updatable index with a `BTreeMap` over generated histories.
//!
//! A history takes some keys of one of the [`super::distributions`], in one of several orders. It
//! may bulk load some of them; then it inserts, upserts, removes, looks up and walks, and after
//! every step compares the answers with those of the map. All choices follow from the seed.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use super::{SplitMix64, distributions};
use crate::updatable::{Key, Updatable};

/// Orders in which keys arrive.
const ORDERS: [Order; 6] = [
    Order::Random,
    Order::Sorted,
    Order::Reversed,
    Order::NearSorted,
    Order::Clustered,
    Order::Repeated,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Random,
    Sorted,
    Reversed,
    /// Sorted, except some keys that are a few places away or anywhere.
    NearSorted,
    /// Runs of neighbouring keys.
    Clustered,
    /// A few keys, repeatedly.
    Repeated,
}

/// The size of the histories that were run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Histories, each over an index of its own.
    pub histories: u64,
    /// Steps in all of them.
    pub steps: u64,
    /// The most keys inserted into one index.
    pub most_keys: usize,
}

/// A history in which the index and the map disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, history {history} of seed {seed}, over keys of {distribution}: {what}")]
pub struct Disagreement {
    /// The index.
    pub kind: &'static str,
    /// The seed that was given.
    pub seed: u64,
    /// The number of the history, from 0: it is replayed as history 0 of the seed plus this number.
    pub history: u64,
    /// The distribution of its keys.
    pub distribution: &'static str,
    /// The step, the operation, and both answers.
    pub what: String,
}

/// Runs `count` histories, each over a new index of at most about `most_keys` keys.
///
/// # Errors
/// The first disagreement.
pub fn histories<K: FromBytes + ?Sized>(
    make: &dyn Fn() -> Box<dyn Updatable<K>>,
    seed: u64,
    count: u64,
    most_keys: usize,
) -> Result<Counts, Disagreement> {
    let distributions: Vec<_> = distributions::all().collect();
    let mut counts = Counts::default();
    for history in 0..count {
        let mut random = SplitMix64::new(seed.wrapping_add(history));
        let Some(distribution) = random.choose(&distributions) else {
            break;
        };
        // Mostly few keys, so that steps are more likely to touch the results of earlier ones.
        let most = [20, 200, 200, 1_000, most_keys][random.below(5) as usize].min(most_keys);
        let len = 1 + random.below(most as u64) as usize;
        let keys = distribution.keys(&mut random, len);
        let keys: Vec<K::Owned> = keys.iter().map(|key| K::from_bytes(key)).collect();
        let mut run = Run::new(make(), keys, random);
        let run_to_end = run.run();
        if let Err(what) = run_to_end {
            return Err(Disagreement {
                kind: run.index.kind(),
                seed,
                history,
                distribution: distribution.name,
                what: format!("step {}: {what}", run.steps),
            });
        }
        counts.histories += 1;
        counts.steps += run.steps;
        counts.most_keys = counts.most_keys.max(run.keys.len());
    }
    Ok(counts)
}

/// Keys that can be made from the bytes of distributions.
pub trait FromBytes: Key {
    /// A key that depends on these bytes; 8 bytes give their big-endian integer.
    fn from_bytes(bytes: &[u8]) -> Self::Owned;
}

impl FromBytes for u64 {
    fn from_bytes(bytes: &[u8]) -> u64 {
        let first = bytes.iter().take(8);
        let number = first.fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        // The later bytes of longer keys count too, so that few keys collide.
        let rest = bytes.iter().skip(8);
        rest.fold(number, |number, byte| {
            number.wrapping_mul(31).wrapping_add(u64::from(*byte))
        })
    }
}

impl FromBytes for [u8] {
    fn from_bytes(bytes: &[u8]) -> Box<[u8]> {
        bytes.into()
    }
}

/// A history in progress.
struct Run<K: FromBytes + ?Sized> {
    index: Box<dyn Updatable<K>>,
    model: BTreeMap<K::Owned, u64>,
    keys: Vec<K::Owned>,
    random: SplitMix64,
    steps: u64,
}

impl<K: FromBytes + ?Sized> Run<K> {
    fn new(index: Box<dyn Updatable<K>>, mut keys: Vec<K::Owned>, random: SplitMix64) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Run {
            index,
            model: BTreeMap::new(),
            keys,
            random,
            steps: 0,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let order = *self.random.choose(&ORDERS).unwrap_or(&Order::Random);
        let mut arrivals = self.arrivals(order);
        match self.random.below(3) {
            0 => {}
            1 => self.bulk_load(|_, _| true)?,
            // Every other key, or the lower half; the rest is inserted.
            _ if self.random.below(2) == 0 => self.bulk_load(|i, _| i % 2 == 0)?,
            _ => self.bulk_load(|i, all| i < all / 2)?,
        }
        let removes = self.random.below(4);
        for key in arrivals.drain(..) {
            self.steps += 1;
            self.step(&key, removes)?;
        }
        self.whole()?;
        // Remove nearly all keys.
        if self.random.below(3) == 0 {
            let mut keys = std::mem::take(&mut self.keys);
            self.shuffle(&mut keys);
            for key in &keys {
                self.steps += 1;
                if self.random.below(20) > 0 {
                    self.remove(key)?;
                }
            }
            self.whole()?;
            for key in keys.iter().take(30) {
                self.put(key)?;
            }
            self.whole()?;
            self.keys = keys;
        }
        self.load_again()
    }

    /// Loads some keys in place of the old ones, after trying to load keys that do not ascend.
    fn load_again(&mut self) -> Result<(), String> {
        self.keys.sort_unstable();
        let mut entries: Vec<_> = self.keys.iter().map(|key| (key.clone(), 7)).collect();
        if let [.., last, _] = entries.as_slice() {
            let last = last.clone();
            entries.push(last);
            let loaded = self.index.bulk_load(&entries).is_ok();
            agree("load of unsorted keys", &entries.len(), false, loaded)?;
            self.whole()?;
        }
        self.bulk_load(|i, _| i % 3 == 0)
    }

    fn bulk_load(&mut self, takes: impl Fn(usize, usize) -> bool) -> Result<(), String> {
        let all = self.keys.len();
        let taken = self.keys.iter().enumerate().filter(|(i, _)| takes(*i, all));
        let entries: Vec<_> = taken.map(|(i, key)| (key.clone(), i as u64)).collect();
        let loaded = self.index.bulk_load(&entries);
        loaded.map_err(|error| error.to_string())?;
        self.model = entries.into_iter().collect();
        self.whole()
    }

    fn arrivals(&mut self, order: Order) -> Vec<K::Owned> {
        let mut keys = self.keys.clone();
        match order {
            Order::Sorted => {}
            Order::Random => self.shuffle(&mut keys),
            Order::Reversed => keys.reverse(),
            Order::NearSorted => {
                let len = keys.len() as u64;
                for i in 0..keys.len() {
                    let other = match self.random.below(10) {
                        0 => i + self.random.below(8) as usize,
                        1 => self.random.below(len) as usize,
                        _ => i,
                    };
                    keys.swap(i, other.min(len as usize - 1));
                }
            }
            Order::Clustered => {
                let stretch = 1 + self.random.below(40) as usize;
                let mut stretches: Vec<_> = keys.chunks(stretch).map(<[_]>::to_vec).collect();
                self.shuffle(&mut stretches);
                keys = stretches.concat();
            }
            Order::Repeated => {
                let few = 1 + self.random.below(30) as usize;
                self.shuffle(&mut keys);
                keys.truncate(few);
                keys = keys.iter().cycle().take(few * 12).cloned().collect();
            }
        }
        keys
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.random.below(i as u64 + 1) as usize);
        }
    }

    /// Stores a key and performs another random operation.
    fn step(&mut self, key: &K::Owned, removes: u64) -> Result<(), String> {
        self.put(key)?;
        let other = self.any_key();
        match self.random.below(8) {
            0..3 if self.random.below(4) < removes => self.remove(&other),
            3 => self.put(&other),
            4 => self.walk(&other),
            _ => self.get(&other),
        }
    }

    /// Mostly a key of the history; otherwise a random one.
    fn any_key(&mut self) -> K::Owned {
        if self.random.below(6) > 0 {
            let known = self.random.choose(&self.keys).cloned();
            return known.unwrap_or_default();
        }
        let len = self.random.below(12) as usize;
        K::from_bytes(&self.random.bytes(len, 256))
    }

    fn get(&mut self, key: &K::Owned) -> Result<(), String> {
        let expected = self.model.get::<K::Owned>(key).copied();
        agree("get", key, expected, self.index.get(K::borrowed(key)))
    }

    fn put(&mut self, key: &K::Owned) -> Result<(), String> {
        let value = self.random.next_u64();
        let expected = self.model.get::<K::Owned>(key).copied();
        if self.random.below(2) == 0 {
            self.model.insert(key.clone(), value);
            agree(
                "upsert",
                key,
                expected,
                self.index.upsert(K::borrowed(key), value),
            )?;
        } else {
            self.model.entry(key.clone()).or_insert(value);
            let inserted = self.index.insert(K::borrowed(key), value);
            agree("insert", key, expected.is_none(), inserted)?;
        }
        agree("len", key, self.model.len(), self.index.len())?;
        self.get(key)
    }

    fn remove(&mut self, key: &K::Owned) -> Result<(), String> {
        let expected = self.model.remove::<K::Owned>(key);
        agree("remove", key, expected, self.index.remove(K::borrowed(key)))?;
        agree("len", key, self.model.len(), self.index.len())?;
        self.get(key)
    }

    /// Compares some entries from a key on, and its lower bound.
    fn walk(&mut self, from: &K::Owned) -> Result<(), String> {
        let most = self.random.below(20) as usize;
        let expected = self
            .model
            .range::<K::Owned, _>(from.clone()..)
            .take(most + 1);
        let expected: Vec<_> = expected.map(|(key, value)| (key.clone(), *value)).collect();
        let mut got = Vec::new();
        self.index.walk(K::borrowed(from), &mut |key, value| {
            got.push((key.to_key(), value));
            match got.len() > most {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let first = expected.first().cloned();
        if let Some((last, _)) = expected.last() {
            let to = K::borrowed(last);
            let whole = self.index.range(K::borrowed(from), Bound::Included(to));
            agree("range", from, expected.as_slice(), whole.as_slice())?;
            let whole = self.index.range(K::borrowed(from), Bound::Excluded(to));
            let but_last = expected.split_last().map_or(&[][..], |(_, rest)| rest);
            agree("range", from, but_last, whole.as_slice())?;
        }
        agree("walk", from, expected, got)?;
        agree(
            "lower bound",
            from,
            first,
            self.index.lower_bound(K::borrowed(from)),
        )
    }

    /// Compares all entries, the length, the depth and the size.
    fn whole(&mut self) -> Result<(), String> {
        let least = K::Owned::default();
        let expected: Vec<_> = self.model.clone().into_iter().collect();
        let got = self.index.range(K::borrowed(&least), Bound::Unbounded);
        agree("range of all", &least, expected, got)?;
        agree("len", &least, self.model.len(), self.index.len())?;
        let depth = self.index.depth();
        let is_sound = self.model.is_empty() || depth.mean <= depth.max as f64 && depth.mean >= 1.0;
        agree("a sound depth", &least, true, is_sound)?;
        // Keys may be stored without their common prefixes, so only values count.
        let least_size = self.model.len() * 8;
        agree(
            "size",
            &least,
            true,
            self.index.size_in_bytes() >= least_size,
        )
    }
}

fn agree<T: PartialEq + std::fmt::Debug, K: std::fmt::Debug>(
    what: &str,
    key: &K,
    expected: T,
    got: T,
) -> Result<(), String> {
    match expected == got {
        true => Ok(()),
        false => Err(format!(
            "{what} of {key:?}: expected {expected:?}, got {got:?}"
        )),
    }
}
