//! The claim of the suitability matrix and the takeaways.

use super::memory::{self, Basis};
use super::{Cause, Claim, Evidence, Judge, Part, building, granularity, points};
use crate::claims::compare::short;
use crate::claims::evidence::Missing;
use crate::claims::published::TABLE_2;
use crate::claims::suitability::decide;
use crate::report::model::Mark;

pub const TABLE: Claim = Claim {
    id: "C-E8",
    paper: "EDBT, Table 2 and section 6.3",
    published: "Ten kinds, four marks each. Memory: PLR and FITing-Tree caution, the other 4 clustered kinds good, \
                the 4 unclustered bad. Look-up: all good. Rebuilding: PLR and FITing-Tree good, other clustered \
                kinds and LIPP caution, ALEX, DILI and LITS bad. Seeking: clustered kinds and ALEX good, others \
                caution. Takeaways: (1) use learned indexes where entries are large or keys skewed; (2) prefer PGM, \
                RadixSpline, RMI, PLEX; (3) reduce the boundary, but not below 16; (4) coarsen the granularity.",
    judge: Judge {
        rule: "Marks follow from the rules of the suitability matrix. A column holds, judged once for the six \
               clustered and once for the four unclustered kinds, if all their marks are the published ones. (The \
               caution on seeking with DILI, LIPP and LITS was published because they lack an ordered look-up. Ours \
               have one and are marked by its time; where that mark is good, this part does not hold.) Takeaways \
               follow from parts of other claims: (1) the YCSB part of C-E1 (held) and C-E9, (2) the four kinds of \
               C-E1 on real keys (held), (3) the part of C-E2 below 16, (4) the memory of C-E6.",
        experiments: &["E-F7", "E-F8", "E-F9", "E-F12", "E-F15"],
        parts: |evidence| {
            vec![
                column(evidence, "memory", 0, true).because(memory::by_map(evidence)),
                column(evidence, "look-up", 1, true),
                column(evidence, "rebuilding", 2, true).because((
                    Cause::Design,
                    "our builders take each key once, while the table is written, and reading, verifying, merging and writing \
                     an entry takes ten times as long",
                )),
                column(evidence, "seeking", 3, true),
                column(evidence, "memory of unclustered kinds", 0, false),
                column(evidence, "look-up of unclustered kinds", 1, false),
                column(evidence, "rebuilding of unclustered kinds", 2, false)
                    .because(building::cheap(evidence)),
                column(evidence, "seeking of unclustered kinds", 3, false).because((
                    Cause::Design,
                    "ours find the lower bound of any key, which the published DILI, LIPP and LITS cannot, and read one \
                     entry",
                )),
                memory::long_keys(evidence, Basis::Held).named("takeaway 1, large entries"),
                memory::skewed(evidence).named("takeaway 1, skewed keys"),
                memory::real_keys(evidence, Basis::Held).named("takeaway 2"),
                points::marginal(evidence).named("takeaway 3"),
                granularity::less_memory(evidence).named("takeaway 4"),
            ]
        },
    },
};

/// A column of the matrix, for the clustered or for the unclustered kinds.
fn column(evidence: &Evidence<'_>, what: &'static str, aspect: usize, clustered: bool) -> Part {
    let judge = || -> Result<(bool, String), Missing> {
        let (mut same, mut texts) = (true, Vec::new());
        for row in TABLE_2.iter().filter(|row| row.clustered == clustered) {
            let ours = match decide(evidence, row.kind, aspect) {
                Err(missing) if missing.is_fallback() => {
                    evidence.note(format!("{} is left out: {missing}", row.kind));
                    continue;
                }
                decided => decided?,
            };
            let number = short(ours.number);
            let mut text = format!("{} {} {number}", row.kind, name(ours.mark));
            if let Some(there) = row.marks.get(aspect).filter(|there| **there != ours.mark) {
                same = false;
                text += &format!(", published {}", name(*there));
            }
            texts.push(text);
        }
        match texts.is_empty() {
            true => {
                let cells = evidence.cells("E-F7");
                Err(cells.undecided("tables of every kind fell back to fence pointers"))
            }
            false => Ok((same, texts.join("; "))),
        }
    };
    Part::judged(what, judge())
}

fn name(mark: Mark) -> &'static str {
    match mark {
        Mark::Good => "good",
        Mark::Caution => "caution",
        Mark::Bad => "bad",
    }
}
