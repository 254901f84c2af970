//! The filter over all keys that stand above a learned tier (LearnedKV, section 4.5.2): a key that it does not have is in
//! the tier, if anywhere, and nothing above has to be asked for it but range deletes.
//!
//! Writers add keys before their writes are published, and nothing is ever removed. So its answers become worse as keys are
//! converted into the tier, and [`AboveFilter::is_due`] says when another is to take its place.

use std::fmt;

use crate::db::upkeep::signals::Signals;
use crate::entry::Sequence;
use crate::memory::KeyFilter;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::{Arc, OwnLines};

/// The keys of a new filter: so many times those that are there, and at least so many.
const GROWTH: u64 = 2;
const FEWEST_KEYS: u64 = 1 << 14;

/// The wrong answers for keys that stand in the tier alone, as a share: from the first on a filter is due to be renewed,
/// and from the second on it gives no answers.
const DUE: f64 = 0.03;
const OFF: f64 = 0.045;

/// See the [module](self).
pub(in crate::db) struct AboveFilter {
    filter: KeyFilter,
    /// It answers readers of sequences below this: it has all keys of these writes, and later ones go to another filter. 0 if
    /// it gives no answers.
    answers_below: AtomicU64,
    /// With so many keys it is due, and with so many it gives no answers.
    due_keys: u64,
    most_keys: u64,
    /// The keys of the tier, among which those are few that are still taken to be above it.
    tier_keys: u64,
    counts: OwnLines<Counts>,
    /// Wakes those who renew it.
    signals: Arc<Signals>,
}

/// What writers and conversions change.
struct Counts {
    /// The keys that were added, but for those that set no bit.
    keys: AtomicU64,
    /// The entries that were converted since.
    converted: AtomicU64,
    /// Whether it could not be filled.
    given_up: AtomicBool,
}

impl AboveFilter {
    /// An empty filter for so many keys, and some more, over a tier of so many; `None` if there is no memory for it.
    pub fn new(
        keys: u64,
        tier_keys: u64,
        bits_per_key: u32,
        signals: &Arc<Signals>,
    ) -> Option<Self> {
        let keys = keys.saturating_mul(GROWTH).max(FEWEST_KEYS);
        let filter = KeyFilter::new(keys, bits_per_key)?;
        Some(AboveFilter {
            answers_below: AtomicU64::new(u64::MAX),
            due_keys: filter.keys_at(DUE),
            most_keys: filter.keys_at(OFF),
            filter,
            tier_keys,
            counts: OwnLines(Counts {
                keys: AtomicU64::new(0),
                converted: AtomicU64::new(0),
                given_up: AtomicBool::new(false),
            }),
            signals: Arc::clone(signals),
        })
    }

    /// Adds the key of a hash.
    pub fn add(&self, hash: u64) {
        if self.filter.add(hash) {
            let keys = self.counts.keys.fetch_add(1, Relaxed);
            if keys >= self.due_keys {
                self.note_keys(keys);
            }
        }
    }

    #[cold]
    fn note_keys(&self, keys: u64) {
        if keys == self.due_keys {
            self.signals.wake_all();
        }
        if keys >= self.most_keys {
            self.stop();
        }
    }

    /// Whether the key of a hash may be there.
    #[inline]
    pub fn has(&self, hash: u64) -> bool {
        self.filter.has(hash)
    }

    /// Prefetches what [`AboveFilter::has`] reads.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.filter.prefetch(hash);
    }

    /// Whether it answers readers of this sequence, who loaded the view with it before or after they read the sequence.
    #[inline]
    pub fn answers(&self, visible: Sequence) -> bool {
        visible < self.answers_below.load(Relaxed)
    }

    /// Says that writes behind this sequence go to another filter alone. The caller holds the lock of writers, whose next write
    /// is published behind it: so who sees that write sees this too.
    pub fn end(&self, through: Sequence) {
        self.answers_below.fetch_min(through + 1, Relaxed);
    }

    /// Lets it give no answers any more.
    pub fn stop(&self) {
        self.answers_below.store(0, Relaxed);
    }

    /// Stops it, since not all keys could be added. It is not due before something was converted.
    pub fn give_up(&self) {
        self.stop();
        self.counts.given_up.store(true, Relaxed);
    }

    /// Notes that so many entries were converted.
    pub fn note_converted(&self, entries: u64) {
        self.counts.converted.fetch_add(entries, Relaxed);
        self.counts.given_up.store(false, Relaxed);
        if self.wrong_share() > OFF {
            self.stop();
        }
    }

    /// About the share of wrong answers for keys that stand in the tier alone.
    pub fn wrong_share(&self) -> f64 {
        let keys = self.counts.keys.load(Relaxed);
        let converted = self.counts.converted.load(Relaxed) as f64;
        self.filter.wrong_share(keys) + converted / self.tier_keys.max(1) as f64
    }

    /// Whether it is to be renewed, since that share is large, or it gives no answers.
    pub fn is_due(&self) -> bool {
        let is_bad = self.wrong_share() > DUE || !self.answers(0);
        is_bad && !self.counts.given_up.load(Relaxed)
    }

    /// The memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        self.filter.bytes()
    }
}

impl fmt::Debug for AboveFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.counts.keys.load(Relaxed);
        write!(f, "AboveFilter of {keys} keys")
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::entry::hash_key;

    const LATE: Sequence = 1 << 40;

    fn new(keys: u64, tier_keys: u64, bits_per_key: u32) -> AboveFilter {
        AboveFilter::new(keys, tier_keys, bits_per_key, &Arc::new(Signals::new())).unwrap()
    }

    fn hash(n: u64) -> u64 {
        hash_key(&n.to_be_bytes())
    }

    /// The share of keys that it wrongly takes to be there.
    fn wrong(filter: &AboveFilter) -> f64 {
        let wrong = (1 << 40..(1 << 40) + 100_000).filter(|n| filter.has(hash(*n)));
        wrong.count() as f64 / 100_000.0
    }

    #[test]
    fn it_has_what_was_added_and_little_else_and_ends_before_it_has_more() {
        let filter = new(50_000, 1 << 40, 10);
        assert_eq!(wrong(&filter), 0.0);
        let before = filter.signals.changes();
        let mut added = 0;
        for share in [0.001, 0.01, DUE] {
            while filter.wrong_share() < share {
                filter.add(hash(added));
                added += 1;
            }
            let (wrong, told) = (wrong(&filter), filter.wrong_share());
            assert!((0.7 * told..1.3 * told).contains(&wrong), "{wrong}: {told}");
            assert!(filter.answers(LATE));
        }
        assert!(added > 100_000 && filter.is_due(), "{added} keys");
        while filter.answers(1) {
            filter.add(hash(added));
            added += 1;
        }
        assert!(wrong(&filter) < 0.05 && added > 120_000, "{added} keys");
        assert_eq!(
            filter.signals.changes(),
            before + 1,
            "those who renew it are woken once"
        );
        assert!((0..added).all(|n| filter.has(hash(n))));
    }

    /// Otherwise it would be renewed without end.
    #[test]
    fn a_new_filter_of_few_bits_is_not_due() {
        let filter = new(50_000, 1 << 40, 6);
        (0..50_000).for_each(|n| filter.add(hash(n)));
        assert!(!filter.is_due() && filter.answers(1));
    }

    #[test]
    fn keys_that_were_converted_count_as_wrong() {
        let filter = new(1_000, 10_000, 10);
        filter.note_converted(299);
        assert!(!filter.is_due());
        filter.note_converted(2);
        assert!(filter.is_due() && filter.answers(LATE));
        filter.note_converted(150);
        assert!(!filter.answers(1));
    }

    #[test]
    fn a_filter_that_ended_answers_earlier_readers_alone() {
        let filter = new(1, 1, 10);
        filter.end(7);
        assert!(filter.answers(7) && !filter.answers(8));
        filter.end(9);
        assert!(!filter.answers(8) && !filter.is_due());
        filter.stop();
        assert!(!filter.answers(0) && filter.is_due());
        filter.give_up();
        assert!(!filter.is_due());
        filter.note_converted(1);
        assert!(filter.is_due());
    }
}
