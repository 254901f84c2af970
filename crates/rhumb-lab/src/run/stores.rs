//! `stores`: compares rhumb with LMDB and with a binary search, over millions of keys.

use std::hint::black_box;
use std::time::Instant;

use super::columns::{self, MIB, Row};
use super::reads::Reads;
use super::{Arguments, Bench, peers};
use crate::data::{Input, Random};
use crate::error::{Error, Result};
use crate::measure::{Latencies, clock_cost};
use crate::results::{Report, Subject};
use crate::store::{Peer, System};
use crate::table;

const NAME: &str = "stores";
const LOWER_BOUND: &str = "std lower_bound";

/// Measures, and returns two tables for each set: the figures, and the sizes of blocks.
///
/// # Errors
/// See [`Reads::measure`]; inputs that cannot be read.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let reads = Reads::large(NAME, 0);
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let reads = reads.for_input(&input, arguments);
        lower_bound(&input, &reads, arguments.seed, bench)?;
        let systems = systems(arguments, cache_bytes)?;
        reads.measure(&systems, &input, arguments, bench)?;
        text += &print(&bench.report, &input, arguments.runs.unwrap_or(1));
        text += &print_blocks(&bench.report, &input);
    }
    Ok(text)
}

/// LMDB, if it is in this build, then our own store with each index.
fn systems(arguments: &Arguments, cache_bytes: u64) -> Result<Vec<System>> {
    let lmdb = Peer::built_in().filter(|peer| *peer == Peer::Lmdb);
    let table = arguments.table.clone().unwrap_or_default();
    peers::systems(&lmdb.collect::<Vec<_>>(), arguments, &table, cache_bytes)
}

/// A lower limit for comparison: a binary search of the standard library over the sorted keys in
/// memory, which finds a rank and no value. Keys of 8 bytes are searched as integers.
fn lower_bound(input: &Input, reads: &Reads, seed: u64, bench: &mut Bench) -> Result<()> {
    let numbers: Option<Vec<u64>> = input.keys.iter().map(number).collect();
    let (present, absent) = match numbers {
        Some(keys) => {
            let find = |key: &[u8]| number(key).map(|n| keys.partition_point(|k| *k < n));
            (
                search(input, true, reads.gets, seed, find)?,
                search(input, false, reads.gets, seed, find)?,
            )
        }
        None => {
            let keys: Vec<&[u8]> = input.keys.iter().collect();
            let find = |key: &[u8]| Some(keys.partition_point(|k| *k < key));
            (
                search(input, true, reads.gets, seed, find)?,
                search(input, false, reads.gets, seed, find)?,
            )
        }
    };
    let subject = Subject {
        experiment: NAME,
        input: input.name.clone(),
        index: LOWER_BOUND.to_string(),
    };
    bench.report.put_latencies(&subject, "get", &present);
    bench.report.put_latencies(&subject, "absent", &absent);
    Ok(())
}

fn number(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

/// Times `count` searches for random present or absent keys.
fn search(
    input: &Input,
    present: bool,
    count: usize,
    seed: u64,
    find: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Latencies> {
    let targets = if present { &input.keys } else { &input.absent };
    let mut latencies = Latencies::new()?;
    let mut random = Random::new(seed, 0x5ea2c4);
    let mut key = Vec::new();
    for _ in 0..if targets.len() == 0 { 0 } else { count } {
        let rank = random.below(targets.len() as u64) as usize;
        targets.get(rank).clone_into(&mut key);
        let start = Instant::now();
        let found = black_box(find(&key));
        latencies.record(start.elapsed());
        if present && found != Some(rank) {
            return Err(Error::WrongAnswer {
                store: LOWER_BOUND.to_string(),
                operation: "search",
                key: key.escape_ascii().to_string(),
                expected: format!("rank {rank}"),
                found: format!("{found:?}"),
            });
        }
    }
    Ok(latencies)
}

const ROWS: &[Row] = &[
    ("load_wall", "load, wall s", 1.0, 1),
    ("compacted_wall", "load to compacted, wall s", 1.0, 1),
    ("compacted_cpu", "load to compacted, CPU s", 1.0, 1),
    ("write_amplification", "written / user, own count", 1.0, 2),
    (
        "system_write_amplification",
        "written / user, by the system",
        1.0,
        2,
    ),
    ("slowdowns", "load, slowdowns", 1.0, 0),
    ("stalls", "load, stalls", 1.0, 0),
    ("longest_stall", "load, longest stall ms", 1e-3, 1),
    ("disk_bytes", "disk MiB", MIB, 0),
    ("get_mean", "get, mean ns", 1.0, 0),
    ("get_p50", "get, median ns", 1.0, 0),
    ("get_p99", "get, p99 ns", 1.0, 0),
    ("absent_mean", "absent get, mean ns", 1.0, 0),
    ("absent_p50", "absent get, median ns", 1.0, 0),
    ("absent_p99", "absent get, p99 ns", 1.0, 0),
    ("get64_mean", "64 gets in a call, ns a get", 64.0, 0),
    ("scan10_mean", "scan 10, mean ns", 1.0, 0),
    ("scan10_p99", "scan 10, p99 ns", 1.0, 0),
    ("scan100_mean", "scan 100, mean ns", 1.0, 0),
    ("scan100_p99", "scan 100, p99 ns", 1.0, 0),
    ("cold_mean", "cold get, mean ns", 1.0, 0),
    ("cold_p50", "cold get, median ns", 1.0, 0),
    ("cold_p99", "cold get, p99 ns", 1.0, 0),
    ("cold64_mean", "64 cold gets in a call, ns a get", 64.0, 0),
    ("cold_file_blocks", "cold get, blocks read", 1.0, 2),
    ("cold_file_bytes", "cold get, bytes read", 1.0, 0),
    ("get_blocks", "get, blocks", 1.0, 2),
    ("get_blocks_a_probe", "get, blocks a probe", 1.0, 4),
    ("get_window_ranks", "get, window ranks", 1.0, 1),
    ("index_bytes", "index KiB", 1024.0, 1),
    ("directory_bytes", "directory KiB", 1024.0, 1),
    ("filter_bytes", "filter KiB", 1024.0, 1),
    ("key_map_bytes", "key map KiB", 1024.0, 1),
    ("finding_bytes", "these four, KiB", 1024.0, 1),
    ("tables", "tables", 1.0, 0),
    ("fallback_share", "share that fell back", 1.0, 2),
];

fn print(report: &Report, input: &Input, runs: usize) -> String {
    let yardstick = Peer::Lmdb.to_string();
    let subjects = columns::subjects(report, NAME, input);
    let table = columns::table(report, &input.name, &subjects, &yardstick, ROWS);
    let keys = table::number(Some(input.keys.len() as f64), 0);
    let user = table::number(Some(input.user_bytes() as f64 / MIB), 0);
    let how_often = match runs {
        1 => String::new(),
        _ => format!(
            "Medians of {runs} rounds, each with new stores; minimum and maximum are in square brackets.\n"
        ),
    };
    format!(
        "{table}\n\n{keys} keys, {user} MiB of keys and values. In round brackets: ratio to {yardstick}. One \
         thread; reading the clock takes {} ns of every latency.\n{how_often}\
         {LOWER_BOUND} finds a rank among keys in memory, and no value.\n\n",
        clock_cost()
    )
}

/// The distribution of entries and bytes over blocks, for the stores that report it.
fn print_blocks(report: &Report, input: &Input) -> String {
    let shown = [("min", 0), ("p50", 0), ("mean", 1), ("p99", 0), ("max", 0)];
    let mut headings = vec!["blocks of".to_string(), "number".into(), "empty %".into()];
    for what in ["entries", "bytes"] {
        headings.extend(shown.map(|(statistic, _)| format!("{what}, {statistic}")));
    }
    let mut table = table::new(&headings, 1);
    for subject in columns::subjects(report, NAME, input) {
        let Some(count) = report.get(subject, "blocks") else {
            continue;
        };
        let empty = report
            .get(subject, "blocks_empty")
            .map(|share| 100.0 * share);
        let mut row = vec![
            subject.index.clone(),
            table::number(Some(count), 0),
            table::number(empty, 2),
        ];
        for what in ["entries", "bytes"] {
            row.extend(shown.map(|(statistic, digits)| {
                let metric = format!("block_{what}_{statistic}");
                table::number(report.get(subject, &metric), digits)
            }));
        }
        table.add_row(row);
    }
    format!("{table}\n\nBytes are those of the stored blocks.\n\n")
}
