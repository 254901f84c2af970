//! Which item comes next when few are asked for often: YCSB's scrambled Zipfian.
//!
//! J. Gray, P. Sundaresan, S. Englert, K. Baclawski, P. Weinberger, "Quickly Generating Billion-Record
//! Synthetic Databases", section 3.2.

use super::Random;

/// The skew that YCSB takes.
const THETA: f64 = 0.99;

/// Draws numbers below a bound, the n-th most frequent one in proportion to 1 / n^0.99. The frequent
/// ones lie anywhere.
#[derive(Debug, Clone)]
pub struct Zipf {
    items: u64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    /// Numbers below `items`, at least 2; takes time in proportion to them.
    pub fn new(items: u64) -> Zipf {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let all = zeta(items);
        let eta = (1.0 - (2.0 / items as f64).powf(1.0 - THETA)) / (1.0 - zeta(2) / all);
        Zipf {
            items,
            zeta: all,
            eta,
        }
    }

    /// The next number.
    pub fn draw(&self, random: &mut Random) -> u64 {
        scramble(self.rank(random)) % self.items
    }

    /// How frequent the next number is: 0 for the most frequent one.
    fn rank(&self, random: &mut Random) -> u64 {
        let share = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let scaled = share * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5f64.powf(THETA) {
            return 1;
        }
        let place = (self.eta * share - self.eta + 1.0).powf(1.0 / (1.0 - THETA));
        ((self.items as f64 * place) as u64).min(self.items - 1)
    }
}

/// FNV-1a over the eight bytes of a number, as YCSB scrambles.
fn scramble(number: u64) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    number
        .to_le_bytes()
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        let (items, draws) = (10_000, 400_000);
        let zipf = Zipf::new(items);
        let mut random = Random::new(1, 1);
        let mut counts = vec![0u64; items as usize];
        for _ in 0..draws {
            counts[zipf.rank(&mut random) as usize] += 1;
        }
        for rank in [0, 1] {
            let expected = draws as f64 * ((rank + 1) as f64).powf(-THETA) / zipf.zeta;
            let found = counts[rank] as f64;
            assert!((found / expected - 1.0).abs() < 0.03, "{found} {expected}");
        }
        // The formula is an approximation behind the first two, so the rest is held to it loosely.
        let first: u64 = counts[..100].iter().sum();
        let law: f64 = (1..=100).map(|i| f64::from(i).powf(-THETA)).sum::<f64>() / zipf.zeta;
        assert!((first as f64 / draws as f64 - law).abs() < 0.03);
    }

    #[test]
    fn frequent_numbers_lie_apart() {
        let zipf = Zipf::new(1_000_000);
        let mut random = Random::new(1, 2);
        let numbers: Vec<u64> = (0..1_000).map(|_| zipf.draw(&mut random)).collect();
        assert!(numbers.iter().all(|n| *n < 1_000_000));
        let low = numbers.iter().filter(|n| **n < 500_000).count();
        assert!((300..700).contains(&low), "{low}");
        assert_ne!(scramble(0) % 1_000_000, 0);
    }
}
