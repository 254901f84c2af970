//! `merges`: the processor time of merges alone, for each byte that they read.
//!
//! Nothing is merged while a store is loaded, so that each merge is the same in every run: first all runs of level 0, which
//! interleave; then a twentieth of all keys, written once more, into the rest.

use std::time::Instant;

use super::contest::{Contest, Turn};
use super::{Arguments, Bench, TWO, indexes, large};
use crate::data::Random;
use crate::error::Result;
use crate::measure::process_cpu_time;
use crate::results::{Measured, Subject};
use crate::store::{Settings, System, Temperature};
use crate::table;
use crate::workload::population::write_ranks;

const NAME: &str = "merges";

/// So many runs of level 0 are never there: none is merged before all are.
const NEVER: u32 = 1_000_000;
/// One in so many keys is written once more.
const PART: u32 = 20;

/// The merges, by what they merge.
const MERGES: [&str; 2] = ["runs", "a twentieth into the rest"];

/// Measures, and returns one table for each set.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let settings = indexes(arguments, TWO)?.into_iter().map(|index| {
            let mut settings = large(arguments, index, cache_bytes);
            settings.levels.level0_tables = NEVER;
            settings
        });
        let systems: Vec<System> = settings.map(System::Rhumb).collect();
        let contest = Contest::new(NAME, &systems, &input, arguments);
        let subjects = contest.run(bench, |turn| match turn.system {
            System::Rhumb(settings) => measure(turn, settings),
            _ => Ok(Measured::default()),
        })?;
        text += &print(&subjects, bench);
    }
    Ok(text)
}

fn measure(turn: &Turn<'_>, settings: &Settings) -> Result<Measured> {
    let store = settings.store(&turn.directory, Temperature::Warm)?;
    let steps = turn.steps(&store);
    let mut measured = Measured::default();
    let mut merge = |name: &str| -> Result<()> {
        store.db.flush()?;
        let before = store.db.stats()?.writes;
        turn.progress
            .stage(format!("{}: merge {name}", turn.name), 0);
        let (cpu, wall) = (process_cpu_time(), Instant::now());
        store.db.compact_range(None, None)?;
        let (cpu, wall) = (process_cpu_time() - cpu, wall.elapsed());
        let after = store.db.stats()?.writes;
        let read = (after.compaction_bytes_read - before.compaction_bytes_read) as f64;
        measured.put(
            &format!("{name}: cpu"),
            cpu.as_nanos() as f64 / read,
            "ns/B",
        );
        measured.put(
            &format!("{name}: wall"),
            wall.as_nanos() as f64 / read,
            "ns/B",
        );
        measured.put(&format!("{name}: read"), read, "B");
        Ok(())
    };
    steps.load()?;
    merge(MERGES[0])?;
    let mut again = Random::new(turn.seed, 0x3e76e).order(turn.input.keys.len() as u32);
    again.retain(|rank| rank % PART == 0);
    turn.progress
        .stage(format!("{}: write again", turn.name), again.len());
    write_ranks(&store, turn.input, &again, turn.progress)?;
    merge(MERGES[1])?;
    steps.verify()?;
    store.db.close()?;
    Ok(measured)
}

fn print(subjects: &[Subject], bench: &Bench) -> String {
    let headings = ["index", "merge", "CPU, ns/B", "wall, ns/B", "read, MiB"];
    let mut table = table::new(&headings.map(str::to_string), 2);
    for subject in subjects {
        for name in MERGES {
            let spread = |figure: &str| bench.report.spread(subject, &format!("{name}: {figure}"));
            let cell = |figure: &str, digits| {
                spread(figure).map_or_else(String::new, |s| table::with_spread(s, digits))
            };
            let read = spread("read").map(|s| s.median / f64::from(1 << 20));
            table.add_row(vec![
                subject.index.clone(),
                name.to_string(),
                cell("cpu", 2),
                cell("wall", 2),
                table::number(read, 0),
            ]);
        }
    }
    let input = subjects.first().map_or("", |subject| &subject.input);
    format!("{input}\n{table}\n")
}
