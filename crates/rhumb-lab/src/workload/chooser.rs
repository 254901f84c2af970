//! The choice of the record for an operation: the request distributions of YCSB's core workload
//! (`site.ycsb.generator` and `CoreWorkload`), over records numbered from 0 in the order of
//! insertion.
//!
//! As in YCSB, uniform, hotspot, sequential and plain-zipfian requests go to the records that were
//! present when the phase began. Zipfian requests go to every record, including records inserted
//! during the phase. Latest and exponential requests are drawn backwards from the newest record.

use super::distribution::Distribution;
use super::zipfian::{Zipfian, fnv1a};
use crate::data::Random;
use crate::error::{Error, Result};

/// The number of records at the beginning of a phase, and the number that it will add.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Records present at the beginning.
    pub records: u64,
    /// Records that are expected to be inserted.
    pub inserts: u64,
}

/// Draws the records for one client thread.
#[derive(Debug)]
pub struct Chooser(Kind);

#[derive(Debug)]
enum Kind {
    Uniform { records: u64 },
    Scrambled { zipfian: Zipfian, items: u64 },
    Plain(Zipfian),
    Latest(Zipfian),
    Hotspot { hot: u64, records: u64, share: f64 },
    Exponential { gamma: f64 },
    Sequential { next: u64, step: u64, records: u64 },
}

impl Chooser {
    /// The chooser of thread `thread` of `threads`. Sequential requests are distributed among the
    /// threads in turn; other requests are independent in each thread.
    ///
    /// # Errors
    /// If there are too few records for the distribution.
    pub fn new(
        distribution: Distribution,
        extent: Extent,
        (thread, threads): (u64, u64),
    ) -> Result<Chooser> {
        let records = extent.records;
        if records == 0 {
            let message = format!("{distribution} requests need a record: load at least one");
            return Err(Error::Usage(message));
        }
        Ok(Chooser(match distribution {
            Distribution::Uniform => Kind::Uniform { records },
            Distribution::Zipfian { theta } => Kind::Scrambled {
                // Ranks up to and including 10,000,000,000, as in YCSB.
                zipfian: Zipfian::new(10_000_000_001, theta),
                // As in YCSB, whose bounds are inclusive and which doubles the expected inserts as
                // a reserve.
                items: records + 2 * extent.inserts + 1,
            },
            Distribution::PlainZipfian { theta } => Kind::Plain(Zipfian::new(records, theta)),
            Distribution::Latest { theta } => Kind::Latest(Zipfian::new(records - 1, theta)),
            Distribution::Hotspot {
                records: share_of_records,
                operations,
            } => Kind::Hotspot {
                hot: hot(records, share_of_records)?,
                records,
                share: operations,
            },
            Distribution::Exponential { percentile, share } => Kind::Exponential {
                gamma: -(1.0 - percentile / 100.0).ln() / (records as f64 * share),
            },
            Distribution::Sequential => Kind::Sequential {
                next: thread % records,
                step: threads % records,
                records,
            },
        }))
    }

    /// The next record, which is below `present`, the present number of records. `present` must not
    /// be less than the number at the beginning.
    pub fn next(&mut self, random: &mut Random, present: u64) -> u64 {
        match &mut self.0 {
            Kind::Uniform { records } => random.below(*records),
            Kind::Scrambled { zipfian, items } => loop {
                // The absolute value of the signed hash, as in YCSB.
                let hash = (fnv1a(zipfian.draw(random)) as i64).unsigned_abs();
                let record = hash % *items;
                if record < present {
                    return record;
                }
            },
            Kind::Plain(zipfian) => zipfian.draw(random),
            Kind::Latest(zipfian) => {
                let last = present.saturating_sub(1);
                zipfian.grow(last);
                last - zipfian.draw(random).min(last)
            }
            Kind::Hotspot {
                hot,
                records,
                share,
            } => {
                if random.fraction() < *share {
                    random.below(*hot)
                } else {
                    *hot + random.below(*records - *hot)
                }
            }
            Kind::Exponential { gamma } => loop {
                let back = (-random.fraction().ln() / *gamma) as u64;
                if back < present {
                    return present - 1 - back;
                }
            },
            Kind::Sequential {
                next,
                step,
                records,
            } => {
                let record = *next;
                *next = (*next + *step) % *records;
                record
            }
        }
    }
}

/// The number of hot records among `records`.
fn hot(records: u64, share: f64) -> Result<u64> {
    let hot = (records as f64 * share) as u64;
    if hot == 0 {
        return Err(Error::Usage(format!(
            "a share of {share} of {records} records is less than one record: load at least {}",
            (1.0 / share).ceil()
        )));
    }
    Ok(hot)
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_fits;
    use super::super::zipfian::zeta;
    use super::*;

    const DRAWS: usize = 200_000;

    fn counts(text: &str, records: u64, groups: u64) -> Vec<u64> {
        let extent = Extent {
            records,
            inserts: 0,
        };
        let mut chooser = Chooser::new(text.parse().unwrap(), extent, (0, 1)).unwrap();
        let (mut random, mut counts) = (Random::new(3, 3), vec![0; groups as usize]);
        for _ in 0..DRAWS {
            let record = chooser.next(&mut random, records);
            assert!(record < records);
            counts[(record * groups / records) as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_draws_are_uniform() {
        assert_fits(&counts("uniform", 1_000, 100), &[0.01; 100]);
    }

    #[test]
    fn plain_zipfian_draws_prefer_the_first_records() {
        let counts = counts("plain-zipfian=0.9", 1_000, 1_000);
        let first = 1.0 / zeta(1_000, 0.9);
        let rest = 1.0 - first * (1.0 + 0.5f64.powf(0.9));
        let found = [counts[0], counts[1], counts[2..].iter().sum()];
        assert_fits(&found, &[first, first * 0.5f64.powf(0.9), rest]);
    }

    #[test]
    fn zipfian_draws_are_hashed_ranks_of_ten_billion() {
        for (text, theta) in [("zipfian", 0.99), ("zipfian=0.9", 0.9)] {
            let counts = counts(text, 1_000_000, 1_000_000);
            let sum = zeta(10_000_000_001, theta);
            let mut found = vec![DRAWS as u64];
            let mut shares = vec![1.0];
            // There is one more item than records; the item past the end is drawn again.
            for (rank, hash) in [6_284_781_860_667_377_211u64, 8_517_097_267_634_966_620]
                .into_iter()
                .enumerate()
            {
                found.push(counts[(hash % 1_000_001) as usize]);
                // All other ranks hashed to this record have a share below a millionth.
                shares.push(((rank + 1) as f64).powf(-theta) / sum + 1e-6);
                found[0] -= found[rank + 1];
                shares[0] -= shares[rank + 1];
            }
            assert_fits(&found, &shares);
        }
    }

    #[test]
    fn zipfian_draws_go_to_present_records() {
        let extent = Extent {
            records: 100,
            inserts: 50,
        };
        let theta = 0.9;
        let mut chooser = Chooser::new(Distribution::Zipfian { theta }, extent, (0, 1)).unwrap();
        let mut random = Random::new(4, 4);
        for present in 100..=150 {
            let mut newest = 0;
            for _ in 0..2_000 {
                let record = chooser.next(&mut random, present);
                newest = newest.max(record);
            }
            // Every record is drawn sooner or later, new ones too.
            assert_eq!(newest, present - 1);
        }
    }

    #[test]
    fn latest_draws_follow_inserts() {
        let extent = Extent {
            records: 1_000,
            inserts: 1_000,
        };
        let mut chooser = Chooser::new("latest".parse().unwrap(), extent, (0, 1)).unwrap();
        let mut random = Random::new(5, 5);
        for present in [1_000, 1_001, 1_500, 2_000] {
            let mut counts = [0u64; 3];
            for _ in 0..50_000 {
                let record = chooser.next(&mut random, present);
                assert!((1..present).contains(&record));
                counts[(present - 1 - record).min(2) as usize] += 1;
            }
            let first = 1.0 / zeta(present - 1, 0.99);
            let second = first * 0.5f64.powf(0.99);
            assert_fits(&counts, &[first, second, 1.0 - first - second]);
        }
        let extent = Extent {
            records: 1,
            inserts: 0,
        };
        let mut one = Chooser::new("latest".parse().unwrap(), extent, (0, 1)).unwrap();
        assert_eq!(one.next(&mut random, 1), 0);
    }

    #[test]
    fn hotspot_draws_have_both_shares() {
        let mut shares = [0.2 / 8.0; 10];
        shares[..2].fill(0.8 / 2.0);
        assert_fits(&counts("hotspot", 1_000, 10), &shares);
        let extent = Extent {
            records: 4,
            inserts: 0,
        };
        let error = Chooser::new("hotspot".parse().unwrap(), extent, (0, 1)).unwrap_err();
        assert!(error.to_string().contains("load at least 5"), "{error}");
    }

    #[test]
    fn exponential_draws_have_their_percentile() {
        let found = counts("exponential", 70_000, 7);
        // 95 of 100 draws fall into the newest 6/7; draws beyond the first record are then drawn
        // again.
        let gamma = -(0.05f64).ln() / (70_000.0 * 0.857_142_857_1);
        let until = |records: f64| 1.0 - (-gamma * records).exp();
        assert!((until(60_000.0) - 0.95).abs() < 1e-9);
        let shares: Vec<f64> = (0..7)
            .rev()
            .map(|n| f64::from(n) * 10_000.0)
            .map(|from| (until(from + 10_000.0) - until(from)) / until(70_000.0))
            .collect();
        assert_fits(&found, &shares);
    }

    #[test]
    fn sequential_draws_are_distributed_among_threads() {
        let extent = Extent {
            records: 5,
            inserts: 0,
        };
        let mut random = Random::new(6, 6);
        let mut draw = |thread, threads, present| {
            let mut chooser =
                Chooser::new(Distribution::Sequential, extent, (thread, threads)).unwrap();
            (0..6)
                .map(|_| chooser.next(&mut random, present))
                .collect::<Vec<u64>>()
        };
        assert_eq!(draw(0, 1, 5), [0, 1, 2, 3, 4, 0]);
        assert_eq!(draw(0, 2, 9), [0, 2, 4, 1, 3, 0]);
        assert_eq!(draw(1, 2, 5), [1, 3, 0, 2, 4, 1]);
    }

    #[test]
    fn no_record_is_an_error() {
        let extent = Extent {
            records: 0,
            inserts: 9,
        };
        let error = Chooser::new(Distribution::Uniform, extent, (0, 1)).unwrap_err();
        assert!(error.to_string().contains("load at least one"), "{error}");
    }
}
