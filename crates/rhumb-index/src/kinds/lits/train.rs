//! Trains a prefix table on sorted keys.
//!
//! Of each key in a sample, the bytes up to the first one that distinguishes it from both its
//! neighbours count; later bytes distinguish no keys. Each context (which preceding bytes to hash)
//! is tried on part of the sample, and the one that codes another part in the fewest bits is taken.
//! All arithmetic is on integers, so equal keys give equal tables.

use super::hpt::{CONTEXTS, Hpt, MOST_BYTES};
use super::keys::Keys;

/// The table has a row for this many keys.
const KEYS_A_ROW: usize = 512;
/// Keys in the sample for each row.
const SAMPLE_A_ROW: usize = 64;
/// The context is chosen with at most about this many keys for training, and as many for coding.
const TRIAL: usize = 4096;

/// A trained table.
#[derive(Debug, Clone)]
pub(super) struct Trained {
    pub hpt: Hpt,
    pub rows: Vec<u8>,
}

impl Trained {
    /// A table for sorted keys.
    pub(super) fn new(keys: &Keys) -> Trained {
        let n = keys.len();
        let alphabet = alphabet(keys);
        let symbols = alphabet.iter().filter(|is_known| **is_known).count();
        let mut row_bits = (n / KEYS_A_ROW).max(1).ilog2();
        while row_bits > 0 && Hpt::rows_bytes(symbols, row_bits) > MOST_BYTES {
            row_bits -= 1;
        }
        let context = match row_bits {
            0 => 0,
            _ => choose(keys, &alphabet, row_bits),
        };
        let hpt = Hpt::new(&alphabet, context, row_bits);
        let step = (n / (SAMPLE_A_ROW << row_bits)).max(1);
        let rows = Counts::of(keys, &hpt, row_bits, (0..n).step_by(step)).rows();
        Trained { hpt, rows }
    }

    /// A table without known bytes.
    pub(super) fn none() -> Trained {
        Trained::new(&Keys::default())
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.rows.capacity() + self.hpt.heap_bytes()
    }
}

/// The bytes that occur.
fn alphabet(keys: &Keys) -> [bool; 256] {
    let mut alphabet = [false; 256];
    for i in 0..keys.len() {
        for &byte in keys.get(i) {
            alphabet[usize::from(byte)] = true;
        }
    }
    alphabet
}

/// The context that codes some keys in the fewest bits after training on others.
fn choose(keys: &Keys, alphabet: &[bool; 256], row_bits: u32) -> u8 {
    let step = (keys.len() / TRIAL).max(2);
    let (trained, coded) = (0..keys.len(), step / 2..keys.len());
    let bits_of = |context: &u8| {
        let hpt = Hpt::new(alphabet, *context, row_bits);
        let rows = Counts::of(keys, &hpt, row_bits, trained.clone().step_by(step)).rows();
        let mut bits = 0u64;
        for i in coded.clone().step_by(step) {
            for_each_byte(keys, &hpt, i, |row, class| {
                let place = (row * hpt.stride() + class) * 2;
                let pair = rows.get(place..place + 4).unwrap_or_default();
                let at = |i: usize| crate::bytes::u16_of(pair, i);
                let share = u64::from(at(1).wrapping_sub(at(0)));
                // Thirds of bits: the logarithm of the cube is three times as precise.
                bits += 48 - u64::from(share.pow(3).max(1).ilog2());
            });
        }
        bits
    };
    (0..CONTEXTS.len() as u8).min_by_key(bits_of).unwrap_or(0)
}

/// Visits row and class of each byte of a key up to the one that distinguishes it from its
/// neighbours, and of its end if that distinguishes it.
fn for_each_byte(keys: &Keys, hpt: &Hpt, i: usize, mut visit: impl FnMut(usize, usize)) {
    let key = keys.get(i);
    let before = i.checked_sub(1).map_or(0, |before| keys.shared(before, i));
    let after = match i + 1 < keys.len() {
        true => keys.shared(i, i + 1),
        false => 0,
    };
    let telling = before.max(after) + 1;
    // The prefix that all keys share gives no information.
    let from = keys.shared(0, keys.len() - 1).min(key.len());
    let mut prior = Hpt::prior(key, from);
    for (at, &byte) in key.iter().enumerate().take(telling).skip(from) {
        let class = hpt.class(byte).unwrap_or_default();
        visit(hpt.row(prior, keys.skipped() + at), class);
        prior = prior << 8 | u32::from(byte);
    }
    if key.len() < telling {
        visit(hpt.row(prior, keys.skipped() + key.len()), 0);
    }
}

/// How often each byte, and the end, occurred in each row.
struct Counts {
    stride: usize,
    counts: Vec<u32>,
    /// The same counts over all rows.
    all: Vec<u64>,
}

impl Counts {
    fn of(keys: &Keys, hpt: &Hpt, row_bits: u32, sample: impl Iterator<Item = usize>) -> Counts {
        let stride = hpt.stride();
        let mut counts = vec![0u32; stride << row_bits];
        // Each counts once, so that no sum is 0.
        let mut all = vec![1u64; stride];
        for i in sample {
            for_each_byte(keys, hpt, i, |row, class| {
                if let Some(count) = counts.get_mut(row * stride + class) {
                    *count = count.saturating_add(1);
                }
                if let Some(count) = all.get_mut(class) {
                    *count += 1;
                }
            });
        }
        Counts {
            stride,
            counts,
            all,
        }
    }

    /// The rows: the counts of the row, plus the overall distribution with the weight of one byte,
    /// scaled such that each share is at least 2^-16.
    fn rows(&self) -> Vec<u8> {
        let all: u64 = self.all.iter().sum();
        let room = (1u64 << 16) - self.stride as u64;
        let mut rows = Vec::with_capacity(self.counts.len() * 2 + 4);
        for counts in self.counts.chunks(self.stride) {
            let here: u64 = counts.iter().map(|count| u64::from(*count)).sum();
            let whole = u128::from(here + 1) * u128::from(all);
            let mut cum = 0u64;
            for (count, everywhere) in counts.iter().zip(&self.all) {
                rows.extend((cum as u16).to_le_bytes());
                let weight = u128::from(*count) * u128::from(all) + u128::from(*everywhere);
                cum += 1 + (weight * u128::from(room) / whole) as u64;
            }
        }
        rows.extend([0; 4]);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SplitMix64, distributions};

    fn keys_of(strings: &[Vec<u8>]) -> Keys {
        let mut keys = Keys::below(&[]);
        strings.iter().for_each(|string| keys.push(string));
        keys
    }

    /// Strings near those that the table was trained on, and other strings.
    fn probe(random: &mut SplitMix64, strings: &[Vec<u8>]) -> Vec<u8> {
        let mut probe = random.choose(strings).cloned().unwrap_or_default();
        let at = random.below(probe.len() as u64 + 1) as usize;
        match random.below(6) {
            0 => probe.truncate(at),
            1 => probe.push(random.next_u64() as u8),
            2 => probe.insert(at, [0, 0xff][random.below(2) as usize]),
            3 => probe
                .iter_mut()
                .skip(at)
                .for_each(|byte| *byte = byte.wrapping_add(1)),
            4 => {
                let len = random.below(30) as usize;
                probe.truncate(at);
                probe.extend(random.bytes(len, 256));
            }
            _ => {}
        }
        probe
    }

    #[test]
    fn numbers_are_monotone_for_all_strings() {
        let seed = std::env::var("RHUMB_SEED").map_or(5, |seed| seed.parse().unwrap());
        println!("replay with RHUMB_SEED={seed}");
        let mut random = SplitMix64::new(seed);
        let all: Vec<_> = distributions::all().collect();
        for distribution in &all {
            let count = 1 + random.below(4000) as usize;
            let strings = distribution.keys(&mut random, count);
            let trained = Trained::new(&keys_of(&strings));
            let others = random.choose(&all).unwrap().keys(&mut random.clone(), 200);
            let mut probes = strings.clone();
            probes.extend(others);
            probes.extend((0..1000).map(|_| probe(&mut random, &strings)));
            probes.extend([vec![], vec![0], vec![0xff; 40], vec![0; 40]]);
            probes.sort();
            let stem = random.below(4) as usize;
            let least = [1, 1 << 20, 1 << 40][random.below(3) as usize];
            for (at, least) in [(0, 1), (0, least), (stem, least)] {
                // Only strings with the same stem are compared after it.
                for same in probes.chunk_by(|a, b| a.get(..at) == b.get(..at)) {
                    let numbers = same
                        .iter()
                        .filter(|probe| probe.len() >= at)
                        .map(|probe| trained.hpt.number(&trained.rows, probe, at, 0, least).0);
                    assert!(numbers.clone().is_sorted(), "{}", distribution.name);
                    assert!(numbers.max().is_none_or(|number| number <= 1 << 48));
                }
            }
        }
    }

    #[test]
    fn tables_of_few_keys_are_small() {
        let mut random = SplitMix64::new(1);
        let paths = distributions::by_name("paths").unwrap();
        let small = Trained::new(&keys_of(&paths.keys(&mut random, 10_000)));
        assert!(small.rows.len() < 4 << 10, "{}", small.rows.len());
        let one = Trained::new(&keys_of(&[b"one".to_vec()]));
        assert_eq!(one.rows.len(), (4 + 2) * 2);
        assert_eq!(Trained::none().rows.len(), (1 + 2) * 2);
    }

    #[test]
    fn numbers_of_known_strings_spread_like_their_ranks() {
        for name in ["words", "uuid", "decimal-24", "random-16", "paths"] {
            let strings = distributions::by_name(name)
                .unwrap()
                .keys(&mut SplitMix64::new(2), 50_000);
            let trained = Trained::new(&keys_of(&strings));
            let shared = crate::search::common_prefix(&strings[0], strings.last().unwrap());
            let far = strings.iter().enumerate().filter(|(rank, string)| {
                let number = trained.hpt.number(&trained.rows, string, shared, 0, 1).0;
                let expected = ((*rank as u128) << 48) / strings.len() as u128;
                (number as f64 - expected as f64).abs() > 0.1 * (1u64 << 48) as f64
            });
            let share = far.count() as f64 / strings.len() as f64;
            assert!(share < 0.05, "{name}: {share}");
        }
    }
}
