//! Segments of a model, and the algorithms that find them.
//!
//! All algorithms work from left to right: a segment takes points until no line is within the error
//! bound of all of them. They differ in the lines they consider: all lines ([`hull`], the fewest
//! segments), those through one point in the middle of the first two ([`greedy`]), or those through
//! the first point ([`cone`]), where the published rule asks for more. [`corridor`] finds the
//! segments of a spline, whose ends are points themselves.

pub(crate) mod cone;
pub(crate) mod corridor;
pub(crate) mod greedy;
pub(crate) mod hull;

use std::fmt::Debug;

use crate::wide::{Work, wide};

/// The fraction of a rank in which a line's offset is stored.
const OFFSET_UNIT: f64 = 64.0;

/// Error bounds are whole multiples of this fraction of a rank, so that they are exact in integers.
pub(crate) const BOUND_UNIT: f64 = 32.0;

/// The most ranks that one segment covers.
///
/// This limits the points that a builder holds to measure the error, and the effect of a slope
/// rounded to 24 bits: 2^-24 of 2^18 ranks is 1/64 of a rank. One segment for every 262,144 keys
/// has a negligible cost.
pub(crate) const MAX_RANKS: u64 = 1 << 18;

/// What a builder must subtract from its error bound for the rounding in [`Line::through`]: 1/64 of
/// a rank for the slope, 1/128 for the offset, the rest for double arithmetic.
pub(crate) const ROUNDING: f64 = 1.0 / 32.0;

/// The bound for lines if predictions, rounded to whole ranks, may be off by `error`: half a rank
/// more, less the reserve for rounding.
pub(crate) fn line_bound(error: u64) -> f64 {
    error as f64 + 0.5 - ROUNDING
}

/// The lines that pass within a bound of all points so far.
pub(crate) trait Fit: Debug + Default + Send + 'static {
    /// Starts with the point (0, 0). `bound` is in ranks, above 0 and a multiple of 1/32.
    fn start(&mut self, bound: f64);

    /// Adds a point to the right of all others and not below them. Returns false, and changes
    /// nothing, if no line is within the bound of it.
    fn add(&mut self, x: u64, y: u64) -> bool;

    /// Adds points with these numbers, relative to `first`, and with consecutive ranks from `y` on,
    /// up to the first that does not fit. Returns how many were added.
    fn add_all(&mut self, first: u64, y: u64, numbers: &[u64]) -> usize {
        let mut points = numbers.iter().zip(y..);
        let outside = points.position(|(number, y)| !self.add(number - first, y));
        outside.unwrap_or(numbers.len())
    }

    /// A point on a line in the middle of all that fit, and its slope, which is not negative.
    fn line(&self) -> (f64, f64, f64);
}

/// A method of dividing points into straight pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segmentation {
    /// The fewest pieces possible: convex hulls (O'Rourke 1981), as in the PGM-index.
    Optimal,
    /// Lines through one point between the first two: greedy PLR, as in Bourbon.
    Greedy,
    /// Lines through the first point: the shrinking cone of the FITing-Tree, as published. A point
    /// joins a piece if it lies on such a line itself.
    Cone,
    /// The same lines, where a point joins a piece if one of them is within the error of it.
    WideCone,
}

impl Segmentation {
    /// How many pieces it needs for ascending distinct numbers if each number's rank is to be
    /// within `error` of its piece's line, before any rounding: the figure that papers report.
    ///
    /// Numbers that are not above all before them are left out and have no rank. An `error` of 0
    /// counts as 1/32 of a rank.
    ///
    /// Takes linear time, and memory for the points of one piece at most.
    ///
    /// ```
    /// use rhumb_index::Segmentation;
    ///
    /// let numbers: Vec<u64> = (0..1000).map(|i| i * i).collect();
    /// let optimal = Segmentation::Optimal.pieces(&numbers, 8);
    /// assert!(optimal <= Segmentation::Cone.pieces(&numbers, 8));
    /// ```
    pub fn pieces(self, numbers: &[u64], error: u32) -> usize {
        match self {
            Segmentation::Optimal => pieces::<hull::Hull>(numbers, error),
            Segmentation::Greedy => pieces::<greedy::Greedy>(numbers, error),
            Segmentation::Cone => pieces::<cone::Cone>(numbers, error),
            Segmentation::WideCone => pieces::<cone::WideCone>(numbers, error),
        }
    }
}

fn pieces<F: Fit>(numbers: &[u64], error: u32) -> usize {
    let mut fit = F::default();
    let mut start: Option<(u64, u64)> = None;
    let mut count = 0;
    let mut above = 0u128;
    let ascending = numbers.iter().filter(|number| {
        let ascends = u128::from(**number) >= above;
        above = above.max(u128::from(**number) + 1);
        ascends
    });
    for (rank, &number) in (0u64..).zip(ascending) {
        let fits = start.is_some_and(|(first, first_rank)| {
            fit.add(number.saturating_sub(first), rank - first_rank)
        });
        if !fits {
            fit.start(f64::from(error).max(1.0 / BOUND_UNIT));
            start = Some((number, rank));
            count += 1;
        }
    }
    count
}

/// A line from numbers to ranks, over the ranks that one segment covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// The number of the first key. Distances from it are integers, so that numbers above 2^53 lose
    /// no precision that matters.
    pub(crate) first_number: u64,
    /// The rank of the first key.
    pub(crate) first_rank: u64,
    /// How many ranks the segment covers, at least 1.
    pub(crate) ranks: u64,
    /// Ranks for each number, at least 0.
    pub(crate) slope: f32,
    /// The prediction for `first_number` less `first_rank`, in 1/64 of a rank.
    pub(crate) offset: i16,
}

impl Line {
    /// The line through a point, `(x, y)` relative to the first key, rounded as stored.
    pub(crate) fn through(mut self, x: f64, y: f64, slope: f64) -> Line {
        self.slope = slope.max(0.0) as f32;
        // The rounded slope is used, so that the line still goes through the point.
        self.offset = ((y - f64::from(self.slope) * x) * OFFSET_UNIT).round() as i16;
        self
    }

    /// The predicted rank of a number, within the segment's ranks.
    ///
    /// Monotone in the number, since every step is: the subtraction, the conversion, the
    /// multiplication by a slope that is not negative, addition, clamping and rounding. Builders
    /// measure errors with this same function, so rounding cannot break a bound. A slope of NaN
    /// predicts the first rank (`NaN.max(0.0)` is 0), infinity the last.
    #[inline(always)]
    pub(crate) fn predict(&self, number: u64) -> u64 {
        let last = self.ranks.saturating_sub(1) as f64;
        // The height is below 2^32, and converting to 32 bits takes fewer instructions than to 64.
        self.first_rank + u64::from((self.height(number, last) + 0.5) as u32)
    }

    /// The prediction for the first number, less the first rank.
    #[inline(always)]
    pub(crate) fn offset(&self) -> f64 {
        f64::from(self.offset) / OFFSET_UNIT
    }

    /// The prediction before rounding, less the first rank; `last` is below 2^32.
    #[inline(always)]
    fn height(&self, number: u64, last: f64) -> f64 {
        let x = number.saturating_sub(self.first_number) as f64;
        let y = f64::from(self.slope) * x + self.offset();
        y.max(0.0).min(last)
    }

    /// An upper bound on the distance of predictions from the ranks of these numbers. `ranks` are
    /// relative to the first rank; if empty, they are 0, 1, 2 and so on.
    ///
    /// It is measured with the arithmetic of [`Line::predict`] before rounding. Ranks are whole, so
    /// the rounded prediction is off by at most the rounded distance; the error of the addition
    /// before that rounding is added.
    pub(crate) fn error(&self, numbers: &[u64], ranks: &[u32]) -> u64 {
        let distance = match ranks.is_empty() {
            true => wide(DistanceInRow(self, numbers)),
            false => {
                let last = self.ranks.saturating_sub(1) as f64;
                let points = numbers.iter().zip(ranks);
                let distances = points.map(|(&n, &rank)| self.distance(n, rank.into(), last));
                distances.fold(0.0, f64::max)
            }
        };
        (distance + 0.5 + f64::from(f32::EPSILON)) as u64
    }

    #[inline(always)]
    fn distance(&self, number: u64, rank: f64, last: f64) -> f64 {
        (self.height(number, last) - rank).abs()
    }
}

/// The largest distance between a line and numbers whose ranks are 0, 1, 2 and so on.
struct DistanceInRow<'a>(&'a Line, &'a [u64]);

impl Work for DistanceInRow<'_> {
    type Result = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let DistanceInRow(line, numbers) = self;
        let last = line.ranks.saturating_sub(1) as f64;
        let max = |a: f64, b: f64| if a > b { a } else { b };
        let mut largest = [0.0; 8];
        let (blocks, rest) = numbers.as_chunks::<8>();
        let mut rank = 0.0;
        for block in blocks {
            for i in 0..8 {
                let distance = line.distance(block[i], rank + i as f64, last);
                largest[i] = max(distance, largest[i]);
            }
            rank += 8.0;
        }
        for (i, &number) in rest.iter().enumerate() {
            largest[i] = max(line.distance(number, rank + i as f64, last), largest[i]);
        }
        largest.into_iter().fold(0.0, max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SplitMix64, distributions, map_of};

    const ALL: [Segmentation; 4] = [
        Segmentation::Optimal,
        Segmentation::Greedy,
        Segmentation::Cone,
        Segmentation::WideCone,
    ];

    #[test]
    fn optimal_is_never_above_the_others() {
        for distribution in distributions::all() {
            let keys = distribution.keys(&mut SplitMix64::new(5), 5_000);
            let map = map_of(&keys);
            let mut numbers: Vec<u64> = keys.iter().map(|key| map.number(key)).collect();
            numbers.dedup();
            for error in [1, 4, 16, 100] {
                let [optimal, greedy, cone, wide] =
                    ALL.map(|segmentation| segmentation.pieces(&numbers, error));
                let name = distribution.name;
                assert!(optimal <= greedy, "{name} {error}: {optimal}, {greedy}");
                assert!(optimal <= wide, "{name} {error}: {optimal}, {wide}");
                assert!(optimal <= cone, "{name} {error}: {optimal}, {cone}");
            }
        }
    }

    #[test]
    fn evenly_spaced_numbers_are_one_piece_and_none_are_none() {
        let row: Vec<u64> = (0..100_000).map(|i| 3 + i * 7).collect();
        assert_eq!(Segmentation::Optimal.pieces(&row, 1), 1);
        assert_eq!(Segmentation::Cone.pieces(&row, 1), 1);
        assert_eq!(Segmentation::Optimal.pieces(&[], 1), 0);
    }

    #[test]
    fn numbers_that_do_not_ascend_are_left_out() {
        let ascending = [0, 5, 9, 10, 400, u64::MAX];
        let spoilt = [0, 0, 5, 3, 9, 10, 9, 400, u64::MAX, u64::MAX, 7];
        for segmentation in ALL {
            for error in [0, 1, 2, u32::MAX] {
                let pieces = segmentation.pieces(&ascending, error);
                assert!((1..=6).contains(&pieces), "{segmentation:?} {error}");
                assert_eq!(segmentation.pieces(&spoilt, error), pieces);
            }
        }
    }
}
