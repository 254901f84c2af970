//! `ycsb`: the core workloads of YCSB, over rhumb and the stores that it is compared with in
//! `peers`.

use super::columns::Row;
use super::contest::Contest;
use super::served::Served;
use super::{Arguments, Bench, peers};
use crate::data::Input;
use crate::error::Result;
use crate::results::Measured;
use crate::store::System;
use crate::workload::load::Load;
use crate::workload::mix::YCSB;
use crate::workload::order::Order;
use crate::workload::outcome;

const NAME: &str = "ycsb";
/// Operations of each workload.
const OPERATIONS: usize = 200_000;

/// The runs of workloads of each store, in order: metric, workload, threads.
fn steps() -> impl Iterator<Item = (&'static str, &'static str, usize)> {
    let by_two = [("ycsb-a_by_2", "ycsb-a", 2), ("ycsb-f_by_2", "ycsb-f", 2)];
    by_two.into_iter().chain(YCSB.map(|name| (name, name, 1)))
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
    (
        "ycsb-a_by_2_round_trip",
        "A, 2 threads, ns for a cache line to the other core and back",
        1.0,
        0,
    ),
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
    (
        "ycsb-f_by_2_each",
        "F, 2 threads, ns an operation of both",
        1.0,
        0,
    ),
    ("ycsb-f_by_2_p99", "F, 2 threads, p99 ns", 1.0, 0),
    (
        "ycsb-f_by_2_round_trip",
        "F, 2 threads, ns for a cache line to the other core and back",
        1.0,
        0,
    ),
];

/// Loads nine tenths of each set into new stores, with caches that hold all data, and runs the
/// workloads, in [`Arguments::runs`] rounds.
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
            "{table}Tables: {layout}; cache {} MiB. {operations} operations a workload; medians of {} rounds, \
             each with new stores; minimum and maximum are in square brackets.\n\n",
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
    let operations = arguments.gets.unwrap_or(OPERATIONS);
    let operations = operations.min(input.keys.len() / 4);
    let contest = Contest::new(NAME, systems, input, arguments);
    contest.run(bench, |turn| {
        let order = Order::hashed(input.keys.len(), turn.seed)?;
        let served = Served::load(turn, &order)?;
        let mut measured = Measured::default();
        for (place, (metric, workload, threads)) in (0..).zip(steps()) {
            let load = Load::closed(operations as u64, threads);
            let driver = served.driver(load, turn.seed.wrapping_add(place));
            let outcome = driver.run(&workload.parse()?)?;
            // All clients together.
            let each = 1e9 / outcome.per_second;
            measured.put(&format!("{metric}_each"), each, "ns");
            outcome::put(metric, &outcome, &mut measured)?;
        }
        served.close()?;
        Ok(measured)
    })?;
    Ok(operations)
}
