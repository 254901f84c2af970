//! Stores in memory and on a slow disk.

use super::arms::TIERS;
use super::cells::{Cells, is_brief, over, points};
use super::updates::MIXES;
use super::views::{MIX, costs, ratios_at, reads, writes, writes_over_theirs, written};
use super::{Amounts, Count, Experiment, Medium, Only, Phase, Planned, Published, Result, Work};

pub const FIGURE_14: Experiment = Experiment {
    id: "L-F14",
    paper: "LearnedKV, Figure 14",
    title: "Throughput in memory",
    shows: "The throughput of reads and of writes with a million entries that fit in memory, with reads to writes 7:3, 5:5, 3:7 and 0:1.",
    method: "As L-F9, P3, in a file system in memory (`/dev/shm`), with a cache as large as the entries. Where there is no such file system, or \
             it has not four times the room of the entries, the cells are refused. The paper compares with RocksDB; here it is \
             RocksDB+ of equal memory, since both keep values apart.",
    cells: in_memory,
    views: &[
        reads(MIX),
        writes(MIX),
        ratios_at(
            "Reads over RocksDB+ of equal memory",
            MIX,
            "p3_read_throughput",
            EQUAL,
            "throughput over that of rdb+equal; published: up to 1.26",
        ),
        ratios_at(
            "Writes over RocksDB+ of equal memory",
            MIX,
            "p3_update_throughput",
            EQUAL,
            "throughput over that of rdb+equal; published: up to 1.26",
        ),
        costs(&[("system", "system"), MIX], &[]),
    ],
};

pub const FIGURE_15: Experiment = Experiment {
    id: "L-F15",
    paper: "LearnedKV, Figure 15",
    title: "Throughput on a slow disk",
    shows: "The throughput of reads and of writes on a hard disk with a million entries, with reads to writes 7:3, 5:5, 3:7 and 0:1.",
    method: "As L-F9, P3, with a quarter as many operations in each phase as there are entries, since a disk is slow. A control group holds the \
             device to 150 reads and 150 writes a second and to 150 MB/s each way, and another one the page cache to 30 % of the entries, at \
             least 24 MiB, which includes what the store takes. Both hold every system alike; writes count when they are synced. Where the \
             operating system permits no such group, our own stores run on a file system that waits as a disk does (8 ms for each call \
             that does not continue the last one, 150 MB/s) with direct reads, and the others are refused (`imitated_disk`). At `quick` \
             7:3 alone is measured, and the page cache holds everything, so that only syncs are slow.",
    cells: on_a_slow_disk,
    views: &[
        reads(MIX),
        writes(MIX),
        written(MIX),
        writes_over_theirs(
            MIX,
            &[Published {
                name: "LearnedKV over RocksDB, published: up to",
                source: "text of section 5.4: a million entries on a hard disk, 1.22 to 1.43.",
                of: |_| Some(1.43),
                also: &[],
            }],
        ),
        costs(&[("system", "system"), MIX], &[]),
    ],
};

const EQUAL: Only = &[("system", "rdb+equal")];

fn in_memory(amounts: &Amounts) -> Result<Vec<Planned>> {
    let entries = amounts.compared;
    let cache = 2 * super::arms::RECORD_BYTES * entries as u64;
    over(points(&MIXES, amounts), amounts, |(name, phases)| {
        let work = Work::PhasesOn(Medium::Memory, phases);
        let cells = Cells::new(&[TIERS, &["rdb+equal"]], entries, work);
        Cells {
            settings: format!("cache={cache}"),
            ..cells.at("mix", name)
        }
    })
}

/// The load, and three phases of a quarter as many operations.
const fn short(mix: &'static str) -> [Phase; 4] {
    let [load, mut p1, mut p2, mut p3] = super::cells::phases(mix);
    p1.count = Count::OfRecords(0.25);
    p2.count = Count::OfRecords(0.25);
    p3.count = Count::OfRecords(0.25);
    [load, p1, p2, p3]
}

const SHORT_MIXES: [(&str, &[Phase]); 4] = [
    ("7:3", &short("rw=70:30,zipfian=0.99")),
    ("5:5", &short("rw=50:50,zipfian=0.99")),
    ("3:7", &short("rw=30:70,zipfian=0.99")),
    ("0:1", &short("rw=0:100,zipfian=0.99")),
];

fn on_a_slow_disk(amounts: &Amounts) -> Result<Vec<Planned>> {
    let systems: &[&[&str]] = &[TIERS, &["rdb+equal", "rdb+published"]];
    // A store on a slow disk takes seconds, however small.
    let mixes = match is_brief(amounts) {
        true => &SHORT_MIXES[..1],
        false => &SHORT_MIXES[..],
    };
    over(mixes.iter().copied(), amounts, |(name, phases)| {
        let work = Work::PhasesOn(Medium::SlowDisk, phases);
        Cells::new(systems, amounts.slowed, work).at("mix", name)
    })
}
