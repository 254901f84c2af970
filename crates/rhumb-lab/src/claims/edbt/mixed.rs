//! The claim that mixed workloads order the kinds as look-ups and ranges do.

use super::{Claim, Evidence, Judge, Part, Selection, look_up, range};
use crate::claims::compare::{NEARLY_ALL, clearly_less};
use crate::claims::evidence::Missing;
use crate::claims::published::unclustered;
use crate::experiment::Arm;
use crate::measure::Spread;

pub const FOLLOWS: Claim = Claim {
    id: "C-E7",
    paper: "EDBT, section 5.6, Figure 16",
    published: "The six YCSB workloads at boundary 16 closely mirror the basic look-ups and ranges: no kind loses \
                by mixing.",
    judge: Judge::By {
        rule: "Uniform keys, boundary 16. For each two published kinds (fence pointers included), if the basic \
               look-up (E-F7, exact windows, page cache) is clearly faster with one of them (in each repeat), a \
               workload reverses the order if its mean operation takes over 10 % longer with that kind. Holds if at \
               most one in ten of all pairs over the workloads A, B, C, D and F is reversed; for E the same with \
               ranges of 100 entries (E-F9; for unclustered kinds E-F12). Undecided if the basic experiment shows no \
               clear difference between any two kinds.",
        experiments: &["E-F7", "E-F9", "E-F12", "E-F16"],
        parts: |evidence| vec![look_ups(evidence), ranges(evidence)],
    },
};

/// Times within this factor do not count as a reversal, since workloads are measured only once.
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
    match pairs(evidence, basic, metric, workloads) {
        Ok((0, _)) => Part::open(
            what,
            "the basic experiment shows no clear difference between any two kinds",
        ),
        Ok((pairs, reversed)) => {
            let kept = (pairs - reversed) as f64 / pairs as f64;
            let ours = format!("{reversed} of {pairs} pairs reversed");
            Part::judged(what, Ok((kept >= NEARLY_ALL, ours)))
        }
        Err(missing) => Part::open(what, missing),
    }
}

/// The number of pairs in which the basic experiment shows a clearly faster kind, counted once for
/// each workload, and the number of these that are reversed.
fn pairs(
    evidence: &Evidence<'_>,
    basic: Basic<'_, '_>,
    metric: &'static str,
    workloads: &[&'static str],
) -> Result<(usize, usize), Missing> {
    let mixed = evidence.cells("E-F16").whole()?;
    let mut kinds = mixed.each("kind");
    kinds.retain(|kind| Arm::of(kind) != Arm::Exact || unclustered().any(|known| known == *kind));
    let times = kinds.iter().map(|kind| basic(kind).spread(metric));
    let times: Vec<Spread> = times.collect::<Result<_, _>>()?;
    let (mut pairs, mut reversed) = (0, 0);
    for (fast, of_fast) in kinds.iter().zip(&times) {
        for (slow, of_slow) in kinds.iter().zip(&times) {
            if !clearly_less(*of_fast, *of_slow) {
                continue;
            }
            for workload in workloads {
                let time = |kind| mixed.only("kind", kind).value(workload);
                pairs += 1;
                reversed += usize::from(time(fast)? > TOLERANCE * time(slow)?);
            }
        }
    }
    Ok((pairs, reversed))
}
