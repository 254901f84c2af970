//! The beta distribution.
//!
//! G. Marsaglia, W. W. Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26(3), 2000.

use crate::data::Random;

/// A beta distribution over 0 to 1; both parameters are finite and above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta {
    pub alpha: f64,
    pub beta: f64,
}

impl Beta {
    /// The uniform distribution.
    pub const UNIFORM: Beta = Beta {
        alpha: 1.0,
        beta: 1.0,
    };

    /// Draws a number in `0.0..=1.0`.
    pub fn draw(self, random: &mut Random) -> f64 {
        if self == Beta::UNIFORM {
            return random.fraction();
        }
        let (above, below) = (gamma(self.alpha, random), gamma(self.beta, random));
        let sum = above + below;
        if sum > 0.0 {
            return above / sum;
        }
        // Both underflowed, so the parameters are so small that nearly all weight is at the ends.
        let weight = self.alpha / (self.alpha + self.beta);
        f64::from(random.fraction() < weight)
    }
}

/// Draws from the gamma distribution of a shape above 0, with scale 1.
fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        let power = (1.0 - random.fraction()).powf(1.0 / shape);
        return gamma(shape + 1.0, random) * power;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let v = (1.0 + c * x).powi(3);
        let u = 1.0 - random.fraction();
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_variances_are_those_of_the_distribution() {
        for (alpha, beta) in [
            (1.0, 1.0),
            (2.0, 2.0),
            (1.0, 5.0),
            (2.5, 0.5),
            (0.3, 0.7),
            (50.0, 20.0),
        ] {
            let mut random = Random::new(7, 7);
            let law = Beta { alpha, beta };
            let drawn: Vec<f64> = (0..200_000).map(|_| law.draw(&mut random)).collect();
            assert!(drawn.iter().all(|x| (0.0..=1.0).contains(x)));
            let mean = drawn.iter().sum::<f64>() / 2e5;
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2e5;
            let sum = alpha + beta;
            let expected = alpha * beta / (sum * sum * (sum + 1.0));
            assert!((mean - alpha / sum).abs() < 0.004, "{law:?}: {mean}");
            assert!(
                (variance / expected - 1.0).abs() < 0.02,
                "{law:?}: {variance}"
            );
        }
    }

    #[test]
    fn tiny_parameters_give_the_ends_in_proportion() {
        let (mut random, law) = (
            Random::new(7, 8),
            Beta {
                alpha: 1e-5,
                beta: 3e-5,
            },
        );
        let drawn = (0..20_000).map(|_| law.draw(&mut random));
        let (mut ends, mut above) = (0, 0);
        for x in drawn {
            ends += u32::from(!(1e-9..=1.0 - 1e-9).contains(&x));
            above += u32::from(x > 0.5);
        }
        assert!(
            ends > 19_900 && (4_600..5_400).contains(&above),
            "{ends} {above}"
        );
    }
}
