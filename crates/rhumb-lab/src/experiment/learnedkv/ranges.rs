//! Range scans behind updates.

use super::arms::{BASELINES, LEVELS, TIERS, WHOLE};
use super::cells::{Cells, LOAD, is_brief};
use super::views::{ratios, table};
use super::{
    Across, Amounts, Column, Count, Experiment, Phase, Planned, Result, View, Work, column,
};

pub const FIGURE_10: Experiment = Experiment {
    id: "L-F10",
    paper: "LearnedKV, Figure 10",
    title: "Range scans behind updates",
    shows: "The throughput of 1,000 range scans of about 500 KB over a million entries: without updates, and behind half a million \
            and a million.",
    method: "A million entries of 8 + 1016 bytes with uniform keys are put in random order. Then all is merged, converted and \
             collected by force in every system, as published. 1,000 scans follow, half as many updates as there are entries, 1,000 \
             scans, as many updates again, and 1,000 scans, all on one store; updates are drawn by Zipf 0.99 over scrambled keys, and \
             what they make due is done in the background. Each scan reads 545 entries with their values from a random key on, as \
             many as stand in the published range of 10^16 of 2^64. The text compares with RocksDB; the published program compares \
             with RocksDB+ behind its collection. Both are measured here: `rocksdb` keeps values beside their keys. Conversions of `tier-keys` \
             write keys with pointers in order and leave values where they are, those of `tier-inline` and `tier-published` write both in order. At \
             `quick` there are 20 scans.",
    cells: over_systems,
    views: &[
        View::Groups {
            title: "Throughput of scans",
            only: &[],
            series: "system",
            label: "throughput",
            unit: "1/s",
            divisor: 1.0,
            groups: SCANS,
        },
        over("Scans over plain RocksDB", &[("system", "rocksdb")]),
        over(
            "Scans over RocksDB+ as published",
            &[("system", "rdb+published")],
        ),
        over(
            "Scans over RocksDB+ of equal memory",
            &[("system", "rdb+equal")],
        ),
        table("Scans, and the conversion by force before them", COLUMNS),
    ],
};

const SCANS: &[(&str, &str)] = &[
    ("scan0_scan_throughput", "no updates"),
    ("scan1_scan_throughput", "updates: half the entries"),
    ("scan2_scan_throughput", "updates: as many as entries"),
];

const fn over(title: &'static str, over: super::Only) -> View {
    ratios(
        title,
        Across::Metrics("scans behind", SCANS),
        over,
        "throughput over that of the other; published: 2.02 without updates, 1.76 behind as many as entries",
    )
}

const COLUMNS: &[Column] = &[
    column("scan0_scan_mean", "scan, no updates, us", 1e3, 0),
    column("scan1_scan_mean", "behind half the entries", 1e3, 0),
    column("scan2_scan_mean", "behind as many as entries", 1e3, 0),
    column("scan2_scan_p99", "p99", 1e3, 0),
    column(
        "scan2_device_read",
        "read from the device, KiB/scan",
        1024.0,
        1,
    ),
    column("scan2_read_calls", "read calls a scan", 1.0, 1),
    column("scan0_forced_time", "conversion by force, s", 1.0, 2),
    column("scan0_forced_memory", "memory of it, MiB", 1_048_576.0, 1),
];

const UPDATES: Phase = Phase::whole("updates", "rw=0:100,zipfian=0.99", Count::OfRecords(0.5));

const MORE_UPDATES: Phase = Phase {
    name: "more_updates",
    ..UPDATES
};

/// The load, and scans between updates.
const fn phases(scans: u64) -> [Phase; 6] {
    const fn scan(name: &'static str, scans: u64) -> Phase {
        Phase::whole(name, "scan,length=545", Count::Of(scans))
    }
    [
        LOAD,
        scan("scan0", scans).behind_all_work(),
        UPDATES,
        scan("scan1", scans),
        MORE_UPDATES,
        scan("scan2", scans),
    ]
}

const PUBLISHED: &[Phase] = &phases(1_000);
const BRIEF: &[Phase] = &phases(20);

fn over_systems(amounts: &Amounts) -> Result<Vec<Planned>> {
    let phases = match is_brief(amounts) {
        true => BRIEF,
        false => PUBLISHED,
    };
    let systems: &[&[&str]] = &[TIERS, WHOLE, LEVELS, BASELINES, &["rocksdb"]];
    Cells::new(systems, amounts.compared, Work::Phases(phases)).planned(amounts)
}
