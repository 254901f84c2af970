//! A slower device.

use super::arms::{ALL, Cells};
use super::views::{RATE, bars};
use super::{Amounts, Data, Experiment, Fill, Medium, Phase, Planned, Result, View, Work, column};

pub const SLOWER_DISK: Experiment = Experiment {
    id: "D-SATA",
    paper: "DobLIX, section IV",
    title: "Reads of a slower device",
    shows: "Reads alone over UNI from a slower disk, of which no figure was published.",
    method: "The protocol of D-ENV with reads by Zipf past the page cache, as many as the mix `100/0, device` of D-F9 has. A control group \
             holds the device to 10,000 calls a second and to 500 MB/s, about what one client gets of an SSD behind SATA. It lets calls through \
             in bursts, so that single latencies tell nothing, and the figures are means of all; and it hides what a store computes meanwhile, \
             so that those with as many calls a read are alike, and their CPU time stands beside. Where the operating system permits no such \
             group, our own stores run on a file system whose calls take at least 100 us each and the time of their bytes, with what the store \
             computes on top, and RocksDB is refused (`imitated disk`).",
    cells: over_systems,
    views: &[
        View::Chart(bars("Throughput", &[], SET, RATE)),
        View::Table {
            title: "All figures",
            only: &[],
            axes: &[SET, ("system", "system")],
            columns: &[
                column("mix_rate", "reads, 1000/s", 1e3, 3),
                column("mix_mean", "mean, us", 1e3, 1),
                column("mix_cpu", "CPU, us/read", 1.0, 2),
                column("mix_probe_blocks", "blocks a table searched", 1.0, 4),
                column("mix_probe_bytes", "bytes a table searched", 1.0, 0),
                column("imitated_disk", "imitated disk", 1.0, 0),
            ],
            published: &[],
        },
    ],
};

const SET: (&str, &str) = ("set", "keys");

const READS: &[Phase] = &[Phase::new("mix", "read=100,zipfian")];

fn over_systems(amounts: &Amounts) -> Result<Vec<Planned>> {
    let cells = Cells {
        systems: ALL,
        data: Data::new("uni", amounts.uncached.records).with_values(64),
        are_texts: false,
        fill: Fill::All,
        axes: vec![("set", "uni".to_string())],
        settings: "direct=true",
        work: Work::PhasesOn(Medium::SataSsd, READS),
    };
    cells.planned(amounts)
}
