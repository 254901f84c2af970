//! What a least-squares line needs to know of keys and their ranks.

/// Sums over the points of a piece, about their means: what a least-squares line needs. Sums of raw squares would
/// lose what tells neighbours apart beside outliers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    /// The key that `x` counts from.
    origin: u64,
    pub(super) count: f64,
    /// The means.
    pub(super) x: f64,
    pub(super) y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Moments {
    /// Of keys and their ranks.
    pub(super) fn of(ranks: std::ops::Range<usize>, key: impl Fn(usize) -> u64) -> Self {
        let origin = key(ranks.start);
        let count = ranks.len() as f64;
        let distance = |i: usize| (key(i) - origin) as f64;
        let x = ranks.clone().map(distance).sum::<f64>() / count;
        let y = ranks.start as f64 + (count - 1.0) / 2.0;
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for i in ranks {
            let (dx, dy) = (distance(i) - x, i as f64 - y);
            xx += dx * dx;
            xy += dx * dy;
            yy += dy * dy;
        }
        Moments {
            origin,
            count,
            x,
            y,
            xx,
            xy,
            yy,
        }
    }

    /// Of the points of both; `next` are above.
    pub(super) fn with(&self, next: &Moments) -> Self {
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

    /// By how many ranks the least-squares line rises a key; not a number if all keys are one.
    pub(super) fn slope(&self) -> f64 {
        self.xy / self.xx
    }

    /// The sum of the squared errors of the least-squares line.
    pub(super) fn error(&self) -> f64 {
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
