//! `workloads`: our own store, and the user's peers, under any mix of operations.

use super::contest::Contest;
use super::served::{Served, left_out};
use super::{Arguments, Bench, peers};
use crate::data::Input;
use crate::error::Result;
use crate::measure::clock_cost;
use crate::results::{Measured, Report, Subject};
use crate::store::System;
use crate::table;
use crate::workload::load::{Amount, Load, Pace};
use crate::workload::mix::{Mix, Operation, YCSB};
use crate::workload::order::Order;
use crate::workload::outcome;

const NAME: &str = "workloads";
/// Operations of each workload.
const OPERATIONS: u64 = 100_000;

/// Measures, and returns one table for each set.
///
/// # Errors
/// Wrong answers, and failures of a store; workloads that do not fit the input, inputs that cannot
/// be read, peers that are not in this build.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mixes = match &arguments.workloads[..] {
        [] => YCSB
            .iter()
            .map(|name| name.parse())
            .collect::<Result<_>>()?,
        named => named.to_vec(),
    };
    let load = load(arguments);
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let layout = peers::layout(*set, arguments);
        let systems = peers::systems(&arguments.peers, arguments, &layout, cache_bytes)?;
        let subjects = measure(&systems, &input, load, &mixes, arguments, bench)?;
        text += &table_of(&bench.report, &input, &mixes, &subjects);
        text += &format!(
            "\n\n{} keys, nine tenths of them loaded; tables: {layout}; cache {} MiB. {}\n\n",
            table::number(Some(input.keys.len() as f64), 0),
            cache_bytes >> 20,
            legend(load, arguments.runs.unwrap_or(1))
        );
    }
    Ok(text)
}

/// The parameters of every workload. The warm-up has a tenth of its operations, or of the default
/// number if a time is given.
fn load(arguments: &Arguments) -> Load {
    let operations = arguments.gets.map_or(OPERATIONS, |gets| gets as u64);
    Load {
        amount: match arguments.time {
            Some(time) => Amount::Time(time),
            None => Amount::Operations(operations),
        },
        warm_up: operations / 10,
        threads: arguments.threads,
        pace: match arguments.rate {
            Some(per_second) => Pace::Open { per_second },
            None => Pace::Closed,
        },
    }
}

/// Runs all workloads against each store, one after another, in [`Arguments::runs`] rounds (one by
/// default).
fn measure(
    systems: &[System],
    input: &Input,
    load: Load,
    mixes: &[Mix],
    arguments: &Arguments,
    bench: &mut Bench,
) -> Result<Vec<Subject>> {
    load.check(mixes, input, left_out(input) as u64)?;
    let contest = Contest::new(NAME, systems, input, arguments);
    contest.run(bench, |turn| {
        let order = Order::hashed(input.keys.len(), turn.seed)?;
        let served = Served::load(turn, &order)?;
        let mut measured = Measured::default();
        // Each workload of a round uses the next seed.
        let outcomes = served.driver(load, turn.seed).run_all(mixes)?;
        for (mix, outcome) in mixes.iter().zip(outcomes) {
            outcome::put(&mix.to_string(), &outcome, &mut measured)?;
        }
        served.close()?;
        Ok(measured)
    })
}

/// A table of workloads and stores: a row for all operations, then one for each kind of operation
/// if there are several.
fn table_of(report: &Report, input: &Input, mixes: &[Mix], subjects: &[Subject]) -> String {
    let headings = [
        &input.name,
        "store",
        "operation",
        "operations/s",
        "mean ns",
        "median ns",
        "p99 ns",
        "CPU us/operation",
        "harness %",
        "round trip ns",
    ];
    let mut table = table::new(&headings.map(str::to_string), 3);
    for mix in mixes {
        for subject in subjects {
            let cell = |metric: String, digits| {
                let spread = report.spread(subject, &metric);
                spread.map_or(String::new(), |spread| table::with_spread(spread, digits))
            };
            let kinds = Operation::ALL.into_iter();
            let kinds = kinds.filter(|operation| mix.share(*operation) > 0.0);
            let kinds: Vec<&str> = kinds.map(Operation::name).collect();
            let latencies = |of: &str| ["mean", "p50", "p99"].map(|f| cell(format!("{of}_{f}"), 0));
            let mut row = vec![mix.to_string(), subject.index.clone()];
            row.push(if let [only] = kinds[..] { only } else { "all" }.to_string());
            row.push(cell(format!("{mix}_rate"), 0));
            row.extend(latencies(&mix.to_string()));
            row.push(cell(format!("{mix}_cpu"), 2));
            row.push(cell(format!("{mix}_harness"), 1));
            row.push(cell(format!("{mix}_round_trip"), 0));
            table.add_row(row);
            for kind in kinds.iter().filter(|_| kinds.len() > 1) {
                let mut row = vec![
                    String::new(),
                    String::new(),
                    kind.to_string(),
                    String::new(),
                ];
                row.extend(latencies(&format!("{mix}_{kind}")));
                table.add_row(row);
            }
        }
    }
    table.to_string()
}

/// An explanation of the figures.
fn legend(load: Load, runs: usize) -> String {
    let amount = match load.amount {
        Amount::Operations(count) => {
            format!("{} operations", table::number(Some(count as f64), 0))
        }
        Amount::Time(time) => format!("{} s", time.as_secs_f64()),
    };
    let pace = match load.pace {
        Pace::Closed => "closed loop: each operation begins when the last one is checked; \
             operations/s: divided by the time in the store, summed over all clients"
            .to_string(),
        Pace::Open { per_second } => format!(
            "open loop: {per_second} operations a second are begun even if the store lags behind, and \
             latencies count from the intended time"
        ),
    };
    format!(
        "Each workload: {amount} by {} clients, after {} for warm-up. In a {pace}. CPU: of the whole \
         process, background work and clients included. Harness: share of the clients' time in which they neither \
         wait for the store nor sleep. Round trip: of a cache line between two threads, if there are several clients. \
         Medians of {runs} rounds, each with new stores; minimum and maximum are in \
         square brackets. Reading the clock takes {} ns of every latency.",
        load.threads,
        table::number(Some(load.warm_up as f64), 0),
        clock_cost()
    )
}
