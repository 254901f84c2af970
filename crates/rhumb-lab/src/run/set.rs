//! The sets of pairs that experiments load.

use clap::ValueEnum;

use super::Arguments;
use crate::data::{Input, Sizes, Strings, clustered, decimal, paths, runs, uniform};
use crate::error::{Error, Result};

const HELD_OUT: usize = 100_000;

/// A set of keys and values to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// 5,000,000 uniform 8-byte keys with values of 64 bytes.
    C1,
    /// 2,000,000 decimal 24-byte keys with values of 1,000 bytes.
    C2,
    /// Every path of the file given with --paths, with its packages as the value.
    C3,
    /// 5,000,000 uniform 8-byte keys with values of 16 to 240 bytes.
    V1,
    /// 5,000,000 clustered 8-byte keys with values of 16 to 240 bytes.
    V2,
}

impl Set {
    /// The pairs, and a cache that holds all of them.
    ///
    /// # Errors
    /// If a file is needed and not given, or cannot be read.
    pub fn input(self, arguments: &Arguments) -> Result<(Input, u64)> {
        let seed = arguments.seed;
        let make = |name, count: usize, keys: fn(usize, u64) -> Strings, sizes| {
            let count = arguments.keys.unwrap_or(count);
            let held_out = HELD_OUT.min(count / 20);
            let keys = keys(count + held_out, seed);
            Input::with_random_values(name, &keys, sizes, held_out, seed)
        };
        let (input, cache_bytes) = match self {
            Set::C1 => (
                make("c1", 5_000_000, uniform::keys, Sizes::Fixed(64)),
                1 << 30,
            ),
            Set::C2 => (
                make("c2", 2_000_000, decimal::keys, Sizes::Fixed(1_000)),
                4 << 30,
            ),
            Set::C3 => (real_paths(arguments)?, 2 << 30),
            Set::V1 => (make("v1", 5_000_000, uniform::keys, Sizes::Mixed), 2 << 30),
            Set::V2 => (
                make("v2", 5_000_000, clustered::keys, Sizes::Mixed),
                2 << 30,
            ),
        };
        Ok((input, arguments.cache_bytes.unwrap_or(cache_bytes)))
    }
}

fn real_paths(arguments: &Arguments) -> Result<Input> {
    let needed = "set c3 needs a file index: give it with --paths FILE";
    let path = arguments.paths.as_ref();
    let mut pairs = paths::file(path.ok_or_else(|| Error::Usage(needed.to_string()))?)?;
    if let Some(keys) = arguments.keys {
        pairs = pairs.pick(&runs(pairs.len(), keys));
    }
    Ok(Input::with_own_values(
        "c3",
        &pairs,
        HELD_OUT,
        arguments.seed,
    ))
}
