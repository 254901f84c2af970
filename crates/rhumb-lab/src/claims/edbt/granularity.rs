//! Claims about the amount of data that one index covers.

use std::ops::RangeInclusive;

use super::{Cause, Claim, Evidence, Judge, Part, Why};
use crate::claims::compare::{NEARLY_ALL, Told, less, near, range, short, vote};
use crate::claims::evidence::{Missing, Selection};
use crate::claims::published::{clustered, unclustered};
use crate::contest::Rounds;
use crate::experiment::edbt::{LEVEL_JOINED, LEVEL_TRAINED};

pub const MEMORY: Claim = Claim {
    id: "C-E6",
    paper: "EDBT, Observation 6, Figure 15",
    published: "Coarser granularity saves memory, more than 10 times from tables of 8 MB to one index for each level, \
                and changes latency by a few us.",
    judge: Judge {
        rule: "Tables of five sizes, the largest sixteen times the smallest, scaled down with the data; only tables \
               with keys for 20 windows count, since in smaller ones the boundary is not the size of the window. \
               Memory: the bytes of the index alone of a clustered kind are fewer with the largest tables than with \
               the smallest, in nine of ten cells (kind, boundary): key map and directory are the same for every \
               kind. Latency: with each size it is surely within 20 % of that with the smallest size, in nine of ten \
               cells. A level: the same for one index that is trained on all keys of each level, as published, in a \
               store with the smallest tables, beside the smallest that count; its bytes are less than a tenth in nine \
               of ten cells. Models joined from those of tables are told beside.",
        experiments: &["E-F15"],
        parts: |evidence| {
            vec![
                less_memory(evidence),
                like_latency(evidence),
                tenth_of_memory(evidence).because(FEW_TABLES),
                latency_of_levels(evidence),
            ]
        },
    },
};

const FEW_TABLES: Why = (
    Cause::Data,
    "what one index of a level saves is what each table has once and the lines that end with tables: here a level has some \
     dozens of tables, and a published one of 100 GB has thousands",
);

const BYTES_A_KEY: Why = (
    Cause::Design,
    "our unclustered kinds are built for each table in a byte form whose bytes a key hardly depend on the number of keys, and \
     fewer tables have fewer fixed bytes",
);

/// Bytes of the index and latency of a kind at a boundary, for each size of tables, the smallest
/// first.
type Row = Vec<(f64, Rounds)>;

/// A table has keys for at least this many windows.
const WINDOWS: f64 = 20.0;

/// Rows of all clustered kinds and boundaries, kind by kind, without tables that are too small for
/// the boundary.
fn rows(evidence: &Evidence<'_>) -> Result<Vec<(&'static str, Row)>, Missing> {
    let cells = evidence.cells("E-F15").whole()?;
    let mut rows = Vec::new();
    for kind in cells.kinds(clustered())? {
        for boundary in cells.numbers("boundary") {
            let here = cells.only("kind", kind).only("boundary", boundary);
            let mut row = Row::new();
            for bytes in here.numbers("table") {
                let cell = here.only("table", bytes);
                let keys = cell.value("keys")? / cell.value("tables")?;
                if keys >= WINDOWS * boundary as f64 {
                    row.push((cell.value("index_bytes")?, cell.rounds("get_mean")?));
                }
            }
            if row.len() > 1 {
                rows.push((kind, row));
            }
        }
    }
    match rows.is_empty() {
        true => Err(cells.undecided("all tables are too small for their boundary")),
        false => Ok(rows),
    }
}

/// Larger tables need less memory.
pub fn less_memory(evidence: &Evidence<'_>) -> Part {
    let judged = rows(evidence).map(|rows| {
        let share = |(_, row): &(&str, Row)| match row.as_slice() {
            [(smallest, _), .., (largest, _)] => largest / smallest,
            _ => f64::NAN,
        };
        let shares: Vec<f64> = rows.iter().map(share).collect();
        let less: Vec<Told> = shares
            .iter()
            .map(|share| Told::from(*share < 1.0))
            .collect();
        let (holds, count) = vote(&less, NEARLY_ALL);
        let ours = format!(
            "{count} cells; largest over smallest tables: {}",
            range(&shares)
        );
        (holds, ours)
    });
    Part::judged("larger tables save memory", judged)
}

fn like_latency(evidence: &Evidence<'_>) -> Part {
    let judged = rows(evidence).map(|rows| {
        let rows = rows.iter().filter_map(|(_, row)| row.split_first());
        let pairs = rows
            .flat_map(|((_, smallest), larger)| larger.iter().map(move |(_, get)| (get, smallest)));
        alike(pairs, "latency over that of the smallest tables")
    });
    Part::judged("latency hardly changes with the size of tables", judged)
}

/// Whether latencies are within a fifth of others, in nearly all pairs; and their ratios, told with `what` these are.
fn alike<'r>(pairs: impl Iterator<Item = (&'r Rounds, &'r Rounds)>, what: &str) -> (Told, String) {
    let told = pairs.map(|(one, other)| (near(one, other, 0.2), one.over(other).median()));
    let (like, ratios): (Vec<Told>, Vec<f64>) = told.unzip();
    let (holds, count) = vote(&like, NEARLY_ALL);
    (holds, format!("{count} cells; {what}: {}", range(&ratios)))
}

/// The smallest tables that count, and the whole level, of a kind at a boundary: bytes of the index and latency.
type Covered = [(f64, Rounds); 2];

/// These of all clustered kinds and boundaries that have both.
fn levels(evidence: &Evidence<'_>, covers: &str) -> Result<Vec<Covered>, Missing> {
    let cells = evidence.cells("E-F15").whole()?;
    let mut levels = Vec::new();
    for kind in cells.kinds(clustered())? {
        for boundary in cells.numbers("boundary") {
            let here = cells.only("kind", kind).only("boundary", boundary);
            let level = here.only("covers", covers);
            let counts = |bytes: &&u64| {
                let cell = here.only("table", bytes);
                let keys = cell.value("keys").ok().zip(cell.value("tables").ok());
                keys.is_some_and(|(keys, tables)| keys / tables >= WINDOWS * boundary as f64)
            };
            let sizes = here.numbers("table");
            if let Some(smallest) = sizes.iter().find(counts).filter(|_| level.is_declared()) {
                let tables = here.only("table", smallest);
                let of = |cell: &Selection<'_>| {
                    Ok((cell.value("index_bytes")?, cell.rounds("get_mean")?))
                };
                levels.push([of(&tables)?, of(&level)?]);
            }
        }
    }
    match levels.is_empty() {
        true => Err(cells.undecided("all tables are too small for their boundary")),
        false => Ok(levels),
    }
}

/// How many times less memory each level takes.
fn savings(levels: &[Covered]) -> Vec<f64> {
    let saving = |[(tables, _), (level, _)]: &Covered| tables / level;
    levels.iter().map(saving).collect()
}

fn tenth_of_memory(evidence: &Evidence<'_>) -> Part {
    if let Ok(joined) = levels(evidence, LEVEL_JOINED) {
        let savings = range(&savings(&joined));
        evidence.note(format!(
            "models joined from those of tables with boundary 8 take {savings} times less memory than indexes of tables at \
             the boundary of the joined ones"
        ));
    }
    let judged = levels(evidence, LEVEL_TRAINED).map(|levels| {
        let savings = savings(&levels);
        let told: Vec<Told> = savings.iter().map(|s| Told::from(*s > 10.0)).collect();
        let (holds, count) = vote(&told, NEARLY_ALL);
        (
            holds,
            format!("{count} cells; tables over levels: {}", range(&savings)),
        )
    });
    Part::judged(
        "over 10 times less memory with one index for each level",
        judged,
    )
}

fn latency_of_levels(evidence: &Evidence<'_>) -> Part {
    let judged = levels(evidence, LEVEL_TRAINED).map(|levels| {
        let pairs = levels
            .iter()
            .map(|[(_, tables), (_, level)]| (level, tables));
        alike(pairs, "levels over tables")
    });
    Part::judged(
        "latency hardly changes with one index for each level",
        judged,
    )
}

pub const TRADE_OFF: Claim = Claim {
    id: "C-E13",
    paper: "EDBT, sections 5.5 and 6.2, Figure 15",
    published: "With larger tables the memory of ALEX, LIPP and DILI grows modestly, that of LITS faster. Coarser \
                tables improve the trade-off of memory and latency by up to 10 %.",
    judge: Judge {
        rule: "For each clustered kind and boundary with the smallest tables: the best latency of the same kind with \
               larger tables and any boundary whose index needs no more bytes, if it is clearly less; only tables with \
               keys for 20 windows count. Improves: in at least half of the cells. Up to 10 %: the greatest clear \
               improvement is at most 10 %, if there is one. Unclustered kinds: ratio of the bytes of the index with \
               the largest tables to those with the smallest. Modestly: 1.01 to 1.25 for each of ALEX, LIPP and DILI. Faster: the ratio of LITS is at \
               least 1.05 times that of each of these, and above 1.01.",
        experiments: &["E-F15"],
        parts: |evidence| {
            vec![
                improves(evidence),
                up_to_a_tenth(evidence).because(fixed_bytes(evidence)),
                grow_modestly(evidence).because(BYTES_A_KEY),
                grows_faster(evidence).because(BYTES_A_KEY),
            ]
        },
    },
};

/// For each kind and boundary, whether larger tables make look-ups faster without more memory, and
/// the greatest share of time that they clearly save.
fn improvements(evidence: &Evidence<'_>) -> Result<(Vec<Told>, f64), Missing> {
    let rows = rows(evidence)?;
    let (mut told, mut greatest) = (Vec::new(), 0.0);
    for (kind, row) in &rows {
        let Some(((memory, get), _)) = row.split_first() else {
            continue;
        };
        let same = rows.iter().filter(|(other, _)| other == kind);
        let larger = same.flat_map(|(_, row)| row.iter().skip(1));
        let mut best = Told::No;
        for (_, time) in larger.filter(|(bytes, _)| bytes <= memory) {
            match less(time, get) {
                Told::Yes => {
                    best = Told::Yes;
                    greatest = f64::max(greatest, 1.0 - time.over(get).median());
                }
                Told::Unclear if best == Told::No => best = Told::Unclear,
                _ => {}
            }
        }
        told.push(best);
    }
    Ok((told, greatest))
}

fn improves(evidence: &Evidence<'_>) -> Part {
    let judged = improvements(evidence).map(|(told, greatest)| {
        let (holds, count) = vote(&told, 0.5);
        let greatest = short(100.0 * greatest);
        (holds, format!("{count} cells, by up to {greatest} %"))
    });
    Part::judged("coarser tables improve the trade-off", judged)
}

fn up_to_a_tenth(evidence: &Evidence<'_>) -> Part {
    const WHAT: &str = "by at most 10 %";
    match improvements(evidence) {
        Ok((told, _)) if vote(&told, 0.5).0 != Told::Yes => {
            Part::undecided(WHAT, "no improvement is established")
        }
        judged => {
            let judged = judged.map(|(_, greatest)| {
                (
                    greatest <= 0.1,
                    format!("up to {} %", short(100.0 * greatest)),
                )
            });
            Part::judged(WHAT, judged)
        }
    }
}

/// The cause, if with the smallest tables half the boundary takes less than a tenth more bytes for at least
/// one kind: lines alone would take at least a third more.
fn fixed_bytes(evidence: &Evidence<'_>) -> Option<Why> {
    let cells = evidence.cells("E-F15").whole().ok()?;
    let cells = cells.only("table", cells.numbers("table").first()?);
    let hardly_more = |kind| {
        let bytes = |boundary: &u64| {
            let cell = cells.only("kind", kind).only("boundary", boundary);
            cell.value("index_bytes").ok()
        };
        let all: Option<Vec<f64>> = cells.numbers("boundary").iter().map(bytes).collect();
        let steps = all.unwrap_or_default();
        steps.windows(2).any(|pair| pair[0] < 1.1 * pair[1])
    };
    clustered().any(hardly_more).then_some((
        Cause::Data,
        "in the smallest tables of this scale most bytes of an index are those that a table has once, so larger tables pay \
         for a smaller boundary; the published tables are of 8 MB and more",
    ))
}

/// Kinds, each with a number.
type ByKind = Vec<(&'static str, f64)>;

/// The ratio of the bytes of each unclustered kind with the largest tables to those with the
/// smallest: of LITS, and of the others.
fn growths(evidence: &Evidence<'_>) -> Result<(ByKind, ByKind), Missing> {
    let cells = evidence.cells("E-F15").whole()?;
    let growth = |kind| {
        let cells = cells.only("kind", kind);
        let sizes = cells.numbers("table");
        let bytes = |size: Option<&u64>| {
            let size = size.copied().unwrap_or(0);
            cells.only("table", size).value("index_bytes")
        };
        Ok((kind, bytes(sizes.last())? / bytes(sizes.first())?))
    };
    let kinds = cells.kinds(unclustered())?.into_iter();
    let growths: ByKind = kinds.map(growth).collect::<Result<_, Missing>>()?;
    Ok(growths.into_iter().partition(|(kind, _)| *kind == "lits"))
}

fn told(growths: &ByKind) -> String {
    let texts = growths
        .iter()
        .map(|(kind, growth)| format!("{kind} {}", short(*growth)));
    texts.collect::<Vec<_>>().join(", ")
}

/// Bytes grow if their ratio is at least this.
const GROWS: f64 = 1.01;

/// A kind grows faster than another if its ratio is at least this many times the other's.
const FASTER: f64 = 1.05;

fn grow_modestly(evidence: &Evidence<'_>) -> Part {
    const MODEST: RangeInclusive<f64> = GROWS..=1.25;
    let judged = growths(evidence).map(|(_, others)| {
        let modest = others.iter().all(|(_, growth)| MODEST.contains(growth));
        let ours = format!("largest over smallest tables: {}", told(&others));
        (modest, ours)
    });
    Part::judged("ALEX, LIPP and DILI grow modestly", judged)
}

fn grows_faster(evidence: &Evidence<'_>) -> Part {
    let judged = growths(evidence).map(|(lits, others)| {
        let above = |lits: f64| others.iter().all(|(_, growth)| lits >= FASTER * growth);
        let mut growths = lits.iter().map(|(_, growth)| *growth);
        let faster = growths.all(|growth| growth > GROWS && above(growth));
        (faster, format!("{}; {}", told(&lits), told(&others)))
    });
    Part::judged("LITS grows faster", judged)
}
