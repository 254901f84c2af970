//! The state that all handles of an open store share.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::compaction::Order;
use crate::db::read::view::CurrentView;
use crate::db::stats::RecoveryStats;
use crate::db::stats::counters::{ReadCounters, WriteCounters};
use crate::db::upkeep::scheduler::Scheduler;
use crate::db::write::commit_queue::CommitQueue;
use crate::db::write::group::{Request, Written};
use crate::db::write::logs::{Logs, WriteState};
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::{FileLock, FileSystem};
use crate::options::{Options, Partition, TableSpec};
use crate::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use crate::sync::{HazardSlots, Mutex, OwnLines, Rank, Ranked, lock};
use crate::tune::{Chooser, Learner, Tuned};
use crate::version::{Files, KeyspaceState, Manifest, Run, State};

/// One keyspace of an open store. Aligned, so that the count of references, which every batch changes, lies in
/// another cache line than what every get reads.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct OpenKeyspace {
    /// The number of the store it belongs to, among the stores opened by this process.
    pub(super) store: u64,
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) view: CurrentView,
    /// The number that the next new key map gets.
    pub(super) next_map: AtomicU64,
    /// What its flushes saw of the order of keys.
    pub(super) order: Mutex<Order>,
    /// Operations up to this sequence are flushed whole, and nothing of them is kept back.
    pub(super) flush_through: AtomicU64,
    /// Values of so many bytes or more may stay in the log, apart from their keys; `u32::MAX`, which no value has, if none
    /// may.
    log_values: AtomicU32,
    /// Chooses the form of new tables, if the store does.
    tuned: Option<Box<Tuned>>,
    /// The number of groups of values; 0 for none.
    value_groups: AtomicU16,
    /// Set when the keyspace begins to be dropped, so that handles stop using it. Background work asks whether
    /// it is among the [keyspaces](Store::keyspaces) of the store.
    pub(super) dropped: AtomicBool,
}

impl OpenKeyspace {
    /// A keyspace with tables but without writes in memory.
    pub(super) fn new(
        store: u64,
        id: u32,
        state: &KeyspaceState,
        (options, slots): (&Options, &Arc<HazardSlots>),
    ) -> Self {
        let keyspace = OpenKeyspace {
            store,
            id,
            name: state.name.clone(),
            view: CurrentView::new(Arc::clone(&state.levels), slots),
            next_map: AtomicU64::new(state.maps.next()),
            order: Mutex::new(Order::default()),
            flush_through: AtomicU64::new(0),
            log_values: AtomicU32::new(u32::MAX),
            value_groups: AtomicU16::new(0),
            tuned: match options.levels.compaction.tier() {
                None => Tuned::of(options.tuner).map(Box::new),
                Some(_) => None,
            },
            dropped: AtomicBool::new(false),
        };
        keyspace.set_layout(state.options.layout(options).1);
        keyspace
    }

    /// What looks at some of the gets.
    #[inline]
    pub(super) fn tuned(&self) -> Option<&Tuned> {
        self.tuned.as_deref()
    }

    /// What chooses the form of new tables, if the store does.
    pub(super) fn tuner(&self) -> Option<&Chooser> {
        match self.tuned()? {
            Tuned::Forms(chooser) => Some(chooser),
            Tuned::Models(_) => None,
        }
    }

    /// What learns models of tables, if the store does.
    pub(super) fn learner(&self) -> Option<&Learner> {
        match self.tuned()? {
            Tuned::Models(learner) => Some(learner),
            Tuned::Forms(_) => None,
        }
    }

    /// The same, where that is the layout of new tables. What is cut by entries is for comparisons, and stays as it is.
    pub(super) fn tuner_of(&self, table: &TableSpec) -> Option<&Chooser> {
        let is_fixed = matches!(table.partition, Partition::Entries(_));
        self.tuner().filter(|_| !is_fixed)
    }

    /// Whether a run is there as it was.
    pub(super) fn has_run(&self, run: &Arc<Run>) -> bool {
        let levels = self.view.load().levels.clone();
        levels.all_runs().any(|(_, now)| Arc::ptr_eq(now, run))
    }

    /// Takes over what the layout of new tables says of new writes.
    pub(super) fn set_layout(&self, table: &TableSpec) {
        let groups = table.groups();
        // A log holds values of all groups, so flushes move them.
        let least = table.separate_values.filter(|_| groups.is_none());
        self.log_values
            .store(least.unwrap_or(u32::MAX), Ordering::Relaxed);
        let groups = groups.map_or(0, NonZero::get);
        self.value_groups.store(groups, Ordering::Relaxed);
    }

    /// Whether a value of so many bytes may stay in the log, apart from its key.
    pub(super) fn leaves_in_log(&self, value_len: usize) -> bool {
        value_len >= self.log_values.load(Ordering::Relaxed) as usize
    }

    /// Whether any value may stay in the log.
    pub(super) fn leaves_values_in_log(&self) -> bool {
        self.log_values.load(Ordering::Relaxed) != u32::MAX
    }

    /// The number of groups of values, if there are any.
    pub(super) fn value_groups(&self) -> Option<NonZero<u16>> {
        NonZero::new(self.value_groups.load(Ordering::Relaxed))
    }

    /// Asks that what is written up to a sequence is flushed whole, without keeping anything back. The caller
    /// wakes the threads.
    pub(super) fn flush_whole_through(&self, sequence: Sequence) {
        self.flush_through.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Whether a flush of something of this sequence must keep nothing back.
    pub(super) fn is_flushed_whole(&self, sequence: Sequence) -> bool {
        sequence <= self.flush_through.load(Ordering::Acquire)
    }

    /// Whether it is dropped, or being dropped.
    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }
}

/// The manifest and the state that it holds. Its lock is held to change the set of tables.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) state: State,
    /// `None` in a store opened read-only.
    pub(super) manifest: Option<Manifest>,
}

/// What every group that is written changes, together in one cache line.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// The last sequence that is visible to readers.
    pub(super) sequence: AtomicU64,
    /// The bytes of the keys and values of all groups.
    pub(super) user_bytes: AtomicU64,
    /// The bytes that they took in logs.
    pub(super) log_bytes: AtomicU64,
    /// The number of groups that were synced before they were published.
    pub(super) group_syncs: AtomicU64,
}

/// An open store. Its locks are taken in the order of their [ranks](crate::sync::Rank).
#[derive(Debug)]
pub(super) struct Store {
    /// The number of this store among the stores opened by this process.
    pub(super) number: u64,
    pub(super) options: Options,
    /// By keyspace id. Readers load it without a lock.
    pub(super) keyspaces: ArcSwap<BTreeMap<u32, Arc<OpenKeyspace>>>,
    /// What every group that is written changes.
    pub(super) published: OwnLines<Published>,
    pub(super) queue: CommitQueue<Request<'static>, Written>,
    /// Which background jobs run, and what threads wait for.
    pub(super) scheduler: Scheduler,
    /// Locked while a group is written and while a memtable is replaced.
    pub(super) write: OwnLines<Ranked<WriteState>>,
    pub(super) catalog: Ranked<Catalog>,
    pub(super) snapshots: Ranked<BTreeMap<Sequence, usize>>,
    /// Locked for moments only, never during a call to the operating system.
    pub(super) logs: Ranked<Logs>,
    /// The error that writes return, once the store takes no more writes.
    pub(super) failure: Failure,
    /// The files of the store, including those to be deleted.
    pub(super) files: Arc<Files>,
    /// The hazard slots in which threads record the views that they read.
    pub(super) hazard_slots: Arc<HazardSlots>,
    /// Dropped keyspaces with views that are still read.
    pub(super) dropped: Ranked<Vec<Arc<OpenKeyspace>>>,
    /// Whether flushes may keep back what arrives out of order.
    pub(super) may_hold_back: AtomicBool,
    /// Set to end running merges early.
    pub(super) cancelled: AtomicBool,
    pub(super) reads: ReadCounters,
    pub(super) writes: WriteCounters,
    pub(super) recovery: RecoveryStats,
    /// Held until the store is dropped.
    pub(super) _lock: Box<dyn FileLock>,
}

/// Why a store takes no more writes, once that is so.
#[derive(Debug)]
pub(super) struct Failure {
    /// Whether there is an error: every write looks, and most find none.
    is_set: AtomicBool,
    error: Ranked<Option<Error>>,
}

impl Failure {
    pub fn new() -> Self {
        Failure {
            is_set: AtomicBool::new(false),
            error: Ranked::new(Rank::Failure, None),
        }
    }

    /// Sets the error.
    ///
    /// # Errors
    /// The one that was set before, which is kept.
    pub fn set(&self, error: Error) -> Result<()> {
        let mut kept = lock(&self.error);
        if let Some(earlier) = &*kept {
            return Err(earlier.clone());
        }
        *kept = Some(error);
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the error, if there is one.
    pub fn check(&self) -> Result<()> {
        if !self.is_set.load(Ordering::Acquire) {
            return Ok(());
        }
        lock(&self.error).clone().map_or(Ok(()), Err)
    }
}

impl Store {
    pub(super) fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.options.file_system
    }

    /// The last sequence that is visible to readers.
    pub(super) fn visible(&self) -> Sequence {
        self.published.sequence.load(Ordering::Acquire)
    }

    /// The sequences of all snapshots, ascending: the versions visible at them must be kept. Read
    /// under the same lock as in [`Store::pin_snapshot`], so that no snapshot with a smaller
    /// sequence can appear later.
    pub(super) fn pinned_sequences(&self) -> Vec<Sequence> {
        lock(&self.snapshots).keys().copied().collect()
    }

    /// Pins a snapshot of the present state. Returns its sequence.
    pub(super) fn pin_snapshot(&self) -> Sequence {
        let mut snapshots = lock(&self.snapshots);
        let sequence = self.visible();
        *snapshots.entry(sequence).or_default() += 1;
        sequence
    }

    pub(super) fn unpin_snapshot(&self, sequence: Sequence) {
        let mut snapshots = lock(&self.snapshots);
        if let Some(count) = snapshots.get_mut(&sequence) {
            *count -= 1;
            if *count == 0 {
                snapshots.remove(&sequence);
            }
        }
    }

    /// Makes the store read-only because of `error`. If this happened before, the first reason is
    /// kept.
    pub(super) fn fail(&self, error: &Error) {
        let reason = format!("{error}; close the store and open it again");
        if self.failure.set(Error::ReadOnly { reason }).is_ok() {
            self.scheduler.signals.wake_all();
        }
    }

    /// Makes the store read-only because of `error`, unless the disk is full, which may pass.
    pub(super) fn fail_unless_full(&self, error: &Error) {
        if !matches!(error, Error::DiskFull { .. }) {
            self.fail(error);
        }
    }

    /// Makes the store read-only after a failed call that wrote to a file of it, unless the disk is full.
    pub(super) fn fail_after_io(&self, error: &Error) {
        if matches!(error, Error::Io { .. }) {
            self.fail(error);
        }
    }

    /// Fails if the store takes no writes.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.failure.check()
    }

    pub(super) fn keyspace_named(&self, name: &str) -> Option<Arc<OpenKeyspace>> {
        self.keyspaces
            .load()
            .values()
            .find(|k| k.name == name)
            .cloned()
    }
}
