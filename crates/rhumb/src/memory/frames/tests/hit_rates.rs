//! How often blocks are found in memory, beside one clock over all of them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::{FrameSlots, Room};
use super::{BLOCKS, assert_within_capacity, cache};

/// One clock over all blocks of all sizes, without any overhead: the ideal to compare with.
struct GlobalClock {
    capacity: usize,
    used: usize,
    /// Blocks in the order in which the hand will reach them.
    ring: VecDeque<u64>,
    /// Each block's size, and whether it was read again.
    blocks: HashMap<u64, (usize, bool)>,
}

impl GlobalClock {
    /// Reads a block; returns whether it was in memory.
    fn read(&mut self, number: u64, len: usize) -> bool {
        if let Some((_, referenced)) = self.blocks.get_mut(&number) {
            *referenced = true;
            return true;
        }
        while self.used + len > self.capacity {
            let hand = self.ring.pop_front().unwrap();
            let (len, referenced) = self.blocks.get_mut(&hand).unwrap();
            if std::mem::take(referenced) {
                self.ring.push_back(hand);
            } else {
                self.used -= *len;
                self.blocks.remove(&hand);
            }
        }
        self.used += len;
        self.ring.push_back(number);
        self.blocks.insert(number, (len, false));
        false
    }
}

/// Draws from Zipf's law with exponent 0.99 over `BLOCKS` blocks.
struct Zipf {
    sums: Vec<f64>,
    rng: StdRng,
}

impl Zipf {
    fn new() -> Zipf {
        let mut sum = 0.0;
        let weights = (1..=BLOCKS).map(|rank| 1.0 / (rank as f64).powf(0.99));
        let sums = weights.map(|weight| {
            sum += weight;
            sum
        });
        Zipf {
            sums: sums.collect(),
            rng: StdRng::seed_from_u64(99),
        }
    }

    fn draw(&mut self) -> u64 {
        let at = self.rng.random_range(0.0..*self.sums.last().unwrap());
        let rank = self.sums.partition_point(|sum| *sum <= at) as u64;
        // Spread the ranks, so that blocks with neighbouring numbers are not equally popular.
        rank * 7_919 % BLOCKS
    }
}

/// The hit rates under Zipf's law in percent: that of the cache, and that of one global clock.
/// `pick` maps the number of a read and the drawn block to the block to read and its length.
fn hit_rates(capacity: u64, reads: u64, pick: impl Fn(u64, u64) -> (u64, usize)) -> (f64, f64) {
    let cache = cache(capacity);
    let tables = [(); 2].map(|()| FrameSlots::new(Arc::clone(&cache), BLOCKS));
    let mut clock = GlobalClock {
        capacity: capacity as usize,
        used: 0,
        ring: VecDeque::new(),
        blocks: HashMap::new(),
    };
    let (mut zipf, bytes) = (Zipf::new(), vec![0; 64 << 10]);
    let (mut hits, mut clock_hits) = (0, 0);
    for read in 0..reads {
        let (number, len) = pick(read, zipf.draw());
        let (table, at) = (&tables[(number / BLOCKS) as usize], number % BLOCKS);
        let found = table.get(at).is_some();
        if !found {
            assert!(table.insert(at, &bytes[..len], Room::Any).is_some());
        }
        let clock_found = clock.read(number, len);
        if read >= reads / 4 {
            hits += u64::from(found);
            clock_hits += u64::from(clock_found);
        }
    }
    assert_within_capacity(&cache);
    let percent = |hits: u64| hits as f64 * 100.0 / (reads - reads / 4) as f64;
    (percent(hits), percent(clock_hits))
}

#[test]
fn equal_blocks_hit_as_with_one_clock() {
    for (capacity, len) in [
        (4 << 20, 4096),
        (16 << 20, 4096),
        (8 << 20, 1000),
        (64 << 20, 16_384),
    ] {
        let (ours, clock) = hit_rates(capacity, 300_000, |_, number| (number, len));
        println!("{capacity} bytes for blocks of {len}: {ours:.2} %, one clock {clock:.2} %");
        assert!((30.0..95.0).contains(&clock) && ours > clock - 0.5);
    }
}

#[test]
fn unequal_blocks_hit_nearly_as_with_one_clock() {
    let spread =
        |number: u64, most: u64| (most / 8 + number.wrapping_mul(0x9e37_79b9) % most) as usize;
    for (capacity, most) in [
        (8 << 20, 2_000),
        (16 << 20, 4_000),
        (64 << 20, 8_000),
        (64 << 20, 30_000),
    ] {
        let (ours, clock) = hit_rates(capacity, 300_000, |_, number| {
            (number, spread(number, most))
        });
        println!("{capacity} bytes for blocks up to {most}: {ours:.2} %, one clock {clock:.2} %");
        assert!((30.0..95.0).contains(&clock) && ours > clock - 1.25);
    }
}

/// Blocks are small at first and large later: slabs must move to the new sizes.
#[test]
fn slabs_follow_the_sizes_that_are_read() {
    let (ours, clock) = hit_rates(16 << 20, 600_000, |read, number| {
        let small = 500 + (number % 5) as usize * 100;
        match read < 150_000 {
            true => (number, small),
            false => (BLOCKS + number, 6 * small),
        }
    });
    println!("{ours:.2} %, one clock {clock:.2} %");
    assert!((30.0..95.0).contains(&clock) && ours > clock - 1.25);
}
