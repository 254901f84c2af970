//! The running merges, and which tables they claim.

use std::collections::BTreeMap;

use crate::compaction::{Claims, Job};
use crate::db::store::{OpenKeyspace, Store};
use crate::error::Result;
use crate::sync::{Arc, lock};
use crate::version::Levels;

/// The running merges by keyspace id. The lock is held while a merge is picked, and again when it
/// ends, so every merge is picked from levels that hold the results of all merges that have ended.
#[derive(Debug, Default)]
pub(in crate::db) struct Merges {
    keyspaces: BTreeMap<u32, KeyspaceMerges>,
}

#[derive(Debug, Default)]
struct KeyspaceMerges {
    claims: Claims,
    /// The number of callers that wait until running merges no longer block the merge they ask for.
    /// While it is not 0, background work begins no merge in the keyspace.
    waiting: usize,
}

/// A running merge with its claims. Dropping it releases them.
pub(in crate::db) struct Merge<'a> {
    store: &'a Store,
    pub(in crate::db) keyspace: &'a OpenKeyspace,
    pub(in crate::db) job: Job,
    /// The levels it was picked from.
    pub(in crate::db) levels: Arc<Levels>,
    claim: u64,
}

impl<'a> Merge<'a> {
    /// Claims the inputs and the output of a job.
    fn begin(
        store: &'a Store,
        keyspace: &'a OpenKeyspace,
        running: &mut KeyspaceMerges,
        job: Job,
        levels: Arc<Levels>,
    ) -> Self {
        Merge {
            store,
            keyspace,
            claim: running.claims.take(&job),
            job,
            levels,
        }
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        // Others may wait for these tables, or found no merge that can run beside this one.
        let release = |k: &mut KeyspaceMerges| k.claims.release(self.claim);
        self.store.change_merges(self.keyspace, release);
    }
}

impl Merges {
    /// The merges of a keyspace. [`Merges::forget_idle`] removes keyspaces without any.
    fn of(&mut self, keyspace: &OpenKeyspace) -> &mut KeyspaceMerges {
        self.keyspaces.entry(keyspace.id).or_default()
    }

    fn forget_idle(&mut self) {
        self.keyspaces
            .retain(|_, k| !k.claims.is_empty() || k.waiting > 0);
    }
}

/// While this exists, background work begins no merge in the keyspace.
pub(in crate::db) struct WaitingCaller<'a> {
    store: &'a Store,
    keyspace: &'a OpenKeyspace,
}

impl<'a> WaitingCaller<'a> {
    fn begin(store: &'a Store, keyspace: &'a OpenKeyspace) -> Self {
        lock(&store.merges).of(keyspace).waiting += 1;
        WaitingCaller { store, keyspace }
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.store.change_merges(self.keyspace, |k| k.waiting -= 1);
    }
}

impl Store {
    /// Changes the merges of a keyspace, and wakes the threads that wait for changes.
    fn change_merges(&self, keyspace: &OpenKeyspace, change: impl FnOnce(&mut KeyspaceMerges)) {
        let mut merges = lock(&self.merges);
        change(merges.of(keyspace));
        merges.forget_idle();
        drop(merges);
        self.signals.wake_all();
    }

    /// Begins the merge of a keyspace that `pick` chooses beside the running ones, if it chooses
    /// one. All writes in its inputs are visible to readers that start later.
    pub(in crate::db) fn begin_merge<'a>(
        &'a self,
        keyspace: &'a OpenKeyspace,
        pick: impl FnOnce(&Levels, &Claims) -> Option<Job>,
    ) -> Option<Merge<'a>> {
        let mut merges = lock(&self.merges);
        let levels = keyspace.view.load_full().levels.clone();
        let running = merges.of(keyspace);
        let job = match running.waiting {
            0 => pick(&levels, &running.claims),
            _ => None,
        };
        let merge = job.map(|job| Merge::begin(self, keyspace, running, job, levels));
        merges.forget_idle();
        merge
    }

    /// Waits until the merge that `pick` chooses can run beside the running ones, and begins it.
    /// Returns `None` if `pick` chooses none. Meanwhile background work begins no merge in the
    /// keyspace.
    ///
    /// # Errors
    /// If the store takes no writes any more, or closes.
    pub(in crate::db) fn await_merge<'a>(
        &'a self,
        keyspace: &'a OpenKeyspace,
        pick: impl Fn(&Levels) -> Option<Job>,
    ) -> Result<Option<Merge<'a>>> {
        let _waiting = WaitingCaller::begin(self, keyspace);
        loop {
            self.check_writable()?;
            let seen = self.signals.changes();
            let mut merges = lock(&self.merges);
            let levels = keyspace.view.load_full().levels.clone();
            let running = merges.of(keyspace);
            let Some(job) = pick(&levels) else {
                return Ok(None);
            };
            if running.claims.admits(&job) {
                return Ok(Some(Merge::begin(self, keyspace, running, job, levels)));
            }
            drop(merges);
            self.signals.wait_past(seen)?;
        }
    }

    /// Waits until no merge runs in a keyspace. While the result exists, background work begins none.
    ///
    /// # Errors
    /// If the store takes no writes any more, or closes.
    pub(in crate::db) fn await_quiet<'a>(
        &'a self,
        keyspace: &'a OpenKeyspace,
    ) -> Result<WaitingCaller<'a>> {
        let waiting = WaitingCaller::begin(self, keyspace);
        loop {
            self.check_writable()?;
            let seen = self.signals.changes();
            if lock(&self.merges).of(keyspace).claims.is_empty() {
                return Ok(waiting);
            }
            self.signals.wait_past(seen)?;
        }
    }
}
