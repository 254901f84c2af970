//! `updatable`: every kind that can be updated in memory, over integers, compared with a binary
//! search over the sorted keys and with the published implementations.
//!
//! Each run loads an index once, looks up the same random keys, with the yardstick (a binary
//! search) right before, and scans. Then it loads every other key and inserts the others in random
//! order, and loads the lower half and inserts the upper half in ascending order. Figures are
//! medians over the runs.

pub(super) mod measure;
mod reference;
mod report;

use rhumb_index::check::SplitMix64;
use rhumb_index::{IndexSpec, registry};

use self::measure::{Data, Shape, Times};
use super::indexes::measure::{Probes, lower_bound};
use super::indexes::{Source, source};
use super::{Arguments, Bench, spec};
use crate::data::numbers::Numbers;
use crate::error::{Error, Result};

const NAME: &str = "updatable";
const RUNS: usize = 3;
const GETS: usize = 1_000_000;

/// The figures that are compared with other implementations: times as shares of a look-up by binary
/// search in the same run; sizes in bytes a key.
#[derive(Debug, Clone, Copy)]
struct Shares {
    look_up: f64,
    absent: f64,
    load: f64,
    /// Inserts in random and in ascending order.
    insert: [f64; 2],
    size: f64,
    /// Sizes after these inserts.
    after: [f64; 2],
}

/// The measurements of one kind on one source.
#[derive(Debug)]
struct Measured {
    input: String,
    set: Option<Numbers>,
    keys: usize,
    spec: IndexSpec,
    shape: Shape,
    /// The times of each run.
    times: Vec<Times>,
}

/// Measures, and returns a table for each set and one of all kinds.
///
/// # Errors
/// Inputs that cannot be read, wrong answers, kinds that cannot be updated in memory.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let (mut all, mut text) = (Vec::new(), String::new());
    for size in sizes(arguments, specs(arguments)?) {
        let files = if size.has_files {
            arguments.sosd.len()
        } else {
            0
        };
        for number in 0..arguments.numbers.len() + files {
            let mut source = source(number, size.made, arguments, NAME)?;
            if size.step > 1 {
                source.keys = source.keys.into_iter().step_by(size.step).collect();
            }
            let measured = measure(source, &size.specs, arguments, bench)?;
            text += &report::source(&measured, bench);
            all.extend(measured);
        }
    }
    Ok(text + &report::summary(&all))
}

/// The user's indexes, or every kind that can be updated in memory with integers.
fn specs(arguments: &Arguments) -> Result<Vec<IndexSpec>> {
    if arguments.indexes.is_empty() {
        let kinds = registry::kinds().iter();
        let able = kinds.filter(|kind| kind.is_updatable()[0]);
        return able.map(|kind| spec(kind.name)).collect();
    }
    for spec in &arguments.indexes {
        registry::in_memory(spec).map_err(|error| Error::index(spec, error))?;
    }
    Ok(arguments.indexes.clone())
}

/// Kinds that are measured over the same keys.
#[derive(Debug)]
struct Size {
    /// The number of keys of a set; every `step`-th key is taken.
    made: usize,
    step: usize,
    /// Whether the user's files, which have their own sizes, are measured too.
    has_files: bool,
    specs: Vec<IndexSpec>,
}

/// The keys for each kind: the user's number; or, by default, the number with which most published
/// implementations were measured, and for a kind whose implementation was measured with a part of
/// these keys, that part too.
fn sizes(arguments: &Arguments, specs: Vec<IndexSpec>) -> Vec<Size> {
    let mut sizes = vec![Size {
        made: arguments.keys.unwrap_or(reference::KEYS),
        step: 1,
        has_files: true,
        specs: specs.clone(),
    }];
    if arguments.keys.is_some() {
        return sizes;
    }
    for spec in specs {
        let keys = reference::keys_of(spec.kind().name).unwrap_or(reference::KEYS);
        let step = reference::KEYS / keys;
        if step == 1 {
            continue;
        }
        match sizes.iter_mut().find(|size| size.step == step) {
            Some(size) => size.specs.push(spec),
            None => sizes.push(Size {
                made: reference::KEYS,
                step,
                has_files: false,
                specs: vec![spec],
            }),
        }
    }
    sizes
}

fn measure(
    source: Source,
    specs: &[IndexSpec],
    arguments: &Arguments,
    bench: &Bench,
) -> Result<Vec<Measured>> {
    let mut random = SplitMix64::new(arguments.seed ^ 0x75d8);
    let gets = arguments.gets.unwrap_or(GETS);
    let absent = Probes::absent(&source.keys, gets, &mut random);
    let ranks = absent.ranks.iter().map(|rank| u64::from(*rank));
    let absent = absent.keys.iter().copied().zip(ranks).collect();
    let data: Data<u64> = Data::new(source.keys, absent, &mut random);
    let new = |spec: &IndexSpec| Measured {
        input: source.name.clone(),
        set: source.set,
        keys: data.keys.len(),
        spec: spec.clone(),
        shape: Shape::default(),
        times: Vec::new(),
    };
    let mut all: Vec<Measured> = specs.iter().map(new).collect();
    let runs = arguments.runs.unwrap_or(RUNS);
    let stage = format!("{}: {} kinds, {runs} runs", source.name, all.len());
    bench.progress.stage(stage, runs * all.len());
    for _ in 0..runs {
        for measured in &mut all {
            let name = measured.spec.to_string();
            let make = || registry::in_memory(&measured.spec);
            let search = |key: &u64| lower_bound(&data.keys, *key);
            let (shape, times) = measure::once(&name, &make, &data, &search)?;
            measured.shape = shape;
            measured.times.push(times);
            bench.progress.advance(1)?;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::arguments;

    #[test]
    fn files_are_measured_once_and_fewer_keys_are_spread_over_the_set() {
        let all = Arguments {
            keys: None,
            ..arguments(0)
        };
        let specs = specs(&all).unwrap();
        let count = specs.len();
        let sizes = sizes(&all, specs);
        let told = |size: &Size| {
            let kinds = size.specs.iter().map(|spec| spec.kind().name);
            (
                size.made,
                size.step,
                size.has_files,
                kinds.collect::<Vec<_>>(),
            )
        };
        let [first, second] = [told(&sizes[0]), told(&sizes[1])];
        assert_eq!((sizes.len(), first.3.len()), (2, count));
        assert_eq!((first.0, first.1, first.2), (reference::KEYS, 1, true));
        let expected = (reference::KEYS, 5, false, vec!["dili"]);
        assert_eq!(second, expected);
    }
}
