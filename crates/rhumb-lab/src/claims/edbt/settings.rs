//! Claims about keys of variable length, and about the parameters of PGM and RadixSpline.

use super::{Claim, Evidence, Judge, Part, Selection};
use crate::claims::compare::{ALL, Told, median, near, range, short, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{clustered, unclustered};
use crate::contest::Rounds;

pub const VARIABLE: Claim = Claim {
    id: "C-E11",
    paper: "EDBT, section 5.3, Figure 12 (C)",
    published: "Look-ups among keys of 8 to 24 B, boundary 8, mapped keys retained, take nearly the same time as among \
                keys of 24 B; LITS, made for strings, does not stand out.",
    judge: Judge {
        rule: "Gets that read one entry, from the page cache: keys of 8 to 24 digits compared with uniform keys of \
               24 digits, equally many records: surely within 10 % for every clustered kind with mapped keys retained at \
               boundary 8, and for every unclustered kind. Among keys of 8 to 24 digits LITS is surely not more than 10 % \
               faster than the median of ALEX, LIPP and DILI.",
        experiments: &["E-F12", "E-F7"],
        parts: |evidence| {
            vec![
                as_fast(evidence, "retained", clustered().collect())
                    .named("clustered kinds: variable keys cost what fixed ones do"),
                as_fast(evidence, "exact", unclustered().collect())
                    .named("unclustered kinds: variable keys cost what fixed ones do"),
                no_outlier(evidence),
            ]
        },
    },
};

/// The cells of look-ups that read one entry, of an experiment over a set.
fn one_entry<'e>(
    evidence: &'e Evidence<'_>,
    (experiment, set): (&'static str, &str),
    arm: &str,
) -> Result<Selection<'e>, Missing> {
    let cells = evidence.cells(experiment).only("set", set);
    cells.only("arm", arm).only("reading", "page cache").whole()
}

const VARIABLE_KEYS: (&str, &str) = ("E-F12", "ycsb-var");
const FIXED_KEYS: (&str, &str) = ("E-F7", "ycsb-uniform");

fn as_fast(evidence: &Evidence<'_>, arm: &str, kinds: Vec<&'static str>) -> Part {
    let judge = || {
        let variable = one_entry(evidence, VARIABLE_KEYS, arm)?;
        let fixed = one_entry(evidence, FIXED_KEYS, arm)?;
        let (mut alike, mut texts) = (Vec::new(), Vec::new());
        for kind in fixed.kinds(variable.kinds(kinds)?)? {
            let one = variable.only("kind", kind).rounds("get_mean")?;
            let other = fixed.only("kind", kind).rounds("get_mean")?;
            alike.push(near(&one, &other, 0.1));
            texts.push(format!("{kind} {}", short(one.over(&other).median())));
        }
        let (holds, count) = vote(&alike, ALL);
        let texts = texts.join(", ");
        Ok((
            holds,
            format!("{count} kinds; variable over fixed: {texts}"),
        ))
    };
    Part::judged("variable keys cost what fixed ones do", judge())
}

fn no_outlier(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let cells = one_entry(evidence, VARIABLE_KEYS, "exact")?;
        let get = |kind| cells.only("kind", kind).rounds("get_mean");
        let others = unclustered().filter(|kind| *kind != "lits").map(get);
        let others: Vec<Rounds> = others.collect::<Result<_, _>>()?;
        let ratio = get("lits")?.over(&Rounds::of_all(&others, median));
        let told = Told::at_least(ratio.ratio(), 0.9);
        let ratio = ratio.median();
        Ok((
            told,
            format!("LITS over the median of the others: {}", short(ratio)),
        ))
    };
    Part::judged("LITS does not stand out", judge())
}

pub const PARAMETERS: Claim = Claim {
    id: "C-E12",
    paper: "EDBT, section 5, settings of learned indexes",
    published: "PGM's eps_recursive hardly matters, so 4 is kept; 1 radix bit is RadixSpline's best trade-off.",
    judge: Judge {
        rule: "Uniform keys, boundary 16, exact windows. PGM: latency at each eps_recursive from 1 to 128 is \
               surely within 10 % of that at 4. RadixSpline: no number of radix bits from 4 to 18 needs less memory \
               than 1, and surely none is more than 10 % faster; needs indexes that grow with the bits, else the \
               table of bits was not built as asked.",
        experiments: &["E-PAR"],
        parts: |evidence| vec![eps_recursive(evidence), radix_bits(evidence)],
    },
};

fn eps_recursive(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let cells = parameter(evidence, "eps_recursive").whole()?;
        let kept = cells.only("value", 4);
        let (get, memory) = (kept.rounds("get_mean")?, kept.value("index_bytes")?);
        let (mut hardly, mut ratios, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for value in cells.numbers("value") {
            let cell = cells.only("value", value);
            let other = cell.rounds("get_mean")?;
            hardly.push(near(&other, &get, 0.1));
            ratios.push(other.over(&get).median());
            bytes.push(cell.value("index_bytes")? / memory);
        }
        let (ratios, bytes) = (range(&ratios), range(&bytes));
        let (holds, count) = vote(&hardly, ALL);
        let ours = format!("{count} values; over 4: latency {ratios}, index bytes {bytes}");
        Ok((holds, ours))
    };
    Part::judged("eps_recursive hardly matters", judge())
}

fn radix_bits(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let cells = parameter(evidence, "radix_bits").whole()?;
        let kept = cells.only("value", 1);
        let (get, memory) = (kept.rounds("get_mean")?, kept.value("index_bytes")?);
        let (mut best, mut texts) = (Vec::new(), Vec::new());
        let mut least = memory;
        for value in cells
            .numbers("value")
            .into_iter()
            .filter(|value| *value != 1)
        {
            let cell = cells.only("value", value);
            let held = cell.value("index_bytes")?;
            if held == least {
                let why =
                    format!("{value} radix bits take the bytes of fewer bits: they were not used");
                return Err(cell.undecided(why));
            }
            least = held;
            let time = cell.rounds("get_mean")?.over(&get);
            let bytes = held / memory;
            best.push(match bytes < 1.0 {
                true => Told::No,
                false => Told::at_least(time.ratio(), 0.9),
            });
            texts.push(format!(
                "{value} bits {} of the time, {} of the bytes",
                short(time.median()),
                short(bytes)
            ));
        }
        let (holds, count) = vote(&best, ALL);
        let texts = texts.join(", ");
        Ok((
            holds,
            format!("{count} values are no better than 1 bit; compared with 1 bit: {texts}"),
        ))
    };
    Part::judged("1 radix bit is the best trade-off", judge())
}

fn parameter<'e>(evidence: &'e Evidence<'_>, name: &str) -> Selection<'e> {
    evidence.cells("E-PAR").only("parameter", name)
}
