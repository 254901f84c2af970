//! The greedy spline corridor: Neumann and Michel, "Smooth interpolating histograms with error
//! guarantees", BNCOD 2008, section 4, as used by RadixSpline and PLEX.
//!
//! Each point after the base point leaves a corridor of directions: the straight lines that pass
//! within the bound of it. A point may end a segment if the line to it is within the bounds of all
//! points before it; the last such point does. State and time for each point are constant.
//!
//! All comparisons are exact: directions are fractions of integers, compared by cross products.

/// The fraction of a rank in which bounds are counted.
const UNIT: u64 = 64;

/// Predictions are rounded to whole ranks, which allows half a rank more than the bound. Of this
/// half, 1/32 of a rank is reserved for the rounding of doubles in predictions, which is below
/// 2^-30 of a rank in segments of [`super::MAX_RANKS`] ranks.
const SLACK: u64 = UNIT / 2 - UNIT / 32;

/// A direction to the right and up: `rise` fractions of a rank over `run` numbers.
#[derive(Debug, Clone, Copy)]
struct Direction {
    run: u64,
    rise: u64,
}

impl Direction {
    /// Whether this direction is steeper than another.
    #[inline]
    fn is_above(self, other: Direction) -> bool {
        u128::from(self.rise) * u128::from(other.run)
            > u128::from(other.rise) * u128::from(self.run)
    }
}

/// The directions from a base point that pass within the bound of all points so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Corridor {
    bound: u64,
    flattest: Direction,
    steepest: Direction,
}

impl Corridor {
    /// All directions that do not descend; the bound is in ranks.
    pub(crate) fn new(bound: u64) -> Self {
        Corridor {
            bound: bound * UNIT + SLACK,
            flattest: Direction { run: 1, rise: 0 },
            steepest: Direction { run: 0, rise: 1 },
        }
    }

    /// Whether the line from the base to a point, `x` numbers to the right and `y` ranks above,
    /// passes within the bound of all points so far.
    #[inline]
    pub(crate) fn holds(&self, x: u64, y: u64) -> bool {
        let to_point = Direction {
            run: x,
            rise: y * UNIT,
        };
        !to_point.is_above(self.steepest) && !self.flattest.is_above(to_point)
    }

    /// Keeps the directions that pass within the bound of this point too.
    #[inline]
    pub(crate) fn narrow(&mut self, x: u64, y: u64) {
        let above = Direction {
            run: x,
            rise: y * UNIT + self.bound,
        };
        if self.steepest.is_above(above) {
            self.steepest = above;
        }
        let below = Direction {
            run: x,
            rise: (y * UNIT).saturating_sub(self.bound),
        };
        if below.is_above(self.flattest) {
            self.flattest = below;
        }
    }

    /// Adds points with these numbers, relative to `first`, and with consecutive ranks from `y` on,
    /// up to the first that the corridor does not hold. Returns how many were added.
    pub(crate) fn add_all(&mut self, first: u64, y: u64, numbers: &[u64]) -> usize {
        // A local copy stays in registers.
        let mut corridor = *self;
        let mut points = numbers.iter().zip(y..);
        let outside = points.position(|(number, y)| {
            let x = number - first;
            let holds = corridor.holds(x, y);
            if holds {
                corridor.narrow(x, y);
            }
            !holds
        });
        *self = corridor;
        outside.unwrap_or(numbers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn lines_to_held_points_are_within_the_bound_of_earlier_points() {
        let mut random = SplitMix64::new(5);
        let (mut held, mut refused) = (0, 0);
        for round in 0..2000 {
            let bound = 1 + random.below(20);
            let mut corridor = Corridor::new(bound);
            let mut points: Vec<(u64, u64)> = Vec::new();
            let (mut x, mut y) = (0u64, 0);
            for _ in 0..60 {
                // Up to the largest numbers, where doubles could not distinguish points.
                x = x.saturating_add(1 + random.below(1 << (round % 58)));
                y += 1 + random.below(2);
                if !corridor.holds(x, y) {
                    refused += 1;
                    break;
                }
                for &(at, rank) in &points {
                    // |at * y / x - rank| < bound + 1/2
                    let off =
                        (u128::from(at) * u128::from(y)).abs_diff(u128::from(rank) * u128::from(x));
                    assert!(2 * off < u128::from(2 * bound + 1) * u128::from(x));
                }
                held += 1;
                corridor.narrow(x, y);
                points.push((x, y));
            }
        }
        assert!(held > 10_000 && refused > 300, "{held} {refused}");
    }
}
