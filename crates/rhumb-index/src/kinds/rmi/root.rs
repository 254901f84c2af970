//! The model that predicts the leaf of a number.

/// A line or a cubic over a range of numbers. Numbers below and above the range have a leaf of
/// their own at either end, if there are such keys.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Root {
    /// The start of the range.
    pub(super) start: u64,
    /// The factor that scales distances from the start.
    pub(super) scale: f64,
    /// Coefficients of t, t^2 and t^3, in leaves, where t is the scaled distance from the start.
    pub(super) curve: [f64; 3],
    /// The leaf at the range's start: 1 if there are keys below the range, else 0.
    pub(super) first_leaf: u8,
    /// How many leaves there are.
    pub(super) leaves: usize,
}

impl Root {
    /// The leaf that probably holds the number; below [`Root::leaves`] if there are leaves.
    ///
    /// Monotone for lines; cubics may decrease by rounding where they are level.
    #[inline]
    pub(super) fn guess(&self, number: u64) -> usize {
        let Some(distance) = number.checked_sub(self.start) else {
            return 0;
        };
        let t = distance as f64 * self.scale;
        let [c1, c2, c3] = self.curve;
        let leaf = if c2 == 0.0 && c3 == 0.0 {
            t * c1
        } else if t > 1.0 {
            // Past its range a cubic may decrease.
            f64::INFINITY
        } else {
            ((c3 * t + c2) * t + c1) * t
        };
        // Casts saturate and are clamped, so rounding, infinity or NaN cannot exceed the number of
        // leaves.
        let leaf = leaf as i32 as i64 + i64::from(self.first_leaf);
        (leaf.max(0) as usize).min(self.leaves.saturating_sub(1))
    }
}

/// A root before its number of leaves is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    /// First and last number of the range.
    pub(super) range: (u64, u64),
    /// Whether there are keys below the range, and above it.
    pub(super) outside: (bool, bool),
    /// Tangents at both ends, relative to the diagonal of the range; `None` for a line.
    pub(super) tangents: Option<(f64, f64)>,
}

impl Shape {
    /// The root that distributes the range over `leaves` leaves, less those for numbers outside.
    pub(super) fn over(&self, leaves: usize) -> Root {
        let (start, end) = self.range;
        let ends = usize::from(self.outside.0) + usize::from(self.outside.1);
        // Slightly fewer leaves and a wider range keep the last number of the range inside it.
        let inside = leaves.saturating_sub(ends).max(1) as f64 * (1.0 - 1e-12);
        let width = (end - start).max(1) as f64 * (1.0 + 1e-12);
        let (scale, curve) = match self.tangents {
            None => (inside / width, [1.0, 0.0, 0.0]),
            Some(tangents) => {
                let [c1, c2, c3] = cubic(tangents);
                (1.0 / width, [inside * c1, inside * c2, inside * c3])
            }
        };
        Root {
            start,
            scale,
            curve,
            first_leaf: self.outside.0.into(),
            leaves,
        }
    }
}

/// The cubic from (0, 0) to (1, 1) with these tangents: coefficients of t, t^2 and t^3.
fn cubic((left, right): (f64, f64)) -> [f64; 3] {
    [left, 3.0 - 2.0 * left - right, left + right - 2.0]
}

/// The tangents, each of 0 to 3, of the cubic that fits the points by least squares.
///
/// A cubic from (0, 0) to (1, 1) with such tangents is monotone (Fritsch and Carlson, "Monotone
/// piecewise cubic interpolation", SIAM J. Numer. Anal. 1980).
pub(super) fn tangents(points: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut aa, mut ab, mut bb, mut ay, mut by) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (t, y) in points {
        // The terms that the tangents add to the cubic that is level at both ends.
        let (a, b) = (t * (1.0 - t) * (1.0 - t), -t * t * (1.0 - t));
        let rest = y - t * t * (3.0 - 2.0 * t);
        aa += a * a;
        ab += a * b;
        bb += b * b;
        ay += a * rest;
        by += b * rest;
    }
    let determinant = aa * bb - ab * ab;
    let bounded = |tangent: f64| {
        if tangent.is_finite() {
            tangent.clamp(0.0, 3.0)
        } else {
            1.0
        }
    };
    let left = bounded((ay * bb - by * ab) / determinant);
    // Once the left tangent is clamped, the best right one depends on it.
    (left, bounded((by - left * ab) / bb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_is_fitted_to_its_own_points() {
        for wanted in [(0.0, 3.0), (3.0, 0.0), (1.0, 1.0), (0.5, 2.5)] {
            let [c1, c2, c3] = cubic(wanted);
            let points = (1..100).map(|i| f64::from(i) / 100.0);
            let found = tangents(points.map(|t| (t, ((c3 * t + c2) * t + c1) * t)));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
            assert!(
                near(found.0, wanted.0) && near(found.1, wanted.1),
                "{found:?}"
            );
            let end = c1 + 2.0 * c2 + 3.0 * c3;
            assert!(near(end, wanted.1) && near(c1 + c2 + c3, 1.0), "{end}");
        }
    }

    #[test]
    fn the_range_fills_its_leaves_and_outliers_have_their_own() {
        let range = (1 << 40, (1 << 40) + 999);
        for tangents in [None, Some((0.0, 0.0)), Some((3.0, 0.2))] {
            let shape = Shape {
                range,
                outside: (true, true),
                tangents,
            };
            let root = shape.over(12);
            assert_eq!((root.guess(0), root.guess(range.0 - 1)), (0, 0));
            assert_eq!((root.guess(range.0), root.guess(range.1)), (1, 10));
            assert_eq!(root.guess(u64::MAX), 11);
            let guesses = (range.0..=range.1).map(|number| root.guess(number));
            assert!(guesses.is_sorted());
        }
    }
}
