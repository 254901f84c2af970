//! Least-squares lines.
//!
//! Sums of squares are taken about a centre: an f64 holds 53 bits, so sums over raw keys would lose
//! the differences between neighbouring keys when there are outliers.

/// Sums over points; coordinates are relative to a centre near the middle of the points.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::kinds) struct Sums {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    /// Adds a point.
    #[inline(always)]
    pub(in crate::kinds) fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// The slope of the least-squares line; 0 if the line would descend or all points have the same
    /// x.
    pub(in crate::kinds) fn slope(&self) -> f64 {
        let spread = self.count * self.xx - self.x * self.x;
        let slope = (self.count * self.xy - self.x * self.y) / spread;
        match slope.is_finite() {
            true => slope.max(0.0),
            false => 0.0,
        }
    }

    /// The mean point, which the line passes through; NaN without points.
    pub(in crate::kinds) fn mean(&self) -> (f64, f64) {
        (self.x / self.count, self.y / self.count)
    }
}

/// The means of some consecutive keys and their ranks, and sums of squares about these means. They
/// determine the least-squares line and can be merged with those of the next keys.
#[derive(Debug, Clone, Copy)]
pub(in crate::kinds) struct Moments {
    /// The key that `x` counts from.
    origin: u64,
    pub(in crate::kinds) count: f64,
    /// The means.
    pub(in crate::kinds) x: f64,
    pub(in crate::kinds) y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Moments {
    /// The moments of the keys with these ranks.
    pub(in crate::kinds) fn of(ranks: std::ops::Range<usize>, key: impl Fn(usize) -> u64) -> Self {
        let origin = key(ranks.start);
        let count = ranks.len() as f64;
        let distance = |i: usize| (key(i) - origin) as f64;
        let x = ranks.clone().map(distance).sum::<f64>() / count;
        let y = ranks.start as f64 + (count - 1.0) / 2.0;
        let mut sums = Sums::default();
        for i in ranks {
            sums.add(distance(i) - x, i as f64 - y);
        }
        Moments {
            origin,
            count,
            x,
            y,
            xx: sums.xx,
            xy: sums.xy,
            yy: sums.yy,
        }
    }

    /// The moments of the points of both; the points of `next` must be above those of `self`.
    pub(in crate::kinds) fn with(&self, next: &Moments) -> Self {
        let count = self.count + next.count;
        let dx = (next.origin - self.origin) as f64 + next.x - self.x;
        let dy = next.y - self.y;
        let weight = self.count * next.count / count;
        let share = next.count / count;
        Moments {
            origin: self.origin,
            count,
            x: self.x + dx * share,
            y: self.y + dy * share,
            xx: self.xx + next.xx + dx * dx * weight,
            xy: self.xy + next.xy + dx * dy * weight,
            yy: self.yy + next.yy + dy * dy * weight,
        }
    }

    /// The slope of the least-squares line in ranks for each unit of the key; NaN if there is only
    /// one key. Equals [`Sums::slope`] since the sums of `x` and `y` are 0.
    pub(in crate::kinds) fn slope(&self) -> f64 {
        self.xy / self.xx
    }

    /// The sum of the squared errors of the least-squares line.
    pub(in crate::kinds) fn error(&self) -> f64 {
        match self.xx > 0.0 {
            true => (self.yy - self.xy * self.xy / self.xx).max(0.0),
            false => self.yy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_add_up() {
        let keys: Vec<u64> = (0..100).map(|i| (1 << 60) + i * i * 3).collect();
        let key = |i: usize| keys[i];
        let whole = Moments::of(0..100, key);
        let parts = Moments::of(0..37, key).with(&Moments::of(37..100, key));
        assert!((whole.error() - parts.error()).abs() < 1e-6 * whole.error());
        let line = |i: usize| 1000 + i as u64 * 77;
        assert!(Moments::of(0..50, line).error() < 1e-9);
    }
}
