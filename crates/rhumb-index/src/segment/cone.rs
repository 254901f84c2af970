//! The shrinking cone of the FITing-Tree: Galakatos, Markovitch, Binnig, Fonseca and Kraska,
//! "FITing-Tree: A Data-aware Index Structure", SIGMOD 2019, section 3.3.
//!
//! All lines go through the first point; each further point narrows the range of their slopes. State
//! and time a point are constant, and the pieces are about 3 times the fewest possible.

use super::Fit;

/// The lines through the first point that pass within the bound of every point so far.
#[derive(Debug, Default)]
pub(crate) struct Cone {
    bound: f64,
    /// Once there are two points.
    slopes: Option<Slopes>,
}

impl Fit for Cone {
    fn start(&mut self, bound: f64) {
        *self = Cone {
            bound,
            slopes: None,
        };
    }

    #[inline]
    fn add(&mut self, x: u64, y: u64) -> bool {
        let every = Slopes {
            flattest: f64::NEG_INFINITY,
            steepest: f64::INFINITY,
        };
        let slopes = self.slopes.get_or_insert(every);
        slopes.narrow(x as f64, y as f64, self.bound)
    }

    fn line(&self) -> (f64, f64, f64) {
        (0.0, 0.0, self.slopes.as_ref().map_or(0.0, Slopes::middle))
    }
}

/// The slopes of lines that meet in a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slopes {
    pub flattest: f64,
    pub steepest: f64,
}

impl Slopes {
    /// Leaves the slopes whose lines pass within the bound of a point, `(x, y)` away from where they
    /// meet, x being above 0; changes nothing and says so if there are none.
    ///
    /// It divides only where the range really gets narrower, which few points do.
    #[inline]
    pub fn narrow(&mut self, x: f64, y: f64, bound: f64) -> bool {
        let (least, most) = (y - bound, y + bound);
        let (low, high) = (self.flattest * x, self.steepest * x);
        if high < least || low > most {
            return false;
        }
        if low < least {
            self.flattest = least / x;
        }
        if high > most {
            self.steepest = most / x;
        }
        true
    }

    /// The slope in the middle, or 0 if that is below 0.
    pub fn middle(&self) -> f64 {
        ((self.flattest + self.steepest) / 2.0).max(0.0)
    }
}
