//! LearnedKV beside other systems.

use super::published::Row;
use crate::claims::gain::Gain;
use crate::claims::part::{Cause, Why};

/// The arm that stands for LearnedKV: a tier of keys with pointers.
pub const OURS: &str = "tier-keys";

/// The published baseline, with its settings and with memory equal to ours, and RocksDB with blob files.
pub const BASELINES: &[&str] = &["rdb+published", "rdb+equal", "rocksdb-blob"];

/// How many times the throughput of others LearnedKV has, in a cell without another axis.
pub fn of_tier(
    what: &'static str,
    experiment: &'static str,
    metric: &'static str,
    published: f64,
) -> Gain {
    Gain::new((OURS, why), what, experiment, metric, published)
}

/// Why ours may differ from what was published over a system.
fn why(other: &str) -> Why {
    match other {
        "rdb+published" => (
            Cause::Device,
            "values, and the tables of all but this baseline, come from the page cache, which the published runs filled with \
             ten times as many records",
        ),
        "rdb+equal" | "rocksdb-blob" => (
            Cause::Reading,
            "this RocksDB has the memory, the filters and the cache of ours, which the published baseline lacks",
        ),
        "rocksdb" => (
            Cause::Reading,
            "the text compares with RocksDB and the published program with RocksDB+ behind its collection",
        ),
        "tier-keys-unfiltered" => (
            Cause::Design,
            "tables have filters of their own here, so that the one above the tier spares searches in memory and seldom a read",
        ),
        _ => (
            Cause::Design,
            "this is rhumb in the form of that system, not the published program over LevelDB, so that both differ in this form alone",
        ),
    }
}

/// The gains of a table.
pub fn gains(rows: &[Row], of: fn(&Row) -> f64, suffix: &str) -> Vec<(String, f64)> {
    let rows = rows.iter();
    rows.map(|row| (format!("{}{suffix}", row.at), of(row)))
        .collect()
}
