//! Claims about the effect of the position boundary on look-ups.

use super::{Claim, Evidence, Judge, Part, Selection, look_up, window};
use crate::claims::compare::{NEARLY_ALL, Told, less, median, micros, near, range, short, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{LONG_ENTRIES, clustered, unclustered};
use crate::measure::Spread;

pub const BOUNDARY: Claim = Claim {
    id: "C-E2",
    paper: "EDBT, Observation 2, Figure 7",
    published: "YCSB sets: from boundary 128 to 16 look-ups become nearly 10 us faster at the cost of tens of MB; \
                below 16 the gain is marginal: reading 16 entries takes about 2 us longer than reading one, but for \
                one entry the mapped keys must be in memory, hundreds of MB.",
    judge: Judge::By {
        rule: "Exact windows from the page cache, clustered kinds on the three YCSB sets. Faster: each repeat at \
               16 takes less than each at 128, in nine of ten cells (set, kind). Marginal: from 16 to one entry \
               (mapped keys retained) the median gain is at most a quarter of that from 128 to 16 (published: 2 \
               of 10 us), in the median of all cells; a cell without a gain from 128 to 16 counts against it; \
               undecided if `faster` is. Cheap: the step from 128 to 16 costs less memory than the step from 16 to \
               retained keys, in nine of ten cells.",
        experiments: &["E-F7"],
        parts: |evidence| vec![faster(evidence), marginal(evidence), cheap(evidence)],
    },
};

/// Latency and bytes in memory of a kind on a set: at boundaries 128 and 16, and with mapped keys
/// retained.
struct Steps {
    get: [Spread; 3],
    memory: [f64; 3],
    /// Latency at boundary 8.
    narrow: f64,
}

impl Steps {
    /// The nanoseconds saved by the steps from 128 to 16, and from 16 to one entry.
    fn gains(&self) -> [f64; 2] {
        let [wide, middle, one] = self.get.map(|get| get.median);
        [wide - middle, middle - one]
    }

    /// The bytes that each step costs.
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

/// The gain below boundary 16 is marginal.
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
            "from 16 to one entry {}, in the median {} of the gain from 128 to 16 ({}); from 16 to 8 {}",
            micros(&gains),
            short(middle),
            range(&shares),
            micros(&to_8)
        );
        match clearly_faster(&steps).0 {
            // The shares mean nothing if the gain itself is unclear.
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
            "{count} cells; from 128 to 16 costs {} of the cost of retaining keys",
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
        rule: "Sizes: bytes of the index alone, times 104,857,600 / keys, on each YCSB set: at most 10 MB for each \
               clustered kind at boundary 8, exact windows; at least 2 GiB for each unclustered kind. Pairs: a \
               set, a clustered and an unclustered kind, from the page cache. Slower: at boundary 8 the clustered \
               kind takes clearly longer (in each repeat), in nine of ten pairs. By little: by at most a quarter of \
               its gain from boundary 128 to 16 (published: 1 to 2 of 10 us), in the median of all pairs; a \
               pair without such a gain counts against it; undecided if the gain is unclear or `slower` does not hold. \
               Mapped keys retained: the clustered kind's look-up is within 10 % of the unclustered kind's, and it \
               has fewer bytes in memory (index, key map, directory), each in nine of ten pairs.",
        experiments: &["E-F7"],
        parts: |evidence| {
            vec![
                few_megabytes(evidence),
                gigabytes(evidence),
                slower(evidence),
                by_little(evidence),
                as_fast_with_keys(evidence),
                less_with_keys(evidence),
            ]
        },
    },
};

/// The bytes of the indexes of some kinds on the YCSB sets at boundary 8, scaled to the published
/// number of keys.
fn sizes(
    evidence: &Evidence<'_>,
    kinds: impl Iterator<Item = &'static str>,
) -> Result<Vec<(&'static str, Vec<f64>)>, Missing> {
    let sets = window(evidence, "E-F7").only("boundary", 8).whole()?;
    let bytes = |kind| -> Result<_, Missing> {
        let cells = look_up(evidence, "E-F7", kind, 8).whole()?;
        let of = |set: &&str| {
            let bytes = cells.only("set", set).value("index_bytes_a_key")?;
            Ok(bytes * LONG_ENTRIES as f64)
        };
        let sets = sets.each("set");
        Ok((kind, sets.iter().map(of).collect::<Result<_, _>>()?))
    };
    kinds.map(bytes).collect()
}

/// Whether all sizes satisfy a condition, and the sizes in a unit.
fn judged_sizes(
    sizes: &[(&'static str, Vec<f64>)],
    is: impl Fn(f64) -> bool,
    (unit, name): (f64, &str),
) -> (bool, String) {
    let holds = sizes.iter().all(|(_, bytes)| bytes.iter().all(|b| is(*b)));
    let texts = sizes.iter().map(|(kind, bytes)| {
        let scaled: Vec<f64> = bytes.iter().map(|bytes| bytes / unit).collect();
        format!("{kind} {}", range(&scaled))
    });
    let texts: Vec<String> = texts.collect();
    let ours = format!(
        "scaled to 104,857,600 keys, in {name}: {}",
        texts.join(", ")
    );
    (holds, ours)
}

fn few_megabytes(evidence: &Evidence<'_>) -> Part {
    const FEW: f64 = 10e6;
    let judged = sizes(evidence, clustered());
    let judged = judged.map(|sizes| judged_sizes(&sizes, |bytes| bytes <= FEW, (1e6, "MB")));
    Part::judged("clustered kinds need a few MB", judged)
}

fn gigabytes(evidence: &Evidence<'_>) -> Part {
    const GIB: f64 = (1u64 << 30) as f64;
    let judged = sizes(evidence, unclustered());
    let judged = judged.map(|sizes| judged_sizes(&sizes, |bytes| bytes >= 2.0 * GIB, (GIB, "GiB")));
    Part::judged("unclustered kinds need 2 GiB", judged)
}

/// Look-ups of a clustered kind, at boundary 8 and with mapped keys retained, and of an unclustered
/// kind over the same keys.
struct Pair {
    narrow: Spread,
    retained: Spread,
    exact: Spread,
    /// Bytes in memory: with mapped keys retained, and of the unclustered kind.
    held: [f64; 2],
    /// The clustered kind's gain from boundary 128 to 16, in nanoseconds.
    gain: f64,
}

fn pairs(evidence: &Evidence<'_>) -> Result<Vec<Pair>, Missing> {
    let windows = window(evidence, "E-F7").whole()?;
    let retained = evidence.cells("E-F7").only("arm", "retained").whole()?;
    let mut all = Vec::new();
    for set in windows.each("set") {
        for clustered in clustered() {
            let at = |boundary| look_up(evidence, "E-F7", clustered, boundary).only("set", set);
            let kept = retained.only("set", set).only("kind", clustered);
            for unclustered in unclustered() {
                let exact = look_up(evidence, "E-F7", unclustered, 8).only("set", set);
                all.push(Pair {
                    narrow: at(8).spread("get_mean")?,
                    retained: kept.spread("get_mean")?,
                    exact: exact.spread("get_mean")?,
                    held: [kept.value("memory_bytes")?, exact.value("memory_bytes")?],
                    gain: at(128).value("get_mean")? - at(16).value("get_mean")?,
                });
            }
        }
    }
    Ok(all)
}

/// Whether a statement is true for `share` of the pairs, with the ratios of two figures of each
/// pair.
fn voted(
    evidence: &Evidence<'_>,
    is: impl Fn(&Pair) -> Told,
    (what, ratio): (&'static str, fn(&Pair) -> f64),
) -> Result<(Told, String), Missing> {
    let pairs = pairs(evidence)?;
    let told: Vec<Told> = pairs.iter().map(is).collect();
    let (holds, count) = vote(&told, NEARLY_ALL);
    let ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    Ok((holds, format!("{count} pairs; {what}: {}", range(&ratios))))
}

fn slower(evidence: &Evidence<'_>) -> Part {
    Part::judged("clustered kinds are slower", slower_pairs(evidence))
}

fn slower_pairs(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    voted(
        evidence,
        |pair| less(pair.exact, pair.narrow),
        (
            "look-up at boundary 8 over the unclustered kind's",
            |pair| pair.narrow.median / pair.exact.median,
        ),
    )
}

fn by_little(evidence: &Evidence<'_>) -> Part {
    const LITTLE: f64 = 0.25;
    const WHAT: &str = "by little";
    match slower_pairs(evidence) {
        Ok((Told::Yes, _)) | Err(_) => {}
        Ok(_) => return Part::open(WHAT, "it is not established that they are slower"),
    }
    let judge = || {
        let pairs = pairs(evidence)?;
        let gaps = pairs
            .iter()
            .map(|pair| pair.narrow.median - pair.exact.median);
        let gaps: Vec<f64> = gaps.collect();
        let share = |(pair, gap): (&Pair, &f64)| match pair.gain > 0.0 {
            true => gap / pair.gain,
            false => f64::INFINITY,
        };
        let shares: Vec<f64> = pairs.iter().zip(&gaps).map(share).collect();
        let middle = median(&shares);
        let ours = format!(
            "by {}, in the median {} of the gain from 128 to 16 ({})",
            micros(&gaps),
            short(middle),
            range(&shares)
        );
        Ok(match clearly_faster(&steps(evidence)?).0 {
            Told::Unclear => (Told::Unclear, ours),
            _ => (Told::from(middle <= LITTLE), ours),
        })
    };
    Part::judged(WHAT, judge())
}

fn as_fast_with_keys(evidence: &Evidence<'_>) -> Part {
    let judged = voted(
        evidence,
        |pair| near(pair.retained, pair.exact, 0.1),
        (
            "look-up with keys retained over the unclustered kind's",
            |pair| pair.retained.median / pair.exact.median,
        ),
    );
    Part::judged("as fast with keys retained", judged)
}

fn less_with_keys(evidence: &Evidence<'_>) -> Part {
    let judged = voted(
        evidence,
        |pair| Told::from(pair.held[0] < pair.held[1]),
        (
            "bytes in memory with keys retained over the unclustered kind's",
            |pair| pair.held[0] / pair.held[1],
        ),
    );
    Part::judged("with less memory", judged)
}
