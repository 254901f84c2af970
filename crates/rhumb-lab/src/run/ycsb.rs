//! `ycsb`: the core workloads of YCSB, over rhumb and the stores that it is compared with in
//! `peers`.

use super::columns::Row;
use super::served::{Served, by_turns};
use super::{Arguments, Bench, peers};
use crate::data::Input;
use crate::error::Result;
use crate::measure::Latencies;
use crate::store::System;
use crate::workload::load::Load;
use crate::workload::mix::YCSB;
use crate::workload::order::Order;

const NAME: &str = "ycsb";
/// Operations of each workload.
const OPERATIONS: usize = 200_000;

/// The runs of workloads of each store, in order: metric, workload, threads.
fn steps() -> impl Iterator<Item = (&'static str, &'static str, usize)> {
    let by_two = std::iter::once(("ycsb-a_by_2", YCSB[0], 2));
    by_two.chain(YCSB.map(|name| (name, name, 1)))
}

const ROWS: &[Row] = &[
    ("ycsb-a_each", "A, ns an operation", 1.0, 0),
    ("ycsb-a_p99", "A, p99 ns", 1.0, 0),
    (
        "ycsb-a_by_2_each",
        "A, 2 threads, ns an operation of both",
        1.0,
        0,
    ),
    ("ycsb-a_by_2_p99", "A, 2 threads, p99 ns", 1.0, 0),
    ("ycsb-b_each", "B, ns an operation", 1.0, 0),
    ("ycsb-b_p99", "B, p99 ns", 1.0, 0),
    ("ycsb-c_each", "C, ns an operation", 1.0, 0),
    ("ycsb-c_p99", "C, p99 ns", 1.0, 0),
    ("ycsb-d_each", "D, ns an operation", 1.0, 0),
    ("ycsb-d_p99", "D, p99 ns", 1.0, 0),
    ("ycsb-e_each", "E, ns an operation", 1.0, 0),
    ("ycsb-e_p99", "E, p99 ns", 1.0, 0),
    ("ycsb-f_each", "F, ns an operation", 1.0, 0),
    ("ycsb-f_p99", "F, p99 ns", 1.0, 0),
];

/// Loads nine tenths of each set into new stores, with caches that hold all data, and runs the
/// workloads [`Arguments::runs`] times. Each store runs all workloads before the next store does.
///
/// # Errors
/// Wrong answers, and failures of a store.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let layout = peers::layout(*set, arguments);
        let systems = peers::systems(&peers::compared(arguments), arguments, &layout, cache_bytes)?;
        let operations = measure(&systems, &input, arguments, bench)?;
        let table = peers::table(&bench.report, NAME, &input, ROWS);
        text += &format!(
            "{table}Tables: {layout}; cache {} MiB. {operations} operations a workload; medians of {} runs, \
             the stores taking turns; minimum and maximum are in square brackets.\n\n",
            cache_bytes >> 20,
            arguments.runs.unwrap_or(1),
        );
    }
    Ok(text)
}

/// Returns the number of operations of each workload, which is limited by the keys to insert.
fn measure(
    systems: &[System],
    input: &Input,
    arguments: &Arguments,
    bench: &mut Bench,
) -> Result<usize> {
    let (runs, seed) = (arguments.runs.unwrap_or(1), arguments.seed);
    let order = Order::hashed(input.keys.len(), seed)?;
    let mut clients = Vec::new();
    for system in systems {
        clients.push(Client {
            served: Served::load(NAME, system, (input, &order), seed, bench)?,
            took: steps().map(|_| Vec::new()).collect(),
        });
    }
    let operations = arguments.gets.unwrap_or(OPERATIONS);
    let operations = operations.min(input.keys.len() / (4 * runs));
    by_turns(&mut clients, runs, seed, |client, repeat| {
        let seed = seed.wrapping_add(repeat * 1_000);
        client.run(operations as u64, seed, bench)
    })?;
    clients
        .into_iter()
        .try_for_each(|client| client.end(bench))?;
    Ok(operations)
}

/// A store in use.
struct Client<'a> {
    served: Served<'a>,
    /// The measurements by step and repeat.
    took: Vec<Vec<Took>>,
}

struct Took {
    latencies: Latencies,
    /// Nanoseconds an operation of all clients together.
    each: f64,
}

impl Client<'_> {
    /// Runs all workloads once.
    fn run(&mut self, operations: u64, seed: u64, bench: &Bench) -> Result<()> {
        for (place, (_, workload, threads)) in steps().enumerate() {
            let (load, seed) = (
                Load::closed(operations, threads),
                seed.wrapping_add(place as u64),
            );
            let driver = self.served.driver(load, seed, bench);
            let outcome = driver.run(&workload.parse()?)?;
            self.took[place].push(Took {
                latencies: outcome.latencies()?,
                each: 1e9 / outcome.per_second,
            });
        }
        Ok(())
    }

    fn end(self, bench: &mut Bench) -> Result<()> {
        let subject = &self.served.subject;
        for ((metric, ..), took) in steps().zip(self.took) {
            let each: Vec<f64> = took.iter().map(|took| took.each).collect();
            let latencies: Vec<Latencies> = took.into_iter().map(|took| took.latencies).collect();
            bench.report.put_latencies(subject, metric, &latencies)?;
            let metric = format!("{metric}_each");
            bench.report.put_repeated(subject, &metric, &each, "ns");
        }
        self.served.end()
    }
}
