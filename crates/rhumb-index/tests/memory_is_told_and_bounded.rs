//! The reported size of an index is what was allocated for it, and inserting and removing keys does
//! not make it grow for good.
//!
//! Replays from `RHUMB_SEED`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::from_env;
use rhumb_index::check::updatable::FromBytes;
use rhumb_index::check::{SplitMix64, distributions};
use rhumb_index::updatable::{Key, Updatable};
use rhumb_index::{IndexSpec, registry};

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// Counts the bytes that each thread holds.
struct Counting;

// SAFETY: every call is passed on to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.with(|live| live.set(live.get() + layout.size() as isize));
        // SAFETY: the caller meets the system allocator's contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.with(|live| live.set(live.get() - layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `make` and returns how many more bytes are allocated afterwards.
fn allocated<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    let made = make();
    (made, (LIVE.get() - before) as usize)
}

/// Asserts that the reported size is right to 2 %, or to the size of a boxed header.
fn assert_told(what: &str, said: usize, real: usize) {
    let apart = said.abs_diff(real);
    assert!(
        apart <= real / 50 || apart <= 256,
        "{what}: reports {said} bytes, {real} are allocated"
    );
}

/// Compares the reported and the allocated size after a bulk load, and after insertions and
/// removals.
fn told<K: FromBytes + ?Sized>(name: &str, keys: &[Vec<u8>], make: fn() -> Box<dyn Updatable<K>>) {
    let mut keys: Vec<K::Owned> = keys.iter().map(|key| K::from_bytes(key)).collect();
    keys.sort_unstable();
    keys.dedup();
    let entries: Vec<_> = keys.iter().cloned().zip(0..).collect();
    let (loaded, real) = allocated(|| {
        let mut index = make();
        index.bulk_load(&entries).unwrap();
        index
    });
    assert_told(&format!("{name}, loaded"), loaded.size_in_bytes(), real);
    let (changed, real) = allocated(|| {
        let mut index = make();
        for (key, value) in &entries {
            index.insert(K::borrowed(key), *value);
        }
        for key in keys.iter().step_by(2) {
            index.remove(K::borrowed(key));
        }
        index
    });
    assert_told(&format!("{name}, changed"), changed.size_in_bytes(), real);
}

#[test]
fn the_reported_size_is_what_was_allocated() {
    // Data made once per process, such as measured costs, is not part of any index.
    for kind in registry::kinds() {
        let spec = &kind.name.parse().unwrap();
        let _ = registry::in_memory(spec).map(|mut index| index.bulk_load(&[(1, 1), (2, 2)]));
        let keys: Vec<(Box<[u8]>, u64)> =
            (0..100u64).map(|i| (i.to_be_bytes().into(), i)).collect();
        let _ = registry::in_memory_texts(spec).map(|mut index| index.bulk_load(&keys));
    }
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut SplitMix64::new(4), 10_000);
        let name = distribution.name;
        told(&format!("alex {name}"), &keys, || of("alex"));
        told(&format!("lipp {name}"), &keys, || of("lipp"));
        told(&format!("dili {name}"), &keys, || of("dili"));
        told(&format!("btree {name}"), &keys, || of("btree"));
        told(&format!("btree of strings {name}"), &keys, || {
            texts_of("btree")
        });
        told(&format!("lits {name}"), &keys, || texts_of("lits"));
    }
}

fn of(kind: &str) -> Box<dyn Updatable<u64>> {
    registry::in_memory(&kind.parse().unwrap()).unwrap()
}

fn texts_of(kind: &str) -> Box<dyn Updatable<[u8]>> {
    registry::in_memory_texts(&kind.parse::<IndexSpec>().unwrap()).unwrap()
}

/// Inserts and removes bursts of keys in changing places beside keys that stay. Returns the size of
/// the index before and after.
fn bursts<K: Key + ?Sized>(
    mut index: Box<dyn Updatable<K>>,
    stay: u64,
    seed: u64,
    key: fn(u64) -> K::Owned,
) -> (usize, usize) {
    let gap = u64::MAX / (stay + 1);
    let entries: Vec<_> = (0..stay).map(|i| (key(i * gap), i)).collect();
    index.bulk_load(&entries).unwrap();
    let before = index.size_in_bytes();
    let mut random = SplitMix64::new(seed);
    for _ in 0..20_000 {
        let (base, width) = (random.next_u64() >> 1, 1 << (10 + random.below(46)));
        let count = 9 + random.below(12);
        let mut burst: Vec<K::Owned> = (0..count)
            .map(|_| key(base + random.below(width)))
            .collect();
        burst.retain(|key| index.insert(K::borrowed(key), 1));
        for key in &burst {
            assert_eq!(index.remove(K::borrowed(key)), Some(1));
        }
    }
    assert_eq!(index.len() as u64, stay);
    (before, index.size_in_bytes())
}

#[test]
fn keys_that_come_and_go_leave_no_memory_behind() {
    let seed = from_env("RHUMB_SEED", 0x6275_7273);
    println!("replay with RHUMB_SEED={seed}");
    for kind in registry::kinds() {
        let spec = &kind.name.parse().unwrap();
        for stay in [24u64, 1_000] {
            let sizes = [
                registry::in_memory(spec).map(|index| bursts(index, stay, seed, |key| key)),
                registry::in_memory_texts(spec)
                    .map(|index| bursts(index, stay, seed, |key| key.to_be_bytes().into())),
            ];
            for (before, after) in sizes.into_iter().flatten() {
                println!("{spec}, {stay} keys: {before} bytes, {after} after bursts");
                // A few empty slots or half-filled nodes may remain, but not one for each burst.
                assert!(
                    after <= 8 * before + 40_000,
                    "{spec}, {stay} keys: {before} bytes became {after}"
                );
            }
        }
    }
}
