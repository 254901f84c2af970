//! Knots, in memory and in bytes, and the lines between them.

use std::hint::select_unpredictable;

use crate::Band;
use crate::kinds::shared::reach::Reach;
use crate::wide::{Work, wide};

/// Bytes of a knot.
pub(in crate::kinds) const KNOT: usize = 12;

/// A point that the spline passes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) struct Knot {
    pub number: u64,
    /// The rank of the number's first key.
    pub rank: u32,
}

impl Knot {
    pub(super) fn to_bytes(self) -> [u8; KNOT] {
        let mut bytes = [0; KNOT];
        let (number, rank) = bytes.split_at_mut(8);
        number.copy_from_slice(&self.number.to_le_bytes());
        rank.copy_from_slice(&self.rank.to_le_bytes());
        bytes
    }

    #[inline]
    fn from_bytes(bytes: &[u8; KNOT]) -> Knot {
        let [a, b, c, d, e, f, g, h, rank @ ..] = *bytes;
        Knot {
            number: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            rank: u32::from_le_bytes(rank),
        }
    }
}

/// Knots in their byte form, ascending.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knots<'a>(pub(super) &'a [[u8; KNOT]]);

impl<'a> Knots<'a> {
    #[inline]
    pub(super) fn get(self, i: usize) -> Option<Knot> {
        self.0.get(i).map(Knot::from_bytes)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Knot> + 'a {
        self.0.iter().map(Knot::from_bytes)
    }

    /// The last knot in `lo..=hi` that is not above the number, or `lo`; indices past the last knot
    /// are ignored. Knots after `hi` must be above the number. `halvings` must be at least
    /// [`halvings_of`] the number of candidates.
    ///
    /// It has no unpredictable branches, so that the processor can overlap this look-up with the
    /// next one.
    #[inline]
    pub(super) fn last_not_above(self, lo: usize, hi: usize, halvings: u32, number: u64) -> usize {
        let hi = hi.min(self.0.len().saturating_sub(1));
        let (mut lo, mut left) = (lo, hi.saturating_sub(lo) + 1);
        for _ in 0..halvings {
            let half = left / 2;
            let middle = self.get(lo + half);
            let above = middle.is_some_and(|knot| knot.number > number);
            lo = select_unpredictable(above, lo, lo + half);
            left -= half;
        }
        let rest = self.0.get(lo + 1..).unwrap_or_default();
        let not_above = |knot: &&[u8; KNOT]| Knot::from_bytes(knot).number <= number;
        lo + match rest.first_chunk::<AT_ONCE>() {
            Some(next) => next.iter().filter(not_above).count(),
            None => rest.iter().filter(not_above).count(),
        }
    }
}

/// How many knots after the first candidate are compared with a number at once: they lie in one or
/// two cache lines.
const AT_ONCE: usize = 4;

/// How often this many candidates must be halved before the rest is compared at once.
pub(in crate::kinds) fn halvings_of(candidates: usize) -> u32 {
    let mut left = candidates;
    let mut halvings = 0;
    while left > AT_ONCE + 1 {
        left -= left / 2;
        halvings += 1;
    }
    halvings
}

/// The line from a knot up to, not including, the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnotLine {
    number: u64,
    rank: u64,
    /// Numbers from knot to knot; 0 after the last knot.
    span: u64,
    /// Ranks for each number, at least 0.
    slope: f64,
    /// How far above `rank` predictions may be.
    most: f64,
}

impl KnotLine {
    /// The line between two knots, or the level line after the last knot of a table of `keys` keys.
    #[inline]
    pub(super) fn new(left: Knot, right: Option<Knot>, keys: u64) -> KnotLine {
        // Both are below 2^32.
        let right_rank = right.map_or(keys as u32, |knot| knot.rank);
        let span = right.map_or(0, |knot| knot.number.saturating_sub(left.number));
        let ranks = right_rank.saturating_sub(left.rank);
        KnotLine {
            number: left.number,
            rank: left.rank.into(),
            span,
            slope: f64::from(ranks) / span.max(1) as f64,
            most: f64::from(ranks.saturating_sub(1)),
        }
    }

    /// The piece of the model between the knots.
    pub(super) fn band(&self, reach: Reach) -> Band {
        Band {
            first_number: self.number,
            first_rank: self.rank,
            ranks: self.most as u64 + 1,
            // The last knot's rank is predicted for all numbers behind it.
            slope: if self.span > 0 { self.slope } else { 0.0 },
            offset: 0.0,
            error: reach.error.into(),
            run: reach.run.into(),
        }
    }

    /// The predicted rank of a number.
    #[inline]
    pub(super) fn predict(&self, number: u64) -> u64 {
        self.rank + u64::from(self.rise(number))
    }

    /// How far the predicted rank of a number is above the knot's.
    ///
    /// Monotone in the number, since every step is: the subtraction, the conversion, the
    /// multiplication by a slope that is not negative, clamping and rounding. Builders measure
    /// errors with this same function, so rounding cannot break a bound.
    #[inline(always)]
    fn rise(&self, number: u64) -> u32 {
        let x = number.saturating_sub(self.number).min(self.span);
        let y = self.slope * x as f64;
        // Ranks are below 2^32, and the conversion to 32 bits takes the fewest instructions.
        (y.min(self.most) + 0.5) as u32
    }

    /// The largest distance between the predicted and the true ranks of numbers whose ranks ascend
    /// by one from the knot's.
    pub(super) fn largest_error(&self, numbers: &[u64]) -> u64 {
        wide(LargestError {
            line: *self,
            numbers,
        })
        .into()
    }
}

/// The input of [`KnotLine::largest_error`].
struct LargestError<'a> {
    line: KnotLine,
    numbers: &'a [u64],
}

impl Work for LargestError<'_> {
    type Result = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        let LargestError { line, numbers } = self;
        let errors = numbers.iter().zip(0..);
        errors.fold(0, |largest, (number, rise)| {
            largest.max(line.rise(*number).abs_diff(rise))
        })
    }
}
