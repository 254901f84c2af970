//! What the position boundary does to look-ups.

use super::{Claim, Evidence, Judge, Part, Selection, UNCLUSTERED, window};
use crate::claims::compare::{NEARLY_ALL, Told, less, median, micros, range, short, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{LONG_ENTRIES, clustered};
use crate::measure::Spread;

pub const BOUNDARY: Claim = Claim {
    id: "C-E2",
    paper: "EDBT, Observation 2, Figure 7",
    published: "YCSB sets: from boundary 128 to 16 look-ups become nearly 10 us faster for tens of MB; below 16 \
                the gain is marginal: 16 entries take about 2 us longer than one, and one entry takes mapped \
                keys in memory, hundreds of MB.",
    judge: Judge::By {
        rule: "Exact windows from the page cache, clustered kinds on the three YCSB sets. Faster: each repeat at \
               16 takes less than each at 128, in nine of ten cells (set, kind). Marginal: from 16 to one entry \
               (mapped keys retained) the median gain is at most a quarter of that from 128 to 16 (published: 2 \
               of 10 us), in the middle of all cells; a cell without a gain from 128 to 16 counts against it; undecided if `faster` is. \
               Cheap: from 128 to 16 costs less memory than from 16 to retained keys, in nine of ten cells.",
        experiments: &["E-F7"],
        parts: |evidence| vec![faster(evidence), marginal(evidence), cheap(evidence)],
    },
};

/// A kind on a set: latency and bytes held at boundaries 128 and 16, and with mapped keys retained.
struct Steps {
    get: [Spread; 3],
    memory: [f64; 3],
    /// Latency at boundary 8.
    narrow: f64,
}

impl Steps {
    /// What a step saves, in nanoseconds: from 128 to 16, and from 16 to one entry.
    fn gains(&self) -> [f64; 2] {
        let [wide, middle, one] = self.get.map(|get| get.median);
        [wide - middle, middle - one]
    }

    /// What a step costs, in bytes.
    fn costs(&self) -> [f64; 2] {
        let [wide, middle, one] = self.memory;
        [middle - wide, one - middle]
    }
}

fn steps(evidence: &Evidence<'_>) -> Result<Vec<Steps>, Missing> {
    let windows = window(evidence, "E-F7").whole()?;
    for boundary in [128, 16, 8] {
        windows.only("boundary", boundary).whole()?;
    }
    let retained = evidence.cells("E-F7").only("arm", "retained").whole()?;
    let mut all = Vec::new();
    for set in windows.each("set") {
        for kind in clustered() {
            let windows = windows.only("set", set).only("kind", kind);
            let at = |boundary: u32| windows.only("boundary", boundary);
            let one = retained.only("set", set).only("kind", kind);
            let three = [at(128), at(16), one];
            let [wide, middle, one] = &three;
            let get = |cell: &Selection<'_>| cell.spread("get_mean");
            let bytes = |cell: &Selection<'_>| cell.value("memory_bytes");
            all.push(Steps {
                get: [get(wide)?, get(middle)?, get(one)?],
                memory: [bytes(wide)?, bytes(middle)?, bytes(one)?],
                narrow: at(8).value("get_mean")?,
            });
        }
    }
    Ok(all)
}

fn faster(evidence: &Evidence<'_>) -> Part {
    let judged = steps(evidence).map(|steps| {
        let (holds, count) = clearly_faster(&steps);
        let gains: Vec<f64> = steps.iter().map(|step| step.gains()[0]).collect();
        (
            holds,
            format!("{count} cells clearly faster, by {}", micros(&gains)),
        )
    });
    Part::judged("faster from 128 to 16", judged)
}

fn clearly_faster(steps: &[Steps]) -> (Told, String) {
    let faster = steps.iter().map(|step| less(step.get[1], step.get[0]));
    vote(&faster.collect::<Vec<_>>(), NEARLY_ALL)
}

/// Below boundary 16 little is to be gained.
pub fn marginal(evidence: &Evidence<'_>) -> Part {
    const MARGINAL: f64 = 0.25;
    let judged = steps(evidence).map(|steps| {
        let share = |step: &Steps| match step.gains() {
            [wide, narrow] if wide > 0.0 => narrow / wide,
            _ => f64::INFINITY,
        };
        let shares: Vec<f64> = steps.iter().map(share).collect();
        let middle = median(&shares);
        let gains: Vec<f64> = steps.iter().map(|step| step.gains()[1]).collect();
        let to_8: Vec<f64> = steps.iter().map(|step| step.get[1].median - step.narrow).collect();
        let ours = format!(
            "from 16 to one entry {}, {} of the gain from 128 to 16 in the middle ({}); from 16 to 8 {}",
            micros(&gains),
            short(middle),
            range(&shares),
            micros(&to_8)
        );
        match clearly_faster(&steps).0 {
            // Shares of a gain that is itself noise.
            Told::Unclear => (Told::Unclear, ours),
            _ => (Told::from(middle <= MARGINAL), ours),
        }
    });
    Part::judged("marginal below 16", judged)
}

fn cheap(evidence: &Evidence<'_>) -> Part {
    let judged = steps(evidence).map(|steps| {
        let cheaper = steps
            .iter()
            .map(|step| Told::from(step.costs()[0] < step.costs()[1]));
        let (holds, count) = vote(&cheaper.collect::<Vec<_>>(), NEARLY_ALL);
        let shares: Vec<f64> = steps
            .iter()
            .map(|step| step.costs()[0] / step.costs()[1])
            .collect();
        let ours = format!(
            "{count} cells; 128 to 16 costs {} of what retaining keys costs",
            range(&shares)
        );
        (holds, ours)
    });
    Part::judged("memory is cheap down to 16", judged)
}

pub const CLUSTERED: Claim = Claim {
    id: "C-E3",
    paper: "EDBT, Observation 3, Figure 7",
    published: "YCSB sets, boundary 8: clustered kinds need a few MB where unclustered ones need 2 GiB or more, and \
                are 1 to 2 us slower; with mapped keys retained they are as fast, with less memory.",
    judge: Judge::By {
        rule: "A few MB: bytes of the index alone at boundary 8, times 104,857,600 / keys, are at most 10 MB for \
               each clustered kind on each YCSB set, exact windows. \
               The comparison with unclustered kinds needs these.",
        experiments: &["E-F7"],
        parts: |evidence| {
            vec![
                few_megabytes(evidence),
                Part::open("unclustered kinds need 2 GiB for 1 to 2 us", UNCLUSTERED),
                Part::open("retained keys make them equal", retained(evidence)),
            ]
        },
    },
};

fn few_megabytes(evidence: &Evidence<'_>) -> Part {
    const FEW: f64 = 10.0;
    let judge = || {
        let cells = window(evidence, "E-F7").only("boundary", 8).whole()?;
        let (mut all, mut texts) = (Vec::new(), Vec::new());
        for kind in clustered() {
            let mut megabytes = Vec::new();
            for set in cells.each("set") {
                let bytes = cells
                    .only("kind", kind)
                    .only("set", set)
                    .value("index_bytes_a_key")?;
                megabytes.push(bytes * LONG_ENTRIES as f64 / 1e6);
            }
            texts.push(format!("{kind} {}", range(&megabytes)));
            all.extend(megabytes);
        }
        let holds = all.iter().all(|megabytes| *megabytes <= FEW);
        Ok((
            holds,
            format!("scaled to 104,857,600 keys, in MB: {}", texts.join(", ")),
        ))
    };
    Part::judged("clustered kinds need a few MB", judge())
}

/// What is known of retained keys: not enough for a verdict.
fn retained(evidence: &Evidence<'_>) -> String {
    let numbers = || -> Result<String, Missing> {
        let cells = evidence.cells("E-F7").only("arm", "retained").whole()?;
        let (mut bytes, mut times) = (Vec::new(), Vec::new());
        for set in cells.each("set") {
            for kind in clustered() {
                let cell = cells.only("set", set).only("kind", kind);
                bytes.push(cell.value("memory_bytes")? / cell.value("keys")?);
                times.push(cell.value("get_mean")?);
            }
        }
        Ok(format!(
            "{} B/key held, {} a look-up",
            range(&bytes),
            micros(&times)
        ))
    };
    match numbers() {
        Ok(numbers) => format!("{UNCLUSTERED}; clustered ones with keys retained: {numbers}"),
        Err(_) => UNCLUSTERED.to_string(),
    }
}
