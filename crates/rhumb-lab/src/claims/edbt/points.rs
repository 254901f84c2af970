//! Claims about the effect of the position boundary on look-ups.

use super::{Cause, Claim, Evidence, Judge, Part, Selection, Why, as_published, at, cached};
use crate::claims::compare::{NEARLY_ALL, Told, less, median, micros, near, range, short, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{LONG_ENTRIES, clustered, unclustered};
use crate::contest::Rounds;

pub const BOUNDARY: Claim = Claim {
    id: "C-E2",
    paper: "EDBT, Observation 2, Figure 7",
    published: "YCSB sets: from boundary 128 to 16 look-ups become nearly 10 us faster at the cost of tens of MB; \
                below 16 the gain is marginal: reading 16 entries takes about 2 us longer than reading one, but for \
                one entry the mapped keys must be in memory, hundreds of MB.",
    judge: Judge {
        rule: "Exact windows from a page cache of 70 % of the data, where the machine permits it, clustered kinds on the \
               YCSB sets. Faster: clearly less time at \
               16 than at 128, in nine of ten cells (set, kind). Marginal: from 16 to one entry (mapped keys \
               retained) the gain is surely at most a quarter of that from 128 to 16 (published: 2 of 10 us), by the \
               median of all cells in each round; a cell without a gain from 128 to 16 counts against it; undecided \
               if `faster` is. Cheap: the step from 128 to 16 costs less memory than the step from 16 to \
               retained keys, in nine of ten cells.",
        experiments: &["E-F7"],
        parts: |evidence| vec![faster(evidence), marginal(evidence), cheap(evidence)],
    },
};

/// Latency and bytes in memory of a kind on a set: at boundaries 128 and 16, and with mapped keys
/// retained.
struct Steps {
    get: [Rounds; 3],
    memory: [f64; 3],
    /// Latency at boundary 8.
    narrow: f64,
}

impl Steps {
    /// The nanoseconds saved by the steps from 128 to 16, and from 16 to one entry.
    fn gains(&self) -> [f64; 2] {
        let [wide, middle, one] = self.get.each_ref().map(Rounds::median);
        [wide - middle, middle - one]
    }

    /// The gain of the second step as a share of that of the first; infinite if the first gains
    /// nothing.
    fn share(&self) -> Rounds {
        Rounds::of_all(&self.get, |figures| match figures {
            [wide, middle, one] if wide > middle => (middle - one) / (wide - middle),
            _ => f64::INFINITY,
        })
    }

    /// The bytes that each step costs.
    fn costs(&self) -> [f64; 2] {
        let [wide, middle, one] = self.memory;
        [middle - wide, one - middle]
    }
}

fn steps(evidence: &Evidence<'_>) -> Result<Vec<Steps>, Missing> {
    let cells = as_published(evidence, "E-F7");
    let windows = cells.only("arm", "window").whole()?;
    for boundary in [128, 16, 8] {
        windows.only("boundary", boundary).whole()?;
    }
    let retained = cells.only("arm", "retained").whole()?;
    let kinds = retained.kinds(windows.kinds(clustered())?)?;
    let mut all = Vec::new();
    for set in windows.each("set") {
        for &kind in &kinds {
            let windows = windows.only("set", set).only("kind", kind);
            let at = |boundary: u32| windows.only("boundary", boundary);
            let one = retained.only("set", set).only("kind", kind);
            let three = [at(128), at(16), one];
            let [wide, middle, one] = &three;
            let get = |cell: &Selection<'_>| cell.rounds("get_mean");
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
    let faster = steps.iter().map(|step| less(&step.get[1], &step.get[0]));
    vote(&faster.collect::<Vec<_>>(), NEARLY_ALL)
}

/// The gain below boundary 16 is marginal.
pub fn marginal(evidence: &Evidence<'_>) -> Part {
    const MARGINAL: f64 = 0.25;
    let judged = steps(evidence).map(|steps| {
        let shares: Vec<Rounds> = steps.iter().map(Steps::share).collect();
        let middle = Rounds::of_all(&shares, median);
        let gains: Vec<f64> = steps.iter().map(|step| step.gains()[1]).collect();
        let to_8 = steps
            .iter()
            .map(|step| step.get[1].median() - step.narrow)
            .collect::<Vec<f64>>();
        let ours = format!(
            "from 16 to one entry {}, in the median {} of the gain from 128 to 16 ({}); from 16 to 8 {}",
            micros(&gains),
            short(middle.median()),
            range(&shares.iter().map(Rounds::median).collect::<Vec<f64>>()),
            micros(&to_8)
        );
        match clearly_faster(&steps).0 {
            // The shares mean nothing if the gain itself is unclear.
            Told::Unclear => (Told::Unclear, ours),
            // An infinite share leaves no interval.
            _ if middle.median().is_infinite() => (Told::No, ours),
            _ => (Told::at_most(middle.interval(), MARGINAL), ours),
        }
    });
    Part::judged("marginal below 16", judged).because(GRANULES)
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
    judge: Judge {
        rule: "Boundary 8 is read both as the window and as the bound of the error (windows of 18; the published \
               program's PGM then takes 6.6 MB). Sizes: bytes of the index alone, times 104,857,600 / keys, on each \
               YCSB set, from tables of at least 10,000 keys: at most 20 MB for each clustered kind; at least 2 GiB for \
               each unclustered kind. Pairs: a set, a clustered and an unclustered kind, from a page cache of 70 % of the \
               data, where the machine permits it. Slower: at boundary 8 the clustered kind takes clearly longer, in \
               nine of ten pairs. By little: surely by at \
               most a quarter of its gain from window 128 to 16 (published: 1 to 2 of 10 us), by the median of all \
               pairs in each round; a pair without such a gain counts against it; undecided if the gain is unclear or \
               `slower` does not hold. Mapped keys retained: the clustered kind's look-up is surely within 10 % of the \
               unclustered kind's, and it has fewer bytes in memory (index, key map, directory), each in nine of ten \
               pairs.",
        experiments: &["E-F7"],
        parts: |evidence| {
            vec![
                few_megabytes(evidence, "window").because((
                    Cause::Reading,
                    "windows of 8 entries leave an error of 3, for which no lines can be few: the paper very likely \
                     means the bound of the error",
                )),
                few_megabytes(evidence, "error bound").named("clustered kinds need a few MB (8 as error bound)").because(many_lines(evidence)),
                gigabytes(evidence).because((
                    Cause::Design,
                    "ours are written to tables in their byte form, which has no room for inserts and no pointers",
                )),
                slower(evidence, "window")
                    .named("clustered kinds are slower (8 as window)")
                    .because(SPREAD),
                slower(evidence, "error bound")
                    .named("clustered kinds are slower (8 as error bound)")
                    .because(SPREAD),
                by_little(evidence, "window").named("by little (8 as window)").because(GRANULES),
                by_little(evidence, "error bound")
                    .named("by little (8 as error bound)")
                    .because(GRANULES),
                as_fast_with_keys(evidence).because((
                    Cause::Device,
                    "both read one entry, but where most reads are served from memory what remains is processor time, of \
                     which the search of retained keys takes more",
                )),
                less_with_keys(evidence),
            ]
        },
    },
};

const SPREAD: Why = (
    Cause::Device,
    "one read call fetches the window, and what an entry more costs is little beside the call and its misses",
);

const GRANULES: Why = (
    Cause::Device,
    "a page cache keeps pages: a window of entries of 1 KB lies in more of them than one entry does, so more gets go to \
     the device",
);

/// Tables of fewer keys say little about the size of an index over many: what is fixed weighs.
const FEWEST_KEYS: f64 = 10_000.0;

/// The bytes of the indexes of some kinds on the YCSB sets at boundary 8 in an arm, scaled to the
/// published number of keys.
fn sizes(
    evidence: &Evidence<'_>,
    arm: &str,
    kinds: impl Iterator<Item = &'static str>,
) -> Result<Vec<(&'static str, Vec<f64>)>, Missing> {
    let cells = cached(evidence, "E-F7").only("arm", arm);
    let cells = match arm {
        "exact" => cells,
        _ => cells.only("boundary", 8),
    };
    let bytes = |kind| -> Result<_, Missing> {
        let cells = cells.only("kind", kind).whole()?;
        let of = |set: &&str| {
            let cell = cells.only("set", set);
            let keys = cell.value("keys")? / cell.value("tables")?;
            if keys < FEWEST_KEYS {
                let why = format!("tables of {keys:.0} keys are too small to be scaled");
                return Err(cell.undecided(why));
            }
            Ok(cell.value("index_bytes_a_key")? * LONG_ENTRIES as f64)
        };
        let sets = cells.each("set");
        Ok((kind, sets.iter().map(of).collect::<Result<_, _>>()?))
    };
    cells.kinds(kinds)?.into_iter().map(bytes).collect()
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

/// A few MB, as judged here.
const FEW: f64 = 20e6;

/// The cause, if only two kinds take more than a few MB with 8 as the bound of the error.
fn many_lines(evidence: &Evidence<'_>) -> Option<Why> {
    let sizes = sizes(evidence, "error bound", clustered()).ok()?;
    let large = sizes
        .iter()
        .filter(|(_, sizes)| sizes.iter().any(|bytes| *bytes > FEW));
    let mut large = large.map(|(kind, _)| *kind);
    large.all(|kind| ["fiting-tree", "rmi"].contains(&kind)).then_some((
        Cause::Design,
        "only the FITing-Tree, whose published rule takes three times the fewest lines, and rmi, which has as many leaves as \
         the windows of 99 % of the keys need, take more",
    ))
}

fn few_megabytes(evidence: &Evidence<'_>, arm: &str) -> Part {
    let judged = sizes(evidence, arm, clustered());
    let judged = judged.map(|sizes| judged_sizes(&sizes, |bytes| bytes <= FEW, (1e6, "MB")));
    Part::judged("clustered kinds need a few MB (8 as window)", judged)
}

fn gigabytes(evidence: &Evidence<'_>) -> Part {
    const GIB: f64 = (1u64 << 30) as f64;
    let judged = sizes(evidence, "exact", unclustered());
    let judged = judged.map(|sizes| judged_sizes(&sizes, |bytes| bytes >= 2.0 * GIB, (GIB, "GiB")));
    Part::judged("unclustered kinds need 2 GiB", judged)
}

/// Look-ups of a clustered kind, at boundary 8 and with mapped keys retained, and of an unclustered
/// kind over the same keys.
struct Pair {
    narrow: Rounds,
    retained: Rounds,
    exact: Rounds,
    /// Bytes in memory: with mapped keys retained, and of the unclustered kind.
    held: [f64; 2],
    /// The clustered kind at boundaries 128 and 16.
    wide: [Rounds; 2],
}

impl Pair {
    /// How much longer the clustered kind takes, in nanoseconds.
    fn gap(&self) -> f64 {
        self.narrow.median() - self.exact.median()
    }

    /// That as a share of its gain from boundary 128 to 16; infinite if it gains nothing.
    fn share(&self) -> Rounds {
        let [wide, middle] = self.wide.clone();
        let all = [self.narrow.clone(), self.exact.clone(), wide, middle];
        Rounds::of_all(&all, |figures| match figures {
            [narrow, exact, wide, middle] if wide > middle => (narrow - exact) / (wide - middle),
            _ => f64::INFINITY,
        })
    }
}

/// Pairs with boundary 8 as the window or as the bound of the error: `arm`.
fn pairs(evidence: &Evidence<'_>, arm: &'static str) -> Result<Vec<Pair>, Missing> {
    let cells = as_published(evidence, "E-F7");
    let [windows, narrow, retained] = ["window", arm, "retained"].map(|arm| cells.only("arm", arm));
    let windows = windows.whole()?;
    let narrow = narrow.only("boundary", 8).whole()?;
    let retained = retained.whole()?;
    let models = narrow.kinds(retained.kinds(windows.kinds(clustered())?)?)?;
    let others = cells.only("arm", "exact").kinds(unclustered())?;
    let mut all = Vec::new();
    for set in windows.each("set") {
        for &clustered in &models {
            let wide = |boundary| at(&cells, clustered, boundary).only("set", set);
            let of = |cells: &Selection<'_>| {
                cells
                    .only("set", set)
                    .only("kind", clustered)
                    .rounds("get_mean")
            };
            let kept = retained.only("set", set).only("kind", clustered);
            for unclustered in &others {
                let exact = at(&cells, unclustered, 8).only("set", set);
                all.push(Pair {
                    narrow: of(&narrow)?,
                    retained: of(&retained)?,
                    exact: exact.rounds("get_mean")?,
                    held: [kept.value("memory_bytes")?, exact.value("memory_bytes")?],
                    wide: [wide(128).rounds("get_mean")?, wide(16).rounds("get_mean")?],
                });
            }
        }
    }
    Ok(all)
}

/// Whether a statement is true for nearly all pairs, with the ratios of two figures of each pair.
fn voted(
    pairs: Result<Vec<Pair>, Missing>,
    is: impl Fn(&Pair) -> Told,
    (what, ratio): (&'static str, fn(&Pair) -> f64),
) -> Result<(Told, String), Missing> {
    let pairs = pairs?;
    let told: Vec<Told> = pairs.iter().map(is).collect();
    let (holds, count) = vote(&told, NEARLY_ALL);
    let ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    Ok((holds, format!("{count} pairs; {what}: {}", range(&ratios))))
}

fn slower(evidence: &Evidence<'_>, arm: &'static str) -> Part {
    Part::judged("clustered kinds are slower", slower_pairs(evidence, arm))
}

fn slower_pairs(evidence: &Evidence<'_>, arm: &'static str) -> Result<(Told, String), Missing> {
    voted(
        pairs(evidence, arm),
        |pair| less(&pair.exact, &pair.narrow),
        (
            "look-up at boundary 8 over the unclustered kind's",
            |pair| pair.narrow.median() / pair.exact.median(),
        ),
    )
}

fn by_little(evidence: &Evidence<'_>, arm: &'static str) -> Part {
    const LITTLE: f64 = 0.25;
    const WHAT: &str = "by little";
    match slower_pairs(evidence, arm) {
        Ok((Told::Yes, _)) | Err(_) => {}
        Ok(_) => return Part::undecided(WHAT, "it is not established that they are slower"),
    }
    let judge = || {
        let pairs = pairs(evidence, arm)?;
        let gaps: Vec<f64> = pairs.iter().map(Pair::gap).collect();
        let shares: Vec<Rounds> = pairs.iter().map(Pair::share).collect();
        let middle = Rounds::of_all(&shares, median);
        let ours = format!(
            "by {}, in the median {} of the gain from 128 to 16 ({})",
            micros(&gaps),
            short(middle.median()),
            range(&shares.iter().map(Rounds::median).collect::<Vec<f64>>())
        );
        Ok(match clearly_faster(&steps(evidence)?).0 {
            Told::Unclear => (Told::Unclear, ours),
            _ if middle.median().is_infinite() => (Told::No, ours),
            _ => (Told::at_most(middle.interval(), LITTLE), ours),
        })
    };
    Part::judged(WHAT, judge())
}

fn as_fast_with_keys(evidence: &Evidence<'_>) -> Part {
    let judged = voted(
        pairs(evidence, "window"),
        |pair| near(&pair.retained, &pair.exact, 0.1),
        (
            "look-up with keys retained over the unclustered kind's",
            |pair| pair.retained.median() / pair.exact.median(),
        ),
    );
    Part::judged("as fast with keys retained", judged)
}

fn less_with_keys(evidence: &Evidence<'_>) -> Part {
    let judged = voted(
        pairs(evidence, "window"),
        |pair| Told::from(pair.held[0] < pair.held[1]),
        (
            "bytes in memory with keys retained over the unclustered kind's",
            |pair| pair.held[0] / pair.held[1],
        ),
    );
    Part::judged("with less memory", judged)
}
