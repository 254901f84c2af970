//! Greedy piecewise linear regression: Xie, Pang, Zhou, Zhang and Deng, "Maximum error-bounded
//! piecewise linear representation for online stream approximation", VLDB Journal 2014, in the
//! greedy form that Bourbon (OSDI 2020) took for its tables.
//!
//! Of the lines within the bound of the first two points, the steepest and the flattest cross in
//! one point. All later lines pass through it; each further point narrows the range of their
//! slopes. State and time for each point are constant, and there are about 1.4 times the fewest
//! segments possible.

use super::Fit;
use super::cone::Slopes;

/// The lines through one point that pass within the bound of every point so far.
#[derive(Debug, Default)]
pub(crate) struct Greedy {
    bound: f64,
    /// The point where all lines meet; the origin while there is only one point.
    pivot: (f64, f64),
    /// The range of slopes; `None` until there are two points.
    slopes: Option<Slopes>,
}

impl Fit for Greedy {
    fn start(&mut self, bound: f64) {
        *self = Greedy {
            bound,
            ..Greedy::default()
        };
    }

    #[inline]
    fn add(&mut self, x: u64, y: u64) -> bool {
        let (x, y) = (x as f64, y as f64);
        let Some(slopes) = &mut self.slopes else {
            // The lines from (0, -bound) to (x, y + bound) and from (0, bound) to (x, y - bound)
            // cross half-way.
            self.pivot = (x / 2.0, y / 2.0);
            let (least, most) = (y - 2.0 * self.bound, y + 2.0 * self.bound);
            self.slopes = Some(Slopes {
                flattest: least / x,
                steepest: most / x,
            });
            return true;
        };
        // x is positive relative to the pivot: it is at least the second point's, which is twice
        // the pivot's.
        slopes.narrow(x - self.pivot.0, y - self.pivot.1, self.bound)
    }

    fn add_all(&mut self, first: u64, y: u64, numbers: &[u64]) -> usize {
        let skip = usize::from(self.slopes.is_none());
        if let (0, Some(&number)) = (1 - skip, numbers.first()) {
            self.add(number - first, y);
        }
        let rest = numbers.get(skip..).unwrap_or_default();
        let Some(slopes) = &mut self.slopes else {
            return 0;
        };
        let y = y + skip as u64;
        skip + slopes.narrow_all(first, y, rest, self.pivot, self.bound)
    }

    /// Ranks ascend, so the steepest slope is above 0; if the middle is below 0, slope 0 is in the
    /// range too.
    fn line(&self) -> (f64, f64, f64) {
        let slope = self.slopes.as_ref().map_or(0.0, Slopes::middle);
        (self.pivot.0, self.pivot.1, slope)
    }
}
