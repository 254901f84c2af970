//! Counters of reads and writes: plain atomics, spread over cache lines so that threads that read
//! do not fight over them.

use std::sync::Arc;
use std::time::Duration;

use super::stats::{ReadStats, WriteStats};
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Mutex, lock};
use crate::table::GetTrace;

const STRIPES: usize = 16;

/// Counts of gets, one stripe a thread as far as stripes go.
#[derive(Debug, Default)]
pub(super) struct ReadCounters {
    stripes: [Stripe; STRIPES],
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    gets: AtomicU64,
    memtable_hits: AtomicU64,
    tables_probed: AtomicU64,
    filter_negative: AtomicU64,
    filter_positive: AtomicU64,
    filter_false_positive: AtomicU64,
    window_ranks: AtomicU64,
    blocks_read: AtomicU64,
    blocks_cached: AtomicU64,
}

fn stripe_number() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) });
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        number.get()
    })
}

fn add(counter: &AtomicU64, n: impl Into<u64>) {
    let n = n.into();
    if n > 0 {
        counter.fetch_add(n, Relaxed);
    }
}

impl ReadCounters {
    /// Counts one get that ended in a memtable or, as `trace` tells, in the tables.
    pub(super) fn count(&self, memtable_hit: bool, trace: &GetTrace) {
        let stripe = &self.stripes[stripe_number()];
        add(&stripe.gets, 1u64);
        add(&stripe.memtable_hits, memtable_hit);
        add(&stripe.tables_probed, trace.tables_probed);
        add(&stripe.filter_negative, trace.filter_negative);
        add(&stripe.filter_positive, trace.filter_positive);
        add(&stripe.filter_false_positive, trace.filter_false_positive);
        add(&stripe.window_ranks, trace.window_ranks);
        add(&stripe.blocks_read, trace.blocks_read);
        add(&stripe.blocks_cached, trace.blocks_cached);
    }

    pub(super) fn stats(&self) -> ReadStats {
        let sum = |f: fn(&Stripe) -> &AtomicU64| {
            self.stripes.iter().map(|s| f(s).load(Relaxed)).sum::<u64>()
        };
        ReadStats {
            gets: sum(|s| &s.gets),
            memtable_hits: sum(|s| &s.memtable_hits),
            tables_probed: sum(|s| &s.tables_probed),
            filter_negative: sum(|s| &s.filter_negative),
            filter_positive: sum(|s| &s.filter_positive),
            filter_false_positive: sum(|s| &s.filter_false_positive),
            window_ranks: sum(|s| &s.window_ranks),
            blocks_read: sum(|s| &s.blocks_read),
            blocks_cached: sum(|s| &s.blocks_cached),
        }
    }
}

/// Counts of writes and of the work behind them.
#[derive(Debug, Default, Clone)]
pub(super) struct WriteCounters(Arc<Mutex<WriteStats>>);

impl WriteCounters {
    pub(super) fn update(&self, change: impl FnOnce(&mut WriteStats)) {
        change(&mut lock(&self.0));
    }

    /// Counts a writer that was held up for `time`, wholly (`stall`) or for a little while.
    pub(super) fn held_up(&self, reason: &str, time: Duration, stall: bool) {
        self.update(|w| {
            if stall {
                w.stalls += 1;
            } else {
                w.slowdowns += 1;
            }
            w.longest_stall = w.longest_stall.max(time);
            *w.stall_reasons.entry(reason.to_string()).or_default() += 1;
        });
    }

    pub(super) fn stats(&self) -> WriteStats {
        lock(&self.0).clone()
    }
}
