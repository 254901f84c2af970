//! Zipfian ranks, after section 3.2 of J. Gray, P. Sundaresan, S. Englert, K. Baclawski and P.
//! Weinberger, "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994), the method of
//! YCSB.

use crate::data::Random;

/// Draws ranks from 0 on, rank k with probability proportional to (k + 1)^-theta. This is exact for
/// the first two ranks; the others follow Gray's formula, which inverts the integral of the law
/// instead of its sum. For 10,000 items and more, the share of draws up to a rank differs from the
/// law by at most 0.015.
#[derive(Debug, Clone)]
pub struct Zipfian {
    theta: f64,
    items: u64,
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    /// A distribution over `items` ranks; theta is between 0 and 1, both excluded.
    pub fn new(items: u64, theta: f64) -> Zipfian {
        let mut zipfian = Zipfian {
            theta,
            items,
            zeta: zeta(items, theta),
            eta: 0.0,
        };
        zipfian.set_eta();
        zipfian
    }

    /// Extends the distribution to `items` ranks; does nothing if it has as many. Its time is
    /// proportional to the number of new ranks.
    ///
    /// When items are added, YCSB keeps the original number of items in eta; this function follows
    /// the paper.
    pub fn grow(&mut self, items: u64) {
        if items <= self.items {
            return;
        }
        let added = self.items + 1..=items;
        self.zeta += added.map(|i| (i as f64).powf(-self.theta)).sum::<f64>();
        self.items = items;
        self.set_eta();
    }

    fn set_eta(&mut self) {
        // With one or two items eta is never used, since the draw has returned before.
        let first_two = zeta(2, self.theta);
        self.eta = (1.0 - (2.0 / self.items as f64).powf(1.0 - self.theta))
            / (1.0 - first_two / self.zeta);
    }

    /// The next rank, below the number of items; 0 if there are none.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let share = random.fraction();
        let scaled = share * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5f64.powf(self.theta) {
            return 1;
        }
        let place = (self.eta * share - self.eta + 1.0).powf(1.0 / (1.0 - self.theta));
        ((self.items as f64 * place) as u64).min(self.items.saturating_sub(1))
    }
}

/// The sum of i^-theta for i from 1 to `items`: term by term up to 1,000, then by the formula of
/// Euler and Maclaurin, whose remainder is below 10^-17.
pub fn zeta(items: u64, theta: f64) -> f64 {
    const TERMS: u64 = 1_000;
    let power = |x: f64, exponent: f64| x.powf(exponent);
    let head = (1..=items.min(TERMS)).map(|i| power(i as f64, -theta));
    let mut sum: f64 = head.sum();
    if items > TERMS {
        let (from, to) = (TERMS as f64, items as f64);
        let integral = (power(to, 1.0 - theta) - power(from, 1.0 - theta)) / (1.0 - theta);
        let ends = (power(to, -theta) - power(from, -theta)) / 2.0;
        let slopes = theta / 12.0 * (power(from, -theta - 1.0) - power(to, -theta - 1.0));
        let bends = theta * (theta + 1.0) * (theta + 2.0) / 720.0
            * (power(from, -theta - 3.0) - power(to, -theta - 3.0));
        sum += integral + ends + slopes - bends;
    }
    sum
}

/// FNV-1a over the eight bytes of a number, the least significant first.
pub fn fnv1a(number: u64) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    number
        .to_le_bytes()
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, hash)
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_fits;
    use super::*;

    fn plain(items: u64, theta: f64) -> f64 {
        (1..=items).map(|i| (i as f64).powf(-theta)).sum()
    }

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.5, 0.9, 0.99] {
            for items in [0, 1, 2, 999, 1_000, 1_001, 1_002, 5_000, 1_000_000] {
                let (found, expected) = (zeta(items, theta), plain(items, theta));
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{items} {theta}: {found} {expected}"
                );
            }
        }
        // The constant that YCSB states for 10,000,000,000 items.
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-9);
    }

    #[test]
    fn a_grown_distribution_equals_a_new_one() {
        let mut grown = Zipfian::new(10, 0.99);
        for items in [10, 9, 11, 50, 5_000] {
            grown.grow(items);
        }
        let new = Zipfian::new(5_000, 0.99);
        assert!((grown.zeta - new.zeta).abs() < 1e-12 && (grown.eta - new.eta).abs() < 1e-12);
        assert_eq!(grown.items, 5_000);
    }

    /// The share of draws below rank `rank`, by the inverse of the formula.
    fn below(zipfian: &Zipfian, rank: u64) -> f64 {
        let first_two = [1.0, 1.0 + 0.5f64.powf(zipfian.theta)].map(|sum| sum / zipfian.zeta);
        match rank {
            0 => 0.0,
            1 => first_two[0],
            2 => first_two[1],
            _ => {
                let place = (rank as f64 / zipfian.items as f64).powf(1.0 - zipfian.theta);
                ((place - 1.0) / zipfian.eta + 1.0).max(first_two[1])
            }
        }
    }

    #[test]
    fn draws_follow_the_formula() {
        for (items, theta) in [
            (10_000, 0.99),
            (10_000, 0.9),
            (1_000_000, 0.99),
            (3, 0.5),
            (2, 0.9),
        ] {
            let zipfian = Zipfian::new(items, theta);
            // The first ranks one by one, then ranges that double.
            let mut ends: Vec<u64> = (1..=20).filter(|end| *end < items).collect();
            ends.extend((5..40).map(|bits| 1 << bits).filter(|end| *end < items));
            ends.push(items);
            let mut counts = vec![0u64; ends.len()];
            let (mut random, draws) = (Random::new(1, 1), 500_000);
            for _ in 0..draws {
                let rank = zipfian.draw(&mut random);
                counts[ends.partition_point(|end| *end <= rank)] += 1;
            }
            let sums: Vec<f64> = ends.iter().map(|end| below(&zipfian, *end)).collect();
            let shares = sums
                .iter()
                .scan(0.0, |last, sum| Some(sum - std::mem::replace(last, *sum)));
            assert_fits(&counts, &shares.collect::<Vec<f64>>());
        }
    }

    /// The greatest difference between the shares of all draws up to a rank.
    #[test]
    fn the_formula_is_near_the_law() {
        for (items, theta, tolerance) in [
            (10_000, 0.9, 0.011),
            (10_000, 0.99, 0.0145),
            (1_000_000, 0.9, 0.0066),
            (1_000_000, 0.99, 0.0111),
        ] {
            let zipfian = Zipfian::new(items, theta);
            let (mut sum, mut worst) = (0.0, 0.0f64);
            for rank in 0..items {
                let difference = below(&zipfian, rank) - sum / zipfian.zeta;
                // Exact for the first two ranks.
                assert!(rank > 2 || difference.abs() < 1e-15);
                worst = worst.max(difference.abs());
                sum += ((rank + 1) as f64).powf(-theta);
            }
            assert!(worst < tolerance, "{items} {theta}: {worst}");
        }
    }

    #[test]
    fn one_item_and_none() {
        let mut random = Random::new(2, 2);
        for items in [0, 1] {
            let zipfian = Zipfian::new(items, 0.99);
            assert!((0..1_000).all(|_| zipfian.draw(&mut random) == 0));
        }
    }

    #[test]
    fn hashes_are_those_that_ycsb_gives() {
        // The keys of YCSB's first records are "user" and the absolute value of the signed hash.
        let hashes = [0, 1, 2].map(|n| (fnv1a(n) as i64).unsigned_abs());
        let expected = [
            6_284_781_860_667_377_211,
            8_517_097_267_634_966_620,
            1_820_151_046_732_198_393,
        ];
        assert_eq!(hashes, expected);
    }
}
