//! Whether mixed workloads order the kinds as look-ups and ranges do.

use super::{Claim, Evidence, Judge, Part, Selection, window};
use crate::claims::compare::{NEARLY_ALL, clearly_less};
use crate::claims::evidence::Missing;

pub const FOLLOWS: Claim = Claim {
    id: "C-E7",
    paper: "EDBT, section 5.6, Figure 16",
    published: "The six YCSB workloads at boundary 16 closely mirror the basic look-ups and ranges: no kind loses \
                by mixing.",
    judge: Judge::By {
        rule: "Uniform keys, boundary 16. Of each two kinds (fence pointers included) of which the basic look-up \
               (E-F7, exact windows, page cache) is clearly faster with one (each repeat), a workload reverses \
               the order if its mean operation takes over 10 % longer with that one. Holds if at most one in \
               ten of all pairs and workloads A, B, C, D and F is reversed; for E by ranges of 100 entries \
               (E-F9). If the basic experiment tells no two kinds apart there is nothing to follow.",
        experiments: &["E-F7", "E-F9", "E-F16"],
        parts: |evidence| vec![look_ups(evidence), ranges(evidence)],
    },
};

/// What is longer by less than this is not a reversal: workloads are measured once.
const TOLERANCE: f64 = 1.1;

fn look_ups(evidence: &Evidence<'_>) -> Part {
    let basic = window(evidence, "E-F7").only("set", "ycsb-uniform");
    let workloads = [
        "ycsb-a_mean",
        "ycsb-b_mean",
        "ycsb-c_mean",
        "ycsb-d_mean",
        "ycsb-f_mean",
    ];
    let basic = basic.only("boundary", 16);
    part(
        "A, B, C, D and F follow look-ups",
        evidence,
        basic,
        "get_mean",
        &workloads,
    )
}

fn ranges(evidence: &Evidence<'_>) -> Part {
    let basic = evidence
        .cells("E-F9")
        .only("boundary", 16)
        .only("length", 100);
    part(
        "E follows ranges",
        evidence,
        basic,
        "range_mean",
        &["ycsb-e_mean"],
    )
}

fn part(
    what: &'static str,
    evidence: &Evidence<'_>,
    basic: Selection<'_>,
    metric: &'static str,
    workloads: &[&'static str],
) -> Part {
    match pairs(evidence, basic, metric, workloads) {
        Ok((0, _)) => Part::open(what, "the basic experiment tells no two kinds apart"),
        Ok((pairs, reversed)) => {
            let kept = (pairs - reversed) as f64 / pairs as f64;
            let ours = format!("{reversed} of {pairs} pairs reversed");
            Part::judged(what, Ok((kept >= NEARLY_ALL, ours)))
        }
        Err(missing) => Part::open(what, missing),
    }
}

/// Of how many pairs the basic experiment tells which is faster, once for each workload, and how many of
/// them are reversed.
fn pairs(
    evidence: &Evidence<'_>,
    basic: Selection<'_>,
    metric: &'static str,
    workloads: &[&'static str],
) -> Result<(usize, usize), Missing> {
    let basic = basic.whole()?;
    let mixed = evidence.cells("E-F16").whole()?;
    let (mut pairs, mut reversed) = (0, 0);
    for fast in basic.each("kind") {
        for slow in basic.each("kind") {
            let time = |kind| basic.only("kind", kind).spread(metric);
            if !clearly_less(time(fast)?, time(slow)?) {
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
