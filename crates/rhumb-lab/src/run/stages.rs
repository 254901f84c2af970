//! `stages`: the cost of each stage of a warm get.
//!
//! For each stage, gets that end after this stage are timed over the same random keys. The cost of
//! a stage is the difference to the time of the stage before. Between two timed gets, a whole get
//! of another key is run, so that the processor's caches are in the same state as in real use.
//! Otherwise the early stages would have the caches to themselves.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rhumb::Db;
use rhumb::internals::{self, Stage};

use super::ours::Ours;
use super::{Arguments, Bench};
use crate::data::{Input, Random, Strings};
use crate::error::Result;
use crate::measure::Spread;
use crate::results::Subject;
use crate::table;

const NAME: &str = "stages";
const RUNS: usize = 7;
const GETS: usize = 300_000;

/// The timed steps, in this order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Until(Stage),
    /// A whole get, and its value copied.
    Copy,
}

impl Step {
    fn all() -> impl Iterator<Item = Step> {
        Stage::ALL.into_iter().map(Step::Until).chain([Step::Copy])
    }

    fn name(self) -> &'static str {
        match self {
            Step::Until(stage) => match stage {
                Stage::Nothing => "clock",
                Stage::View => "view and sequence",
                Stage::WriteBuffer => "write buffer",
                Stage::Table => "table of the level",
                Stage::Filter => "hash and filter",
                Stage::KeyMap => "key to number",
                Stage::Index => "model and directory",
                Stage::Block => "block look-up",
                Stage::Search => "search in the block",
                Stage::Pin => "compare, pin, unpin",
                Stage::Get => "statistics, value handed out",
            },
            Step::Copy => "value read",
        }
    }
}

/// Measures, and returns one table for each set.
///
/// # Errors
/// Failures of the store.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let ours = Ours::load(NAME, &input, cache_bytes, arguments, bench)?;
        let keys = sample(&input, arguments);
        let steps: Vec<Step> = Step::all().collect();
        let mut times: Vec<Vec<f64>> = steps.iter().map(|_| Vec::new()).collect();
        let runs = arguments.runs.unwrap_or(RUNS);
        let stage = format!("{}: stages", input.name);
        bench.progress.stage(stage, runs * steps.len());
        time(&ours.db, Step::Copy, &keys)?;
        for repeat in 0..runs {
            for turn in 0..steps.len() {
                let at = (turn + repeat) % steps.len();
                times[at].push(time(&ours.db, steps[at], &keys)?);
                bench.progress.advance(1)?;
            }
        }
        text += &print(&ours.subject, &steps, &times, bench);
        ours.end()?;
    }
    Ok(text)
}

/// Random present keys in the order of their look-ups: each timed key follows one that is not
/// timed.
fn sample(input: &Input, arguments: &Arguments) -> Strings {
    let mut random = Random::new(arguments.seed, 0x57a6e5);
    let mut keys = Strings::default();
    for _ in 0..2 * arguments.gets.unwrap_or(GETS) {
        let rank = random.below(input.keys.len() as u64) as usize;
        keys.push(input.keys.get(rank));
    }
    keys
}

/// Nanoseconds a key: the mean without the slowest hundredth, which was interrupted by the
/// operating system.
fn time(db: &Db, step: Step, keys: &Strings) -> Result<f64> {
    let mut value = Vec::new();
    let mut times = Vec::with_capacity(keys.len() / 2);
    let mut copy = |key: &[u8]| -> Result<u64> {
        value.clear();
        if let Some(found) = db.get(key)? {
            value.extend_from_slice(&found);
        }
        Ok(value.last().copied().unwrap_or(0).into())
    };
    for number in (0..keys.len()).step_by(2) {
        black_box(copy(keys.get(number))?);
        // A real caller has its key in the processor's caches.
        let key = black_box(keys.get(number + 1));
        black_box(key.last());
        let start = Instant::now();
        let found = match step {
            Step::Until(stage) => internals::get_until(db, stage, key)?,
            Step::Copy => copy(key)?,
        };
        black_box(found);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times.truncate(times.len() - times.len() / 100);
    let sum: Duration = times.iter().sum();
    Ok(sum.as_nanos() as f64 / times.len().max(1) as f64)
}

fn print(subject: &Subject, steps: &[Step], times: &[Vec<f64>], bench: &mut Bench) -> String {
    let spreads: Vec<Spread> = times.iter().map(|times| Spread::of(times)).collect();
    let medians: Vec<f64> = spreads.iter().map(|spread| spread.median).collect();
    let empty = medians.first().copied().unwrap_or(0.0);
    let whole = medians.last().copied().unwrap_or(0.0) - empty;
    let headings = ["stage", "ns", "share", "get up to here ns", "min", "max"];
    let mut table = table::new(&headings.map(str::to_string), 1);
    for (at, step) in steps.iter().enumerate() {
        let name = step.name();
        bench
            .report
            .put_repeated(subject, &format!("until {name}"), &times[at], "ns");
        let before = at.checked_sub(1).map_or(0.0, |before| medians[before]);
        let cost = medians[at] - before;
        bench.report.put(subject, name, cost, "ns");
        let share = (at > 0).then_some(100.0 * cost / whole);
        table.add_row([
            name.to_string(),
            table::number(Some(cost), 1),
            table::number(share, 1) + " %",
            table::number(Some(medians[at]), 1),
            table::number(Some(spreads[at].min), 1),
            table::number(Some(spreads[at].max), 1),
        ]);
    }
    format!(
        "{table}\n\n{}, {}: medians of {} runs. The time of a stage is the difference to the line above; shares do \
         not include the clock. One thread, warm.\n\n",
        subject.input,
        subject.index,
        times.first().map_or(0, Vec::len),
    )
}
