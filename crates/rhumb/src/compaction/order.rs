//! The order in which keys arrive, as the flushes of a keyspace see it, and where a flush may cut because
//! of it.
//!
//! Where keys arrive nearly in order, the newest of them lie near one place, and later ones will mostly lie
//! behind it. The *cut* is a little before that place. What lies before the cut, and not before the cut of
//! the flush before (the *frontier*), is *in order*: as tables of their own, such keys overlap no others.
//! What lies before the frontier is *late*, and what lies behind the cut is *early*.
//!
//! Cuts are user keys, so that all versions of a key are on one side.

use crate::entry::{Sequence, successor};
use crate::memtable::Memtable;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// The least number of entries that stand for a memtable that has more.
const LEAST_SAMPLE: u64 = 1024;

/// The newest entries, whose keys show where the next ones will lie: one in so many, but not fewer than
/// [`LEAST_NEWEST`].
const NEWEST: usize = 32;
const LEAST_NEWEST: usize = 16;

/// The most keys, and bytes of keys, that are remembered of the early ones.
const MOST_EARLY: usize = 4096;
const MOST_EARLY_BYTES: usize = 1 << 20;

/// The bounds within which a keyspace keeps back what is early or late, in write buffers.
struct Bounds {
    /// At most this is early. What comes earlier than that is displaced by more than fits.
    early: f64,
    /// At least this is in order.
    in_order: f64,
    /// At most this is late.
    late: f64,
}

/// The bounds for going on. Between these and those for beginning, all stays as it is.
const GO_ON: Bounds = Bounds {
    early: 1.0 / 2.0,
    in_order: 1.0 / 2.0,
    late: 1.0 / 2.0,
};
/// The bounds for beginning. What is late now was mostly displaced by as much as what came early before, and lies
/// among all that flushes wrote meanwhile: in order or not, what follows will overlap that.
const BEGIN: Bounds = Bounds {
    early: 3.0 / 8.0,
    in_order: 5.0 / 8.0,
    late: 1.0 / 8.0,
};

/// What the flushes of a keyspace saw of the order of its keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    frontier: Option<Box<[u8]>>,
    /// A sample of the keys that came before their turn, ascending, whether they are kept back or not: so
    /// it is known how many would be.
    early: Vec<Early>,
    /// What the last flush saw.
    pub seen: Seen,
}

#[derive(Debug, Clone)]
struct Early {
    key: Box<[u8]>,
    sequence: Sequence,
    /// The number of keys that it stands for.
    weight: u64,
}

/// What a flush sees, in shares of the keys of its memtable.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Seen {
    /// What is in order, including entries that were early before.
    pub in_order: f64,
    /// What is late.
    pub late: f64,
    /// What is early, including entries that were so before: more than 1 where they are displaced by more
    /// than a memtable holds.
    pub early: f64,
    /// Whether it pays to keep back what is late or early.
    pub holds_back: bool,
}

/// Where a flush cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Keys below this are late.
    pub frontier: Option<Box<[u8]>>,
    /// Keys from this one on are early; `None` if there are none.
    pub early: Option<Box<[u8]>>,
    /// Early keys from this one on came before most of the newest ones.
    pub far: Option<Box<[u8]>>,
    /// About how many keys of the memtable are late.
    pub late_keys: u64,
}

/// What arrived in a memtable that is to be flushed.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals<'a> {
    /// Some of its keys, in order, mostly with the newest sequence.
    sample: Vec<(&'a [u8], Sequence)>,
    /// The number of keys for which each stands.
    weight: u64,
    /// The largest key, if every entry came behind all others.
    ascending: Option<&'a [u8]>,
}

impl<'a> Arrivals<'a> {
    /// What arrived in `memtable`. Takes as long as reading some thousand entries.
    pub fn of(memtable: &'a Memtable) -> Self {
        let (sample, weight) = memtable.sample(LEAST_SAMPLE);
        let ascending = memtable.is_ascending();
        Arrivals {
            sample,
            weight,
            ascending: memtable.last_key().filter(|_| ascending),
        }
    }

    /// The lower and the upper quartile of the newest keys, without late ones if most are not; `None` if there
    /// are no entries.
    fn newest(&self, frontier: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mut sequences: Vec<Sequence> = self.sample.iter().map(|(_, s)| *s).collect();
        let wanted = (sequences.len() / NEWEST).max(LEAST_NEWEST);
        let oldest = match sequences.len().checked_sub(wanted) {
            Some(at) if at > 0 => *sequences.select_nth_unstable(at).1,
            _ => 0,
        };
        let newest = self.sample.iter().filter(|(_, s)| *s >= oldest);
        let newest: Vec<&[u8]> = newest.map(|(key, _)| *key).collect();
        let late = newest.partition_point(|key| *key < frontier);
        let newest = match late * 2 <= newest.len() {
            true => newest.get(late..).unwrap_or_default(),
            false => &newest,
        };
        let quartile = |quarters: usize| newest.get(newest.len() * quarters / 4).copied();
        quartile(1).zip(quartile(3))
    }

    /// The number of sampled entries with keys below `key`.
    fn below(&self, key: &[u8]) -> usize {
        self.sample.partition_point(|(k, _)| *k < key)
    }
}

impl Order {
    /// What is known after `arrived`, and where its flush cuts; `None` if it should not cut. Entries with
    /// sequences up to `expired` are too old to be kept back. `alone`: nothing is kept back now.
    pub fn survey(
        &self,
        arrived: &Arrivals<'_>,
        alone: bool,
        expired: Sequence,
    ) -> (Order, Option<Cut>) {
        let frontier = self.frontier.as_deref().unwrap_or_default();
        let Some((cut, far)) = arrived.newest(frontier) else {
            return (self.clone(), None);
        };
        let late = arrived.below(frontier);
        let early = arrived.below(cut).max(late);
        let (waited, still_early) = self.waiting(cut, expired);
        let count = arrived.sample.len() as f64;
        let buffers = |weight: u64| weight as f64 / arrived.weight as f64 / count;
        let still: u64 = still_early.iter().map(|e| e.weight).sum();
        let mut seen = Seen {
            in_order: (early - late) as f64 / count + buffers(waited),
            late: late as f64 / count,
            early: (arrived.sample.len() - early) as f64 / count + buffers(still),
            holds_back: false,
        };
        let bounds = if self.seen.holds_back { GO_ON } else { BEGIN };
        let fits = seen.early <= bounds.early && seen.late <= bounds.late;
        seen.holds_back = fits && seen.in_order >= bounds.in_order && cut > frontier;
        let ascends = alone && late == 0 && seen.holds_back;
        let last = arrived.ascending.filter(|_| ascends);
        let next = match last {
            Some(last) => Order {
                frontier: Some(successor(last).into()),
                early: still_early,
                seen,
            },
            None => Order {
                frontier: Some(cut.into()),
                early: merge(still_early, arrived, early),
                seen,
            },
        };
        let cut = seen.holds_back.then(|| Cut {
            frontier: self.frontier.clone(),
            early: last.is_none().then(|| cut.into()),
            far: last.is_none().then(|| successor(far).into()),
            late_keys: late as u64 * arrived.weight,
        });
        (next, cut)
    }

    /// How many entries that were early are in order by now, and the others, without those that are too
    /// old.
    fn waiting(&self, cut: &[u8], expired: Sequence) -> (u64, Vec<Early>) {
        let kept = self.early.iter().filter(|e| e.sequence > expired);
        let (waited, still): (Vec<&Early>, Vec<&Early>) = kept.partition(|e| *e.key < *cut);
        let waited = waited.into_iter().map(|e| e.weight).sum();
        (waited, still.into_iter().cloned().collect())
    }
}

/// The early keys of before and the new ones, from the given one of the sample on; the smallest ones if they
/// are too many. These will be in order first.
fn merge(mut early: Vec<Early>, arrived: &Arrivals<'_>, from: usize) -> Vec<Early> {
    let new = arrived.sample.get(from..).unwrap_or_default();
    early.extend(new.iter().map(|(key, sequence)| Early {
        key: (*key).into(),
        sequence: *sequence,
        weight: arrived.weight,
    }));
    early.sort_by(|a, b| a.key.cmp(&b.key));
    let mut bytes = 0;
    let fits = early.iter().take(MOST_EARLY).take_while(|e| {
        bytes += e.key.len();
        bytes <= MOST_EARLY_BYTES
    });
    let fits = fits.count();
    early.truncate(fits);
    early
}
