//! What gets take in the tables of a form, beside the sample of it.

use super::cost::Costs;
use crate::sync::atomic::AtomicU64;
use crate::version::Times;

/// Timed gets in tables of one form: those that found their block in the cache, and those that read it.
#[derive(Debug, Default)]
pub(super) struct Timed {
    /// The tag of the form, 0 for none.
    pub tag: AtomicU64,
    cached: Times,
    read: Times,
}

/// Fewer timed gets than these say nothing.
const LEAST: u64 = 64;

/// What was seen of a form.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Seen {
    /// The number of gets that were timed.
    pub gets: u64,
    /// How many times as long those took that read nothing as in the sample,
    pub ratio: Option<f64>,
    /// and how many nanoseconds longer those took that did. Each if there were enough.
    pub device: Option<f64>,
}

impl Timed {
    /// Notes a get.
    pub fn note(&self, nanos: u64, has_read: bool) {
        match has_read {
            true => self.read.note(nanos),
            false => self.cached.note(nanos),
        }
    }

    /// What was seen since it was cleared, of a form with these costs.
    pub fn seen(&self, costs: &Costs) -> Seen {
        let cached = self.cached.mean(LEAST).filter(|_| costs.cached_get > 0.0);
        Seen {
            gets: self.cached.gets() + self.read.gets(),
            ratio: cached.map(|nanos| nanos / costs.cached_get),
            device: self
                .read
                .mean(LEAST)
                .map(|nanos| (nanos - costs.uncached_get).max(0.0)),
        }
    }

    /// Begins again with those of which there were enough.
    pub fn clear_enough(&self) {
        for times in [&self.cached, &self.read] {
            if times.gets() >= LEAST {
                times.clear();
            }
        }
    }

    /// Begins again.
    pub fn clear(&self) {
        self.cached.clear();
        self.read.clear();
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn gets_that_read_tell_of_the_device_and_others_of_the_form() {
        let costs = Costs {
            cached_get: 400.0,
            uncached_get: 2_000.0,
            ..Costs::default()
        };
        let timed = Timed::default();
        (1..LEAST).for_each(|_| timed.note(800, false));
        assert_eq!(timed.seen(&costs).ratio, None);
        timed.note(800, false);
        // One that was interrupted changes little.
        timed.note(4_000_000, false);
        (0..LEAST).for_each(|_| timed.note(82_000, true));
        let seen = timed.seen(&costs);
        assert_eq!(seen.gets, 2 * LEAST + 1);
        let (ratio, device) = (seen.ratio.unwrap(), seen.device.unwrap());
        assert!((1.95..2.35).contains(&ratio), "{ratio}");
        assert!((79_000.0..81_000.0).contains(&device), "{device}");
        // Few of one sort wait for more.
        (0..3).for_each(|_| timed.note(80_000, true));
        timed.clear_enough();
        timed.note(800, true);
        timed.clear_enough();
        assert_eq!(timed.seen(&costs).gets, 1);
        timed.clear();
        assert_eq!(timed.seen(&costs), Seen::default());
        // Faster than the sample is no device at all.
        (0..LEAST).for_each(|_| timed.note(0, true));
        assert_eq!(timed.seen(&costs).device, Some(0.0));
    }
}
