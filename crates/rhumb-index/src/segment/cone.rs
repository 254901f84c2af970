//! The shrinking cone of the FITing-Tree: Galakatos, Markovitch, Binnig, Fonseca and Kraska,
//! "FITing-Tree: A Data-aware Index Structure", SIGMOD 2019, section 3.3.
//!
//! All lines go through the first point; each further point narrows the range of their slopes, the
//! cone. State and time a point are constant. There are two rules for when a point joins:
//!
//! - [`Cone`], as published: if the point itself lies in the cone, so that the line from the first
//!   point to it passes within the bound of all points between. There are about 3 times the fewest
//!   segments possible.
//! - [`WideCone`]: if any line of the cone passes within the bound of the point. The cone then also
//!   reaches points outside it, and there are about 1.4 times the fewest segments possible.

use super::Fit;
use crate::wide::{Work, wide};

/// The lines through the first point that pass within the bound of every point so far. A further
/// point must lie on one of them.
#[derive(Debug, Default)]
pub(crate) struct Cone {
    bound: f64,
    slopes: Slopes,
}

impl Fit for Cone {
    fn start(&mut self, bound: f64) {
        *self = Cone {
            bound,
            ..Cone::default()
        };
    }

    #[inline]
    fn add(&mut self, x: u64, y: u64) -> bool {
        let (x, y) = (x as f64, y as f64);
        let to_point = y / x;
        let is_inside = self.slopes.flattest <= to_point && to_point <= self.slopes.steepest;
        if is_inside {
            self.slopes = self.slopes.narrowed(x, y, self.bound);
        }
        is_inside
    }

    fn line(&self) -> (f64, f64, f64) {
        (0.0, 0.0, self.slopes.middle())
    }
}

/// The lines through the first point that pass within the bound of every point so far. A further
/// point only needs to be within the bound of one of them.
#[derive(Debug, Default)]
pub(crate) struct WideCone {
    bound: f64,
    slopes: Slopes,
}

impl Fit for WideCone {
    fn start(&mut self, bound: f64) {
        *self = WideCone {
            bound,
            ..WideCone::default()
        };
    }

    #[inline]
    fn add(&mut self, x: u64, y: u64) -> bool {
        self.slopes.narrow(x as f64, y as f64, self.bound)
    }

    fn add_all(&mut self, first: u64, y: u64, numbers: &[u64]) -> usize {
        self.slopes
            .narrow_all(first, y, numbers, (0.0, 0.0), self.bound)
    }

    fn line(&self) -> (f64, f64, f64) {
        (0.0, 0.0, self.slopes.middle())
    }
}

/// The range of slopes of lines through a common point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slopes {
    pub flattest: f64,
    pub steepest: f64,
}

/// Points that are processed together.
const BLOCK: usize = 8;

impl Default for Slopes {
    /// All slopes: the range after the first point.
    fn default() -> Self {
        Slopes {
            flattest: f64::NEG_INFINITY,
            steepest: f64::INFINITY,
        }
    }
}

impl Slopes {
    /// Keeps the slopes whose lines pass within the bound of a point, `(x, y)` relative to the
    /// common point, with x above 0. Returns false, and changes nothing, if there are none.
    #[inline]
    pub fn narrow(&mut self, x: f64, y: f64, bound: f64) -> bool {
        let narrower = self.narrowed(x, y, bound);
        let fits = narrower.flattest <= narrower.steepest;
        if fits {
            *self = narrower;
        }
        fits
    }

    /// Adds points with these numbers, relative to `first`, and with consecutive ranks from `y` on,
    /// up to the first that does not fit. Returns how many fit. The lines pass through `pivot`.
    ///
    /// The range only gets narrower, so if it is not empty after a block, all points of the block
    /// fit: a block is computed without a branch and mostly in parallel.
    pub fn narrow_all(
        &mut self,
        first: u64,
        y: u64,
        numbers: &[u64],
        pivot: (f64, f64),
        bound: f64,
    ) -> usize {
        let mut y = y as f64 - pivot.1;
        let (blocks, _) = numbers.as_chunks::<BLOCK>();
        let mut taken = wide(Narrowing {
            slopes: self,
            first,
            y,
            blocks,
            pivot: pivot.0,
            bound,
        });
        y += taken as f64;
        for number in numbers.get(taken..).unwrap_or_default() {
            if !self.narrow((number - first) as f64 - pivot.0, y, bound) {
                break;
            }
            (y, taken) = (y + 1.0, taken + 1);
        }
        taken
    }

    #[inline]
    fn narrowed(&self, x: f64, y: f64, bound: f64) -> Slopes {
        let one = 1.0 / x;
        Slopes {
            flattest: self.flattest.max((y - bound) * one),
            steepest: self.steepest.min((y + bound) * one),
        }
    }

    /// The slope in the middle of the range; 0 if that is below 0 or there is only one point.
    pub fn middle(&self) -> f64 {
        let middle = (self.flattest + self.steepest) / 2.0;
        if middle.is_finite() {
            middle.max(0.0)
        } else {
            0.0
        }
    }
}

/// Narrows slopes by blocks of points; returns how many points fit.
struct Narrowing<'a> {
    slopes: &'a mut Slopes,
    first: u64,
    y: f64,
    blocks: &'a [[u64; BLOCK]],
    pivot: f64,
    bound: f64,
}

impl Work for Narrowing<'_> {
    type Result = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut taken = 0;
        for block in self.blocks {
            let narrower = self.narrowed(block, self.y + taken as f64);
            if narrower.flattest > narrower.steepest {
                break;
            }
            *self.slopes = narrower;
            taken += BLOCK;
        }
        taken
    }
}

impl Narrowing<'_> {
    #[inline(always)]
    fn narrowed(&self, numbers: &[u64; BLOCK], y: f64) -> Slopes {
        let (mut least, mut most) = ([0.0; BLOCK], [0.0; BLOCK]);
        for i in 0..BLOCK {
            let one = 1.0 / ((numbers[i] - self.first) as f64 - self.pivot);
            let y = y + i as f64;
            (least[i], most[i]) = ((y - self.bound) * one, (y + self.bound) * one);
        }
        let max = |a: f64, b: f64| if a > b { a } else { b };
        let min = |a: f64, b: f64| if a < b { a } else { b };
        Slopes {
            flattest: least.into_iter().fold(self.slopes.flattest, max),
            steepest: most.into_iter().fold(self.slopes.steepest, min),
        }
    }
}
