//! The bytes of an index, and the time to build tables.

use super::arms::{Cells, FEW, is_brief};
use super::sizes::keys_of;
use super::views::bars;
use super::{Amounts, Experiment, Fill, Measure, Planned, Result, Split, View, Work, column};
use crate::claims::doblix::published::TWO_SETS;

pub const FIGURE_14: Experiment = Experiment {
    id: "D-F14",
    paper: "DobLIX, Figure 14",
    title: "Bytes of the index of a table, and time to build tables",
    shows: "The mean bytes of the index of a table (a), and the mean time to build a table (b), of DobLIX, TridentKV and RocksDB over \
            AMZN and LOGN with keys of 8 and of 64 bytes. The text has the shares of training and of serialising in the time.",
    method: "The protocol of D-ENV. Half of the records are loaded and merged, then the other half is written. The time is that of \
             the flushes and merges of the second half by the clocks of the threads that run them, in RocksDB by its log, with \
             all bytes that they wrote beside; training includes serialising. The index is what is in memory to find the block of a key: \
             index, directory and key map; in RocksDB what open tables take without filters. Keys of 64 bytes are those of 8 behind \
             one of 1,000 prefixes each. At `quick` one set.",
    cells: over_keys,
    views: &[
        View::Chart(bars("Bytes of the index of a table", &[], SET, INDEX).split(Split::By("key"))),
        View::Chart(bars("Time of flushes and merges", &[], SET, TIME).split(Split::By("key"))),
        View::Table {
            title: "All figures",
            only: &[],
            axes: &[("key", "key"), SET, ("system", "system")],
            columns: &[
                column("finding_bytes_a_table", "index of a table, KiB", 1024.0, 2),
                column("finding_bytes", "index, KiB", 1024.0, 1),
                column("index_bytes_an_entry", "models, B/entry", 1.0, 3),
                column("compaction_time", "flushes and merges, s", 1.0, 3),
                column("written_bytes", "written, MiB", 1_048_576.0, 1),
                column("training_share", "training and serialising, %", 0.01, 2),
                column("load_wall", "load, s", 1.0, 2),
                column("fallback_share", "tables that fell back", 1.0, 2),
            ],
            published: &[],
        },
    ],
};

const SET: (&str, &str) = ("set", "keys");

const INDEX: Measure = Measure {
    metric: "finding_bytes_a_table",
    label: "index of a table",
    unit: "KiB",
    divisor: 1024.0,
    log: false,
};

const TIME: Measure = Measure {
    metric: "compaction_time",
    label: "time",
    unit: "s",
    divisor: 1.0,
    log: false,
};

fn over_keys(amounts: &Amounts) -> Result<Vec<Planned>> {
    let sets = match is_brief(amounts) {
        true => &TWO_SETS[..1],
        false => &TWO_SETS[..],
    };
    let mut cells = Vec::new();
    for set in sets {
        for bytes in [8, 64] {
            let of_keys = Cells {
                systems: FEW,
                data: keys_of(set, bytes, 1_000, amounts.uncached.records),
                are_texts: bytes > 8,
                fill: Fill::Halves,
                axes: vec![("set", set.to_string()), ("key", format!("{bytes} B"))],
                settings: "",
                work: Work::Loading,
            };
            cells.extend(of_keys.planned(amounts)?);
        }
    }
    Ok(cells)
}
