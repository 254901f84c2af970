//! Chooses the root that distributes a sample of the numbers most evenly.

use super::root::{Shape, tangents};
use crate::kinds::shared::logarithm::log2;

/// The sample has one of this many numbers, within the bounds of [`SAMPLE`].
const SAMPLED: usize = 64;
const SAMPLE: std::ops::RangeInclusive<usize> = 1024..=16_384;

/// Costs are estimated with at most one leaf for this many numbers of the sample.
const PER_LEAF: usize = 4;

/// What the choice minimises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Aim {
    /// Short searches on average.
    Average,
    /// No leaf with many numbers, so that all can keep a boundary.
    Worst,
}

impl Aim {
    /// The bits for each number that a root must save to be preferred to a simpler one.
    fn worth(self) -> f64 {
        match self {
            Aim::Average => 0.1,
            Aim::Worst => 1.0,
        }
    }

    /// How many of the lowest, or of the highest, of `count` numbers a root may leave out, in
    /// addition to those beyond the widest gap near the end: 1 of 2^14, 2^10 or 2^7 for good
    /// averages; none for a boundary, which every leaf must keep.
    fn left_out(self, count: usize) -> impl Iterator<Item = usize> {
        let shifts: &[u32] = match self {
            Aim::Average => &[14, 10, 7],
            Aim::Worst => &[],
        };
        shifts.iter().map(move |shift| count >> shift)
    }
}

/// Which roots are allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Roots {
    Both,
    Linear,
    Cubic,
}

/// The roots to try for about `leaves` leaves, the best one first. There must be at least one
/// number.
pub(super) fn choose(numbers: &[u64], leaves: usize, roots: Roots, aim: Aim) -> Vec<Shape> {
    let count = numbers.len();
    let size = (count / SAMPLED).clamp(*SAMPLE.start(), *SAMPLE.end());
    let sample = numbers.iter().step_by(count.div_ceil(size).max(1)).copied();
    let chooser = Chooser {
        numbers,
        sample: sample.collect(),
        leaves,
        aim,
    };
    let whole = (0, count.saturating_sub(1));
    let ends = chooser.ends(whole);
    let mut shapes = Vec::new();
    if roots != Roots::Cubic {
        shapes.extend([chooser.linear(whole), chooser.linear(ends)]);
    }
    if roots != Roots::Linear {
        shapes.extend([chooser.cubic(whole), chooser.cubic(ends)]);
    }
    shapes.dedup();
    // Simpler roots come first and need to save less.
    let cost = |(place, shape)| (chooser.cost(&shape) + place as f64 * aim.worth(), shape);
    let mut shapes: Vec<_> = shapes.into_iter().enumerate().map(cost).collect();
    shapes.sort_by(|a, b| a.0.total_cmp(&b.0));
    shapes.into_iter().map(|(_, shape)| shape).collect()
}

struct Chooser<'a> {
    numbers: &'a [u64],
    sample: Vec<u64>,
    leaves: usize,
    aim: Aim,
}

impl Chooser<'_> {
    fn number(&self, i: usize) -> u64 {
        self.numbers.get(i).copied().unwrap_or(0)
    }

    /// A line over the numbers between two ranks.
    fn linear(&self, (first, last): (usize, usize)) -> Shape {
        Shape {
            range: (self.number(first), self.number(last.max(first))),
            outside: (first > 0, last + 1 < self.numbers.len()),
            tangents: None,
        }
    }

    /// A cubic over the numbers between two ranks, fitted to the sample.
    fn cubic(&self, ends: (usize, usize)) -> Shape {
        let line = self.linear(ends);
        let (start, end) = line.range;
        let from = self.sample.partition_point(|&number| number < start);
        let to = self.sample.partition_point(|&number| number <= end);
        let inside = self.sample.get(from..to).unwrap_or_default();
        let (width, height) = ((end - start).max(1) as f64, inside.len().max(1) as f64);
        let points = inside.iter().enumerate();
        let points = points.map(|(i, number)| ((number - start) as f64 / width, i as f64 / height));
        Shape {
            tangents: Some(tangents(points)),
            ..line
        }
    }

    /// The ranks between which a line distributes the numbers best. The upper end is chosen first,
    /// since skewed numbers are sparse there.
    fn ends(&self, whole: (usize, usize)) -> (usize, usize) {
        let mut best = (self.cost(&self.linear(whole)), whole);
        let mut consider = |start: Option<usize>, end: Option<usize>| {
            let (_, (from, to)) = best;
            let ends = (start.unwrap_or(from), end.unwrap_or(to));
            let cost = self.cost(&self.linear(ends));
            if ends.0 <= ends.1 && cost + self.aim.worth() < best.0 {
                best = (cost, ends);
            }
        };
        for end in self.upper_ends() {
            consider(None, Some(end));
        }
        for start in self.lower_ends() {
            consider(Some(start), None);
        }
        best.1
    }

    /// Ranks at which the range may end.
    fn upper_ends(&self) -> Vec<usize> {
        let count = self.numbers.len();
        let tail = count.saturating_sub((count >> 10).max(32));
        let mut ends = vec![self.widest_gap(tail, count)];
        ends.extend(
            self.aim
                .left_out(count)
                .map(|n| count.saturating_sub(n + 1)),
        );
        ends
    }

    /// Ranks at which the range may start.
    fn lower_ends(&self) -> Vec<usize> {
        let count = self.numbers.len();
        let head = (count >> 10).max(32).min(count);
        let mut starts = vec![self.widest_gap(0, head) + 1];
        starts.extend(self.aim.left_out(count));
        starts.retain(|&start| start < count);
        starts
    }

    /// The rank before the widest gap between neighbours in a range of ranks.
    fn widest_gap(&self, from: usize, to: usize) -> usize {
        let numbers = self.numbers.get(from..to).unwrap_or_default();
        let pairs = numbers.iter().zip(numbers.iter().skip(1)).enumerate();
        let widest = pairs.max_by_key(|(_, (a, b))| **b - **a);
        from + widest.map_or(0, |(place, _)| place)
    }

    /// The bits needed to find a number among those of its leaf: for the average number, or as if
    /// all leaves were as full as the leaf of the average number.
    fn cost(&self, shape: &Shape) -> f64 {
        let root = shape.over(self.leaves.min(self.sample.len() / PER_LEAF).max(1));
        let leaves = self
            .sample
            .chunk_by(|&a, &b| root.guess(a) == root.guess(b));
        let sizes = leaves.map(|leaf| leaf.len() as f64);
        let count = self.sample.len() as f64;
        match self.aim {
            Aim::Average => sizes.map(|size| size * log2(size)).sum::<f64>() / count,
            Aim::Worst => log2(sizes.map(|size| size * size).sum::<f64>() / count),
        }
    }
}
