//! The mix of a workload: shares of its operations, distribution of requests, lengths of scans.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::distribution::Distribution;
use crate::data::Random;
use crate::error::{Error, Result};

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Gets a present record.
    Read,
    /// Gets an absent key.
    Absent,
    /// Writes a new value of a present record.
    Update,
    /// Writes a new record.
    Insert,
    /// Reads pairs in key order from a record on.
    Scan,
    /// Gets a record, then writes a new value of it; both together count as one operation.
    ReadModifyWrite,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Operation; 6] = [
        Operation::Read,
        Operation::Absent,
        Operation::Update,
        Operation::Insert,
        Operation::Scan,
        Operation::ReadModifyWrite,
    ];

    /// Its name in workloads and results.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Absent => "absent",
            Operation::Update => "update",
            Operation::Insert => "insert",
            Operation::Scan => "scan",
            Operation::ReadModifyWrite => "rmw",
        }
    }
}

/// A workload. Its text form is the name of a preset, a ratio of reads and updates such as
/// `rw=90:10`, or shares such as `read=95,insert=5`; a request distribution and a length of scans
/// may follow, as in `ycsb-a,uniform` or `scan,length=1-500,zipfian=0.9`.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// The weight of each operation, by its number; not all are 0.
    weights: [u32; Operation::ALL.len()],
    /// The distribution of requests over records.
    pub requests: Distribution,
    /// The minimum and maximum number of pairs of a scan; all lengths between are equally likely.
    pub lengths: (u32, u32),
}

/// The presets. Those of YCSB are its files `workloads/workload[a-f]`; `seek` finds the first pair
/// of a range and stops.
const PRESETS: [(&str, &str); 11] = [
    ("ycsb-a", "read=50,update=50,zipfian"),
    ("ycsb-b", "read=95,update=5,zipfian"),
    ("ycsb-c", "read=100,zipfian"),
    ("ycsb-d", "read=95,insert=5,latest"),
    ("ycsb-e", "scan=95,insert=5,zipfian,length=1-100"),
    ("ycsb-f", "read=50,rmw=50,zipfian"),
    ("read-only", "read=100,uniform"),
    ("write-only", "update=100,uniform"),
    ("absent", "absent=100,uniform"),
    ("scan", "scan=100,uniform"),
    ("seek", "scan=100,uniform,length=1"),
];

/// YCSB's workloads in the order that it recommends, with those that insert at the end.
pub const YCSB: [&str; 6] = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f", "ycsb-d", "ycsb-e"];

impl Mix {
    /// The share of an operation, from 0 to 1.
    pub fn share(&self, operation: Operation) -> f64 {
        f64::from(self.weights[operation as usize]) / self.total() as f64
    }

    fn total(&self) -> u64 {
        self.weights.iter().copied().map(u64::from).sum()
    }

    /// The next operation.
    pub fn pick(&self, random: &mut Random) -> Operation {
        let mut place = random.below(self.total());
        for operation in Operation::ALL {
            let weight = u64::from(self.weights[operation as usize]);
            if place < weight {
                return operation;
            }
            place -= weight;
        }
        Operation::Read
    }

    /// The number of pairs of the next scan.
    pub fn length(&self, random: &mut Random) -> usize {
        let (least, most) = self.lengths;
        (u64::from(least) + random.below(u64::from(most - least) + 1)) as usize
    }

    /// Applies one part of a workload's text; false if the part is not valid.
    fn take(&mut self, part: &str) -> Result<bool> {
        let (name, argument) = part.split_once('=').unwrap_or((part, ""));
        if let Some(operation) = Operation::ALL.iter().find(|o| o.name() == name) {
            self.weights[*operation as usize] = weight(part, argument)?;
        } else if name == "length" {
            self.lengths = lengths(part, argument)?;
        } else if name == "rw" {
            let (reads, writes) = argument.split_once(':').unwrap_or((argument, ""));
            self.weights[Operation::Read as usize] = weight(part, reads)?;
            self.weights[Operation::Update as usize] = weight(part, writes)?;
        } else if let Ok(requests) = part.parse() {
            self.requests = requests;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// A mix without operations.
    fn empty() -> Mix {
        Mix {
            weights: [0; Operation::ALL.len()],
            requests: Distribution::Uniform,
            lengths: (1, 100),
        }
    }
}

fn weight(part: &str, number: &str) -> Result<u32> {
    number.parse().map_err(|_| {
        Error::Usage(format!(
            "{number:?} in {part:?} is not a share: give a whole number, as in read=95 or rw=90:10"
        ))
    })
}

fn lengths(part: &str, text: &str) -> Result<(u32, u32)> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let parsed = least.parse().ok().zip(most.parse().ok());
    parsed
        .filter(|(least, most)| 0 < *least && least <= most)
        .ok_or_else(|| {
            Error::Usage(format!(
                "{text:?} in {part:?} is not a length of scans: give a number such as 100, or the least and the \
                 most, such as 1-100"
            ))
        })
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Mix> {
        let mut mix = Mix::empty();
        for (place, part) in text.split(',').enumerate() {
            let preset = PRESETS.iter().find(|(name, _)| *name == part);
            if let (0, Some((_, contents))) = (place, preset) {
                mix = contents.parse()?;
            } else if !mix.take(part)? {
                let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
                return Err(Error::Usage(format!(
                    "{part:?} is not valid in workload {text:?}: begin with {}, rw=READS:WRITES or shares \
                     such as read=95,insert=5; then uniform, zipfian=0.9 or another request distribution, \
                     and length=1-100",
                    names.join(", ")
                )));
            }
        }
        if mix.total() == 0 {
            return Err(Error::Usage(format!(
                "workload {text:?} has no operations: give a share above 0, as in read=95,insert=5"
            )));
        }
        Ok(mix)
    }
}

impl Display for Mix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A preset with other requests is used only if no preset matches completely.
        for requests in [None, Some(self.requests)] {
            for (name, contents) in PRESETS {
                let Ok(mut preset) = contents.parse::<Mix>() else {
                    continue;
                };
                preset.requests = requests.unwrap_or(preset.requests);
                if *self == preset {
                    write!(f, "{name}")?;
                    return requests.map_or(Ok(()), |requests| write!(f, ",{requests}"));
                }
            }
        }
        for operation in Operation::ALL {
            let weight = self.weights[operation as usize];
            if weight > 0 {
                write!(f, "{}={weight},", operation.name())?;
            }
        }
        write!(f, "{}", self.requests)?;
        if self.weights[Operation::Scan as usize] > 0 {
            write!(f, ",length={}-{}", self.lengths.0, self.lengths.1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_fits;
    use super::*;

    #[test]
    fn presets_equal_the_workload_files_of_ycsb() {
        let zipfian = Distribution::Zipfian { theta: 0.99 };
        let latest = Distribution::Latest { theta: 0.99 };
        // Read, absent, update, insert, scan, read-modify-write.
        for (name, shares, requests) in [
            ("ycsb-a", [0.5, 0.0, 0.5, 0.0, 0.0, 0.0], zipfian),
            ("ycsb-b", [0.95, 0.0, 0.05, 0.0, 0.0, 0.0], zipfian),
            ("ycsb-c", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], zipfian),
            ("ycsb-d", [0.95, 0.0, 0.0, 0.05, 0.0, 0.0], latest),
            ("ycsb-e", [0.0, 0.0, 0.0, 0.05, 0.95, 0.0], zipfian),
            ("ycsb-f", [0.5, 0.0, 0.0, 0.0, 0.0, 0.5], zipfian),
        ] {
            let mix: Mix = name.parse().unwrap();
            assert_eq!(Operation::ALL.map(|operation| mix.share(operation)), shares);
            assert_eq!((mix.requests, mix.lengths), (requests, (1, 100)));
            assert!(YCSB.contains(&name));
        }
    }

    #[test]
    fn names_parse_to_what_was_printed() {
        for (name, _) in PRESETS {
            assert_eq!(name.parse::<Mix>().unwrap().to_string(), name);
        }
        for (text, canonical) in [
            ("rw=100:0", "read-only"),
            ("rw=90:10", "read=90,update=10,uniform"),
            ("rw=0:100", "write-only"),
            ("ycsb-a,uniform", "ycsb-a,uniform"),
            (
                "ycsb-e,length=500",
                "insert=5,scan=95,zipfian,length=500-500",
            ),
            ("scan,zipfian=0.9", "scan,zipfian=0.9"),
            ("insert=1", "insert=1,uniform"),
        ] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(mix.to_string(), canonical);
            assert_eq!(canonical.parse::<Mix>().unwrap(), mix);
        }
        for (text, part) in [
            ("", "\"\" is not valid"),
            ("ycsb-g", "begin with ycsb-a, ycsb-b"),
            ("uniform,ycsb-a", "\"ycsb-a\" is not valid"),
            ("rw=9", "\"\" in \"rw=9\" is not a share"),
            ("read=x", "\"x\" in \"read=x\" is not a share"),
            ("read=0", "has no operations"),
            ("scan,length=0-9", "not a length of scans"),
            ("scan,length=9-1", "not a length of scans"),
        ] {
            let error = text.parse::<Mix>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn operations_occur_in_their_shares() {
        for text in ["ycsb-e", "read=5,absent=1,update=2,insert=3,scan=4,rmw=6"] {
            let mix: Mix = text.parse().unwrap();
            let (mut random, mut counts) = (Random::new(7, 7), [0; 6]);
            for _ in 0..100_000 {
                counts[mix.pick(&mut random) as usize] += 1;
            }
            assert_fits(
                &counts,
                &Operation::ALL.map(|operation| mix.share(operation)),
            );
        }
    }

    #[test]
    fn lengths_of_scans_are_uniform() {
        let mix: Mix = "ycsb-e".parse().unwrap();
        let (mut random, mut counts) = (Random::new(8, 8), [0; 100]);
        for _ in 0..100_000 {
            counts[mix.length(&mut random) - 1] += 1;
        }
        assert_fits(&counts, &[0.01; 100]);
        let seek: Mix = "seek".parse().unwrap();
        assert!((0..100).all(|_| seek.length(&mut random) == 1));
    }
}
