//! What readers do, as a tuner sees it.

use super::cost::SCAN_ENTRIES;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;
use crate::table::GetTrace;

/// The operations of the last time; older ones count for less. Gets that no table answers, or filters alone, cost the same in
/// every form and do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Workload {
    /// The blocks that gets searched, and those of them that were read.
    pub blocks: f64,
    pub read: f64,
    /// Scans.
    pub scans: f64,
    /// The entries that they showed.
    pub steps: f64,
    /// The searches in tables that they took: mostly one in each run that they met.
    pub scan_tables: f64,
    /// The blocks that they went over, and those of them that were read.
    pub scan_blocks: f64,
    pub scan_read: f64,
}

/// The number of its figures.
const FIGURES: usize = 7;

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (part / whole).min(1.0)
    } else {
        0.0
    }
}

impl Workload {
    /// All figures, in the order of their declaration.
    pub fn figures(&self) -> [f64; FIGURES] {
        [
            self.blocks,
            self.read,
            self.scans,
            self.steps,
            self.scan_tables,
            self.scan_blocks,
            self.scan_read,
        ]
    }

    /// The workload with these figures.
    pub fn of(figures: [f64; FIGURES]) -> Workload {
        let [
            blocks,
            read,
            scans,
            steps,
            scan_tables,
            scan_blocks,
            scan_read,
        ] = figures;
        Workload {
            blocks,
            read,
            scans,
            steps,
            scan_tables,
            scan_blocks,
            scan_read,
        }
    }

    /// The share of the blocks of gets that was read.
    pub fn missed(&self) -> f64 {
        share(self.read, self.blocks)
    }

    /// The share of the blocks of scans that was read.
    pub fn scans_missed(&self) -> f64 {
        share(self.scan_read, self.scan_blocks)
    }

    /// The mean entries of a scan.
    pub fn scanned(&self) -> f64 {
        self.steps / self.scans.max(1.0)
    }

    /// The mean tables that a scan searches, at least one.
    pub fn tables_of_scan(&self) -> f64 {
        (self.scan_tables / self.scans.max(1.0)).max(1.0)
    }

    /// Whether there were enough operations to go by.
    pub fn is_known(&self) -> bool {
        operations(self.blocks, self.scans, self.steps) >= LEAST_OPERATIONS
    }
}

/// How many operations these are: a long scan is many.
fn operations(blocks: f64, scans: f64, steps: f64) -> f64 {
    blocks + scans.max(steps / SCAN_ENTRIES as f64)
}

/// Fewer operations say little of what comes.
const LEAST_OPERATIONS: f64 = 1_024.0;

/// How many gets one that is looked at stands for.
pub(super) const SAMPLED: u64 = 64;

/// Counts since they were taken last.
#[derive(Debug, Default)]
pub(super) struct Counts {
    blocks: AtomicU64,
    read: AtomicU64,
    scans: AtomicU64,
    steps: AtomicU64,
    scan_tables: AtomicU64,
    scan_blocks: AtomicU64,
    scan_read: AtomicU64,
}

impl Counts {
    /// Counts a get that stands for so many.
    pub fn note_get(&self, trace: &GetTrace, times: u64) {
        let read = u64::from(trace.blocks_read);
        self.blocks
            .fetch_add(times * (read + u64::from(trace.blocks_cached)), Relaxed);
        self.read.fetch_add(times * read, Relaxed);
    }

    /// Counts an iterator.
    pub fn note_scan(&self, seeks: u32, steps: u64, trace: &GetTrace) {
        let read = u64::from(trace.blocks_read);
        self.scans.fetch_add(seeks.into(), Relaxed);
        self.steps.fetch_add(steps, Relaxed);
        self.scan_tables
            .fetch_add(trace.tables_probed.into(), Relaxed);
        self.scan_blocks
            .fetch_add(read + u64::from(trace.blocks_cached), Relaxed);
        self.scan_read.fetch_add(read, Relaxed);
    }

    /// Takes the counts, and adds them to half of those before, if they are enough to go by. Returns the scans among them.
    pub fn take_into(&self, workload: &mut Workload) -> u64 {
        let of = |count: &AtomicU64| count.load(Relaxed) as f64;
        let scans = self.scans.load(Relaxed);
        if operations(of(&self.blocks), scans as f64, of(&self.steps)) < LEAST_OPERATIONS {
            return 0;
        }
        for (count, sum) in [
            (&self.blocks, &mut workload.blocks),
            (&self.read, &mut workload.read),
            (&self.scans, &mut workload.scans),
            (&self.steps, &mut workload.steps),
            (&self.scan_tables, &mut workload.scan_tables),
            (&self.scan_blocks, &mut workload.scan_blocks),
            (&self.scan_read, &mut workload.scan_read),
        ] {
            *sum = *sum / 2.0 + count.swap(0, Relaxed) as f64;
        }
        scans
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_last_counts_most() {
        let (counts, mut workload) = (Counts::default(), Workload::default());
        let read = GetTrace {
            blocks_read: 1,
            ..GetTrace::default()
        };
        let cached = GetTrace {
            blocks_cached: 1,
            ..GetTrace::default()
        };
        (0..15).for_each(|_| counts.note_get(&read, SAMPLED));
        counts.take_into(&mut workload);
        assert_eq!(workload, Workload::default(), "too few");
        assert!(!workload.is_known());
        counts.note_get(&read, SAMPLED);
        counts.take_into(&mut workload);
        assert!(workload.is_known());
        assert_eq!((workload.blocks, workload.missed()), (1_024.0, 1.0));
        // A quiet time changes nothing.
        counts.take_into(&mut workload);
        assert_eq!(workload.blocks, 1_024.0);
        (0..24).for_each(|_| counts.note_get(&cached, SAMPLED));
        counts.take_into(&mut workload);
        assert_eq!(workload.blocks, 2_048.0);
        assert_eq!(workload.missed(), 0.25);
        assert_eq!(workload.tables_of_scan(), 1.0);
        let over_three = GetTrace {
            tables_probed: 3 * 1_200,
            ..cached
        };
        counts.note_scan(1_200, 120_000, &over_three);
        counts.take_into(&mut workload);
        assert_eq!((workload.blocks, workload.scanned()), (1_024.0, 100.0));
        assert_eq!(workload.tables_of_scan(), 3.0);
        // A few long scans are many operations.
        counts.note_scan(2, 200_000, &cached);
        assert_eq!(counts.take_into(&mut workload), 2);
    }
}
