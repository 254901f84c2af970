//! `gets`, `many`, `seeks` and `scans`: only warm reads of one store, between a beginning and an end that are always the same.
//!
//! To count instructions, branches, cache misses or system calls with an external tool (valgrind, strace),
//! run one with two different numbers of reads: the difference of the counts is due to these. What a scanned entry costs is
//! the difference of `scans` and `seeks`.

use std::hint::black_box;

use super::contest::{Contest, Turn};
use super::phases::MANY;
use super::{Arguments, Bench, large};
use crate::data::{Input, Random};
use crate::error::Result;
use crate::results::Measured;
use crate::store::{Cursor, Store, System, Temperature, Values};

/// What these experiments take from the command line.
pub const TAKES: &[&str] = &[
    "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets", "--peer",
];

/// The entries of a scan.
const SCANNED: usize = 100;

/// Gets random present keys, and copies their values.
///
/// # Errors
/// Failures of the store.
pub fn gets(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    run("gets", arguments, bench, |store, input, keys| {
        let (mut value, mut bytes) = (Vec::new(), 0);
        for rank in keys {
            if store.get(input.keys.get(rank), &mut value)? {
                bytes += black_box(&value).len();
            }
        }
        Ok(bytes)
    })
}

/// The same, 64 keys in a call.
///
/// # Errors
/// Failures of the store.
pub fn many(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    run("many", arguments, bench, |store, input, keys| {
        let (mut values, mut bytes) = (Values::default(), 0);
        loop {
            let wanted: Vec<&[u8]> = keys.take(MANY).map(|rank| input.keys.get(rank)).collect();
            if wanted.is_empty() {
                return Ok(bytes);
            }
            store.get_many(&wanted, &mut values)?;
            bytes += black_box(&values)
                .iter()
                .flatten()
                .map(<[u8]>::len)
                .sum::<usize>();
        }
    })
}

/// Seeks random present keys by one cursor, and looks at their entries.
///
/// # Errors
/// Failures of the store.
pub fn seeks(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    run("seeks", arguments, bench, |store, input, keys| {
        scan(store, input, keys, 1)
    })
}

/// Seeks random present keys by one cursor, and looks at 100 entries from each on.
///
/// # Errors
/// Failures of the store.
pub fn scans(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    run("scans", arguments, bench, |store, input, keys| {
        scan(store, input, keys, SCANNED)
    })
}

/// The ranks of random keys.
type Ranks<'r> = &'r mut dyn Iterator<Item = usize>;

fn scan(store: &dyn Store, input: &Input, keys: Ranks<'_>, entries: usize) -> Result<usize> {
    let mut bytes = 0;
    store.with_cursor(&mut |cursor: &mut dyn Cursor| {
        for rank in &mut *keys {
            let mut found = cursor.seek(input.keys.get(rank))?;
            let mut left = entries;
            while found {
                let (key, value) = black_box(cursor.pair());
                bytes += key.len() + value.len();
                left -= 1;
                found = left > 0 && cursor.advance()?;
            }
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// Does some reads of a store that was loaded, opened again and read once; the user's first peer, or else our own store with
/// the user's first index.
fn run(
    name: &'static str,
    arguments: &Arguments,
    bench: &mut Bench,
    reads: impl Fn(&dyn Store, &Input, Ranks<'_>) -> Result<usize>,
) -> Result<String> {
    let count = arguments.gets.unwrap_or(1_000_000);
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let systems = [system(arguments, cache_bytes)];
        let of_turn = |turn: &Turn<'_>| {
            let store = turn.open(Temperature::Warm)?;
            turn.steps(&*store).load()?;
            store.settle()?;
            store.close()?;
            let store = turn.open(Temperature::Warm)?;
            turn.steps(&*store).verify()?;
            let mut random = Random::new(arguments.seed, 0x6e75);
            let mut ranks = (0..count).map(|_| random.below(input.keys.len() as u64) as usize);
            let bytes = reads(&*store, &input, &mut ranks)?;
            text += &format!(
                "{}, {}: {count} {name} of {bytes} bytes in all\n",
                input.name, turn.name
            );
            store.close()?;
            Ok(Measured::default())
        };
        Contest::new(name, &systems, &input, arguments).run(bench, of_turn)?;
    }
    Ok(text)
}

fn system(arguments: &Arguments, cache_bytes: u64) -> System {
    let index = arguments.indexes.first().cloned().unwrap_or_default();
    let settings = large(arguments, index, cache_bytes);
    match arguments.peers.first() {
        Some(peer) => System::Peer(*peer, settings),
        None => System::Rhumb(settings),
    }
}
