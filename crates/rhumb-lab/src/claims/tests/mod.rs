//! Verdicts on made-up cells: all cells that the experiments declare, with computed figures.

mod doblix;
mod edbt;
mod evidence;
mod learnedkv;
mod ledger;
mod sortedness;

use std::collections::BTreeMap;

use super::published::{clustered, fence_formula};
use crate::experiment::{self, Scale};
use crate::measure::Spread;
use crate::results::{Cell, Kept, Round};

const SCALE: Scale = Scale::Small;

const METRICS: [&str; 66] = [
    "fallback_share",
    "memory_bytes",
    "key_map_bytes",
    "index_bytes",
    "index_bytes_a_key",
    "keys",
    "key_bytes",
    "tables",
    "training_share",
    "training_time",
    "merges",
    "get_mean",
    "put_mean",
    "seek_mean",
    "scan_mean",
    "range_mean",
    "ycsb-a_mean",
    "ycsb-b_mean",
    "ycsb-c_mean",
    "ycsb-d_mean",
    "ycsb-e_mean",
    "ycsb-f_mean",
    "preload_time",
    "write_time",
    "read_time",
    "trivial_moves",
    "p0_live_bytes",
    "p3_live_bytes",
    "p3_read_throughput",
    "p3_update_throughput",
    "p3_rate",
    "p1_read_p999",
    "p2_read_p999",
    "p3_read_p999",
    "p1_update_p999",
    "p2_update_p999",
    "p3_update_p999",
    "table_bytes",
    "model_bytes",
    "p3_filter_wrong",
    "scan0_scan_throughput",
    "scan2_scan_throughput",
    "scan0_forced_memory",
    "ycsb_rate",
    "p1_read_mean",
    "p1_from_tier_mean",
    "p1_above_tier_mean",
    "p1_from_buffers",
    "p1_from_lsm",
    "p1_from_tier",
    "mix_rate",
    "mix_slowest_5_mean",
    "mix_get_blocks",
    "mix_get_probes",
    "mix_gets",
    "finding_bytes_a_table",
    "compaction_time",
    "part_all",
    "part_predict",
    "part_read",
    "part_search",
    "last_rate",
    "last_finding",
    "first_rate",
    "all_rate",
    "slowest_rate",
];

/// All declared cells, with figures by a function. Times spread by the factor `wide` to both sides
/// over three rounds, in each cell in another way.
fn cells(wide: f64, figure: impl Fn(&Cell, &str) -> f64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for experiment in experiment::all() {
        for planned in (experiment.cells)(&SCALE.amounts()).unwrap() {
            let axes = planned.axes.iter();
            let axes = axes.map(|(name, value)| (name.to_string(), value.clone()));
            let mut cell = Cell {
                experiment: experiment.id.to_string(),
                scale: SCALE.name().to_string(),
                seed: 42,
                records: planned.data.records as i64,
                axes: axes.collect(),
                rounds: (1..=3).map(round).collect(),
                figures: BTreeMap::new(),
            };
            for metric in METRICS {
                let median = figure(&cell, metric);
                let values = (1..=3).map(|round| {
                    let time = metric.ends_with("_mean") || metric == "training_share";
                    let noise = if time { noise(cells.len(), round) } else { 0.0 };
                    (round, median * wide.powf(noise))
                });
                let kept = Kept {
                    unit: String::new(),
                    spread: Spread::of(&[median]),
                    values: values.collect(),
                };
                cell.figures.insert(metric.to_string(), kept);
            }
            cells.push(cell);
        }
    }
    cells
}

/// Between -1 and 1, 0 in the mean over three rounds, and not alike in any two cells.
fn noise(cell: usize, round: u32) -> f64 {
    const GOLDEN_ANGLE: f64 = 2.399_963;
    (cell as f64 * GOLDEN_ANGLE + f64::from(round) * std::f64::consts::TAU / 3.0).cos()
}

fn round(number: u32) -> Round {
    Round {
        number,
        run: 1,
        time: "2026-01-01T00:00:00.000Z".to_string(),
        load: None,
        seed: 42,
        caches: "warm".to_string(),
    }
}

/// A spread of rounds that is small enough to distinguish kinds.
const NARROW: f64 = 1.0005;

fn number(cell: &Cell, axis: &str, otherwise: f64) -> f64 {
    cell.axis(axis).parse().unwrap_or(otherwise)
}

/// The place of a kind among all; fence pointers, the fastest, come first.
fn place(cell: &Cell) -> f64 {
    let kind = cell.axis("kind");
    clustered()
        .position(|known| known == kind)
        .map_or(0.0, |place| place as f64 + 1.0)
}

fn is_model(cell: &Cell) -> bool {
    place(cell) > 0.0
}

/// The size of the cell's tables over the smallest size.
fn growth(cell: &Cell) -> f64 {
    let least = SCALE.amounts().table_sizes[0] as f64;
    number(cell, "table", least) / least
}

/// Whether the cell is of an unclustered kind.
fn is_exact(cell: &Cell) -> bool {
    cell.axis("boundary") == "any"
}

/// A figure as published.
fn as_published(cell: &Cell, metric: &str) -> f64 {
    if cell.experiment == "L-F3" {
        let all = cell.axis("share") == "100 %";
        return match metric {
            "fallback_share" => 0.0,
            "get_mean" if all => 3.16 * 4_000.0,
            "put_mean" if all => 1.445 * 4_000.0,
            _ => 4_000.0,
        };
    }
    if cell.experiment.starts_with("L-") {
        return learnedkv::as_published(cell, metric);
    }
    if cell.experiment.starts_with("D-") {
        return doblix::as_published(cell, metric);
    }
    if cell.experiment.starts_with("B-") {
        return sortedness::as_published(cell, metric);
    }
    if is_exact(cell) {
        return unclustered_as_published(cell, metric);
    }
    let boundary = number(cell, "boundary", 16.0);
    let length = number(cell, "length", 10.0);
    let slower = 1.0 + 0.03 * place(cell);
    match metric {
        "fallback_share" => 0.0,
        "keys" => KEYS,
        "tables" => TABLES,
        "key_map_bytes" => 0.0,
        "key_bytes" => key_bytes(cell),
        "memory_bytes" | "index_bytes" => bytes(cell, boundary),
        "index_bytes_a_key" => 0.05,
        "training_share" => match (cell.experiment.as_str(), cell.axis("kind")) {
            ("E-F14", _) => 0.03,
            (_, "plr" | "fiting-tree") => 0.05,
            _ => 0.15,
        },
        "get_mean" if cell.axis("arm") == "retained" => 5_000.0 * slower,
        "get_mean" => (5_000.0 + 80.0 * boundary) * slower * (1.0 - 0.02 * growth(cell).log2()),
        "seek_mean" => (2_000.0 + 20.0 * boundary) * slower,
        "scan_mean" => 100.0 * length * slower * (1.0 - boundary / 1_000.0),
        "range_mean" => (2_000.0 + 20.0 * boundary + 100.0 * length) * slower,
        _ => 1_000.0 * slower,
    }
}

fn unclustered_as_published(cell: &Cell, metric: &str) -> f64 {
    let kind = cell.axis("kind");
    let length = number(cell, "length", 10.0);
    // About the cost of clustered kinds. The caution in Table 2 is for the missing look-up, not for
    // the time.
    let seek = 2_200.0;
    match metric {
        "fallback_share" => 0.0,
        "keys" => KEYS,
        "tables" => TABLES,
        "key_map_bytes" => 0.0,
        "key_bytes" => key_bytes(cell),
        "memory_bytes" | "index_bytes" => {
            let faster = if kind == "lits" { 0.2 } else { 0.05 };
            20.0 * KEYS * growth(cell).powf(faster)
        }
        "index_bytes_a_key" => 22.0,
        "training_share" => match (cell.experiment.as_str(), kind) {
            ("E-F14", _) => 0.04,
            (_, "lipp") => 0.35,
            _ => 0.7,
        },
        "get_mean" => 5_400.0,
        "seek_mean" => seek,
        "scan_mean" => 100.0 * length,
        "range_mean" => seek + 100.0 * length,
        _ => 1_000.0,
    }
}

const KEYS: f64 = 200_000.0;
const TABLES: f64 = 10.0;

fn key_bytes(cell: &Cell) -> f64 {
    match ["fb", "osm", "wiki"].contains(&cell.axis("set")) {
        true => 8.0,
        false => 24.0,
    }
}

fn bytes(cell: &Cell, boundary: f64) -> f64 {
    if cell.axis("arm") == "retained" {
        return 8.0 * KEYS;
    }
    let fences = fence_formula(KEYS, boundary, key_bytes(cell), TABLES);
    if !is_model(cell) {
        return fences;
    }
    let share = match (cell.axis("set"), cell.axis("kind")) {
        ("fb" | "osm", "plr" | "fiting-tree") => 1.4,
        ("wiki", _) => 0.2,
        ("ycsb-zipf0.9" | "ycsb-zipf0.99", _) => 0.4,
        _ => 0.5,
    };
    let parameter = 1.0 + number(cell, "value", 0.0) / 100.0;
    // One index for each level.
    let level = match cell.axis("covers").starts_with("level") {
        true => 12.0,
        false => 1.0,
    };
    share * parameter * fences / growth(cell).powf(0.2) / level
}
