//! The claim that mixed workloads order the kinds as look-ups and ranges do.

use super::{Claim, Evidence, Judge, Part, Selection, look_up, range};
use crate::claims::compare::{NEARLY_ALL, Told, clearly_less, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{clustered, unclustered};
use crate::contest::Rounds;
use crate::experiment::{Arm, FENCES};

pub const FOLLOWS: Claim = Claim {
    id: "C-E7",
    paper: "EDBT, section 5.6, Figure 16",
    published: "The six YCSB workloads at boundary 16 closely mirror the basic look-ups and ranges: no kind loses \
                by mixing.",
    judge: Judge {
        rule: "Uniform keys, boundary 16; needs merges in the workloads. For each two published kinds that read alike \
               (windows, or single entries), if the basic look-up (E-F7, page cache) is clearly faster with one of \
               them, a workload keeps the order if its mean operation surely takes at most 10 % longer with that kind, \
               and reverses it if it surely takes more. Holds if nine of ten pairs keep their order, counted over the \
               workloads A, B, C, D and F; for E the same with ranges of 100 entries (E-F9; for unclustered kinds \
               E-F12). Undecided if the basic experiment shows no clear difference between any two such kinds.",
        experiments: &["E-F7", "E-F9", "E-F12", "E-F16"],
        parts: |evidence| vec![look_ups(evidence), ranges(evidence)],
    },
};

/// Times within this factor do not count as a reversal.
const TOLERANCE: f64 = 1.1;

const SET: &str = "ycsb-uniform";

fn look_ups(evidence: &Evidence<'_>) -> Part {
    let workloads = [
        "ycsb-a_mean",
        "ycsb-b_mean",
        "ycsb-c_mean",
        "ycsb-d_mean",
        "ycsb-f_mean",
    ];
    part(
        "A, B, C, D and F follow look-ups",
        evidence,
        &|kind| look_up(evidence, "E-F7", kind, 16).only("set", SET),
        "get_mean",
        &workloads,
    )
}

fn ranges(evidence: &Evidence<'_>) -> Part {
    part(
        "E follows ranges",
        evidence,
        &|kind| range(evidence, SET, kind, 16).only("length", 100),
        "range_mean",
        &["ycsb-e_mean"],
    )
}

/// The basic experiment's cell of a kind.
type Basic<'b, 'e> = &'b dyn Fn(&str) -> Selection<'e>;

fn part(
    what: &'static str,
    evidence: &Evidence<'_>,
    basic: Basic<'_, '_>,
    metric: &'static str,
    workloads: &[&'static str],
) -> Part {
    let judge = || {
        let kept = pairs(evidence, basic, metric, workloads)?;
        if kept.is_empty() {
            let why = "the basic experiment shows no clear difference between any two kinds that read alike";
            return Err(evidence.cells("E-F16").undecided(why));
        }
        let (holds, count) = vote(&kept, NEARLY_ALL);
        Ok((holds, format!("{count} pairs keep their order")))
    };
    Part::judged(what, judge())
}

/// For each two kinds of which the basic experiment shows one to be clearly faster, and each
/// workload: whether the order is kept.
fn pairs(
    evidence: &Evidence<'_>,
    basic: Basic<'_, '_>,
    metric: &'static str,
    workloads: &[&'static str],
) -> Result<Vec<Told>, Missing> {
    let mixed = evidence.cells("E-F16").whole()?;
    let published = FENCES.into_iter().chain(clustered()).chain(unclustered());
    let mut kinds = mixed.kinds(published)?;
    kinds.retain(|kind| basic(kind).kinds([*kind]).is_ok());
    let times = kinds.iter().map(|kind| basic(kind).rounds(metric));
    let times: Vec<Rounds> = times.collect::<Result<_, _>>()?;
    let mut kept = Vec::new();
    for (fast, of_fast) in kinds.iter().zip(&times) {
        for (slow, of_slow) in kinds.iter().zip(&times) {
            if Arm::of(fast) != Arm::of(slow) || !clearly_less(of_fast, of_slow) {
                continue;
            }
            for workload in workloads {
                let time = |kind| mixed.only("kind", kind).rounds(workload);
                let ratio = time(fast)?.over(&time(slow)?).ratio();
                kept.push(Told::at_most(ratio, TOLERANCE));
            }
        }
    }
    Ok(kept)
}
