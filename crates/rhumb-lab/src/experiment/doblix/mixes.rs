//! Reads and inserts in all shares.

use super::arms::{ALL, Cells, IN_MEMORY, is_brief};
use super::views::{FAST, RATE, SLOW, bars, table};
use super::{Amounts, Count, Data, Experiment, Fill, Phase, Planned, Result, Split, View, Work};
use crate::claims::doblix::published::SETS;

pub const FIGURES_9_10: Experiment = Experiment {
    id: "D-F9",
    paper: "DobLIX, Figures 9 and 10",
    title: "Throughput and tail latency over six sets of keys",
    shows: "The throughput (Figure 9), and the mean of the slowest 5 % of operations (Figure 10), of DobLIX, TridentKV, Bourbon and \
            RocksDB over WIKI, AMZN, FB, OSM, LOGN and UNI, of reads alone, with a tenth of inserts, with half, and of writes at their \
            highest share.",
    method: "The protocol of D-ENV with one client, over look-alikes of the real sets. A mix is the share of reads over that of inserts \
             of new keys, a quarter as many of which are kept back as are loaded. Published are 90/10 as read-heavy, 50/50 as \
             balanced, and the highest rate of writes, here 0/100, as write-heavy; 10/90 stands beside. The mix `100/0, device` \
             reads past the page cache, as many times as E-F16 has operations. `100/0, cached`, which was not published, has a cache for all \
             blocks, which is filled by one look-up of each key. At `quick` two sets and four mixes from the \
             page cache alone.",
    cells: over_mixes,
    views: &[
        View::Chart(bars("Throughput", &[], SET, RATE).split(Split::By("mix"))),
        View::Chart(bars("Mean latency within p99", &[], SET, FAST).split(Split::By("mix"))),
        View::Chart(
            bars("Mean latency of the slowest 5 %", &[], SET, SLOW).split(Split::By("mix")),
        ),
        table(
            "All figures",
            &[],
            &[("mix", "reads/inserts"), SET, ("system", "system")],
        ),
    ],
};

const SET: (&str, &str) = ("set", "keys");

/// One workload, whose figures are named `mix_...`.
pub const fn mix(text: &'static str) -> [Phase; 1] {
    [Phase {
        count: Count::Uncached,
        ..Phase::new("mix", text)
    }]
}

/// Mixes with their systems, and settings besides those of the protocol. One cache holds everything at any scale.
const MIXES: [(&str, &[&str], &str, &[Phase]); 7] = [
    ("100/0", ALL, "", &mix("read=100,zipfian")),
    ("50/50", ALL, "", &mix("read=50,insert=50,zipfian")),
    ("0/100", ALL, "", &mix("insert=100,zipfian")),
    ("90/10", ALL, "", &mix("read=90,insert=10,zipfian")),
    ("10/90", ALL, "", &mix("read=10,insert=90,zipfian")),
    (
        "100/0, device",
        ALL,
        "direct=true",
        &[Phase::new("mix", "read=100,zipfian")],
    ),
    (
        "100/0, cached",
        IN_MEMORY,
        "cache=16GiB",
        &[Phase {
            count: Count::Uncached,
            is_warm: true,
            ..Phase::new("mix", "read=100,zipfian")
        }],
    ),
];

/// A quarter more records than are loaded, which workloads insert.
pub fn growing(set: &str, amounts: &Amounts) -> (Data, Fill) {
    let records = amounts.uncached.records * 5 / 4;
    (Data::new(set, records).with_values(64), Fill::Tenths(8))
}

fn over_mixes(amounts: &Amounts) -> Result<Vec<Planned>> {
    let (sets, mixes) = match is_brief(amounts) {
        true => (&SETS[..2], &MIXES[..4]),
        false => (&SETS[..], &MIXES[..]),
    };
    let mut cells = Vec::new();
    for set in sets {
        for (name, systems, settings, phases) in mixes {
            let (data, fill) = growing(set, amounts);
            let of_mix = Cells {
                systems,
                data,
                are_texts: false,
                fill,
                axes: vec![("set", set.to_string()), ("mix", name.to_string())],
                settings,
                work: Work::Phases(phases),
            };
            cells.extend(of_mix.planned(amounts)?);
        }
    }
    Ok(cells)
}
