//! Sizes of keys and values.

use super::Random;

/// The distribution of the sizes of keys or values, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sizes {
    /// All the same.
    Fixed(usize),
    /// From 16 to 240; each range from one power of two to the next is equally likely.
    Mixed,
    /// Uniform from the first to the second, both included.
    Between(usize, usize),
    /// Normally distributed, rounded, at least 1.
    Normal {
        /// Mean before rounding and clamping.
        mean: f64,
        /// Standard deviation before rounding and clamping.
        deviation: f64,
    },
}

/// Sizes of keys and values in one store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntrySizes {
    /// Sizes of keys.
    pub keys: Sizes,
    /// Sizes of values.
    pub values: Sizes,
}

/// Means and deviations of key and value sizes at Facebook, from Z. Cao et al., "Characterizing,
/// Modeling, and Benchmarking RocksDB Key-Value Workloads at Facebook", FAST 2020, as used by
/// DobLIX (figure 13).
const fn entry(keys: (f64, f64), values: (f64, f64)) -> EntrySizes {
    const fn normal((mean, deviation): (f64, f64)) -> Sizes {
        Sizes::Normal { mean, deviation }
    }
    EntrySizes {
        keys: normal(keys),
        values: normal(values),
    }
}

/// Tables of a social graph.
pub const UDB: EntrySizes = entry((27.1, 2.6), (126.7, 22.1));
/// Metadata of a distributed store. Clamping increases the mean size of its values by 0.6 bytes and
/// reduces their deviation by 1.2.
pub const ZIPPYDB: EntrySizes = entry((47.9, 3.7), (42.9, 26.1));
/// User profiles for a prediction service.
pub const UP2X: EntrySizes = entry((10.4, 1.4), (46.8, 11.6));

impl Sizes {
    /// Draws a size.
    pub fn draw(self, random: &mut Random) -> usize {
        let between = |random: &mut Random, least, end| {
            least + random.below(end as u64 - least as u64) as usize
        };
        match self {
            Sizes::Fixed(bytes) => bytes,
            Sizes::Mixed => {
                let (least, end) = match random.below(4) {
                    0 => (16, 32),
                    1 => (32, 64),
                    2 => (64, 128),
                    _ => (128, 241),
                };
                between(random, least, end)
            }
            Sizes::Between(least, most) => between(random, least, most.max(least) + 1),
            Sizes::Normal { mean, deviation } => {
                (mean + deviation * random.normal()).round().max(1.0) as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(sizes: Sizes) -> (f64, f64) {
        let mut random = Random::new(5, 5);
        let lengths: Vec<usize> = (0..200_000).map(|_| sizes.draw(&mut random)).collect();
        assert!(lengths.iter().all(|length| *length >= 1));
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<usize>() as f64 / count;
        let squares = lengths.iter().map(|l| (*l as f64 - mean).powi(2));
        (mean, (squares.sum::<f64>() / count).sqrt())
    }

    #[test]
    fn means_and_deviations_are_those_asked_for() {
        for (sizes, mean, deviation) in [
            (Sizes::Fixed(7), 7.0, 0.0),
            (Sizes::Between(8, 24), 16.0, (288.0f64 / 12.0).sqrt()),
            (UDB.keys, 27.1, 2.6),
            (UDB.values, 126.7, 22.1),
            (ZIPPYDB.keys, 47.9, 3.7),
            // Changed by clamping, see `ZIPPYDB`.
            (ZIPPYDB.values, 43.5, 24.9),
            (UP2X.keys, 10.4, 1.4),
            (UP2X.values, 46.8, 11.6),
        ] {
            let found = moments(sizes);
            assert!((found.0 - mean).abs() < 0.15, "{sizes:?}: {found:?}");
            // Rounding to whole bytes adds a twelfth to the variance.
            assert!((found.1 - deviation).abs() < 0.12, "{sizes:?}: {found:?}");
        }
    }

    #[test]
    fn both_bounds_occur() {
        let mut random = Random::new(1, 1);
        let mut seen = [0u32; 17];
        for _ in 0..17_000 {
            seen[Sizes::Between(8, 24).draw(&mut random) - 8] += 1;
        }
        assert!(
            seen.iter().all(|count| (850..1_150).contains(count)),
            "{seen:?}"
        );
    }
}
