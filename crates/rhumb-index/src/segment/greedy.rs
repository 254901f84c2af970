//! Greedy piecewise linear regression: Xie, Pang, Zhou, Zhang and Deng, "Maximum error-bounded
//! piecewise linear representation for online stream approximation", VLDB Journal 2014, in the
//! greedy form that Bourbon (OSDI 2020) took for its tables.
//!
//! The two steepest and flattest lines that pass within the bound of the first two points meet in
//! one point. All later lines go through it; each further point narrows the range of their
//! slopes. State and time a point are constant, and the pieces are about 1.4 times the fewest
//! possible.

/// The lines that pass within `bound` of every point so far; the first point is (0, 0).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cone {
    bound: f64,
    /// Where all lines meet; the origin while there is one point.
    pivot: (f64, f64),
    /// The flattest and the steepest slope, once there are two points.
    slopes: Option<(f64, f64)>,
}

impl Cone {
    /// The lines through the first point alone. `bound` is above 0, in ranks.
    pub(crate) fn new(bound: f64) -> Self {
        Cone {
            bound,
            pivot: (0.0, 0.0),
            slopes: None,
        }
    }

    /// Takes in a point right of all others and not below them, or says that no line reaches it.
    pub(crate) fn add(&mut self, x: f64, y: f64) -> bool {
        let Some((flattest, steepest)) = self.slopes else {
            // The lines from (0, -bound) to (x, y + bound) and from (0, bound) to (x, y - bound)
            // cross half-way.
            self.pivot = (x / 2.0, y / 2.0);
            self.slopes = Some(((y - 2.0 * self.bound) / x, (y + 2.0 * self.bound) / x));
            return true;
        };
        // Positive: x is at least the second point's, twice the pivot's.
        let run = x - self.pivot.0;
        let least = (y - self.bound - self.pivot.1) / run;
        let most = (y + self.bound - self.pivot.1) / run;
        if steepest < least || flattest > most {
            return false;
        }
        self.slopes = Some((flattest.max(least), steepest.min(most)));
        true
    }

    /// A point of the line in the middle, and its slope. Ranks ascend, so the steepest slope is
    /// above 0; where the middle is below 0, slope 0 lies in the range too.
    pub(crate) fn line(&self) -> (f64, f64, f64) {
        let slope = self
            .slopes
            .map_or(0.0, |(flattest, steepest)| (flattest + steepest) / 2.0);
        (self.pivot.0, self.pivot.1, slope.max(0.0))
    }
}
