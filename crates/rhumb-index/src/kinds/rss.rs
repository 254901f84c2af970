//! The Radix String Spline (Spector et al., "Bounding the last mile: efficient learned string indexing", AIDB 2021).
//!
//! It is a tree whose nodes look at 8 or 16 bytes of a string after the prefix that all of a node's strings share: its *chunk*, a
//! number. Strings that cannot be told apart by it are in a child.
//!
//! - [`keys`] is as published: a spline over the chunks of all keys of a table, with windows of ranks. On file paths that
//!   takes more memory than fence pointers do.
//! - [`bounds`] is over one shortest separator a block. There are so few of them that a sorted row of chunks replaces the spline,
//!   exactly, and a node has children only where separators tie. It takes 1.3 to 4 times the memory of fence pointers, and
//!   answers on long keys in half of their time.
//!
//! Both forms begin with one byte after the common header, flag 1 for `over=keys` and 2 for `chunk=16`, and three zeros.

mod bounds;
mod chunk;
mod keys;
mod nodes;
mod prefix;

use super::shared::separators::{Cut, FenceBuilder};
use crate::bytes::Reader;
use crate::kind::{Answers, FORM_ONLY, HEADER, Kind};
use crate::knob::{Knob, Settings};
use crate::{ByteForm, Index, IndexBuilder, IndexError};

/// Whether there is a model of all keys: [`crate::IndexSpec::answers`] are windows then.
const OVER: Knob = Knob {
    name: "over",
    about: "what the tree is over: the bounds of blocks, or all keys as published",
    default: 0,
    min: 0,
    max: 1,
    choices: &["bounds", "keys"],
};

const CHUNK: Knob = Knob {
    name: "chunk",
    about: "how many bytes of a key a node looks at",
    default: 1,
    min: 0,
    max: 1,
    choices: &["8", "16"],
};

const ERROR: Knob = Knob {
    name: "error",
    about: "windows hold at most twice as many keys; without effect unless over=keys",
    default: 128,
    min: 2,
    max: 4096,
    choices: &[],
};

pub(crate) const KIND: Kind = Kind {
    name: "rss",
    id: 19,
    about: "a tree of chunks of strings (Radix String Spline, Spector et al., AIDB 2021)",
    knobs: &[OVER, CHUNK, ERROR],
    needs_number: false,
    answers: Answers::Blocks,
    version: 1,
    in_memory: FORM_ONLY,
    builder,
    open,
};

/// Where a form goes on behind its flags.
const FORM_AT: usize = HEADER + 4;

/// Set if the form is over all keys.
const OVER_KEYS: u8 = 1;
/// Set if chunks have 16 bytes.
const LONG: u8 = 2;
const LONG_OVER_KEYS: u8 = OVER_KEYS | LONG;

fn builder(settings: &Settings) -> Box<dyn IndexBuilder> {
    let error = ERROR.of(settings) as u32;
    let bounds = |encode| Box::new(FenceBuilder::new(&KIND, Cut::Shortest, 0, encode));
    match (OVER.of(settings) == 1, CHUNK.of(settings) == 1) {
        (false, false) => bounds(bounds::encode::<u64>),
        (false, true) => bounds(bounds::encode::<u128>),
        (true, false) => Box::new(keys::KeysBuilder::new::<u64>(error)),
        (true, true) => Box::new(keys::KeysBuilder::new::<u128>(error)),
    }
}

fn open(bytes: ByteForm<'_>) -> Result<Box<dyn Index + '_>, IndexError> {
    let mut reader = Reader::new(KIND.name, &bytes);
    reader.take(HEADER)?;
    let flags = reader.u8()?;
    reader.reserved(3)?;
    Ok(match flags {
        0 => Box::new(bounds::Tree::<u64>::open(bytes)?),
        LONG => Box::new(bounds::Tree::<u128>::open(bytes)?),
        OVER_KEYS => Box::new(keys::Tree::<u64>::open(bytes)?),
        LONG_OVER_KEYS => Box::new(keys::Tree::<u128>::open(bytes)?),
        _ => return Err(KIND.damaged(HEADER, "flags of 0 to 3".into(), flags.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use crate::check::{SplitMix64, from_env};
    use crate::{Index, IndexBuilder, Position, Probe, registry};

    /// An index of this kind over blocks that begin with these keys but for the first; equal neighbours are blocks of one key.
    fn index(kind: &str, keys: &[Vec<u8>]) -> Box<dyn Index> {
        let mut builder: Box<dyn IndexBuilder> = registry::builder(&kind.parse().unwrap()).unwrap();
        for pair in keys.windows(2) {
            builder.cut(&pair[0], &pair[1]);
        }
        registry::open(builder.finish().unwrap()).unwrap()
    }

    /// Calls a check with keys, and with others near them.
    fn probes(keys: &[Vec<u8>], random: &mut SplitMix64, mut check: impl FnMut(&[u8])) {
        for key in keys {
            check(key);
            check(&[&key[..], &[0]].concat());
            check(&key[..random.below(key.len() as u64 + 1) as usize]);
            let mut other = key.clone();
            if let Some(byte) = other.last_mut() {
                *byte = byte.wrapping_sub(1);
            }
            check(&other);
            other.push(0xff);
            check(&other);
        }
        check(&[]);
        check(&[0xff; 40]);
    }

    /// Whatever the keys are, blocks are those of fence pointers.
    fn agrees(keys: &[Vec<u8>], random: &mut SplitMix64, seed: u64) {
        let fences = index("fp", keys);
        for kind in ["rss:chunk=8", "rss"] {
            let tree = index(kind, keys);
            assert_eq!(fences.extent(), tree.extent());
            probes(keys, random, |key| {
                let probe = Probe { key, number: 0 };
                let (expected, found) = (fences.locate(probe), tree.locate(probe));
                assert_eq!(
                    found, expected,
                    "RHUMB_SEED={seed}, {kind}: {key:02x?} in {keys:02x?}"
                );
            });
        }
    }

    /// Whatever the keys are, windows hold them, and those of present keys are in one block each.
    fn holds(keys: &[Vec<u8>], random: &mut SplitMix64, seed: u64) {
        let every = 1 + random.below(9) as usize;
        for kind in [
            "rss:over=keys,error=2",
            "rss:over=keys,error=7",
            "rss:over=keys,chunk=8,error=3",
            "rss:over=keys",
        ] {
            let mut builder = registry::builder(&kind.parse().unwrap()).unwrap();
            for (at, key) in keys.iter().enumerate() {
                builder.push(key, 0).unwrap();
                if at > 0 && at % every == 0 {
                    builder.cut(&keys[at - 1], key);
                }
            }
            let tree = registry::open(builder.finish().unwrap()).unwrap();
            assert_eq!(tree.extent(), keys.len() as u64);
            probes(keys, random, |key| {
                let found = tree.locate(Probe { key, number: 0 });
                let Position::Window(window) = found else {
                    panic!("{found:?}");
                };
                let context = || {
                    format!(
                        "RHUMB_SEED={seed}, {kind}, {every}: {window:?} of {key:02x?} in {keys:02x?}"
                    )
                };
                let rank = keys.partition_point(|other| &other[..] < key) as u64;
                assert!((window.lo..=window.hi).contains(&rank), "{}", context());
                assert!(window.len() <= tree.widest_window(), "{}", context());
                if keys.get(rank as usize).is_some_and(|found| found == key) {
                    let block = |rank: u64| rank / every as u64;
                    assert!(rank < window.hi, "{}", context());
                    let ends = [window.lo, window.hi - 1].map(block);
                    assert_eq!(ends, [block(rank); 2], "{}", context());
                }
            });
        }
    }

    #[test]
    fn answers_are_those_of_fence_pointers_and_of_the_keys() {
        let seed = from_env("RHUMB_SEED", 0x0072_7373);
        println!("replay with RHUMB_SEED={seed}");
        let mut random = SplitMix64::new(seed);
        for _ in 0..3_000 {
            // Few symbols, zeros among them, so that keys share much and end inside chunks.
            let symbols = [&[0, 1][..], &[0, b'a', 0xff], b"abc"];
            let symbols = symbols[random.below(3) as usize];
            let longest = [3, 9, 17, 40][random.below(4) as usize];
            let stem = random.bytes(random.clone().below(20) as usize, 256);
            let mut keys: Vec<Vec<u8>> = (0..random.below(60))
                .map(|_| {
                    let len = random.below(longest);
                    let rest =
                        (0..len).map(|_| symbols[random.below(symbols.len() as u64) as usize]);
                    [&stem[..], &rest.collect::<Vec<u8>>()].concat()
                })
                .collect();
            keys.sort();
            agrees(&keys, &mut random, seed);
            keys.dedup();
            holds(&keys, &mut random, seed);
        }
    }

    #[test]
    fn a_damaged_shift_of_the_radix_table_is_harmless() {
        let inside = (1..200u64).map(|n| n * n * n * (1 << 40));
        let mut numbers: Vec<u64> = [0, u64::MAX].into_iter().chain(inside).collect();
        numbers.sort_unstable();
        let mut builder = registry::builder(&"rss:over=keys,chunk=8,error=2".parse().unwrap());
        let builder_of = builder.as_mut().unwrap();
        builder_of.push_numbers(&numbers).unwrap();
        let mut bytes = builder.unwrap().finish().unwrap();
        // The shift of the root.
        let shift = super::FORM_AT + 16 + 22;
        assert_ne!(std::mem::take(&mut bytes[shift]), 0);
        let tree = registry::open(bytes).unwrap();
        for number in numbers {
            crate::check::fuzz::answers_within(&*tree, &number.to_be_bytes(), 0);
        }
    }

    #[test]
    fn long_keys_and_many_keys_are_found() {
        let mut random = SplitMix64::new(1);
        let mut check = |keys: &[Vec<u8>]| {
            agrees(keys, &mut random, 0);
            if keys.windows(2).all(|pair| pair[0] < pair[1]) {
                holds(keys, &mut random, 0);
            }
        };
        // Each is a prefix of the next: the tree is as deep as it gets.
        check(&(0..300).map(|n| vec![7; n * 219]).collect::<Vec<_>>());
        check(&(0..200).map(|n| vec![0; n]).collect::<Vec<_>>());
        check(&(0..200).map(|n| vec![0xff; n]).collect::<Vec<_>>());
        let mut equal = vec![b"one key".to_vec(); 1_000];
        equal.extend(vec![vec![0xee; 70_000]; 3]);
        check(&equal);
        // What they share has a longer length than two bytes count.
        let stem = vec![5; 70_000];
        let long = (0..400u32).map(|n| [&stem[..], &n.to_be_bytes(), &[7; 9]].concat());
        check(&long.collect::<Vec<_>>());
        // More separators than two bytes count.
        let many = (0..70_000u64).map(|n| format!("/{n:08}").into());
        check(&many.collect::<Vec<_>>());
        // Splines over uneven numbers, and over runs that are redirected.
        let mut uneven: Vec<Vec<u8>> = (0..60_000u64)
            .map(|n| (n * n * (1 + n % 7)).to_be_bytes().to_vec())
            .collect();
        uneven.sort();
        uneven.dedup();
        check(&uneven);
        let runs = (0..40_000u64).map(|n| format!("{:05}/{:03}", n * n / 90_000, n % 300));
        let mut runs: Vec<Vec<u8>> = runs.map(String::into_bytes).collect();
        runs.sort();
        runs.dedup();
        check(&runs);
    }
}
