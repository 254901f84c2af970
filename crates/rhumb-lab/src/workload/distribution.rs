//! The request distributions by name; parameters that are not given have YCSB's defaults.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::error::{Error, Result};

/// The distribution of requests over records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// All records are equally likely.
    Uniform,
    /// YCSB's scrambled Zipfian: ranks among 10,000,000,001 items, hashed, modulo the largest
    /// possible number of records. Because of the many items it is flatter than the law over the
    /// records themselves.
    Zipfian { theta: f64 },
    /// The law over the records themselves; the record inserted first is the most frequent one.
    PlainZipfian { theta: f64 },
    /// YCSB's skewed latest: Zipfian, with the newest record the most frequent one. As in YCSB, the
    /// very first record is never requested.
    Latest { theta: f64 },
    /// The share `operations` of requests goes to the first share `records` of the records, the
    /// rest to the other records.
    Hotspot { records: f64, operations: f64 },
    /// Exponential from the newest record backwards: `percentile` percent of the requests go to the
    /// newest `share` of the records. A request beyond the first record is drawn again.
    Exponential { percentile: f64, share: f64 },
    /// One record after the other; after the last record again from the first one.
    Sequential,
}

/// YCSB's default skew.
const THETA: f64 = 0.99;
/// YCSB's default shares of hot records and of operations on them.
const HOTSPOT: (f64, f64) = (0.2, 0.8);
/// YCSB's default percentile and share.
const EXPONENTIAL: (f64, f64) = (95.0, 0.857_142_857_1);

impl FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Distribution> {
        let (name, argument) = match text.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let theta = || match argument {
            None => Ok(THETA),
            Some(number) => theta(text, number),
        };
        match name {
            "uniform" if argument.is_none() => Ok(Distribution::Uniform),
            "sequential" if argument.is_none() => Ok(Distribution::Sequential),
            "zipfian" => Ok(Distribution::Zipfian { theta: theta()? }),
            "plain-zipfian" => Ok(Distribution::PlainZipfian { theta: theta()? }),
            "latest" => Ok(Distribution::Latest { theta: theta()? }),
            "hotspot" => {
                let (records, operations) = two(text, argument, HOTSPOT, (1.0, 1.0))?;
                Ok(Distribution::Hotspot {
                    records,
                    operations,
                })
            }
            "exponential" => {
                let (percentile, share) = two(text, argument, EXPONENTIAL, (100.0, 1.0))?;
                Ok(Distribution::Exponential { percentile, share })
            }
            _ => Err(Error::Usage(format!(
                "there is no request distribution {text:?}: choose uniform, zipfian[=THETA], \
                 plain-zipfian[=THETA], latest[=THETA], hotspot[=RECORDS:OPERATIONS], \
                 exponential[=PERCENTILE:SHARE] or sequential"
            ))),
        }
    }
}

fn theta(text: &str, number: &str) -> Result<f64> {
    let parsed = number.parse().ok();
    parsed
        .filter(|theta| *theta > 0.0 && *theta < 1.0)
        .ok_or_else(|| {
            Error::Usage(format!(
                "{number:?} in {text:?} is not a skew: give a number between 0 and 1, such as 0.99"
            ))
        })
}

/// Two numbers above 0 and below `ends`, separated by a colon.
fn two(
    text: &str,
    argument: Option<&str>,
    default: (f64, f64),
    ends: (f64, f64),
) -> Result<(f64, f64)> {
    let Some(argument) = argument else {
        return Ok(default);
    };
    let number = |text: &str, end: f64| -> Option<f64> {
        let number = text.parse().ok()?;
        (number > 0.0 && number < end).then_some(number)
    };
    let numbers = argument
        .split_once(':')
        .and_then(|(first, second)| Some((number(first, ends.0)?, number(second, ends.1)?)));
    numbers.ok_or_else(|| {
        Error::Usage(format!(
            "{argument:?} in {text:?} is not two numbers above 0, the first below {}, the second below \
             {}: write them like {}:{}",
            ends.0, ends.1, default.0, default.1
        ))
    })
}

impl Display for Distribution {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let skewed = |f: &mut Formatter<'_>, name: &str, theta: f64| {
            if theta == THETA {
                write!(f, "{name}")
            } else {
                write!(f, "{name}={theta}")
            }
        };
        let paired = |f: &mut Formatter<'_>, name: &str, pair: (f64, f64), default| {
            if pair == default {
                write!(f, "{name}")
            } else {
                write!(f, "{name}={}:{}", pair.0, pair.1)
            }
        };
        match *self {
            Distribution::Uniform => write!(f, "uniform"),
            Distribution::Sequential => write!(f, "sequential"),
            Distribution::Zipfian { theta } => skewed(f, "zipfian", theta),
            Distribution::PlainZipfian { theta } => skewed(f, "plain-zipfian", theta),
            Distribution::Latest { theta } => skewed(f, "latest", theta),
            Distribution::Hotspot {
                records,
                operations,
            } => paired(f, "hotspot", (records, operations), HOTSPOT),
            Distribution::Exponential { percentile, share } => {
                paired(f, "exponential", (percentile, share), EXPONENTIAL)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_what_was_printed() {
        for text in [
            "uniform",
            "zipfian",
            "zipfian=0.9",
            "plain-zipfian=0.5",
            "latest",
            "hotspot",
            "hotspot=0.1:0.95",
            "exponential",
            "exponential=90:0.5",
            "sequential",
        ] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("zipf", "plain-zipfian[=THETA]"),
            ("uniform=1", "no request distribution"),
            ("zipfian=1", "between 0 and 1"),
            ("latest=x", "\"x\" in \"latest=x\" is not a skew"),
            ("hotspot=0.2", "write them like 0.2:0.8"),
            ("hotspot=0.2:1", "the second below 1"),
            ("exponential=100:0.5", "the first below 100"),
        ] {
            let error = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
