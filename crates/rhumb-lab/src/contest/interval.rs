//! The interval in which the mean over all possible rounds lies, estimated from a few of them.

use crate::data::Random;
use crate::measure::Spread;

/// The probability with which the true mean lies below the interval; the same above it. Two of 100
/// repetitions of a contest between equals are expected to find a difference.
const TAIL: f64 = 0.01;

/// The number of means that are drawn from the rounds.
const DRAWS: usize = 1_000;

/// Any fixed seed: the same figures give the same interval.
const SEED: u64 = 0x626f_6f74;

/// An estimate with its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower limit.
    pub least: f64,
    /// The estimate; NaN if there are no figures.
    pub middle: f64,
    /// The upper limit.
    pub greatest: f64,
}

/// The position of an interval relative to a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// All of the interval is below the band.
    Below,
    /// All of it is in the band.
    Within,
    /// All of it is above the band.
    Above,
    /// It has parts in the band and outside.
    Undecided,
}

impl Interval {
    /// The interval of the mean, from one figure for each round. It is unlimited with fewer than
    /// two figures, or if one is not finite.
    ///
    /// The bootstrap (B. Efron, "Bootstrap Methods", Annals of Statistics 7(1), 1979) draws rounds
    /// with replacement, so it follows lopsided distributions but cannot reach beyond the rounds
    /// that it has: if three rounds agree by chance, which happens once in four contests between
    /// equals, it sees no doubt. Student's interval does. The wider limits of both count.
    pub fn of(figures: &[f64]) -> Interval {
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let Spread { min, median, max } = Spread::of(figures);
        if figures.len() < 2 || !mean.is_finite() {
            return Interval {
                least: f64::NEG_INFINITY,
                middle: median,
                greatest: f64::INFINITY,
            };
        }
        if min == max {
            // Without the rounding of sums.
            return Interval {
                least: min,
                middle: min,
                greatest: min,
            };
        }
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let reach = error * student(figures.len() - 1);
        let (low, high) = bootstrap(figures);
        Interval {
            least: low.min(mean - reach),
            middle: mean,
            greatest: high.max(mean + reach),
        }
    }

    /// The interval of an ascending function of the estimate.
    pub fn map(self, function: impl Fn(f64) -> f64) -> Interval {
        Interval {
            least: function(self.least),
            middle: function(self.middle),
            greatest: function(self.greatest),
        }
    }

    /// Its side of the band from `low` to `high`, both included.
    pub fn side_of(&self, low: f64, high: f64) -> Side {
        if self.least >= low && self.greatest <= high {
            Side::Within
        } else if self.greatest < low {
            Side::Below
        } else if self.least > high {
            Side::Above
        } else {
            Side::Undecided
        }
    }
}

/// The quantiles of the means of rounds that are drawn with replacement.
fn bootstrap(figures: &[f64]) -> (f64, f64) {
    let mut random = Random::new(SEED, figures.len() as u64);
    let mut draw = || {
        let drawn = figures.iter().map(|_| {
            let at = random.below(figures.len() as u64) as usize;
            figures.get(at).copied().unwrap_or(f64::NAN)
        });
        drawn.sum::<f64>() / figures.len() as f64
    };
    let mut means: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    let below = (TAIL * DRAWS as f64) as usize;
    let at = |place: usize| means.get(place).copied().unwrap_or(f64::NAN);
    (at(below), at(DRAWS - 1 - below))
}

/// The quantile `1 - TAIL` of Student's distribution with this many degrees of freedom, at least
/// one. Beyond the table by the expansion of Cornish and Fisher, which is exact to 0.01 there.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [
        31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764,
    ];
    const NORMAL: f64 = 2.3263;
    let beyond = || {
        let freedom = freedom as f64;
        let cube = NORMAL.powi(3);
        let first = (cube + NORMAL) / (4.0 * freedom);
        let second = 5.0 * NORMAL.powi(5) + 16.0 * cube + 3.0 * NORMAL;
        NORMAL + first + second / (96.0 * freedom * freedom)
    };
    let known = TABLE.get(freedom.saturating_sub(1)).copied();
    known.unwrap_or_else(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_figures_give_wide_intervals() {
        for figures in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
            let interval = Interval::of(figures);
            assert_eq!(interval.side_of(0.5, 1.5), Side::Undecided, "{figures:?}");
        }
        let [three, twelve] = [3, 12].map(|count| {
            let figures: Vec<f64> = (0..count).map(|round| f64::from(round % 3)).collect();
            Interval::of(&figures)
        });
        assert_eq!((three.middle, twelve.middle), (1.0, 1.0));
        assert!(three.least < twelve.least && twelve.greatest < three.greatest);
        // Student's interval of 0, 1, 2: the standard error is 1 / sqrt(3).
        assert!((three.greatest - 1.0 - 6.965 / 3f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn an_outlier_widens_its_own_side_at_least() {
        let mut figures = vec![1.0; 30];
        figures[7] = 4.0;
        let interval = Interval::of(&figures);
        let (down, up) = (
            interval.middle - interval.least,
            interval.greatest - interval.middle,
        );
        assert!(up > down * 1.05, "{interval:?}");
        assert_eq!(interval, Interval::of(&figures), "the seed is fixed");
    }

    #[test]
    fn equal_figures_have_no_doubt() {
        let tenth = Interval::of(&[0.1; 3]);
        assert_eq!((tenth.least, tenth.middle, tenth.greatest), (0.1, 0.1, 0.1));
        let interval = Interval::of(&[2.0; 4]);
        assert_eq!((interval.least, interval.greatest), (2.0, 2.0));
        assert_eq!(interval.side_of(1.0, 1.5), Side::Above);
        assert_eq!(interval.side_of(2.0, 2.0), Side::Within);
        assert_eq!(interval.side_of(2.5, 3.0), Side::Below);
        assert_eq!(Interval::of(&[1.0, 3.0]).side_of(1.9, 2.1), Side::Undecided);
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in [
            (1, 31.821),
            (10, 2.764),
            (12, 2.681),
            (30, 2.457),
            (120, 2.358),
        ] {
            assert!((student(freedom) - quantile).abs() < 0.01, "{freedom}");
        }
    }
}
