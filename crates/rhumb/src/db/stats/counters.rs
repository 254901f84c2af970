//! Counters of reads and writes. The counters of reads are atomics in one stripe per thread, so
//! that reading threads do not contend for cache lines.

use std::sync::Arc;
use std::time::Duration;

use crate::db::read::lookup::Sources;
use crate::db::stats::{ReadStats, ScanStats, WriteStats};
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{Mutex, lock, thread_number};
use crate::table::GetTrace;
use crate::tune::is_sampled;

/// The number of stripes that belong to one numbered thread each. All further threads share one
/// more stripe, the last.
const OWNED: usize = 64;

/// Counts of gets and scans. A thread that owns its stripe adds to a counter by a load and a store,
/// which costs next to nothing; a locked instruction would cost as much as hashing the key.
#[derive(Debug)]
pub(in crate::db) struct ReadCounters {
    stripes: Box<[Stripe; OWNED + 1]>,
}

impl Default for ReadCounters {
    fn default() -> Self {
        let stripes = std::array::from_fn(|_| Stripe::default());
        ReadCounters {
            stripes: Box::new(stripes),
        }
    }
}

/// The counters of one thread. Their order keeps the counters of gets within two cache lines.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Stripe {
    gets: AtomicU64,
    memtable_hits: AtomicU64,
    tables_probed: AtomicU64,
    filter_negative: AtomicU64,
    filter_positive: AtomicU64,
    filter_false_positive: AtomicU64,
    tier_probed: AtomicU64,
    tier_hits: AtomicU64,
    above_negative: AtomicU64,
    above_false_positive: AtomicU64,
    tier_ahead: AtomicU64,
    of_gets: Blocks,
    seeks: AtomicU64,
    of_scans: Blocks,
    model_probes: AtomicU64,
}

/// Counters of finding and reading blocks.
#[derive(Debug, Default)]
struct Blocks {
    window_ranks: AtomicU64,
    read_calls: AtomicU64,
    read: AtomicU64,
    bytes_read: AtomicU64,
    cached: AtomicU64,
}

impl Blocks {
    #[inline(always)]
    fn add(&self, trace: &GetTrace, add: impl Fn(&AtomicU64, u64)) {
        add(&self.window_ranks, trace.window_ranks.into());
        add(&self.cached, trace.blocks_cached.into());
        if trace.reads > 0 {
            add(&self.read_calls, trace.reads.into());
            add(&self.read, trace.blocks_read.into());
            add(&self.bytes_read, trace.bytes_read);
        }
    }
}

impl Stripe {
    /// Counts one get and the sources that it asked.
    #[inline(always)]
    fn count(&self, sources: Sources, add: impl Fn(&AtomicU64, u64)) {
        add(&self.gets, 1);
        add(&self.memtable_hits, sources.memtable_hit.into());
        add(&self.tier_probed, sources.tier_probed.into());
        add(&self.tier_hits, sources.tier_hit.into());
        if sources.tier_ahead {
            add(&self.tier_ahead, 1);
        }
        if sources.above_negative || sources.above_false_positive {
            add(&self.above_negative, sources.above_negative.into());
            let wrong = sources.above_false_positive.into();
            add(&self.above_false_positive, wrong);
        }
    }

    /// Counts what gets did in tables.
    #[inline(always)]
    fn count_tables(&self, trace: &GetTrace, add: impl Fn(&AtomicU64, u64)) {
        add(&self.tables_probed, trace.tables_probed.into());
        add(&self.filter_negative, trace.filter_negative.into());
        add(&self.filter_positive, trace.filter_positive.into());
        add(
            &self.filter_false_positive,
            trace.filter_false_positive.into(),
        );
        if trace.model_probes > 0 {
            add(&self.model_probes, trace.model_probes.into());
        }
        self.of_gets.add(trace, add);
    }

    #[inline(always)]
    fn count_scan(&self, seeks: u32, trace: &GetTrace, add: impl Fn(&AtomicU64, u64)) {
        add(&self.seeks, seeks.into());
        self.of_scans.add(trace, add);
    }
}

/// Adds to a counter of a stripe that this thread owns. Adding 0 costs less than asking for it.
#[inline(always)]
fn add_owned(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Adds to a counter of the stripe that threads share.
#[inline(always)]
fn add_shared(counter: &AtomicU64, n: u64) {
    if n > 0 {
        counter.fetch_add(n, Relaxed);
    }
}

impl ReadCounters {
    /// Counts one get, the sources that it asked, and what it did in tables.
    pub(in crate::db) fn count(&self, sources: Sources, trace: &GetTrace) {
        self.count_together(std::iter::once(sources), trace);
    }

    /// Counts several gets, the sources that each asked, and what they did in tables.
    #[inline]
    pub(in crate::db) fn count_together(
        &self,
        sources: impl Iterator<Item = Sources>,
        trace: &GetTrace,
    ) {
        match self.stripe() {
            Some((stripe, true)) => {
                sources.for_each(|sources| stripe.count(sources, add_owned));
                stripe.count_tables(trace, add_owned);
            }
            Some((stripe, false)) => {
                sources.for_each(|sources| stripe.count(sources, add_shared));
                stripe.count_tables(trace, add_shared);
            }
            None => {}
        }
    }

    /// Whether this thread looks closer at its next get: at one in some.
    #[inline]
    pub(in crate::db) fn samples_next(&self) -> bool {
        let stripe = self.stripe();
        stripe.is_some_and(|(stripe, _)| is_sampled(stripe.gets.load(Relaxed)))
    }

    /// Counts what one iterator did. It was positioned `seeks` times.
    pub(in crate::db) fn count_scan(&self, seeks: u32, trace: &GetTrace) {
        match self.stripe() {
            Some((stripe, true)) => stripe.count_scan(seeks, trace, add_owned),
            Some((stripe, false)) => stripe.count_scan(seeks, trace, add_shared),
            None => {}
        }
    }

    /// The stripe of this thread, and whether this thread owns it.
    #[inline]
    fn stripe(&self) -> Option<(&Stripe, bool)> {
        let number = thread_number().unwrap_or(OWNED).min(OWNED);
        Some((self.stripes.get(number)?, number < OWNED))
    }

    fn sum(&self, counter: fn(&Stripe) -> &AtomicU64) -> u64 {
        let stripes = self.stripes.iter();
        stripes.map(|stripe| counter(stripe).load(Relaxed)).sum()
    }

    pub(in crate::db) fn scans(&self) -> ScanStats {
        ScanStats {
            seeks: self.sum(|s| &s.seeks),
            window_ranks: self.sum(|s| &s.of_scans.window_ranks),
            read_calls: self.sum(|s| &s.of_scans.read_calls),
            blocks_read: self.sum(|s| &s.of_scans.read),
            bytes_read: self.sum(|s| &s.of_scans.bytes_read),
            blocks_cached: self.sum(|s| &s.of_scans.cached),
        }
    }

    pub(in crate::db) fn stats(&self) -> ReadStats {
        let sum = |counter: fn(&Stripe) -> &AtomicU64| self.sum(counter);
        ReadStats {
            gets: sum(|s| &s.gets),
            memtable_hits: sum(|s| &s.memtable_hits),
            tables_probed: sum(|s| &s.tables_probed),
            filter_negative: sum(|s| &s.filter_negative),
            filter_positive: sum(|s| &s.filter_positive),
            filter_false_positive: sum(|s| &s.filter_false_positive),
            model_probes: sum(|s| &s.model_probes),
            tier_probed: sum(|s| &s.tier_probed),
            tier_hits: sum(|s| &s.tier_hits),
            above_negative: sum(|s| &s.above_negative),
            above_false_positive: sum(|s| &s.above_false_positive),
            tier_ahead: sum(|s| &s.tier_ahead),
            window_ranks: sum(|s| &s.of_gets.window_ranks),
            read_calls: sum(|s| &s.of_gets.read_calls),
            blocks_read: sum(|s| &s.of_gets.read),
            bytes_read: sum(|s| &s.of_gets.bytes_read),
            blocks_cached: sum(|s| &s.of_gets.cached),
        }
    }
}

/// Counts of writes, flushes and compactions.
#[derive(Debug, Default, Clone)]
pub(in crate::db) struct WriteCounters(Arc<Mutex<WriteStats>>);

impl WriteCounters {
    pub(in crate::db) fn update(&self, change: impl FnOnce(&mut WriteStats)) {
        change(&mut lock(&self.0));
    }

    /// Counts a writer that was delayed for `time`: by a stall (`stall`) or a slowdown.
    pub(in crate::db) fn held_up(&self, reason: &str, time: Duration, stall: bool) {
        self.update(|w| {
            if stall {
                w.stalls += 1;
            } else {
                w.slowdowns += 1;
            }
            if time > w.longest_stall {
                w.longest_stall = time;
                w.longest_stall_reason = reason.to_string();
            }
            *w.stall_reasons.entry(reason.to_string()).or_default() += 1;
        });
    }

    pub(in crate::db) fn stats(&self) -> WriteStats {
        lock(&self.0).clone()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn no_count_is_lost_with_many_threads_or_few() {
        let counters = ReadCounters::default();
        let trace = GetTrace {
            tables_probed: 2,
            ..GetTrace::default()
        };
        for threads in [1, 8, 100, 8] {
            let before = counters.stats().gets;
            // All at once, so that some have no stripe of their own when there are many.
            let start = std::sync::Barrier::new(threads);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        start.wait();
                        (0..1000).for_each(|_| counters.count(Sources::default(), &trace));
                        start.wait();
                    });
                }
            });
            assert_eq!(counters.stats().gets - before, 1000 * threads as u64);
        }
        assert_eq!(counters.stats().tables_probed, 2 * counters.stats().gets);
    }
}
