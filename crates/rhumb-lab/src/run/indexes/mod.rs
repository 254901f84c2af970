//! `indexes`: every kind alone over sorted integers in memory, compared with a binary search over
//! all keys and with the published implementations.
//!
//! Each run builds an index once and looks up the same random keys. The yardstick, a binary search,
//! runs right before, over the same keys. Figures are medians over the runs.

mod candidate;
pub(super) mod measure;
mod reference;
mod report;
mod segments;

use rhumb_index::check::SplitMix64;

use self::candidate::Candidate;
use self::measure::{Probes, Times};
use super::{Arguments, Bench, file_name};
use crate::data::numbers::Numbers;
use crate::data::sosd;
use crate::error::{Error, Result};

const NAME: &str = "indexes";
const RUNS: usize = 5;
const GETS: usize = 300_000;
/// Error bounds for the comparison.
const BOUNDS: [u32; 4] = [8, 16, 64, 128];

/// Keys to index.
pub(super) struct Source {
    pub name: String,
    /// The set that they come from; none for a file.
    pub set: Option<Numbers>,
    pub keys: Vec<u64>,
}

/// The measurements of one index on one source.
#[derive(Debug)]
struct Measured {
    input: String,
    set: Option<Numbers>,
    candidate: Candidate,
    /// Size of the index in bytes.
    bytes: usize,
    /// One for each run; empty if the kind cannot serve these keys.
    times: Vec<Times>,
}

/// Measures, and returns for each set a table of indexes and one of segments, then one of all
/// kinds.
///
/// # Errors
/// Inputs that cannot be read, wrong answers, indexes that cannot be built.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let candidates = if arguments.indexes.is_empty() {
        Candidate::all()
    } else {
        let specs = arguments.indexes.iter();
        specs.flat_map(Candidate::of).collect()
    };
    let (mut all, mut text) = (Vec::new(), String::new());
    for number in 0..arguments.numbers.len() + arguments.sosd.len() {
        let count = arguments.keys.unwrap_or(reference::KEYS);
        let source = source(number, count, arguments, NAME)?;
        let measured = measure(&source, &candidates, arguments, bench)?;
        text += &report::source(&source, &measured, bench);
        text += &segments::count(&source, bench)?;
        all.extend(measured);
    }
    Ok(text + &report::summary(&all))
}

/// Keys of the input with this number: first the sets, then the files. Of a file all keys are taken
/// unless the user gives a number.
///
/// # Errors
/// A file that cannot be read, fewer than two keys.
pub(super) fn source(
    number: usize,
    count: usize,
    arguments: &Arguments,
    experiment: &str,
) -> Result<Source> {
    let source = match arguments.numbers.get(number) {
        Some(set) => Source {
            name: set.name().to_string(),
            set: Some(*set),
            keys: set.make(count, arguments.seed),
        },
        None => {
            let path = &arguments.sosd[number - arguments.numbers.len()];
            let mut keys = sosd::numbers(path)?;
            keys.truncate(arguments.keys.unwrap_or(keys.len()));
            Source {
                name: file_name(path),
                set: None,
                keys,
            }
        }
    };
    if source.keys.len() < 2 {
        return Err(Error::Usage(format!(
            "{} gives {} keys, but {experiment} needs two distinct keys: raise --keys or choose another \
             input",
            source.name,
            source.keys.len()
        )));
    }
    Ok(source)
}

fn measure(
    source: &Source,
    candidates: &[Candidate],
    arguments: &Arguments,
    bench: &Bench,
) -> Result<Vec<Measured>> {
    let mut random = SplitMix64::new(arguments.seed ^ 0x9e75);
    let gets = arguments.gets.unwrap_or(GETS);
    let present = Probes::present(&source.keys, gets, &mut random);
    let absent = Probes::absent(&source.keys, gets, &mut random);
    let new = |candidate: &Candidate| Measured {
        input: source.name.clone(),
        set: source.set,
        candidate: candidate.clone(),
        bytes: 0,
        times: Vec::new(),
    };
    let mut all: Vec<Measured> = candidates.iter().map(new).collect();
    let runs = arguments.runs.unwrap_or(RUNS);
    let stage = format!("{}: {} indexes, {runs} runs", source.name, all.len());
    bench.progress.stage(stage, runs * all.len());
    for _ in 0..runs {
        for measured in &mut all {
            let once = measure::once(&measured.candidate, &source.keys, [&present, &absent])?;
            if let Some((bytes, times)) = once {
                measured.bytes = bytes;
                measured.times.push(times);
            }
            bench.progress.advance(1)?;
        }
    }
    Ok(all)
}
