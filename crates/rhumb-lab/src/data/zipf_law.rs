//! Zipf's law over any number of ranks.
//!
//! W. Hörmann, G. Derflinger, "Rejection-Inversion to Generate Variates from Monotone Discrete
//! Distributions", ACM TOMACS 6(3), 1996: exact, in constant time and space, without the sum over
//! all ranks.

use super::Random;

/// Draws a rank n, from 1 on, with probability proportional to n^-theta.
#[derive(Debug, Clone)]
pub struct ZipfLaw {
    ranks: u64,
    theta: f64,
    /// The integral of x^-theta up to the last rank plus a half.
    end: f64,
    /// The integral up to the beginning of the first rank's area.
    start: f64,
    /// A rank that is at most this far above its point is always accepted.
    near: f64,
}

impl ZipfLaw {
    /// A law over ranks 1 to `ranks`; `theta` is above 0 and below 1.
    ///
    /// Random numbers have 53 bits, so beyond rank 10^14 only about one rank in ten can be drawn.
    pub fn new(ranks: u64, theta: f64) -> ZipfLaw {
        let mut law = ZipfLaw {
            ranks,
            theta,
            end: 0.0,
            start: 0.0,
            near: 0.0,
        };
        law.end = law.integral(ranks as f64 + 0.5);
        law.start = law.integral(1.5) - 1.0;
        law.near = 2.0 - law.inverse(law.integral(2.5) - 2f64.powf(-theta));
        law
    }

    /// The next rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.end + random.fraction() * (self.start - self.end);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().clamp(1.0, self.ranks as f64);
            let near = rank - point <= self.near;
            if near || area >= self.integral(rank + 0.5) - rank.powf(-self.theta) {
                return rank as u64;
            }
        }
    }

    /// The integral of x^-theta from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        (power * x.ln()).exp_m1() / power
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.theta;
        ((area * power).ln_1p() / power).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::zipfian::zeta;

    /// Chi-squared over the first 50 ranks one by one, and groups that double from there on.
    fn chi_squared(ranks: u64, theta: f64, draws: u64) -> (f64, f64) {
        let mut ends: Vec<u64> = (1..=ranks.min(50)).collect();
        while let Some(last) = ends.last().copied().filter(|last| *last < ranks) {
            ends.push((last * 2).min(ranks));
        }
        let law = ZipfLaw::new(ranks, theta);
        let mut random = Random::new(3, 0);
        let mut counts = vec![0u64; ends.len()];
        for _ in 0..draws {
            let rank = law.draw(&mut random);
            assert!((1..=ranks).contains(&rank));
            counts[ends.partition_point(|end| *end < rank)] += 1;
        }
        let (mut sum, mut before) = (0.0, 0.0);
        for (end, count) in ends.iter().zip(&counts) {
            let until = zeta(*end, theta);
            let expected = draws as f64 * (until - before) / zeta(ranks, theta);
            sum += (*count as f64 - expected).powi(2) / expected;
            before = until;
        }
        (sum, ends.len() as f64 - 1.0)
    }

    #[test]
    fn frequencies_follow_the_law() {
        for (ranks, theta) in [
            (10, 0.9),
            (1_000_000, 0.5),
            (1_000_000_000_000_000, 0.9),
            (1_000_000_000_000_000, 0.99),
        ] {
            let (found, freedom) = chi_squared(ranks, theta, 400_000);
            // Four standard deviations above the mean.
            let most = freedom + 4.0 * (2.0 * freedom).sqrt();
            assert!(found < most, "{ranks} {theta}: {found} of {freedom}");
        }
    }
}
