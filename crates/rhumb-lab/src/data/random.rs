//! Random numbers that are the same on every machine and in every version of the lab.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// A stream of random numbers. Only the generator's raw output is used: its bits are defined by its
/// publication, whereas the distributions and shuffles of the `rand` crate may change.
#[derive(Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Stream number `stream` of a seed; different streams are independent.
    pub fn new(seed: u64, stream: u64) -> Random {
        // The multiplication gives neighbouring streams seeds that are far apart.
        let mixed = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Random(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, which must not be 0; the bias is below `end` / 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A number in `0.0..1.0` with 53 random bits.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from the standard normal distribution (Box and Muller). It is the same on all
    /// platforms whose `ln` and `cos` give the same results.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.fraction()).cos()
    }

    /// Appends `bytes` random bytes.
    pub fn fill(&mut self, into: &mut Vec<u8>, bytes: usize) {
        let end = into.len() + bytes;
        into.reserve(bytes + 8);
        while into.len() < end {
            into.extend_from_slice(&self.next().to_le_bytes());
        }
        into.truncate(end);
    }

    /// The numbers below `len` in random order (Fisher and Yates).
    pub fn order(&mut self, len: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..len).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }

    /// `count` distinct numbers, ascending.
    pub fn distinct(&mut self, count: usize) -> Vec<u64> {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let missing = count - numbers.len();
            numbers.extend((0..missing).map(|_| self.next()));
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, stream| Random::new(seed, stream).distinct(100);
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn an_order_has_every_number_once() {
        let order = Random::new(9, 9).order(1_000);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1_000).collect::<Vec<u32>>());
        assert_ne!(sorted, order);
    }
}
