//! Fits the spline of a node: the greedy spline corridor, with points through which the spline has to go.

use crate::kinds::rss::chunk::Chunk;

/// A spline being fitted.
#[derive(Debug)]
pub(super) struct Spline<C> {
    /// Chunks with their ranks.
    pub knots: Vec<(C, u32)>,
    /// The last point that may become a knot.
    last: Option<(C, u32)>,
    /// The slopes from the last knot that pass near all points since then.
    flattest: f64,
    steepest: f64,
    /// How many ranks the spline may be off.
    tolerance: f64,
}

impl<C: Chunk> Spline<C> {
    /// Without points. Predictions are computed with rounding, which is below 2^-20 of a rank, and are rounded down: so one rank
    /// of the error is kept for that.
    pub fn new(error: u32) -> Self {
        Spline {
            knots: Vec::new(),
            last: None,
            flattest: 0.0,
            steepest: f64::INFINITY,
            tolerance: f64::from(error.saturating_sub(1)),
        }
    }

    /// Makes a knot of a point. Chunks must ascend; the one of the last knot is passed over.
    pub fn through(&mut self, chunk: C, rank: u32) {
        if self.is_last_knot(chunk) {
            return;
        }
        if !self.holds(chunk, rank)
            && let Some((chunk, rank)) = self.last
        {
            self.knot(chunk, rank);
        }
        self.knot(chunk, rank);
    }

    /// Passes near the ranks from that of the first key with this chunk to that behind the last one.
    pub fn near(&mut self, chunk: C, from: u32, to: u32) {
        if self.is_last_knot(chunk) {
            return;
        }
        if !self.holds(chunk, from) {
            let (chunk, rank) = self.last.unwrap_or((chunk, from));
            self.knot(chunk, rank);
        }
        let Some((base, rank)) = self.knots.last().filter(|(base, _)| *base < chunk) else {
            return;
        };
        let x = chunk.above(*base);
        let slope = |y: u32, off: f64| (f64::from(y) - f64::from(*rank) + off) / x;
        self.steepest = self.steepest.min(slope(from, self.tolerance));
        self.flattest = self.flattest.max(slope(to, -self.tolerance));
        self.last = Some((chunk, from));
    }

    fn is_last_knot(&self, chunk: C) -> bool {
        self.knots.last().is_some_and(|(last, _)| *last == chunk)
    }

    /// Whether the line from the last knot to a point passes near all points between.
    fn holds(&self, chunk: C, rank: u32) -> bool {
        let Some((base, from)) = self.knots.last() else {
            return false;
        };
        let slope = (f64::from(rank) - f64::from(*from)) / chunk.above(*base);
        self.flattest <= slope && slope <= self.steepest
    }

    fn knot(&mut self, chunk: C, rank: u32) {
        self.knots.push((chunk, rank));
        self.last = None;
        (self.flattest, self.steepest) = (0.0, f64::INFINITY);
    }
}
