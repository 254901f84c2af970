//! The costs of the steps of a look-up, by which models and tries are chosen.
//!
//! The published design has a table of latencies, by the number of keys and the number of bytes
//! that distinguish them, measured on its authors' machine. Here three costs replace it: those of
//! [`Costs::FIXED`], so that equal keys give equal bytes everywhere, or, with `choice=measured`,
//! costs of the current machine: look-ups over generated keys are timed once in each process, and
//! the costs of the steps computed from the times. The answers are correct for any costs.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use super::form::Form;
use super::keys::Keys;
use super::plan::{Choice, LEAF, levels};
use super::train::Trained;
use crate::random::SplitMix64;

/// Costs in nanoseconds, not including the search in the leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    /// A model node, without the bytes of the key.
    model: f64,
    /// A byte through the prefix table.
    byte: f64,
    /// A level of a trie.
    trie: f64,
}

/// How many keys are generated, and their bytes.
const KEYS: usize = 4096;
const KEY_BYTES: usize = 12;

impl Costs {
    /// Measured once, for all machines: the medians of [`Costs::measure`] in 60 processes on an AMD
    /// EPYC of the fifth generation (family 26, model 2; two cores, other programs running) on
    /// 2026-11-22, in a release build by rustc 1.95. The middle halves of the values were within
    /// 22.4 to 22.9, 3.34 to 3.39 and 21.1 to 22.5, all values within 21.8 to 36.3, 3.3 to 4.5 and
    /// 20.7 to 32.0.
    pub(super) const FIXED: Costs = Costs {
        model: 22.6,
        byte: 3.4,
        trie: 22.0,
    };

    /// For choices that do not depend on costs: a level is worth eight bytes.
    pub(super) const EVEN: Costs = Costs {
        model: 8.0,
        byte: 1.0,
        trie: 8.0,
    };

    /// The cost of a look-up through a model that reads this many bytes.
    pub(super) fn model(&self, bytes: f64) -> f64 {
        self.model + self.byte * bytes
    }

    /// The cost of a look-up through tries over this many keys.
    pub(super) fn trie(&self, keys: usize) -> f64 {
        f64::from(levels(keys / 11)) * self.trie
    }

    /// The costs on this machine, measured at the first call in some milliseconds.
    pub(super) fn measured() -> Costs {
        static COSTS: OnceLock<Costs> = OnceLock::new();
        *COSTS.get_or_init(Costs::measure)
    }

    fn measure() -> Costs {
        let mut random = SplitMix64::new(0x6c69_7473);
        let mut strings: Vec<Vec<u8>> = (0..KEYS)
            .map(|_| {
                random
                    .bytes(KEY_BYTES, 26)
                    .iter()
                    .map(|b| b'a' + b)
                    .collect()
            })
            .collect();
        strings.sort_unstable();
        strings.dedup();
        let mut keys = Keys::below(&[]);
        strings.iter().for_each(|string| keys.push(string));
        let mut leaf = Keys::below(&[]);
        strings
            .iter()
            .take(LEAF)
            .for_each(|string| leaf.push(string));
        // A random order, different from that in memory.
        let len = strings.len() as u64;
        let order: Vec<u64> = strings.iter().map(|_| random.below(len)).collect();
        let probe = |i: u64| strings.get(i as usize).map_or(&[][..], Vec::as_slice);

        let locate = |keys: &Keys, choice: Choice, fold: u64| {
            let form = Form::lay(keys, choice);
            let form = form.and_then(|bytes| Form::open(bytes.into()));
            timed(&order, |i| {
                let window = form.as_ref().ok().map(|form| form.window(probe(i % fold)));
                black_box(window);
            })
        };
        let leaf = locate(&leaf, Choice::Trie, LEAF as u64);
        let trie = locate(&keys, Choice::Trie, u64::MAX) - leaf;
        let model = locate(&keys, Choice::Model, u64::MAX) - leaf;
        let trained = Trained::new(&keys);
        let table = timed(&order, |i| {
            black_box(trained.hpt.number(&trained.rows, probe(i), 0, 0, 1));
        });
        // All twelve bytes, each of 4 to 5 bits.
        let byte = (table / 10.0).clamp(0.2, 100.0);
        // With this many keys there are two levels of tries, and three bytes distinguish keys.
        Costs {
            model: (model - 3.0 * byte).clamp(1.0, 1000.0),
            byte,
            trie: (trie / 2.0).clamp(1.0, 1000.0),
        }
    }
}

/// Nanoseconds for each call: the least of three rounds.
fn timed(order: &[u64], visit: impl Fn(u64)) -> f64 {
    let round = |_| {
        let started = Instant::now();
        order.iter().for_each(|i| visit(*i));
        started.elapsed().as_nanos() as f64 / order.len() as f64
    };
    (0..3).map(round).fold(f64::INFINITY, f64::min)
}
