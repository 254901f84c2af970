//! The parts of the claims, each with its published numbers.

use super::gains::{BOURBON, BOURBON_LOG, OURS, TRIDENT, of_blocks, of_tables, over_all, rocksdb};
use super::published::{KEY, REQUESTS, SETS, TWO_SETS};
use crate::claims::compare::{Told, less, short};
use crate::claims::evidence::{Evidence, Missing, Selection};
use crate::claims::gain::{Gain, rounds};
use crate::claims::part::{Cause, Part};
use crate::claims::ratio::Only;
use crate::contest::Rounds;

const RATE: &str = "mix_rate";
const TAIL: &str = "mix_slowest_5_mean";

const READS: Only = &[("mix", "100/0")];

/// The mean over all sets, under a mix of reads and inserts.
fn over_sets(what: &'static str, metric: &'static str, only: Only) -> impl Fn(f64) -> Gain {
    move |published| {
        let gain = of_blocks(what, "D-F9", metric, published).mean_of("set", &SETS);
        let gain = match metric {
            TAIL => gain.of_cost([TAIL; 2]),
            _ => gain,
        };
        gain.only(only)
    }
}

/// C-D1.
pub fn read_only(evidence: &Evidence<'_>) -> Vec<Part> {
    over_all(
        evidence,
        over_sets("read-only", RATE, READS),
        [1.41, 1.57, 1.92],
    )
}

/// C-D2.
pub fn one_block(evidence: &Evidence<'_>) -> Vec<Part> {
    let part = Part::judged("one block a table searched", blocks(evidence));
    vec![part.because((
        Cause::Design,
        "versions of a key, or keys with one number, can reach into a second block",
    ))]
}

/// Whether no more tables took a second block than there are false positives of filters, in any round of any set of
/// this scale: all keys are present, each in one table.
fn blocks(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    let cells = evidence.cells("D-F9").only("mix", "100/0");
    let cells = cells.only("system", OURS);
    let (mut most_blocks, mut most_beyond) = (0.0_f64, f64::NEG_INFINITY);
    for set in cells.each("set") {
        let cell = cells.only("set", set);
        let [blocks, probes, gets] =
            ["mix_get_blocks", "mix_get_probes", "mix_gets"].map(|metric| rounds(&cell, metric));
        let counts = [blocks?, probes?, gets?];
        let a_probe = counts[0].over(&counts[1]);
        most_blocks = most_blocks.max(a_probe.spread().max);
        let beyond = Rounds::of_all(&counts, |counts| match counts {
            [blocks, probes, gets] => (blocks - probes) - (probes - gets),
            _ => f64::NAN,
        });
        most_beyond = most_beyond.max(beyond.spread().max);
    }
    let told = Told::from(most_blocks >= 1.0 && most_beyond <= 0.0);
    let ours = format!("{most_blocks:.4} blocks a probe at most; published 1");
    Ok((told, ours))
}

/// The bytes of the largest values.
const LARGE_VALUE: u64 = 4_096;

/// The longer keys of the experiment on tables.
const LONG: Only = &[("key", "64 B")];

fn of_building(what: &'static str, metric: &'static str, published: f64) -> Gain {
    let gain = of_tables(what, "D-F14", metric, published).of_cost([metric; 2]);
    gain.mean_of("set", &TWO_SETS).only(LONG)
}

/// C-D3.
pub fn tables(evidence: &Evidence<'_>) -> Vec<Part> {
    let other = rocksdb(evidence, "D-F14");
    [
        of_building("index of a table", "finding_bytes_a_table", 1.0 / 0.741),
        of_building("time to build", "compaction_time", 1.0 / 0.941),
    ]
    .iter()
    .flat_map(|gain| gain.over(evidence, &[other]))
    .collect()
}

/// C-D4.
pub fn applications(evidence: &Evidence<'_>) -> Vec<Part> {
    let other = rocksdb(evidence, "D-F13");
    [("udb", 1.32), ("zippydb", 1.38), ("up2x", 1.62)]
        .iter()
        .flat_map(|(name, published)| {
            let gain = of_blocks(name, "D-F13", RATE, *published);
            let gain = gain.at("size", vec![(name.to_string(), *published)]);
            gain.only(&[("part", "applications")])
                .over(evidence, &[other])
        })
        .collect()
}

/// C-D6.
pub fn mixes(evidence: &Evidence<'_>) -> Vec<Part> {
    let rates = [
        (
            over_sets("read-heavy", RATE, &[("mix", "90/10")]),
            [1.27, 1.36, 1.22],
        ),
        (
            over_sets("balanced", RATE, &[("mix", "50/50")]),
            [1.29, 1.27, 1.31],
        ),
        (
            over_sets("write-heavy", RATE, &[("mix", "0/100")]),
            [1.16, 1.14, 1.04],
        ),
        (
            over_sets("tail, read-only", TAIL, READS),
            [1.85, 1.89, 2.13],
        ),
    ];
    let mut parts: Vec<Part> = rates
        .into_iter()
        .flat_map(|(gain, published)| over_all(evidence, gain, published))
        .collect();
    parts.push(tail_with_writes(evidence));
    parts
}

/// The best tail of all mixes with writes and all sets.
fn tail_with_writes(evidence: &Evidence<'_>) -> Part {
    const MIXES: [(&str, Only); 3] = [
        ("read-heavy", &[("mix", "90/10")]),
        ("balanced", &[("mix", "50/50")]),
        ("write-heavy", &[("mix", "0/100")]),
    ];
    let of_mixes = MIXES.map(|(what, mix)| {
        let gain = over_sets(what, TAIL, mix)(2.67).best_of("set", &SETS);
        gain.over(evidence, &[TRIDENT])
    });
    let what = format!("tail with writes over {TRIDENT}");
    Part::best_of(what, &of_mixes.concat())
}

/// C-D7.
pub fn breakdown(evidence: &Evidence<'_>) -> Vec<Part> {
    // RocksDB has one time for the seeks in the index and in the block.
    const IN_ITS_PLACE: &str = "rocksdb-like";
    let theirs = rocksdb(evidence, "D-F11");
    let of = |what, metric: &'static str, less: f64| {
        let gain = of_blocks(what, "D-F11", metric, 1.0 / (1.0 - less));
        gain.of_cost([metric; 2])
    };
    let best = |what, metric, less| of(what, metric, less).best_of("set", &TWO_SETS);
    let search = || of("finding the key", "part_search", 0.111).mean_of("set", &TWO_SETS);
    let all = [
        (best("total", "part_all", 0.23), TRIDENT),
        (best("total", "part_all", 0.27), BOURBON),
        (best("total", "part_all", 0.56), theirs),
        (
            best("finding the block", "part_predict", 0.22),
            IN_ITS_PLACE,
        ),
        (search(), TRIDENT),
        (search(), BOURBON),
    ];
    let mut parts: Vec<Part> = all
        .iter()
        .flat_map(|(gain, other)| gain.over(evidence, &[other]))
        .collect();
    let read = best("loading the block", "part_read", 0.122).over(evidence, &[TRIDENT, BOURBON]);
    let what = format!("loading the block over {TRIDENT} or {BOURBON}");
    parts.push(Part::best_of(what, &read));
    parts.push(Part::not_measured(
        "loading the index",
        "needs indexes that are loaded by gets: ours are in memory from opening on",
    ));
    parts
}

/// C-D8.
pub fn workloads(evidence: &Evidence<'_>) -> Vec<Part> {
    let of = |what, names: &'static [&'static str]| {
        move |published| of_blocks(what, "D-F12", RATE, published).mean_of("workload", names)
    };
    [
        over_all(
            evidence,
            of("YCSB B, C, D", &["B", "C", "D"]),
            [1.32, 1.42, 2.02],
        ),
        over_all(evidence, of("YCSB A, F", &["A", "F"]), [1.56; 3]),
        over_all(evidence, of("YCSB E", &["E"]), [1.092, 1.167, 1.428]),
        over_all(evidence, of("requests", &REQUESTS), [1.394, 1.521, 1.789]),
    ]
    .concat()
}

/// C-D9.
pub fn sizes(evidence: &Evidence<'_>) -> Vec<Part> {
    let of = |what, prefixes| {
        Part::judged(what, drops(evidence, prefixes)).because((
            Cause::Design,
            "the published cause is left out: blocks of TridentKV grow with the keys there, and here hold the fewer entries the longer the keys \
             are, so that they take 4 KiB; and keys become integers without what all keys of a table begin with, so that its model is \
             the same for longer keys",
        ))
    };
    vec![
        of("tridentkv drops, keys behind one prefix", "one prefix"),
        of(
            "tridentkv drops, keys behind 1,000 prefixes",
            "1,000 prefixes",
        ),
        Part::judged("bourbon wins with values of 4 KB", wins(evidence)).because((
            Cause::Design,
            "a get of bourbon-log reads twice, a block of keys and the value; where an entry takes a block, the others read once, and blocks come \
             from the page cache, which is fast over few bytes and many alike",
        )),
    ]
}

/// Whether Bourbon with values apart from keys is surely faster with the largest values than all others.
fn wins(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    let cells = evidence.cells("D-F13").only("part", "values");
    let cells = cells.only("size", LARGE_VALUE);
    let rate = |system: &str| rounds(&cells.only("system", system), RATE);
    for system in [BOURBON_LOG, TRIDENT] {
        has_models(&cells.only("system", system))?;
    }
    let bourbon = rate(BOURBON_LOG)?;
    let (mut told, mut gains) = (Told::Yes, Vec::new());
    for other in [OURS, TRIDENT, rocksdb(evidence, "D-F13")] {
        let theirs = rate(other)?;
        told = told.and(less(&theirs, &bourbon));
        let gain = short(bourbon.over(&theirs).median());
        gains.push(format!("{gain} over {other}"));
    }
    Ok((told, format!("{}; wanted above 1", gains.join(", "))))
}

/// Whether the longest keys take much of the throughput of TridentKV, and more than of fence pointers.
fn drops(evidence: &Evidence<'_>, prefixes: &str) -> Result<(Told, String), Missing> {
    const SHARPLY: f64 = 0.7;
    let cells = evidence.cells("D-F13").only("part", "keys");
    let cells = cells.only("prefixes", prefixes);
    let longest = cells.numbers("size").last().copied().unwrap_or_default();
    let cell = |system: &str, bytes: u64| cells.only("system", system).only("size", bytes);
    for bytes in [KEY as u64, longest] {
        has_models(&cell(TRIDENT, bytes))?;
    }
    let left = |system: &str| -> Result<Rounds, Missing> {
        let rate = |bytes| rounds(&cell(system, bytes), RATE);
        Ok(rate(longest)?.over(&rate(KEY as u64)?))
    };
    let (ours, beside) = (left(TRIDENT)?, left("rocksdb-like")?);
    let told = Told::at_most(ours.ratio(), SHARPLY).and(less(&ours, &beside));
    let [ours, beside] = [ours, beside].map(|left| short(left.median()));
    let ours = format!(
        "{ours} of the throughput is left with keys of {longest} B, allowed {SHARPLY} and less than rocksdb-like keeps, {beside}"
    );
    Ok((told, ours))
}

/// That all tables of a cell have the model of their system: those that fell back say nothing of it.
fn has_models(cell: &Selection<'_>) -> Result<(), Missing> {
    let share = rounds(cell, "fallback_share")?.spread().max;
    match share > 0.0 {
        true => {
            let share = short(100.0 * share);
            Err(cell.undecided(format!(
                "{share} % of the tables fell back to fence pointers"
            )))
        }
        false => Ok(()),
    }
}

/// C-D10.
pub fn building(evidence: &Evidence<'_>) -> Vec<Part> {
    let mut parts = building_time(evidence);
    let share = Part::judged("training and serialising", training(evidence));
    parts.push(share.because((
        Cause::Design,
        "all else that builds a table takes less time here, of which training is then a larger share",
    )));
    parts
}

/// The time to build tables beside TridentKV's, if its tables have models over all sets.
fn building_time(evidence: &Evidence<'_>) -> Vec<Part> {
    const WHAT: &str = "time to build";
    let cells = evidence.cells("D-F14").only("key", "64 B");
    let theirs = cells.only("system", TRIDENT);
    let sets = theirs.each("set").into_iter();
    let all_have = sets.map(|set| has_models(&theirs.only("set", set)));
    match all_have.collect::<Result<(), Missing>>() {
        Ok(()) => {
            let time = of_building(WHAT, "compaction_time", 1.0 / 0.753);
            time.over(evidence, &[TRIDENT])
        }
        Err(missing) => {
            let judged: Result<(Told, String), Missing> = Err(missing);
            vec![Part::judged(format!("{WHAT} over {TRIDENT}"), judged)]
        }
    }
}

/// The largest share of training in the time to build tables.
fn training(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    const PUBLISHED: f64 = 0.048 + 0.037;
    const LIMIT: f64 = 1.5 * PUBLISHED;
    let cells = evidence.cells("D-F14").only("key", "64 B");
    let cells = cells.only("system", OURS);
    let (mut told, mut most) = (Told::Yes, 0.0_f64);
    for set in cells.each("set") {
        let share = rounds(&cells.only("set", set), "training_share")?;
        told = told.and(Told::at_most(share.interval(), LIMIT));
        most = most.max(share.median());
    }
    let [most, published, limit] = [most, PUBLISHED, LIMIT].map(|share| short(100.0 * share));
    let ours = format!("{most} % at most; published {published}, allowed {limit}");
    Ok((told, ours))
}
