//! The keys and values that experiments load and look up.

use super::arrivals::renumber;
use super::{Pairs, Prefixes, Random, Sizes, Strings};

/// Sorted keys with their values, and absent keys of the same origin.
///
/// The absent keys are held out of the same set, so that they are distributed like the present keys
/// and lie between them.
#[derive(Debug)]
pub struct Input {
    /// Short name, such as `decimal`.
    pub name: String,
    /// The keys to load, ascending and distinct.
    pub keys: Strings,
    /// The absent keys, ascending, each between two present keys.
    pub absent: Strings,
    values: Values,
    /// Ranks of the absent keys among all keys of the set.
    held_out: Vec<usize>,
    order: Option<Vec<u32>>,
}

#[derive(Debug)]
enum Values {
    /// Incompressible bytes, which are computed from the seed and the rank when they are needed.
    Random { seed: u64, sizes: Sizes },
    /// Given with the keys.
    Given(Strings),
}

impl Input {
    /// An input of ascending, distinct keys with random values.
    pub fn with_random_values(
        name: &str,
        keys: &Strings,
        sizes: Sizes,
        hold_out: usize,
        seed: u64,
    ) -> Input {
        let held_out = hold_out_ranks(keys.len(), hold_out, seed);
        let (keys, absent) = split(keys, &held_out);
        Input {
            name: name.to_string(),
            keys,
            absent,
            values: Values::Random { seed, sizes },
            held_out,
            order: None,
        }
    }

    /// An input of real pairs, ascending by distinct keys.
    pub fn with_own_values(name: &str, pairs: &Pairs, hold_out: usize, seed: u64) -> Input {
        let held_out = hold_out_ranks(pairs.len(), hold_out, seed);
        let (keys, absent) = split(&pairs.keys, &held_out);
        let (values, _) = split(&pairs.values, &held_out);
        Input {
            name: name.to_string(),
            keys,
            absent,
            values: Values::Given(values),
            held_out,
            order: None,
        }
    }

    /// The input with keys that have something before them. Values stay with ranks, which change with the prefixes.
    pub fn behind(self, prefixes: &Prefixes, seed: u64) -> Input {
        Input {
            keys: prefixes.before(&self.keys, seed),
            absent: prefixes.before(&self.absent, seed),
            ..self
        }
    }

    /// The same input with an order of loading: ranks among all keys of the set, possibly repeated.
    pub fn arriving(mut self, order: &[u32]) -> Input {
        let all = self.keys.len() + self.held_out.len();
        let mut held_out = self.held_out.iter().peekable();
        let kept = (0..all).filter(|rank| held_out.next_if(|next| *next == rank).is_none());
        self.order = Some(renumber(order, all, kept));
        self
    }

    /// The same input, each of whose keys is loaded once, in the order of these ranks among its keys.
    pub fn in_order(mut self, ranks: Vec<u32>) -> Input {
        self.order = Some(ranks);
        self
    }

    /// The ranks of the keys in the order of loading: the order of arrival if it is known, else a
    /// random one. Every rank occurs; a repeated rank is an update to the same value.
    pub fn load_order(&self, random: &mut Random) -> Vec<u32> {
        match &self.order {
            Some(order) => order.clone(),
            None => random.order(self.keys.len() as u32),
        }
    }

    /// Sets `into` to the value of the key with rank `rank`.
    pub fn value(&self, rank: usize, into: &mut Vec<u8>) {
        into.clear();
        match &self.values {
            Values::Random { seed, sizes } => {
                let mut random = Random::new(*seed, rank as u64);
                let bytes = sizes.draw(&mut random);
                random.fill(into, bytes);
            }
            Values::Given(values) => into.extend_from_slice(values.get(rank)),
        }
    }

    /// Bytes of all keys and values.
    pub fn user_bytes(&self) -> u64 {
        let values = match &self.values {
            Values::Random { seed, sizes } => (0..self.keys.len() as u64)
                .map(|rank| sizes.draw(&mut Random::new(*seed, rank)) as u64)
                .sum(),
            Values::Given(values) => values.bytes(),
        };
        self.keys.bytes() + values
    }
}

/// Ranks to hold out: at most one in twenty, a random one from each of several stretches of equal
/// length, never the first or the last rank.
fn hold_out_ranks(keys: usize, hold_out: usize, seed: u64) -> Vec<usize> {
    let hold_out = hold_out.min(keys / 20);
    let mut random = Random::new(seed, 0x401d);
    let stretch = |n: usize| n * keys / hold_out;
    (0..hold_out)
        .map(|n| {
            let inner = stretch(n) + 1..stretch(n + 1) - 1;
            inner.start + random.below(inner.len() as u64) as usize
        })
        .collect()
}

/// The strings whose ranks are not in `taken`, and those whose ranks are.
fn split(strings: &Strings, taken: &[usize]) -> (Strings, Strings) {
    let (mut kept, mut out) = (Strings::default(), Strings::default());
    let mut taken = taken.iter().peekable();
    for (rank, string) in strings.iter().enumerate() {
        if taken.next_if(|next| **next == rank).is_some() {
            out.push(string);
        } else {
            kept.push(string);
        }
    }
    (kept, out)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::data::{Pairs, decimal, uniform};

    #[test]
    fn absent_keys_come_from_between_the_present_ones() {
        let all = decimal::keys(5_000, 7);
        let input = Input::with_random_values("decimal", &all, Sizes::Fixed(10), 200, 7);
        assert_eq!((input.keys.len(), input.absent.len()), (4_800, 200));
        let present: Vec<&[u8]> = input.keys.iter().collect();
        assert!(present.is_sorted());
        for absent in input.absent.iter() {
            assert!(present.binary_search(&absent).is_err());
            assert!(present[0] < absent && absent < present[present.len() - 1]);
        }
    }

    #[test]
    fn values_stay_with_their_keys() {
        let mut pairs = Pairs::default();
        for n in 0..1_000 {
            pairs.push(
                format!("key {n:04}").as_bytes(),
                format!("{n:04}").as_bytes(),
            );
        }
        let input = Input::with_own_values("own", &pairs, 50, 3);
        let mut value = Vec::new();
        for rank in 0..input.keys.len() {
            input.value(rank, &mut value);
            assert_eq!(&input.keys.get(rank)[4..], &value[..]);
        }
        assert_eq!(input.user_bytes(), 950 * 12);
    }

    #[test]
    fn random_values_depend_on_seed_and_rank_alone() {
        let all = uniform::keys(100, 1);
        let make = |seed| Input::with_random_values("u", &all, Sizes::Fixed(33), 0, seed);
        let value = |input: &Input, rank| {
            let mut value = vec![1, 2, 3];
            input.value(rank, &mut value);
            value
        };
        let (a, b, other) = (make(5), make(5), make(6));
        assert_eq!(value(&a, 9).len(), 33);
        assert_eq!(value(&a, 9), value(&b, 9));
        assert_ne!(value(&a, 9), value(&a, 10));
        assert_ne!(value(&a, 9), value(&other, 9));
    }

    #[test]
    fn mixed_values_use_each_doubling_equally() {
        let input = Input::with_random_values("u", &uniform::keys(8_000, 1), Sizes::Mixed, 0, 5);
        let (mut value, mut bytes, mut lengths) = (Vec::new(), 0, Vec::new());
        for rank in 0..input.keys.len() {
            input.value(rank, &mut value);
            bytes += value.len() as u64;
            lengths.push(value.len());
        }
        assert_eq!(input.user_bytes(), bytes + 8 * 8_000);
        let share = |of: Range<usize>| lengths.iter().filter(|l| of.contains(l)).count();
        for doubling in [16..32, 32..64, 64..128, 128..241] {
            assert!((1_800..2_200).contains(&share(doubling)), "{lengths:?}");
        }
    }

    #[test]
    fn keys_are_loaded_in_their_order_of_arrival() {
        let all = uniform::keys(100, 1);
        let make = || Input::with_random_values("u", &all, Sizes::Fixed(1), 5, 5);
        let any = make().load_order(&mut Random::new(1, 1));
        assert_eq!(any, Random::new(1, 1).order(95));
        let came: Vec<u32> = (0..100).rev().chain([7, 7, 99]).collect();
        let input = make().arriving(&came);
        let order = input.load_order(&mut Random::new(1, 1));
        let loaded = order.iter().map(|rank| input.keys.get(*rank as usize));
        let held = |key: &&[u8]| input.absent.iter().all(|absent| absent != *key);
        let expected = came.iter().map(|rank| all.get(*rank as usize)).filter(held);
        assert!(loaded.eq(expected));
    }
}
