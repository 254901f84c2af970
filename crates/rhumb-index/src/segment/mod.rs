//! Straight pieces of a model, and the algorithms that find them.

pub(crate) mod greedy;

/// Fractions of a rank that a line's offset is stored in.
const OFFSET_UNIT: f64 = 64.0;

/// The most ranks that one segment covers.
///
/// It bounds the points that a builder holds to measure the error, and the effect of a slope
/// rounded to 24 bits: 2^16 ranks times 2^-24 is 1/256 of a rank. A segment each 65,536 keys costs
/// nothing that anybody could notice.
pub(crate) const MAX_RANKS: u64 = 1 << 16;

/// How much a builder must keep back from its error bound for [`Line::through`]'s rounding: 1/256
/// of a rank for the slope, 1/128 for the offset, the rest for double arithmetic.
pub(crate) const ROUNDING: f64 = 1.0 / 32.0;

/// A line from numbers to ranks, over the ranks that one segment covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// The number of the first key: lines are anchored here, on integers, so that numbers above
    /// 2^53 lose nothing that matters.
    pub(crate) first_number: u64,
    /// The rank of the first key.
    pub(crate) first_rank: u64,
    /// How many ranks the segment covers, at least 1.
    pub(crate) ranks: u64,
    /// Ranks a number, at least 0.
    pub(crate) slope: f32,
    /// What the line predicts for `first_number`, less `first_rank`, in 1/64 of a rank.
    pub(crate) offset: i16,
}

impl Line {
    /// The line through a point, `(x, y)` away from the first key, rounded as it is stored.
    pub(crate) fn through(mut self, x: f64, y: f64, slope: f64) -> Line {
        self.slope = slope.max(0.0) as f32;
        // The rounded slope is used, so that the line still goes through the point.
        self.offset = ((y - f64::from(self.slope) * x) * OFFSET_UNIT).round() as i16;
        self
    }

    /// The predicted rank of a number, within the segment's ranks.
    ///
    /// Monotone in the number, since every step is: the subtraction, the conversion, multiplying
    /// by a slope that is not negative, adding, clamping and rounding. Builders measure with this
    /// very function, so rounding cannot break a bound. A slope that is no number predicts the
    /// first rank (`NaN.max(0.0)` is 0), infinity the last.
    #[inline]
    pub(crate) fn predict(&self, number: u64) -> u64 {
        let x = number.saturating_sub(self.first_number) as f64;
        let y = f64::from(self.slope) * x + f64::from(self.offset) / OFFSET_UNIT;
        let last = self.ranks.saturating_sub(1) as f64;
        self.first_rank + (y.max(0.0).min(last) + 0.5) as u64
    }
}
