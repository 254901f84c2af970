//! `rhumb-lab run --dry-run`: what a run will take.

use std::path::Path;

use crate::error::Result;
use crate::experiment::{Estimate, Machine, Order, Summary, estimate, unfinished};
use crate::results::ResultsFile;
use crate::table;

/// A table with the cells of each experiment that are not finished in the file of results, and about
/// what they take in time, memory and disk. The last line is for all experiments together, which
/// share loads.
///
/// # Errors
/// If an experiment cannot declare its cells, or the file cannot be read.
pub fn dry_run(mut order: Order, results: &Path) -> Result<String> {
    let file = match results.exists() {
        true => Some(ResultsFile::open(results)?),
        false => None,
    };
    let cells = file.as_ref().map(ResultsFile::cells).transpose()?;
    let machine = Machine::of(&cells.unwrap_or_default());
    let headings = [
        "experiment",
        "cells",
        "rounds",
        "loads",
        "stores made of them",
        "time",
        "memory MiB",
        "disk MiB",
    ];
    let mut table = table::new(&headings.map(str::to_string), 1);
    let all = std::mem::take(&mut order.experiments);
    let mut summary = Summary::default();
    for experiment in &all {
        order.experiments = vec![experiment];
        let contests = unfinished(&order, file.as_ref(), &mut summary)?;
        let taken = estimate(&contests, &order.amounts, &machine)?;
        table.add_row(row(experiment.id, &taken));
    }
    order.experiments = all;
    let contests = unfinished(&order, file.as_ref(), &mut Summary::default())?;
    table.add_row(row(
        "together",
        &estimate(&contests, &order.amounts, &machine)?,
    ));
    let source = match machine.is_measured {
        true => "the speed of the device is that of E-ENV in the file of results",
        false => "the speed of the device is assumed: `rhumb-lab run E-ENV` measures it",
    };
    Ok(format!(
        "{table}\n\nScale {}. Left out: {} rounds of cells that are finished, {} that other machines measure. Times are \
         rough, for two cores: wrong by a factor of two either way, and more where the device is slow; {source}. \
         Memory is that of the process, without the page cache; where control groups are permitted, one \
         experiment limits that too.",
        order.scale, summary.finished, summary.elsewhere
    ))
}

fn row(name: &str, taken: &Estimate) -> [String; 8] {
    let count = |count: usize| table::number(Some(count as f64), 0);
    let mib = |bytes: f64| table::number(Some(bytes / f64::from(1 << 20)), 0);
    [
        name.to_string(),
        count(taken.cells),
        count(taken.rounds),
        count(taken.loads),
        count(taken.rebuilds),
        time(taken.seconds),
        mib(taken.memory_bytes),
        mib(taken.disk_bytes),
    ]
}

/// A time in a unit that leaves few digits.
fn time(seconds: f64) -> String {
    match seconds {
        ..100.0 => format!("{seconds:.0} s"),
        100.0..6_000.0 => format!("{:.0} min", seconds / 60.0),
        6_000.0..172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Scale};

    fn order(ids: &[&str], scale: Scale) -> Order {
        let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
        Order {
            experiments: experiment::named(&ids).unwrap(),
            scale,
            amounts: scale.amounts(),
            seed: 42,
            again: false,
            shard: (1, 1),
            only: Vec::new(),
        }
    }

    fn taken(ids: &[&str], scale: Scale) -> Estimate {
        let order = order(ids, scale);
        let contests = unfinished(&order, None, &mut Summary::default()).unwrap();
        estimate(&contests, &order.amounts, &Machine::of(&[])).unwrap()
    }

    /// Experiments over the same stores share loads, so all together take fewer; a store of 100 GiB
    /// needs twice the disk and hours.
    #[test]
    fn estimates_follow_the_plan() {
        let (one, two) = (
            taken(&["E-F7"], Scale::Small),
            taken(&["E-F9"], Scale::Small),
        );
        let both = taken(&["E-F7", "E-F9"], Scale::Small);
        assert_eq!(both.cells, one.cells + two.cells);
        assert!(both.loads < one.loads + two.loads && both.seconds < one.seconds + two.seconds);
        assert_eq!(both.rounds, 5 * both.cells);
        let uncached = taken(&["D-F12"], Scale::Small);
        assert_eq!(uncached.rounds, 3 * uncached.cells);
        let large = taken(&["E-F16"], Scale::Paper);
        assert!(large.disk_bytes > 2.0 * 104_857_600.0 * 1_024.0);
        assert!(large.disk_bytes < 2.1 * 104_857_600.0 * 1_024.0);
        assert!(large.memory_bytes > 104_857_600.0 * 50.0 && large.seconds > 3_600.0);
        assert_eq!((large.loads, large.rebuilds), (3, 3 * 14));
        // Stores at rest have no cache, but their cells may.
        let cached = taken(&["D-F9"], Scale::Small);
        assert!(cached.memory_bytes > 2.0 * 5e6 * 72.0, "{cached:?}");
        let keys = taken(&["E-T1"], Scale::Quick);
        assert_eq!((keys.loads, keys.disk_bytes), (0, 0.0));
    }

    #[test]
    fn every_experiment_has_a_line() {
        let text = dry_run(order(&["all"], Scale::Quick), Path::new("no such file")).unwrap();
        for experiment in experiment::all() {
            assert!(text.contains(experiment.id), "{text}");
        }
        assert!(
            text.contains("together") && text.contains("E-ENV` measures"),
            "{text}"
        );
    }

    #[test]
    fn times_have_few_digits() {
        let texts = [4.2, 600.0, 7_200.0, 864_000.0].map(time);
        assert_eq!(texts, ["4 s", "10 min", "2.0 h", "10.0 days"]);
    }
}
