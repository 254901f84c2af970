//! How far windows extend from predictions, for models that are trained on first ranks.
//!
//! A model is trained on one point for each distinct number: the rank of its first key. Keys that
//! share a number are a *run*. Let `f` be a segment's model, `error` the largest distance between
//! `f` and a first rank of the segment, and `run` the length of its longest run. The window of a
//! number is then `f - error .. f + error + run`.
//!
//! Proof. Let the distinct numbers be x0 < x1 < ..., ri the first rank of xi and ni the length of
//! its run, so that r(i+1) = ri + ni. `f` is monotone and clamped to the segment's ranks, and
//! within a segment ri - error <= f(xi) <= ri + error.
//!
//! - A key with number xi, present or not, lies in the run or at its end: its rank or lower bound
//!   is at least ri >= f(xi) - error and at most ri + ni <= f(xi) + error + run. A present key's
//!   rank is below ri + ni, so it is inside the window although `hi` is excluded.
//! - A number q between xi and x(i+1), both in one segment, has the lower bound r(i+1). By
//!   monotonicity r(i+1) >= f(x(i+1)) - error >= f(q) - error, and r(i+1) = ri + ni <= f(xi) +
//!   error + run <= f(q) + error + run.
//! - If xi is the last number of its segment, the second inequality holds as before, and the first
//!   holds since `f` is clamped to the segment's ranks, all below r(i+1). This covers the gap
//!   between two segments and the numbers above the last key.
//! - Below x0 the lower bound is 0 and f is f(x0) <= error, so the window starts at 0.
//!
//! `error` and `run` are measured after rounding, with the arithmetic of look-ups.

use crate::Window;

/// How far a segment's windows extend from its predictions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The largest distance between prediction and first rank, in ranks.
    pub error: u16,
    /// The longest run of keys with one number.
    pub run: u16,
}

impl Reach {
    /// Saturates both at the largest 16-bit value, which is above any boundary.
    pub(crate) fn new(error: u64, run: u64) -> Self {
        let clip = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        Reach {
            error: clip(error),
            run: clip(run),
        }
    }

    /// The number of ranks in a window before it is clamped to the keys.
    pub(crate) fn width(self) -> u64 {
        2 * u64::from(self.error) + u64::from(self.run)
    }

    /// The window around a predicted rank, clamped to `keys` keys.
    #[inline(always)]
    pub(crate) fn around(self, predicted: u64, keys: u64) -> Window {
        let error = u64::from(self.error);
        Window {
            lo: predicted.saturating_sub(error).min(keys),
            hi: (predicted + error + u64::from(self.run)).min(keys),
        }
    }
}
