//! Every index that changes in place answers as a `BTreeMap` does, over generated histories.
//!
//! Replays from `RHUMB_SEED`; `RHUMB_DEEP` multiplies the histories.

use std::time::Instant;

use crate::common::from_env;
use rhumb_index::check::updatable::{FromBytes, histories};
use rhumb_index::updatable::Updatable;
use rhumb_index::{IndexError, IndexSpec, registry};

const HISTORIES: u64 = 2_000;
const MOST_KEYS: usize = 5_000;

/// An index that the registry made from a specification.
type Made<K> = Result<Box<dyn Updatable<K>>, IndexError>;

/// Runs the histories of every kind that `make` supports, and fewer histories with each other
/// upkeep.
fn all_match<K: FromBytes + ?Sized>(keys: usize, make: fn(&IndexSpec) -> Made<K>) {
    let seed = from_env("RHUMB_SEED", 0x7570_6461);
    let count = HISTORIES * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    let kinds = registry::kinds().iter();
    let mut kinds: Vec<_> = kinds.filter(|kind| kind.is_updatable()[keys]).collect();
    if let Ok(only) = std::env::var("RHUMB_KIND") {
        assert!(registry::kinds().iter().any(|kind| kind.name == only));
        kinds.retain(|kind| kind.name == only);
    } else {
        assert!(kinds.len() > 1);
    }
    for kind in kinds {
        let spec: IndexSpec = kind.name.parse().unwrap();
        histories_of(&spec, make, seed, count);
        if let Ok(published) = spec.with("upkeep", 1) {
            histories_of(&published, make, seed, count / 4);
        }
    }
}

fn histories_of<K: FromBytes + ?Sized>(
    spec: &IndexSpec,
    make: fn(&IndexSpec) -> Made<K>,
    seed: u64,
    count: u64,
) {
    let start = Instant::now();
    let counts = histories(&|| make(spec).unwrap(), seed, count, MOST_KEYS);
    let counts = counts.unwrap_or_else(|error| panic!("{error}"));
    println!("{spec}: {counts:?}, {:?}", start.elapsed());
    assert_eq!(counts.histories, count);
    assert!(counts.most_keys > MOST_KEYS / 2);
}

#[test]
fn integers() {
    all_match(0, registry::in_memory);
}

#[test]
fn strings() {
    all_match(1, registry::in_memory_texts);
}
