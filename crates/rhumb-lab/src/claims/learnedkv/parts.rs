//! The parts of the claims, each with its published numbers.

use super::gains::{BASELINES, OURS, gains, of_tier};
use super::published::{DIRECT, DISTRIBUTIONS, OVER_PROVISIONS, Row, SCANS, SETS, SIZES};
use crate::claims::compare::Told;
use crate::claims::evidence::{Evidence, Missing, Selection};
use crate::claims::gain::{Gain, Rule, at_most, rounds};
use crate::claims::part::{Cause, Part};
use crate::claims::ratio::Ratio;

const READS: &str = "p3_read_throughput";
const WRITES: &str = "p3_update_throughput";

/// Reads to writes.
const MIXES: [&str; 4] = ["7:3", "5:5", "3:7", "0:1"];

/// RocksDB+ alone.
const PLUS: &[&str] = &["rdb+published", "rdb+equal"];

/// C-L1.
pub fn speed(evidence: &Evidence<'_>) -> Vec<Part> {
    let all = [
        of_tier("reads at 5:5", "L-F8", READS, 3.35),
        of_tier("writes at 5:5", "L-F8", WRITES, 1.30),
        of_tier("reads of the best mix", "L-F9", READS, 4.32).best_of("mix", &MIXES[..3]),
        of_tier("writes of the best mix", "L-F9", WRITES, 1.41).best_of("mix", &MIXES),
    ];
    let parts = all.iter().flat_map(|gain| gain.over(evidence, BASELINES));
    let slow = of_tier("writes on a slow disk", "L-F15", WRITES, 1.43).best_of("mix", &MIXES);
    parts.chain(slow.over(evidence, PLUS)).collect()
}

/// C-L2.
pub fn space(evidence: &Evidence<'_>) -> Vec<Part> {
    let gain = of_tier("space of indexes", "L-F8", "table_bytes", 2.98);
    gain.of_cost(["table_bytes"; 2]).over(evidence, PLUS)
}

/// C-L3.
pub fn scans(evidence: &Evidence<'_>) -> Vec<Part> {
    let [without, with] = SCANS;
    let all = [
        of_tier("without updates", "L-F10", "scan0_scan_throughput", without),
        of_tier("behind updates", "L-F10", "scan2_scan_throughput", with),
    ];
    let over = |gain: &Gain| gain.over(evidence, &["rocksdb", "rdb+published", "rdb+equal"]);
    all.iter().flat_map(over).collect()
}

/// The workloads with their gains.
fn workloads<const N: usize>(gains: [(&str, f64); N]) -> Vec<(String, f64)> {
    gains.map(|(name, gain)| (name.to_string(), gain)).to_vec()
}

/// C-L4.
pub fn others(evidence: &Evidence<'_>) -> Vec<Part> {
    const INDEXES: &[&str] = &["btree-disk+", "hybrid-pgm+", "hybrid-leco+"];
    let ycsb = |what, gain: (&str, f64)| {
        let of = of_tier(what, "L-F11", "ycsb_rate", gain.1);
        of.at("workload", workloads([gain]))
    };
    let hashkv = [
        ycsb("write-heavy", ("A", 1.12)),
        ycsb("read-heavy", ("B", 1.89)),
        ycsb("read-only", ("C", 1.34)),
    ];
    let bourbon = [
        ycsb("write-heavy", ("A", 1.58)),
        ycsb("read-heavy", ("B", 1.87)),
        ycsb("read-only", ("C", 1.32)),
    ];
    let indexes = [
        ycsb("write-heavy", ("A", 2.66)),
        ycsb("read-heavy", ("B", 8.24)),
    ];
    let over = |all: &[Gain], others: &[&'static str]| -> Vec<Part> {
        let parts = all.iter().flat_map(|gain| gain.over(evidence, others));
        parts.collect()
    };
    [
        over(&hashkv, &["hashkv"]),
        over(&bourbon, &["bourbon"]),
        over(&indexes, INDEXES),
    ]
    .concat()
}

/// C-L6.
pub fn blocking(evidence: &Evidence<'_>) -> Vec<Part> {
    const PHASES: [(&str, &str); 6] = [
        ("reads of P1", "p1_read_p999"),
        ("reads of P2", "p2_read_p999"),
        ("reads of P3", "p3_read_p999"),
        ("writes of P1", "p1_update_p999"),
        ("writes of P2", "p2_update_p999"),
        ("writes of P3", "p3_update_p999"),
    ];
    let part = |(what, metric)| {
        let ratio = Ratio {
            what,
            experiment: "L-F8",
            of: &[("system", OURS)],
            over: &[("system", "lsm-values")],
            metric,
            published: 1.0,
            band: (0.0, 1.5),
            why: Some((
                Cause::Design,
                "conversions share the cores and the device with reads and writes, and writers are slowed down where \
                 conversions do not keep up with the bound on space",
            )),
        };
        ratio.part(evidence)
    };
    PHASES.map(part).to_vec()
}

/// Writes and reads over an axis.
fn over_axis(
    evidence: &Evidence<'_>,
    [writes, reads]: [&'static str; 2],
    experiment: &'static str,
    (axis, rows, suffix): (&'static str, &[Row], &str),
) -> Vec<Part> {
    let all = [
        of_tier(writes, experiment, WRITES, 1.0).at(axis, gains(rows, Row::gain_of_writes, suffix)),
        of_tier(reads, experiment, READS, 1.0).at(axis, gains(rows, Row::gain_of_reads, suffix)),
    ];
    let over = |gain: &Gain| gain.over(evidence, BASELINES);
    all.iter().flat_map(over).collect()
}

/// C-L8.
pub fn data(evidence: &Evidence<'_>) -> Vec<Part> {
    let sets = ["writes, sets of keys", "reads, sets of keys"];
    let distributions = ["writes, distributions", "reads, distributions"];
    let sizes = ["writes, sizes", "reads, sizes"];
    [
        over_axis(evidence, sets, "L-T2", ("set", &SETS, "-like")),
        over_axis(
            evidence,
            distributions,
            "L-T3",
            ("distribution", &DISTRIBUTIONS, ""),
        ),
        over_axis(evidence, sizes, "L-T4", ("size", &SIZES, "")),
    ]
    .concat()
}

/// C-L10.
pub fn over_provision(evidence: &Evidence<'_>) -> Vec<Part> {
    let rows = ("over-provision", &OVER_PROVISIONS[..], "");
    over_axis(evidence, ["writes", "reads"], "L-T7", rows)
}

/// The latency of all reads of a store that cannot tell where they are answered.
const ALL_READS: &str = "p1_read_mean";

/// C-L9.
pub fn sources(evidence: &Evidence<'_>) -> Vec<Part> {
    let all = [
        of_tier("answered by the tier", "L-T6", ALL_READS, 1.0 / 0.33)
            .of_cost(["p1_from_tier_mean", ALL_READS]),
        of_tier("answered above it", "L-T6", ALL_READS, 1.0 / 0.77)
            .of_cost(["p1_above_tier_mean", ALL_READS]),
    ];
    let parts = all.iter().flat_map(|gain| gain.over(evidence, PLUS));
    let probes = Part::judged("reads that ask the LSM-tree", asking(evidence)).because((
        Cause::Design,
        "the filter above the tier is renewed while reads go on, and gives no answers from 4.5 % of wrong ones on",
    ));
    parts.chain([probes]).collect()
}

/// The share of reads that the filter above the tier does not send there at once.
fn asking(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    const PUBLISHED: f64 = 95.3;
    let cell = evidence.cells("L-T6").only("system", OURS);
    let [sent, all] = ["p1_above_negative", "p1_gets"].map(|metric| rounds(&cell, metric));
    let share = 100.0 * (1.0 - sent?.median() / all?.median().max(1.0));
    let told = Told::from(share <= PUBLISHED);
    Ok(at_most(told, share, PUBLISHED, "% of reads", "95.3"))
}

/// C-L11.
pub fn media(evidence: &Evidence<'_>) -> Vec<Part> {
    let memory = of_tier("in memory", "L-F14", "p3_rate", 1.26).best_of("mix", &MIXES);
    let slow = Gain {
        rule: Rule::Each,
        ..of_tier("on a slow disk", "L-F15", "p3_rate", 1.22).best_of("mix", &MIXES)
    };
    let direct = |what, workload: usize, index: usize| {
        let (name, [ours, pgm, leco]) = DIRECT[workload];
        let gain = ours / [pgm, leco][index];
        let of = of_tier(what, "L-T5", "ycsb_rate", gain);
        of.at("workload", workloads([(name, gain)]))
    };
    let direct = [
        (direct("direct, YCSB B,", 1, 0), "hybrid-pgm+"),
        (direct("direct, YCSB B,", 1, 1), "hybrid-leco+"),
        (direct("direct, YCSB C,", 2, 0), "hybrid-pgm+"),
        (direct("direct, YCSB C,", 2, 1), "hybrid-leco+"),
    ];
    let parts = memory.over(evidence, &["rdb+equal"]).into_iter();
    let direct = direct
        .iter()
        .flat_map(|(gain, other)| gain.over(evidence, &[*other]));
    parts
        .chain(slow.over(evidence, PLUS))
        .chain(direct)
        .collect()
}

/// C-L12.
pub fn memory(evidence: &Evidence<'_>) -> Vec<Part> {
    vec![
        Part::judged("memory of a conversion", conversion(evidence)).because((
            Cause::Design,
            "a conversion merges streams and sorts nothing; its memory is that of its buffers and of the tables that it opens",
        )),
        Part::judged("models", models(evidence)).because((
            Cause::Design,
            "each table has a model of its own, and those above the tier count too",
        )),
        Part::judged("filter wrong", wrong(evidence)).because((
            Cause::Design,
            "the filter is renewed when more than 3 % are expected to be wrong, and asked no more from 4.5 % on",
        )),
    ]
}

fn wrong(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    const LIMIT: f64 = 5.0;
    let cells = evidence.cells("L-F13").only("system", OURS);
    let share = rounds(&cells.only("mix", "5:5"), "p3_filter_wrong")?.median();
    Ok(at_most(
        Told::from(share < LIMIT),
        share,
        LIMIT,
        "%",
        "less than 5",
    ))
}

/// C-L5.
pub fn filter(evidence: &Evidence<'_>) -> Vec<Part> {
    let at_half = |gain: Gain, published| gain.at("mix", vec![("5:5".to_string(), published)]);
    let all = [
        at_half(of_tier("reads", "L-F13", READS, 1.096), 1.096),
        at_half(of_tier("writes", "L-F13", WRITES, 0.9435), 0.9435),
    ];
    let over = |gain: &Gain| gain.over(evidence, &["tier-keys-unfiltered"]);
    all.iter().flat_map(over).collect()
}

/// The bytes of a record with its key.
const RECORD_BYTES: f64 = 1_024.0;

/// Entries from which on memory is a matter of their number.
const ENOUGH: f64 = 1e6;

/// The entries of a cell by their bytes.
fn entries(cell: &Selection<'_>, live: &'static str) -> Result<f64, Missing> {
    let entries = rounds(cell, live)?.median() / RECORD_BYTES;
    match entries < ENOUGH {
        true => {
            Err(cell
                .undecided("a million entries are needed: models and buffers have a least size"))
        }
        false => Ok(entries),
    }
}

fn conversion(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    let cell = evidence.cells("L-F10").only("system", OURS);
    let entries = entries(&cell, "p0_live_bytes")?;
    const LIMIT: f64 = 8.0;
    let each = rounds(&cell, "scan0_forced_memory")?.median() / entries;
    let told = Told::from(each <= LIMIT);
    Ok(at_most(told, each, LIMIT, "B/entry", "less than 8"))
}

fn models(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    const PUBLISHED: f64 = 96e3 / 10e6;
    const LIMIT: f64 = 1.5 * PUBLISHED;
    let cell = evidence.cells("L-F8").only("system", OURS);
    let entries = entries(&cell, "p3_live_bytes")?;
    let each = rounds(&cell, "model_bytes")?.median() / entries;
    let told = Told::from(each <= LIMIT);
    Ok(at_most(told, each, LIMIT, "B/entry", "0.0096"))
}
