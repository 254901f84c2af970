//! PLEX (Stoian, Kipf, Marcus and Kraska, "PLEX: towards practical learned indexing", AIDB 2021):
//! the spline of RadixSpline under a radix table or a compact Hist-Tree, whichever a cost model
//! expects to be faster. There is no knob for the choice.
//!
//! See [`super::shared::spline`] for the guarantee and the byte form. Building takes constant time
//! a key, and time linear in the number of knots for each top considered. A look-up reads two cells
//! of a radix table, or one cell a level of a tree, and then searches among the knots of a bin.
//!
//! The cost model counts the cache lines that a look-up waits for one after the other, averaged
//! over the keys, from exact counts of the knots in each bin. It weighs them against the memory of
//! the top, which is at most that of the spline. A few outliers at either end, which would spoil
//! any division by powers of two, are left out and searched separately.

use super::shared::knobs::BOUNDARY;
use super::shared::retained::RETAINED;
use super::shared::spline::{
    CELL, HistTree, KNOT, Knot, LeftOut, RadixTable, Spline, SplineBuilder, Survey, Top,
    halvings_of,
};
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::Settings;

pub(crate) const KIND: Kind = Kind {
    name: "plex",
    id: 8,
    about: "greedy linear spline under a self-tuned radix table or Hist-Tree (Stoian et al., 2021)",
    knobs: &[BOUNDARY, RETAINED],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| {
        Box::new(SplineBuilder::new(
            &KIND,
            settings,
            BOUNDARY.of(settings),
            choose,
        ))
    },
    open: |bytes| Ok(Box::new(Spline::open(&KIND, &bytes, |_, _| true)?)),
};

/// Bits a level of the Hist-Trees that are considered.
const TREE_BITS: [u8; 4] = [4, 6, 8, 10];

/// The most knots in a leaf of the Hist-Trees that are considered, ascending.
const TREE_LIMITS: [u8; 4] = [2, 4, 8, 16];

/// The most bits of a radix table.
const RADIX_BITS: u32 = 24;

/// Bytes assumed to stay in the first-level cache between look-ups.
const NEAR_BYTES: u64 = 16 << 10;

/// The cost of reading them, relative to a cache line from further away.
const NEAR: f64 = 0.25;

/// How many cache lines a look-up must save for a top as large as the spline to pay off.
const LINES_FOR_ALL_BYTES: f64 = 1.0;

/// The most knots left out at either end: an absolute limit, and the divisor of the number of knots
/// for a relative one.
const MOST_LEFT_OUT: (usize, usize) = (32, 256);

/// The top with the least expected cost over the knots that are not outliers.
fn choose(_: &Settings, knots: &[Knot], keys: u64) -> (Top, LeftOut) {
    let left_out = outliers(knots);
    (cheapest(left_out.rest(knots), keys), left_out)
}

/// The fewest knots at either end without which the range of the others takes the fewest bits.
fn outliers(knots: &[Knot]) -> LeftOut {
    let (most, one_in) = MOST_LEFT_OUT;
    let most = (knots.len() / one_in).min(most) as u8;
    let pairs = (0..=most).flat_map(|low| (0..=most).map(move |high| LeftOut { low, high }));
    let bits = |left_out: LeftOut| {
        let rest = left_out.rest(knots);
        let ends = rest.last().zip(rest.first());
        u64::BITS - ends.map_or(0, |(l, f)| l.number - f.number).leading_zeros()
    };
    let fewest = pairs.min_by_key(|&pair| (bits(pair), u32::from(pair.low) + u32::from(pair.high)));
    fewest.unwrap_or_default()
}

/// The top with the least expected cost.
fn cheapest(knots: &[Knot], keys: u64) -> Top {
    let (first, last) = (knots.first(), knots.last());
    let range = last.zip(first).map_or(0, |(l, f)| l.number - f.number);
    let most_cells = (knots.len() * KNOT / CELL).max(1) as u64;
    // With 0 bits, a look-up searches all knots.
    let mut best = Top::Radix(RadixTable::new(range, 0));
    let mut least = f64::INFINITY;
    let mut consider = |top: Top, lines: f64, cells: u64| {
        let cost = lines + LINES_FOR_ALL_BYTES * cells as f64 / most_cells as f64;
        if cells <= most_cells && cost < least {
            (best, least) = (top, cost);
        }
    };
    for bits in 0..=RADIX_BITS {
        let table = RadixTable::new(range, bits);
        let cells = table.cells(range);
        if cells > most_cells {
            break;
        }
        let lines = access(cells) + table_search(table, knots, keys);
        consider(Top::Radix(table), lines, cells);
    }
    if knots.len() > HistTree::MOST_KNOTS {
        return best;
    }
    for bits in TREE_BITS
        .into_iter()
        .filter(|&bits| 1 << bits <= most_cells)
    {
        let surveys = HistTree::new(range, bits, 1).survey(knots, keys, TREE_LIMITS);
        for (limit, survey) in TREE_LIMITS.into_iter().zip(surveys) {
            let nodes: u64 = survey.levels.iter().map(|level| level.0).sum();
            let lines = tree_lines(&survey, bits, limit, keys);
            let tree = HistTree::new(range, bits, limit);
            consider(Top::Tree(tree), lines, nodes << bits);
        }
    }
    best
}

/// The cost of reading one of this many cells.
fn access(cells: u64) -> f64 {
    if cells * CELL as u64 <= NEAR_BYTES {
        NEAR
    } else {
        1.0
    }
}

/// The cache lines that a search among the knots of a bin waits for. About four candidates are on
/// the line that is read first; each doubling of their number takes one more step.
fn search(knots: usize) -> u64 {
    1 + u64::from((knots / 4 + 1).ilog2())
}

/// The cost of the steps that every look-up takes, needed or not.
fn steps(levels: usize, most_knots: usize) -> f64 {
    let halvings = halvings_of(most_knots + 1);
    NEAR * (levels as f64 + f64::from(halvings))
}

/// The cost of searching the knots below a radix table, averaged over the keys.
fn table_search(table: RadixTable, knots: &[Knot], keys: u64) -> f64 {
    let first = knots.first().map_or(0, |knot| knot.number);
    let prefix = |knot: &Knot| table.prefix(knot.number - first);
    let rank = |i: usize| knots.get(i).map_or(keys, |knot| knot.rank.into());
    let (mut start, mut lines, mut most) = (0, 0, 0);
    for bin in knots.chunk_by(|a, b| prefix(a) == prefix(b)) {
        let end = start + bin.len();
        lines += search(bin.len()) * (rank(end) - rank(start));
        most = most.max(bin.len());
        start = end;
    }
    lines as f64 / keys.max(1) as f64 + steps(0, most)
}

/// The cost of walking down a Hist-Tree and searching its leaf, averaged over the keys.
fn tree_lines(survey: &Survey, bits: u8, limit: u8, keys: u64) -> f64 {
    let far = survey.levels.iter().map(|&(nodes, passing)| {
        // The cost of a near access is counted by `steps`.
        (access(nodes << bits) - NEAR) * passing as f64
    });
    let leaves = survey.leaves.iter().enumerate();
    let searches = leaves.map(|(knots, passing)| (search(knots) * passing) as f64);
    let lines = far.sum::<f64>() + searches.sum::<f64>();
    lines / keys.max(1) as f64 + steps(survey.levels.len(), limit.into())
}
