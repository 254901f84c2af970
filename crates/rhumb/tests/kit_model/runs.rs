//! Runs many seeded cases on two threads, and tells how to repeat one of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Runs `case` for `count` seeds (times `RHUMB_DEEP`, or one in `RHUMB_BRIEF`) on two threads, or only for the seed in
/// `RHUMB_SEED`, that many times. The error of a case says what is wrong.
///
/// # Panics
/// At the first case that fails, with its seed.
pub fn cases(what: &str, count: u64, case: impl Fn(u64) -> Result<(), String> + Sync) {
    let started = Instant::now();
    let deep = number("RHUMB_DEEP").unwrap_or(1);
    if let Some(seed) = number("RHUMB_SEED") {
        for _ in 0..deep {
            if let Err(wrong) = case(seed) {
                panic!("{what}: RHUMB_SEED={seed}: {wrong}");
            }
        }
        println!("{what}: 1 case, {deep} times, RHUMB_SEED={seed}");
        return;
    }
    let count = scaled(count) * deep;
    let (next, failure) = (AtomicU64::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count || failure.lock().unwrap().is_some() {
                        return;
                    }
                    if let Err(wrong) = case(seed) {
                        failure.lock().unwrap().get_or_insert((seed, wrong));
                    }
                }
            });
        }
    });
    if let Some((seed, wrong)) = failure.into_inner().unwrap() {
        panic!("{what}: RHUMB_SEED={seed}: {wrong}");
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {count} cases, seeds 0 to {count}, {seconds:.1} s");
}

/// The number of cases to do of `count`: one in `RHUMB_BRIEF`.
pub fn scaled(count: u64) -> u64 {
    count.div_ceil(number("RHUMB_BRIEF").unwrap_or(1).max(1))
}

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
