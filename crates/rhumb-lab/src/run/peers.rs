//! `peers`: compares rhumb with the stores that users would pick instead, with equivalent settings.
//! `docs/peers.md` lists the settings of each store.

use rhumb::{Compression, TableSpec};

use super::columns::{self, MIB, Row};
use super::reads::Reads;
use super::{Arguments, Bench, Set, TWO, indexes, large};
use crate::data::Input;
use crate::error::Result;
use crate::measure::clock_cost;
use crate::results::Report;
use crate::store::{COLD_CACHE_BYTES, Peer, System};
use crate::table;

const NAME: &str = "peers";

/// Measures, and returns one table for each set.
///
/// # Errors
/// See [`Reads::measure`]; inputs that cannot be read, peers that are not in this build.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let reads = Reads::large(NAME, 1_000_000);
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let table = layout(*set, arguments);
        let systems = systems(&compared(arguments), arguments, &table, cache_bytes)?;
        reads
            .for_input(&input, arguments)
            .measure(&systems, &input, arguments, bench)?;
        let runs = arguments.runs.unwrap_or(1);
        text += &print(&bench.report, &input, &table, cache_bytes, runs);
    }
    Ok(text)
}

/// The layout of all stores' tables: the user's, or by default ours. Real paths and packages are
/// compressed; random values cannot be.
pub fn layout(set: Set, arguments: &Arguments) -> TableSpec {
    let compression = match set {
        Set::C3 => Compression::Lz4,
        _ => Compression::None,
    };
    let default = TableSpec {
        compression,
        ..TableSpec::default()
    };
    arguments.table.clone().unwrap_or(default)
}

/// The user's peers, or all peers of this build.
pub fn compared(arguments: &Arguments) -> Vec<Peer> {
    match &arguments.peers[..] {
        [] => Peer::built_in().collect(),
        named => named.to_vec(),
    }
}

/// The peers, with the settings of our first index, then our own store with each index.
///
/// # Errors
/// If a specification of an index is invalid.
pub fn systems(
    peers: &[Peer],
    arguments: &Arguments,
    table: &TableSpec,
    cache_bytes: u64,
) -> Result<Vec<System>> {
    let mut systems = Vec::new();
    for (number, index) in indexes(arguments, TWO)?.into_iter().enumerate() {
        let mut settings = large(arguments, index, cache_bytes);
        settings.table = table.clone();
        if number == 0 {
            let peers = peers
                .iter()
                .map(|peer| System::Peer(*peer, settings.clone()));
            systems.extend(peers);
        }
        systems.push(System::Rhumb(settings));
    }
    Ok(systems)
}

const ROWS: &[Row] = &[
    ("load_wall", "load, wall s", 1.0, 1),
    ("compacted_wall", "load to compacted, wall s", 1.0, 1),
    ("compacted_cpu", "load to compacted, CPU s", 1.0, 1),
    ("system_write_amplification", "written / user", 1.0, 2),
    ("disk_bytes", "disk MiB", MIB, 0),
    ("get_mean", "get, mean ns", 1.0, 0),
    ("get_p50", "get, median ns", 1.0, 0),
    ("get_p99", "get, p99 ns", 1.0, 0),
    ("absent_mean", "absent get, mean ns", 1.0, 0),
    ("absent_p50", "absent get, median ns", 1.0, 0),
    ("absent_p99", "absent get, p99 ns", 1.0, 0),
    ("get_by_2_each", "get, 2 threads, ns a get of both", 1.0, 0),
    ("get_by_2_p99", "get, 2 threads, p99 ns", 1.0, 0),
    ("get64_mean", "64 gets in a call, ns a get", 64.0, 0),
    ("scan10_mean", "scan 10, mean ns", 1.0, 0),
    ("scan10_p99", "scan 10, p99 ns", 1.0, 0),
    ("scan100_mean", "scan 100, mean ns", 1.0, 0),
    ("scan100_p99", "scan 100, p99 ns", 1.0, 0),
    ("cold_mean", "cold get, mean ns", 1.0, 0),
    ("cold_p50", "cold get, median ns", 1.0, 0),
    ("cold_p99", "cold get, p99 ns", 1.0, 0),
    ("cold64_mean", "64 cold gets in a call, ns a get", 64.0, 0),
    ("cold_device_bytes", "cold get, bytes of the device", 1.0, 0),
    ("index_bytes", "index KiB", 1024.0, 1),
    ("directory_bytes", "directory KiB", 1024.0, 1),
    ("filter_bytes", "filter KiB", 1024.0, 1),
    ("key_map_bytes", "key map KiB", 1024.0, 1),
    ("finding_bytes", "these four, KiB", 1024.0, 1),
    ("cache_bytes", "blocks in the cache, MiB", MIB, 0),
    ("tables", "tables", 1.0, 0),
    ("fallback_share", "share that fell back", 1.0, 2),
];

fn print(
    report: &Report,
    input: &Input,
    layout: &TableSpec,
    cache_bytes: u64,
    runs: usize,
) -> String {
    let table = table(report, NAME, input, ROWS);
    format!(
        "{table}Tables: {layout}; cache {} MiB, cold {} MiB. Medians of {runs} rounds, each with new \
         stores; minimum and maximum are in square brackets. Reading the clock takes {} ns of every \
         latency.\n\n",
        cache_bytes >> 20,
        COLD_CACHE_BYTES >> 20,
        clock_cost()
    )
}

/// The figures of an experiment over an input, with ratios to RocksDB.
pub fn table(report: &Report, experiment: &str, input: &Input, rows: &[Row]) -> String {
    let yardstick = Peer::Rocksdb.to_string();
    let subjects = columns::subjects(report, experiment, input);
    let table = columns::table(report, &input.name, &subjects, &yardstick, rows);
    let keys = table::number(Some(input.keys.len() as f64), 0);
    let user = table::number(Some(input.user_bytes() as f64 / MIB), 0);
    format!(
        "{table}\n\n{keys} keys, {user} MiB of keys and values. In round brackets: ratio to {yardstick}. "
    )
}
