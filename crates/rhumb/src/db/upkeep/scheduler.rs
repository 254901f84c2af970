//! The scheduler: which background jobs run, and what the threads of a store wait for.
//!
//! A background thread takes the [most urgent](super::jobs) job that can run beside the running ones, and
//! sleeps while there is none. Whatever makes a job due, or ends one, wakes the sleeping threads by a
//! [signal](Signals), so no thread has to look from time to time.

use std::collections::BTreeMap;

use super::rate_limit::RateLimit;
use super::signals::Signals;
use crate::compaction::{Claims, Draining, Victims};
use crate::options::Options;
use crate::sync::{Arc, Rank, Ranked, RankedGuard, lock};

/// The running background jobs of a store, its signals, and through them the back-pressure on writers.
#[derive(Debug)]
pub(in crate::db) struct Scheduler {
    /// Locked while a job is chosen and when it ends, but not while it runs. So every job is chosen
    /// from views that hold the results of all jobs that have ended.
    running: Ranked<Running>,
    /// Shared with those that wake the threads from below.
    pub(in crate::db) signals: Arc<Signals>,
    /// How fast merges write; `None` for no limit.
    pub(in crate::db) rate_limit: Option<RateLimit>,
}

/// The running jobs by keyspace id.
#[derive(Debug, Default)]
pub(in crate::db) struct Running {
    keyspaces: BTreeMap<u32, KeyspaceJobs>,
}

/// The running jobs of one keyspace, and what decides on the next ones.
#[derive(Debug, Default)]
pub(in crate::db) struct KeyspaceJobs {
    /// What the running merges use.
    pub(in crate::db) claims: Claims,
    /// Whether a memtable is being flushed. One is at a time, the oldest first.
    pub(in crate::db) flushing: bool,
    /// The number of callers that wait until running merges no longer block the merge they ask for, or for a
    /// flush before it.
    /// While it is not 0, background work begins no merge in the keyspace.
    pub(in crate::db) waiting: usize,
    /// The levels that merges drain. Kept while no job runs.
    pub(in crate::db) draining: Draining,
    /// The value files that merges empty. Kept while no job runs.
    pub(in crate::db) victims: Victims,
    /// Whether the disk was too full to empty them: others go first, which may make room.
    pub(in crate::db) victims_wait: bool,
}

impl KeyspaceJobs {
    fn is_idle(&self) -> bool {
        let nothing_runs = self.claims.is_empty() && !self.flushing && self.waiting == 0;
        let nothing_begun = self.draining == Draining::default() && self.victims.is_empty();
        nothing_runs && nothing_begun && !self.victims_wait
    }
}

impl Running {
    /// The jobs of a keyspace, for changing them. [`Running::forget_idle`] removes keyspaces without any.
    pub(in crate::db) fn of(&mut self, keyspace: u32) -> &mut KeyspaceJobs {
        self.keyspaces.entry(keyspace).or_default()
    }

    /// The jobs of a keyspace; `None` if there are none.
    pub(in crate::db) fn get(&self, keyspace: u32) -> Option<&KeyspaceJobs> {
        self.keyspaces.get(&keyspace)
    }

    /// Whether a flush or a merge runs.
    pub(in crate::db) fn is_busy(&self) -> bool {
        let mut keyspaces = self.keyspaces.values();
        keyspaces.any(|jobs| jobs.flushing || !jobs.claims.is_empty())
    }

    fn forget_idle(&mut self) {
        self.keyspaces.retain(|_, jobs| !jobs.is_idle());
    }
}

impl Scheduler {
    pub(in crate::db) fn new(options: &Options) -> Self {
        Scheduler {
            running: Ranked::new(Rank::Scheduler, Running::default()),
            signals: Arc::new(Signals::new()),
            rate_limit: RateLimit::new(options.compaction_bytes_per_second),
        }
    }

    /// The running jobs, locked.
    pub(in crate::db) fn running(&self) -> RankedGuard<'_, Running> {
        lock(&self.running)
    }

    /// Changes the jobs of a keyspace.
    pub(in crate::db) fn change(&self, keyspace: u32, change: impl FnOnce(&mut KeyspaceJobs)) {
        let mut running = self.running();
        change(running.of(keyspace));
        running.forget_idle();
    }
}
