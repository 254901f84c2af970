//! Straight lines from key to key: an example.
//!
//! Guarantee and bytes are those of [`super::shared::lines`].

use super::shared::knobs::BOUNDARY;
use super::shared::lines::{LineBuilder, LineIndex, LineKind, Tree};
use super::shared::retained::RETAINED;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::segment::Fit;

pub(crate) const KIND: Kind = Kind {
    name: "straight",
    id: 100,
    about: "lines from key to key, as an example",
    knobs: &[BOUNDARY, RETAINED],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(LineBuilder::<Straight>::new(settings)),
    open: |bytes| Ok(Box::new(LineIndex::<Straight>::open(bytes)?)),
};

#[derive(Debug)]
struct Straight;

impl LineKind for Straight {
    type Fit = Chord;
    type Route = Tree;

    fn kind() -> &'static Kind {
        &KIND
    }
}

/// The most points of a segment: each new one is compared with all of them.
const MOST_POINTS: usize = 64;

/// The line from the first point to the last, while all points between are within the bound.
#[derive(Debug, Default)]
struct Chord {
    bound: f64,
    points: Vec<(f64, f64)>,
}

impl Fit for Chord {
    fn start(&mut self, bound: f64) {
        self.bound = bound;
        self.points.clear();
        self.points.push((0.0, 0.0));
    }

    fn add(&mut self, x: u64, y: u64) -> bool {
        let (x, y) = (x as f64, y as f64);
        let is_near = |&(px, py): &(f64, f64)| (y / x * px - py).abs() <= self.bound;
        let fits = self.points.len() < MOST_POINTS && self.points.iter().all(is_near);
        if fits {
            self.points.push((x, y));
        }
        fits
    }

    fn line(&self) -> (f64, f64, f64) {
        let (x, y) = self.points.last().copied().unwrap_or_default();
        (0.0, 0.0, if x > 0.0 { y / x } else { 0.0 })
    }
}
