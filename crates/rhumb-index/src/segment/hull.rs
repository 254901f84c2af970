//! Optimal piecewise linear approximation: O'Rourke, "An on-line algorithm for fitting straight
//! lines between data ranges", CACM 1981, as in the PGM-index (Ferragina and Vinciguerra, VLDB
//! 2020, section 2.1).
//!
//! A line fits if it passes above each point's *floor*, which is the bound below it, and below its
//! *ceiling*, the bound above it. The flattest line that fits touches a ceiling and, to its right,
//! a floor; the steepest one touches a floor and, to its right, a ceiling. A new point excludes all
//! lines if its ceiling is below the flattest or its floor above the steepest. Otherwise it may
//! tilt either line, which then touches the hull of the older floors or ceilings in one point
//! further right than before. Points that a line has passed are never touched again, so a point
//! takes constant time on average. A segment ends only where no line at all fits, so no other
//! method has fewer segments.
//!
//! All comparisons are exact: cross products of integers in 128 bits.

use super::{BOUND_UNIT, Fit};

/// A floor or a ceiling, in numbers and in 1/32 of a rank.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    x: u64,
    y: i64,
}

/// A direction to the right: `dx` is above 0.
#[derive(Debug, Clone, Copy)]
struct Slope {
    dx: u64,
    dy: i64,
}

impl Point {
    /// The direction to a point further right.
    #[inline]
    fn to(self, right: Point) -> Slope {
        Slope {
            dx: right.x - self.x,
            dy: right.y - self.y,
        }
    }
}

impl Slope {
    #[inline]
    fn is_below(self, other: Slope) -> bool {
        i128::from(self.dy) * i128::from(other.dx) < i128::from(other.dy) * i128::from(self.dx)
    }

    /// Ranks for each number.
    fn ratio(self) -> f64 {
        self.dy as f64 / BOUND_UNIT / self.dx as f64
    }
}

/// A hull of points from left to right; those before `start` have been passed.
#[derive(Debug, Default)]
struct Chain {
    points: Vec<Point>,
    start: usize,
}

impl Chain {
    fn begin(&mut self, point: Point) {
        self.points.clear();
        self.points.push(point);
        self.start = 0;
    }

    /// Adds a point on the right and removes those that are then inside the hull. `bends` tells
    /// whether two consecutive directions bend as the hull does.
    #[inline]
    fn push(&mut self, point: Point, bends: impl Fn(Slope, Slope) -> bool) {
        while let [.., before, last] = self.points.get(self.start..).unwrap_or_default()
            && !bends(before.to(*last), before.to(point))
        {
            self.points.pop();
        }
        self.points.push(point);
    }

    /// The point from which the direction to `target` is best; points before it count as passed
    /// from now on. From left to right directions get better up to this point, and worse after it.
    #[inline]
    fn tangent(&mut self, target: Point, better: impl Fn(Slope, Slope) -> bool) -> Point {
        let mut points = self.points.get(self.start..).unwrap_or_default().iter();
        let mut best = points.next().copied().unwrap_or_default();
        for &next in points {
            if better(best.to(target), next.to(target)) {
                break;
            }
            best = next;
            self.start += 1;
        }
        best
    }
}

/// All lines that pass within the bound of every point so far.
#[derive(Debug, Default)]
pub(crate) struct Hull {
    bound: i64,
    points: u64,
    /// The floors' upper hull, the ceilings' lower hull.
    floors: Chain,
    ceilings: Chain,
    /// Lines from a ceiling to a floor, and from a floor to a ceiling.
    flattest: (Point, Point),
    steepest: (Point, Point),
}

impl Hull {
    fn second(&mut self, floor: Point, ceiling: Point) {
        let first = |chain: &Chain| chain.points.first().copied().unwrap_or_default();
        self.flattest = (first(&self.ceilings), floor);
        self.steepest = (first(&self.floors), ceiling);
        self.floors.points.push(floor);
        self.ceilings.points.push(ceiling);
    }
}

impl Fit for Hull {
    fn start(&mut self, bound: f64) {
        self.bound = (bound * BOUND_UNIT) as i64;
        self.points = 1;
        self.floors.begin(Point {
            x: 0,
            y: -self.bound,
        });
        self.ceilings.begin(Point {
            x: 0,
            y: self.bound,
        });
    }

    #[inline]
    fn add(&mut self, x: u64, y: u64) -> bool {
        let y = y as i64 * BOUND_UNIT as i64;
        let floor = Point {
            x,
            y: y - self.bound,
        };
        let ceiling = Point {
            x,
            y: y + self.bound,
        };
        if self.points == 1 {
            self.points = 2;
            self.second(floor, ceiling);
            return true;
        }
        let flattest = self.flattest.0.to(self.flattest.1);
        let steepest = self.steepest.0.to(self.steepest.1);
        if self.flattest.0.to(ceiling).is_below(flattest)
            || steepest.is_below(self.steepest.0.to(floor))
        {
            return false;
        }
        if self.steepest.0.to(ceiling).is_below(steepest) {
            let pivot = self.floors.tangent(ceiling, Slope::is_below);
            self.steepest = (pivot, ceiling);
            self.ceilings.push(ceiling, Slope::is_below);
        }
        if flattest.is_below(self.flattest.0.to(floor)) {
            let pivot = self.ceilings.tangent(floor, |a, b| b.is_below(a));
            self.flattest = (pivot, floor);
            self.floors.push(floor, |a, b| b.is_below(a));
        }
        true
    }

    /// The mean of the flattest and the steepest line that fit, which fits too; if the mean
    /// descends, the mixture of both that is level.
    fn line(&self) -> (f64, f64, f64) {
        if self.points < 2 {
            return (0.0, 0.0, 0.0);
        }
        let slopes = [self.flattest, self.steepest].map(|(from, to)| from.to(to).ratio());
        let share = match slopes[0] + slopes[1] < 0.0 {
            // Ranks ascend, so the steepest line rises.
            true => slopes[1] / (slopes[1] - slopes[0]),
            false => 0.5,
        };
        // Near the crossing of both lines, where the mixture is most precise.
        let x = self.steepest.0.x.max(self.flattest.0.x) as f64;
        let [flat, steep] = [(self.flattest.0, slopes[0]), (self.steepest.0, slopes[1])]
            .map(|(from, slope)| from.y as f64 / BOUND_UNIT + slope * (x - from.x as f64));
        let mix = |flat: f64, steep: f64| share * flat + (1.0 - share) * steep;
        (x, mix(flat, steep), mix(slopes[0], slopes[1]).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    /// Whether a line fits, by testing every pair of a ceiling and a floor: the steepest line down
    /// from any ceiling to a later floor must not be steeper than any line from a floor to a later
    /// ceiling.
    fn fits_by_brute_force(points: &[(u64, u64)], bound: i128) -> bool {
        // Exact fractions: dy over dx, with dx above 0.
        let (mut flattest, mut steepest) = (None::<(i128, i128)>, None::<(i128, i128)>);
        for (i, left) in points.iter().enumerate() {
            for right in &points[i + 1..] {
                let dx = i128::from(right.0 - left.0);
                let dy = 32 * (i128::from(right.1) - i128::from(left.1));
                let (up, down) = ((dy + 2 * bound, dx), (dy - 2 * bound, dx));
                if flattest.is_none_or(|f| down.0 * f.1 > f.0 * down.1) {
                    flattest = Some(down);
                }
                if steepest.is_none_or(|s| up.0 * s.1 < s.0 * up.1) {
                    steepest = Some(up);
                }
            }
        }
        match (flattest, steepest) {
            (Some(flat), Some(steep)) => flat.0 * steep.1 <= steep.0 * flat.1,
            _ => true,
        }
    }

    #[test]
    fn accepts_exactly_the_points_that_some_line_fits() {
        let mut random = SplitMix64::new(7);
        for round in 0..20_000 {
            let bound = [1.0, 1.46875, 3.0][round % 3];
            let spread = [3, 40, 1 << 40, 1 << 58][round / 3 % 4];
            let mut hull = Hull::default();
            hull.start(bound);
            let mut points = vec![(0, 0)];
            for y in 1..40 {
                let gap = 1 + random.below(spread) * random.below(2);
                let point = (points[points.len() - 1].0 + gap, y);
                points.push(point);
                let exact = fits_by_brute_force(&points, (bound * 32.0) as i128);
                assert_eq!(
                    hull.add(point.0, point.1),
                    exact,
                    "round {round}: {points:?}"
                );
                if !exact {
                    points.pop();
                    break;
                }
                let (x, y, slope) = hull.line();
                assert!(slope >= 0.0);
                for &(to, rank) in &points {
                    let error = y + slope * (to as f64 - x) - rank as f64;
                    assert!(error.abs() < bound + 0.001, "round {round}: {points:?}");
                }
            }
        }
    }
}
