//! The seed of randomised unit tests.

use std::hash::{BuildHasher, RandomState};

/// `RHUMB_SEED` if that is set, else a new one. It is printed, and so shown with failures.
pub(crate) fn test_seed() -> u64 {
    let given = std::env::var("RHUMB_SEED").ok();
    let given = given.and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("RHUMB_SEED={seed}");
    seed
}
