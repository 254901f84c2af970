//! DobLIX beside other systems.

use crate::claims::evidence::Evidence;
use crate::claims::gain::Gain;
use crate::claims::part::{Cause, Part, Why};

/// The arm that stands for DobLIX.
pub const OURS: &str = "doblix";

/// The arms that stand for the published baselines.
pub const TRIDENT: &str = "tridentkv";
pub const BOURBON: &str = "bourbon";
/// With values apart from keys.
pub const BOURBON_LOG: &str = "bourbon-log";

/// RocksDB, or fence pointers in our store where it is not built in.
pub fn rocksdb(evidence: &Evidence<'_>, experiment: &'static str) -> &'static str {
    let theirs = evidence.cells(experiment).only("system", "rocksdb");
    match theirs.is_declared() {
        true => "rocksdb",
        false => "rocksdb-like",
    }
}

/// How many times the throughput of others DobLIX has, in a cell without another axis.
pub fn of_blocks(
    what: &'static str,
    experiment: &'static str,
    metric: &'static str,
    published: f64,
) -> Gain {
    Gain::new((OURS, why), what, experiment, metric, published)
}

/// The same of building tables.
pub fn of_tables(
    what: &'static str,
    experiment: &'static str,
    metric: &'static str,
    published: f64,
) -> Gain {
    let why = |_: &str| {
        (
            Cause::Design,
            "a spline over all keys takes more than a fence a block of 4 KiB; most of the time goes into merging and writing entries, which \
             all systems do alike",
        )
    };
    Gain::new((OURS, why), what, experiment, metric, published)
}

/// The parts over TridentKV, Bourbon and RocksDB, with the published gain over each.
pub fn over_all(
    evidence: &Evidence<'_>,
    gain: impl Fn(f64) -> Gain,
    published: [f64; 3],
) -> Vec<Part> {
    let [trident, bourbon, rocksdb_gain] = published.map(gain);
    let other = rocksdb(evidence, rocksdb_gain.experiment);
    [
        trident.over(evidence, &[TRIDENT]),
        bourbon.over(evidence, &[BOURBON]),
        rocksdb_gain.over(evidence, &[other]),
    ]
    .concat()
}

/// Why ours may differ from what was published over a system.
fn why(other: &str) -> Why {
    match other {
        "rocksdb" => (
            Cause::Device,
            "blocks come from the page cache, where a read takes little more for four times the bytes",
        ),
        _ => (
            Cause::Design,
            "this is rhumb in the form of that system: both read blocks by one call, verify them and search them alike, and differ in \
             the index and the blocks alone",
        ),
    }
}
