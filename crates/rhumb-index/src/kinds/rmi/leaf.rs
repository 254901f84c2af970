//! A leaf: a line over the numbers that the root assigned to it.

use std::ops::Range;

use super::points::Points;
use crate::bytes::{f32_of, u32_of, u64_of};
use crate::kinds::shared::least_squares::Sums;

/// Bytes of a leaf.
pub(super) const LEAF: usize = 24;

/// Windows up to this width are as narrow as the leaf allows, because they are read as a whole.
/// Wider ones are centred at the prediction, because they are searched from there.
const NARROW: u64 = 64;

/// How many ranks of a leaf are compared with its chord before a line is fitted.
const CHORD_POINTS: u64 = 16;

/// A leaf whose windows exceed the limit is fitted again, more closely, unless it has more than
/// this many times the limit's keys: no better line was seen to bring such a leaf within the limit.
const CLOSER: u64 = 64;

/// A line is fitted to at least this many numbers of a leaf and at most twice as many: neighbours
/// have similar errors, so more would hardly change it.
const FITTED: usize = 128;

/// How often the range of slopes is narrowed for a closer fit.
const CLOSER_STEPS: usize = 16;

/// A line from numbers to ranks, and the width of the windows around it that hold every key of the
/// leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Leaf {
    /// Its first number, the origin of the line.
    pub(super) base: u64,
    pub(super) first_rank: u32,
    /// Ranks for each number, at least 0. 24 bits of precision suffice, since the error is measured
    /// after rounding.
    pub(super) slope: f32,
    /// Added to the line, in ranks.
    pub(super) offset: i32,
    /// The number of ranks in a window, before clamping; at least 1 if the leaf is not empty.
    pub(super) width: u32,
}

/// The value of the line, in ranks and without the offset, at `distance` above the base.
///
/// Monotone, since every step is: the conversion, the multiplication by a slope that is not
/// negative, and the cast, which saturates.
#[inline]
fn line(slope: f32, distance: u64) -> i64 {
    (f64::from(slope) * distance as f64) as i32 as i64
}

impl Leaf {
    /// An empty leaf before this one.
    pub(super) fn empty(self) -> Leaf {
        Leaf {
            slope: 0.0,
            offset: 0,
            width: 0,
            ..self
        }
    }

    /// The predicted rank of a number not below the base, in a leaf whose ranks end at `end`.
    #[inline]
    pub(super) fn predict(&self, number: u64, end: u64) -> u64 {
        let first = u64::from(self.first_rank);
        let last = end.saturating_sub(first + 1) as i64;
        let place = line(self.slope, number.saturating_sub(self.base)) + i64::from(self.offset);
        first + place.max(0).min(last) as u64
    }

    pub(super) fn to_bytes(self) -> [u8; LEAF] {
        let mut bytes = [0; LEAF];
        let (base, rest) = bytes.split_at_mut(8);
        base.copy_from_slice(&self.base.to_le_bytes());
        let fields = [
            self.first_rank.to_le_bytes(),
            self.slope.to_le_bytes(),
            self.offset.to_le_bytes(),
            self.width.to_le_bytes(),
        ];
        rest.copy_from_slice(fields.as_flattened());
        bytes
    }

    #[inline]
    pub(super) fn from_bytes(bytes: &[u8; LEAF]) -> Leaf {
        Leaf {
            base: u64_of(bytes, 0),
            first_rank: u32_of(bytes, 2),
            slope: f32_of(bytes, 3),
            offset: u32_of(bytes, 4) as i32,
            width: u32_of(bytes, 5),
        }
    }

    /// Fits a line to one or more numbers. `None` if its windows would exceed the limit, in ranks;
    /// `u64::MAX` is no limit.
    pub(super) fn fit(points: &Points, span: Range<usize>, limit: u64) -> Option<Leaf> {
        let fit = LeafPoints { points, span };
        let keys = fit.keys();
        if keys > limit && fit.leaves_chord(limit) {
            return None;
        }
        let (slope, centre) = fit.least_squares();
        let mut best = fit.measure(slope);
        if best.width() > limit && keys <= CLOSER * limit {
            best = fit.closer(best, limit);
        }
        if best.width() > limit.min(keys) {
            // A level line needs no more than a window over the whole leaf.
            best = fit.measure(0.0);
        }
        if best.width() > limit {
            return None;
        }
        let centred = (limit == u64::MAX && best.width() > NARROW).then_some(centre);
        let level = || fit.measure(0.0).placed(None).map(|placed| (0.0, placed));
        let placed = best.placed(centred).map(|placed| (best.slope, placed));
        let (slope, (offset, width)) = placed.or_else(level)?;
        Some(Leaf {
            base: points.numbers().get(fit.span.start).copied()?,
            first_rank: points.rank(fit.span.start) as u32,
            slope,
            offset,
            width,
        })
    }
}

/// A slope, and the least and greatest difference of the keys' ranks from its line.
#[derive(Debug, Clone, Copy)]
struct Measured {
    slope: f32,
    least: i64,
    most: i64,
}

impl Measured {
    /// The narrowest window that holds every key.
    fn width(&self) -> u64 {
        self.most.abs_diff(self.least) + 1
    }

    /// Offset and width of the narrowest windows or, given the mean difference of ranks from the
    /// line, of windows centred there. `None` if 32 bits are not enough; they always are for level
    /// lines.
    fn placed(&self, centre: Option<f64>) -> Option<(i32, u32)> {
        let (offset, width) = match centre {
            None => (
                self.least.checked_add((self.width() / 2) as i64)?,
                self.width(),
            ),
            Some(centre) => {
                // The line rounds down, which adds half a rank to the mean difference.
                let offset = ((centre + 0.5).round() as i64).clamp(self.least, self.most);
                let reach = self.most.abs_diff(offset).max(offset.abs_diff(self.least));
                (offset, 2 * reach + 1)
            }
        };
        Some((offset.try_into().ok()?, width.try_into().ok()?))
    }
}

/// The numbers to which a leaf's line is fitted.
struct LeafPoints<'a> {
    points: &'a Points,
    span: Range<usize>,
}

impl LeafPoints<'_> {
    fn keys(&self) -> u64 {
        self.points.rank(self.span.end) - self.points.rank(self.span.start)
    }

    /// The least-squares slope, and the mean difference of ranks from the line of that slope
    /// through the base. Sums are taken about the middle number to reduce cancellation.
    fn least_squares(&self) -> (f32, f64) {
        let numbers = self.points.numbers();
        let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
        let base = number(self.span.start);
        let middle = (number(self.span.start + self.span.len() / 2) - base) as f64;
        let half = self.keys() as f64 / 2.0;
        let mut sums = Sums::default();
        let add = |distance: u64, first: i64, last: i64| {
            let y = (first + last) as f64 * 0.5 - half;
            sums.add(distance as f64 - middle, y);
        };
        let step = (self.span.len() / FITTED).max(1);
        match step {
            1 => self.points.walk(self.span.clone(), add),
            _ => self.points.stride(self.span.clone(), step, add),
        }
        let slope = sums.slope() as f32;
        let (x, y) = sums.mean();
        let centre = half + y - f64::from(slope) * (middle + x);
        (slope, centre)
    }

    /// The differences of all keys' ranks from the line with this slope through the base.
    fn measure(&self, slope: f32) -> Measured {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        self.points
            .walk(self.span.clone(), |distance, first, last| {
                let line = line(slope, distance);
                least = least.min(first - line);
                most = most.max(last - line);
            });
        Measured { slope, least, most }
    }

    /// A slope with narrower windows, down to the limit. Apart from rounding, the width is a convex
    /// function of the slope, so ternary search finds its minimum.
    fn closer(&self, first: Measured, limit: u64) -> Measured {
        let (mut low, mut high) = (first.slope * 0.5, first.slope * 1.5);
        let mut best = first;
        for _ in 0..CLOSER_STEPS {
            let third = (high - low) / 3.0;
            let (left, right) = (self.measure(low + third), self.measure(high - third));
            if left.width() < right.width() {
                high = right.slope;
            } else {
                low = left.slope;
            }
            for measured in [left, right] {
                if measured.width() < best.width() {
                    best = measured;
                }
            }
            if best.width() <= limit {
                break;
            }
        }
        best
    }

    /// Whether some key is so far from the chord, from the first key to the last, that no line is
    /// within the limit: for any line, the errors of these three keys differ by that distance.
    fn leaves_chord(&self, limit: u64) -> bool {
        let Range { start, end } = self.span;
        let numbers = self.points.numbers();
        let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
        let point = |i: usize| {
            let rank = self.points.rank(i) - self.points.rank(start);
            ((number(i) - number(start)) as f64, rank as f64)
        };
        let (width, height) = point(end - 1);
        (1..CHORD_POINTS).any(|part| {
            let (x, y) = point(start + ((end - 1 - start) as u64 * part / CHORD_POINTS) as usize);
            (y - height * (x / width)).abs() > limit as f64 + 2.0
        })
    }
}
