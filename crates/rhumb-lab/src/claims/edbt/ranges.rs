//! Claims about the effect of the position boundary on ranges.

use super::{Cause, Claim, Evidence, Judge, Part, Selection};
use crate::claims::compare::{ALL, NEARLY_ALL, Told, less, median, near, range, short, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{clustered, unclustered};
use crate::contest::Rounds;

pub const SEEKING: Claim = Claim {
    id: "C-E4",
    paper: "EDBT, Observation 4, Figures 9 to 11",
    published: "The position boundary matters for the seek of a range; its effect becomes smaller as the range \
                grows. This is shown as curves; no ratio is stated.",
    judge: Judge {
        rule: "Exact windows from a page cache of 70 % of the data, where the machine permits it, on each of the three sets. Seeks: the seek of the shortest ranges \
               takes clearly longer at the largest boundary than at the smallest, for every \
               clustered kind. Growing: ratio of the time of the whole range at the largest boundary to that at the \
               smallest: this ratio is clearly less for the longest ranges than for the shortest, for at least five of the six kinds.",
        experiments: &["E-F9", "E-F10", "E-F11"],
        parts: |evidence| {
            vec![
                seeks(evidence, "E-F9").named("seeks (uniform)"),
                fades(evidence, "E-F9").named("fades with length (uniform)"),
                seeks(evidence, "E-F10").named("seeks (Zipf 0.9)"),
                fades(evidence, "E-F10").named("fades with length (Zipf 0.9)"),
                seeks(evidence, "E-F11").named("seeks (Zipf 0.99)"),
                fades(evidence, "E-F11").named("fades with length (Zipf 0.99)"),
            ]
        },
    },
};

/// The cells of an experiment on ranges, with the smallest and largest values of its axes.
struct Ends<'e> {
    cells: Selection<'e>,
    boundaries: [u64; 2],
    lengths: [u64; 2],
}

impl<'e> Ends<'e> {
    fn of(cells: Selection<'e>) -> Result<Ends<'e>, Missing> {
        let cells = cells.whole()?;
        let ends = |axis| {
            let numbers = cells.numbers(axis);
            [numbers.first(), numbers.last()].map(|end| end.copied().unwrap_or(0))
        };
        Ok(Ends {
            boundaries: ends("boundary"),
            lengths: ends("length"),
            cells,
        })
    }

    /// A figure at the smallest and at the largest boundary.
    fn figure(
        &self,
        kind: &str,
        length: u64,
        metric: &'static str,
    ) -> Result<[Rounds; 2], Missing> {
        let cells = self.cells.only("kind", kind).only("length", length);
        let [least, greatest] = self
            .boundaries
            .map(|boundary| cells.only("boundary", boundary));
        Ok([least.rounds(metric)?, greatest.rounds(metric)?])
    }
}

fn seeks(evidence: &Evidence<'_>, experiment: &'static str) -> Part {
    let judge = || {
        let ends = Ends::of(super::as_published(evidence, experiment))?;
        let (mut clear, mut ratios) = (Vec::new(), Vec::new());
        for kind in ends.cells.kinds(clustered())? {
            let [least, greatest] = ends.figure(kind, ends.lengths[0], "seek_mean")?;
            clear.push(less(&least, &greatest));
            ratios.push(greatest.over(&least).median());
        }
        let (holds, count) = vote(&clear, ALL);
        let [least, greatest] = ends.boundaries;
        let ratios = range(&ratios);
        Ok((
            holds,
            format!("{count} kinds; seek at {greatest} over {least}: {ratios}"),
        ))
    };
    Part::judged("the boundary matters for seeks", judge())
}

const FIVE_OF_SIX: f64 = 5.0 / 6.0;

fn fades(evidence: &Evidence<'_>, experiment: &'static str) -> Part {
    let judge = || {
        let ends = Ends::of(super::as_published(evidence, experiment))?;
        let mut clear = Vec::new();
        let mut ratios = [Vec::new(), Vec::new()];
        for kind in ends.cells.kinds(clustered())? {
            let mut effects = Vec::new();
            for (length, ratios) in ends.lengths.iter().zip(&mut ratios) {
                let [least, greatest] = ends.figure(kind, *length, "range_mean")?;
                let effect = greatest.over(&least);
                ratios.push(effect.median());
                effects.push(effect);
            }
            clear.push(match effects.as_slice() {
                [brief, long] => less(long, brief),
                _ => Told::Unclear,
            });
        }
        let (holds, count) = vote(&clear, FIVE_OF_SIX);
        let [brief, long] = ratios.map(|ratios| short(median(&ratios)));
        let [few, many] = ends.lengths;
        let ours = format!(
            "{count} kinds; range at the largest over the smallest boundary, in the median: {brief} for {few} \
             entries, {long} for {many}"
        );
        Ok((holds, ours))
    };
    Part::judged("its effect fades as ranges grow", judge())
}

pub const UNCLUSTERED_KINDS: Claim = Claim {
    id: "C-E10",
    paper: "EDBT, section 5.2, Figures 9, 12 and 13",
    published: "Unclustered kinds seek at about the cost of clustered ones. A larger boundary can slightly \
                reduce the time of short scans.",
    judge: Judge {
        rule: "Short scans: after the seek, the shortest ranges of the uniform set take clearly less time at the \
               largest boundary than at the smallest, and slightly: surely at least three quarters of it, for at least \
               half of the clustered kinds. Seeks of the shortest ranges on the three sets: an unclustered kind is \
               surely within 25 %, to either side, of the median of the clustered kinds at boundary 8, in nine of ten \
               cells (set, kind).",
        experiments: &["E-F9", "E-F10", "E-F11", "E-F12", "E-F13"],
        parts: |evidence| {
            vec![
                short_scans(evidence).because((
                    Cause::Layout,
                    "at a large boundary the seek has read the window with all entries of a short range, so nothing is \
                     left to read; published as an effect of consecutive ranges on the cache, while ours are random",
                )),
                seek_as_fast(evidence).because((
                    Cause::Design,
                    "our unclustered kinds find the lower bound of any key and read one entry where a clustered kind \
                     reads a window",
                )),
            ]
        },
    },
};

/// A slight reduction leaves at least this share of a time.
const SLIGHTLY: f64 = 0.75;

fn short_scans(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let ends = Ends::of(super::cached(evidence, "E-F9"))?;
        let (mut faster, mut ratios) = (Vec::new(), Vec::new());
        for kind in ends.cells.kinds(clustered())? {
            let [least, greatest] = ends.figure(kind, ends.lengths[0], "scan_mean")?;
            let slightly = Told::at_least(greatest.over(&least).ratio(), SLIGHTLY);
            faster.push(less(&greatest, &least).and(slightly));
            ratios.push(greatest.over(&least).median());
        }
        let (holds, count) = vote(&faster, 0.5);
        let ([least, greatest], ratios) = (ends.boundaries, range(&ratios));
        Ok((
            holds,
            format!("{count} kinds; scan at {greatest} over {least}: {ratios}"),
        ))
    };
    Part::judged("a larger boundary helps short scans", judge())
}

fn seek_as_fast(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let (mut told, mut ratios) = (Vec::new(), Vec::new());
        for (set, windows, entries) in [
            ("ycsb-uniform", "E-F9", "E-F12"),
            ("ycsb-zipf0.9", "E-F10", "E-F13"),
            ("ycsb-zipf0.99", "E-F11", "E-F13"),
        ] {
            let seek = |kind| {
                let cell = super::range(evidence, set, kind, 8).only("length", 10);
                cell.rounds("seek_mean")
            };
            let cells = |experiment| super::cached(evidence, experiment).only("set", set);
            let windows = cells(windows).only("boundary", 8).kinds(clustered())?;
            let clustered = windows.into_iter().map(seek);
            let clustered = clustered.collect::<Result<Vec<_>, _>>()?;
            let clustered = Rounds::of_all(&clustered, median);
            for kind in cells(entries).kinds(unclustered())? {
                let seek = seek(kind)?;
                told.push(near(&seek, &clustered, 0.25));
                ratios.push(seek.over(&clustered).median());
            }
        }
        let (holds, count) = vote(&told, NEARLY_ALL);
        let ratios = range(&ratios);
        let ours = format!("{count} cells; seek over the median clustered kind's: {ratios}");
        Ok((holds, ours))
    };
    Part::judged("unclustered kinds seek at about the cost", judge())
}
