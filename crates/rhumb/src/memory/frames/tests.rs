//! What the cache keeps and evicts, and what pins preserve.

mod hit_rates;
mod written;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::region::Region;
use super::{BlockCache, FrameSlots, Room};
use crate::memory::{OwnedBytes, Pinned, Pins};
use crate::test_seed::test_seed;

const BLOCKS: u64 = 20_000;

fn cache(capacity: u64) -> Arc<BlockCache> {
    Arc::new(BlockCache::new(capacity).unwrap())
}

/// Bytes that differ for each block.
fn block(table: u64, number: u64, len: usize) -> Vec<u8> {
    let start = (table << 32 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = (0..len.div_ceil(8) as u64).map(|i| start.wrapping_add(i).to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(len);
    bytes
}

fn assert_within_capacity(cache: &BlockCache) {
    let (state, capacity) = (cache.state(), cache.capacity());
    let total = state.used.total();
    assert!(total <= capacity + capacity / 20, "{state:?} of {capacity}");
    assert!(state.used.blocks <= state.used.slabs);
}

#[test]
fn blocks_come_back_until_others_take_their_place() {
    let cache = cache(1 << 20);
    let table = FrameSlots::new(Arc::clone(&cache), 2_000);
    assert!(table.get(0).is_none());
    for number in 0..2_000 {
        assert_eq!(
            *table
                .insert(number, &block(1, number, 4000), Room::Any)
                .unwrap(),
            block(1, number, 4000)
        );
        assert_eq!(*table.get(number).unwrap(), block(1, number, 4000));
        assert_within_capacity(&cache);
    }
    let kept: Vec<u64> = (0..2_000).filter(|n| table.get(*n).is_some()).collect();
    assert!(
        (230..=262).contains(&kept.len()),
        "{} blocks are kept",
        kept.len()
    );
    assert!(
        kept.iter()
            .all(|n| *table.get(*n).unwrap() == block(1, *n, 4000))
    );
    assert_eq!(cache.state().used.evictions, 2_000 - kept.len() as u64);
    assert_eq!(cache.state().used.blocks, 4000 * kept.len() as u64);
    let other = FrameSlots::new(Arc::clone(&cache), 2_000);
    assert!(other.get(1_999).is_none() && table.get(2_000).is_none());
    assert!(table.insert(2_000, b"behind the last", Room::Any).is_none());
}

#[test]
fn nothing_is_evicted_for_blocks_that_take_free_room_alone() {
    let cache = cache(1 << 20);
    let table = FrameSlots::new(Arc::clone(&cache), 2_000);
    let insert = |number, len, room| table.insert(number, &block(1, number, len), room).is_some();
    let kept = (0..1_000).take_while(|n| insert(*n, 4000, Room::Free));
    let kept = kept.count() as u64;
    assert!((230..=262).contains(&kept), "{kept} blocks are kept");
    assert!((1_000..1_100).all(|n| !insert(n, 3000, Room::Free) && !insert(n, 100, Room::Free)));
    assert_eq!(cache.state().used.evictions, 0);
    assert!((0..kept).all(|n| table.get(n).is_some()));
    assert!(insert(1_000, 4000, Room::Any) && cache.state().used.evictions > 0);
    assert_within_capacity(&cache);
}

#[test]
fn one_of_eight_reads_of_long_scans_may_evict() {
    let table = FrameSlots::new(cache(1 << 20), 1);
    let rooms: Vec<Room> = (0..8_000).map(|_| table.room_of_long_scan()).collect();
    // Of several scans that read in turn, each gets its share.
    for scans in [1, 2, 3, 4, 8] {
        for first in 0..scans {
            let of_scan = rooms.iter().skip(first).step_by(scans);
            let any = of_scan.filter(|room| **room == Room::Any).count();
            let share = 1_000 / scans;
            assert!(any.abs_diff(share) <= share / 4, "{any} of {scans} scans");
        }
    }
}

#[test]
fn the_first_of_two_who_read_a_block_keeps_it() {
    let cache = cache(1 << 20);
    let table = FrameSlots::new(Arc::clone(&cache), 1);
    let first = table.insert(0, b"block", Room::Any).unwrap();
    let second = table.insert(0, b"block", Room::Any).unwrap();
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert_eq!(cache.state().pinned_blocks, 1);
}

#[test]
fn no_capacity_keeps_nothing() {
    for capacity in [0, 1, 1000] {
        let cache = cache(capacity);
        let table = FrameSlots::new(Arc::clone(&cache), 10);
        assert!(table.insert(1, b"block", Room::Any).is_none() && table.get(1).is_none());
        assert_eq!(cache.state().used.total(), 0);
        let bypass = Arc::new(OwnedBytes::new(b"block".to_vec()));
        table.note_bypass(&bypass);
        assert_eq!(
            (cache.state().bypassed, cache.state().bypassed_bytes),
            (1, 5)
        );
        drop(bypass);
        assert_eq!(
            (cache.state().bypassed, cache.state().bypassed_bytes),
            (1, 0)
        );
    }
}

#[test]
fn small_caches_keep_what_they_can() {
    for capacity in (1024..200_000).step_by(1013) {
        let cache = cache(capacity);
        let table = FrameSlots::new(Arc::clone(&cache), 100);
        for number in 0..100 {
            let bytes = block(1, number, 100 + number as usize * 41);
            if let Some(kept) = table.insert(number, &bytes, Room::Any) {
                assert_eq!(*kept, bytes);
                assert_eq!(*table.get(number).unwrap(), bytes);
            }
            assert_within_capacity(&cache);
        }
        let last = (90..100).filter(|n| table.get(*n).is_some()).count();
        assert!(capacity < 32 << 10 || last > 1, "{last} of {capacity}");
    }
}

#[test]
fn address_space_that_is_refused_is_an_error() {
    assert!(Region::reserve(1 << 60).is_err());
    assert!(Region::reserve(usize::MAX).is_err());
    // Reserving address space takes no memory.
    assert_eq!(cache(u64::MAX).state().used.total(), 0);
}

#[test]
fn memory_that_is_given_back_is_not_a_neighbours() {
    let bytes = 4 << 20;
    for step in [1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20] {
        let region = Region::reserve(bytes).unwrap();
        let start = region.start().as_ptr();
        // SAFETY: the region is this test's alone, and `bytes` long.
        unsafe { std::ptr::write_bytes(start, 7, bytes) };
        for offset in (0..bytes).step_by(2 * step) {
            // SAFETY: as above.
            unsafe { region.discard(offset, step) };
        }
        // SAFETY: as above, and zeroed or written.
        let now = unsafe { std::slice::from_raw_parts(start, bytes) };
        for (at, byte) in now.iter().enumerate() {
            assert!(
                at / step % 2 == 0 || *byte == 7,
                "byte {at} of steps of {step}"
            );
        }
        // SAFETY: the region is not used any more.
        unsafe { region.unmap() };
    }
}

#[test]
fn pinned_blocks_stay_whatever_happens() {
    let cache = cache(256 << 10);
    let table = FrameSlots::new(Arc::clone(&cache), 1_000);
    let mut pinned: Vec<Pinned> = Vec::new();
    for number in 0..1_000 {
        let Some(pin) = table.insert(number, &block(1, number, 3_000), Room::Any) else {
            break;
        };
        pinned.push(pin);
    }
    assert!((70..88).contains(&pinned.len()), "{} fit", pinned.len());
    let state = cache.state();
    assert_eq!(state.pinned_blocks, pinned.len() as u64);
    assert_eq!(state.pinned_bytes, 3_000 * state.pinned_blocks);
    // Frames of another size find no room either, and a table's slots would need a slab.
    assert!(table.insert(999, &block(1, 999, 500), Room::Any).is_none());
    let large = FrameSlots::new(Arc::clone(&cache), 20_000);
    assert!(large.insert(0, b"block", Room::Any).is_none());
    let clones = pinned.clone();
    pinned.truncate(40);
    drop(table);
    for (number, pin) in clones.iter().enumerate() {
        assert_eq!(**pin, block(1, number as u64, 3_000));
    }
    drop(clones);
    // Frames without pins are free again, and pinned blocks are unchanged.
    let other = FrameSlots::new(Arc::clone(&cache), 1_000);
    for number in 0..1_000 {
        assert!(
            other
                .insert(number, &block(2, number, 2_900), Room::Any)
                .is_some()
        );
    }
    assert_within_capacity(&cache);
    drop((other, large, cache));
    for (number, pin) in pinned.iter().enumerate() {
        assert_eq!(**pin, block(1, number as u64, 3_000));
    }
}

#[test]
fn a_dropped_table_leaves_its_frames_to_others() {
    let cache = cache(4 << 20);
    for table in 0..50 {
        let slots = FrameSlots::new(Arc::clone(&cache), 10_000);
        for number in 0..500 {
            assert!(
                slots
                    .insert(number, &block(table, number, 3_000), Room::Any)
                    .is_some()
            );
        }
        assert_eq!(cache.state().used.blocks, 500 * 3_000);
        assert_eq!(cache.state().used.slots, 40_000);
    }
    assert_eq!(cache.state().used.evictions, 0);
    assert_eq!(
        (cache.state().used.blocks, cache.state().used.slots),
        (0, 0)
    );
}

#[test]
fn slots_take_their_memory_from_blocks() {
    let cache = cache(4 << 20);
    let first = FrameSlots::new(Arc::clone(&cache), BLOCKS);
    for number in 0..2_000 {
        first
            .insert(number, &block(1, number, 3_000), Room::Any)
            .unwrap();
    }
    let before = cache.state().used;
    let tables: Vec<FrameSlots> = (0..20)
        .map(|_| FrameSlots::new(Arc::clone(&cache), 100_000))
        .collect();
    let kept = tables
        .iter()
        .filter(|table| table.insert(7, b"block", Room::Any).is_some())
        .count();
    // At most half of the capacity may be used for slots.
    assert_eq!(kept, 5);
    let after = cache.state().used;
    assert!(before.slabs - after.slabs > 1 << 20, "{before:?} {after:?}");
    assert_within_capacity(&cache);
    drop(tables);
    for number in 0..2_000 {
        first
            .insert(number, &block(1, number, 3_000), Room::Any)
            .unwrap();
    }
    assert_eq!(cache.state().used.slabs, before.slabs);
}

#[test]
fn headers_of_small_frames_take_their_memory_from_blocks() {
    for capacity in [1 << 20, 16 << 20] {
        let cache = cache(capacity);
        let large = FrameSlots::new(Arc::clone(&cache), 2_000);
        for number in 0..2_000 {
            large
                .insert(number, &block(1, number, 16_000), Room::Any)
                .unwrap();
        }
        let small = FrameSlots::new(Arc::clone(&cache), 100_000);
        for number in 0..200_000 {
            let number = number % 100_000;
            let pin = small
                .insert(number, &block(2, number, 100), Room::Any)
                .unwrap();
            assert_eq!(*pin, block(2, number, 100));
            if number % 100 == 0 {
                assert_within_capacity(&cache);
            }
        }
        let kept = (0..100_000).filter(|n| small.get(*n).is_some()).count() as u64;
        assert!(kept * 128 > capacity / 4, "{kept} of {capacity}");
        for number in 0..2_000 {
            large
                .insert(number, &block(1, number, 16_000), Room::Any)
                .unwrap();
            assert_within_capacity(&cache);
        }
    }
}

#[test]
fn a_pin_that_is_one_too_many_is_a_copy() {
    let cache = cache(1 << 20);
    let table = FrameSlots::new(Arc::clone(&cache), 1);
    let pin = table.insert(0, b"block", Room::Any).unwrap();
    let header = pin.frame_pin().unwrap().header();
    header.crowd();
    assert!(table.get(0).is_none() && table.insert(0, b"block", Room::Any).is_none());
    let copy = pin.clone();
    assert!(copy.frame_pin().is_none());
    assert_eq!((&*copy, &*pin), (&b"block"[..], &b"block"[..]));
    header.disperse();
    assert!(table.get(0).is_some() && pin.clone().frame_pin().is_some());
}

#[test]
fn parts_take_their_pins_from_a_stock_that_is_given_back() {
    let cache = cache(1 << 20);
    let table = FrameSlots::new(Arc::clone(&cache), 2);
    let blocks = [0, 1].map(|number| {
        table
            .insert(number, &block(1, number, 3_000), Room::Any)
            .unwrap()
    });
    let pins_of = |number: usize| blocks[number].frame_pin().unwrap().header().pins();
    let mut stock = Pins::default();
    let mut parts = Vec::new();
    for turn in 0..100 {
        parts.push((0, turn, blocks[0].part(turn, 8, &mut stock)));
    }
    assert!((101..101 + 16).contains(&pins_of(0)), "{}", pins_of(0));
    // Taking a part of another block gives back the pins left of the first.
    parts.push((1, 7, blocks[1].part(7, 8, &mut stock)));
    assert_eq!(pins_of(0), 101);
    stock.let_go();
    assert_eq!((pins_of(0), pins_of(1)), (101, 2));
    for (number, start, part) in &parts {
        assert_eq!(**part, blocks[*number][*start..start + 8]);
    }
    assert!(blocks[0].part(2_999, 2, &mut stock).frame_pin().is_none());
    drop((parts, stock));
    assert_eq!((pins_of(0), pins_of(1)), (1, 1));
    let header = blocks[0].frame_pin().unwrap().header();
    header.crowd();
    let copy = blocks[0].part(5, 9, &mut Pins::default());
    header.disperse();
    assert!(copy.frame_pin().is_none());
    assert_eq!(*copy, blocks[0][5..14]);
    assert_eq!(pins_of(0), 1);
}

/// Threads get, keep, hold and drop blocks of tables that come and go, in a cache that is far too
/// small, so that frames change their blocks and slabs their frame sizes all the time.
#[test]
fn threads_always_see_the_block_that_they_asked_for() {
    let seed = test_seed();
    for capacity in [40 << 10, 300 << 10, 6 << 20] {
        let cache = cache(capacity);
        let tables: Vec<_> = (0..4).map(|_| std::sync::RwLock::new(None)).collect();
        let (tables, cache, names) = (&tables, &cache, &AtomicU64::new(1));
        let (hits, ended) = (&AtomicU64::new(0), &AtomicBool::new(false));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(seed + thread);
                    let mut held: VecDeque<(u64, u64, Pinned)> = VecDeque::new();
                    for _ in 0..60_000 {
                        let at = rng.random_range(0..tables.len());
                        let guard = tables[at].read().unwrap();
                        let Some((name, slots)) = &*guard else {
                            drop(guard);
                            let name = names.fetch_add(1, Ordering::Relaxed);
                            let slots = FrameSlots::new(Arc::clone(cache), 300);
                            *tables[at].write().unwrap() = Some((name, slots));
                            continue;
                        };
                        let number = rng.random_range(0..300u64).pow(2) / 300;
                        // The sizes of blocks change in waves.
                        let shift = names.load(Ordering::Relaxed) / 8 % 6;
                        let len = (100 + number as usize * 17) >> shift;
                        let found = slots.get(number).inspect(|_| {
                            hits.fetch_add(1, Ordering::Relaxed);
                        });
                        let bytes = block(*name, number, len.max(8));
                        let room = [Room::Free, Room::Any][rng.random_range(0..2)];
                        let pin = found.or_else(|| slots.insert(number, &bytes, room));
                        held.extend(pin.map(|pin| (*name, number, pin)));
                        if rng.random_range(0..500) == 0 {
                            drop(guard);
                            *tables[at].write().unwrap() = None;
                        }
                        while held.len() > rng.random_range(0..12) {
                            let (name, number, pin) = held.pop_front().unwrap();
                            assert_eq!(*pin.clone(), block(name, number, pin.len()), "seed {seed}");
                        }
                    }
                    ended.store(true, Ordering::Relaxed);
                });
            }
            while !ended.load(Ordering::Relaxed) {
                assert_within_capacity(cache);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        assert!(hits.load(Ordering::Relaxed) > 1_000);
        assert_eq!(cache.state().pinned_blocks, 0);
        assert_within_capacity(cache);
    }
}
