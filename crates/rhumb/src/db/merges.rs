//! Who merges what at the moment.

use std::collections::BTreeMap;

use super::store::{OpenKeyspace, Store};
use crate::compaction::{Claims, Job};
use crate::error::Result;
use crate::sync::{Arc, lock};
use crate::version::Levels;

/// The merges that run, by keyspace id. The lock is held while one is picked, and for a moment when
/// it ends, so that each is picked from levels that hold the results of all that ended.
#[derive(Debug, Default)]
pub(super) struct Merges {
    keyspaces: BTreeMap<u32, InKeyspace>,
}

#[derive(Debug, Default)]
struct InKeyspace {
    claims: Claims,
    /// How many callers wait for merges to end that are in the way of what they asked for: no other
    /// merge begins meanwhile.
    waiting: usize,
}

/// A merge that has its claims. They end with it.
pub(super) struct Merge<'a> {
    store: &'a Store,
    pub(super) keyspace: &'a OpenKeyspace,
    pub(super) job: Job,
    /// The levels that it was picked from.
    pub(super) levels: Arc<Levels>,
    claim: u64,
}

impl<'a> Merge<'a> {
    /// Claims what a job takes.
    fn begin(
        store: &'a Store,
        keyspace: &'a OpenKeyspace,
        running: &mut InKeyspace,
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
        // Others may wait for its tables, or have found nothing to do beside it.
        let release = |k: &mut InKeyspace| k.claims.release(self.claim);
        self.store.change_merges(self.keyspace, release);
    }
}

impl Merges {
    /// The keyspace's merges; an idle keyspace is forgotten by [`Merges::forget_idle`].
    fn of(&mut self, keyspace: &OpenKeyspace) -> &mut InKeyspace {
        self.keyspaces.entry(keyspace.id).or_default()
    }

    fn forget_idle(&mut self) {
        self.keyspaces
            .retain(|_, k| !k.claims.is_empty() || k.waiting > 0);
    }
}

/// While it is there, background work begins no merge of the keyspace.
struct Waiting<'a> {
    store: &'a Store,
    keyspace: &'a OpenKeyspace,
}

impl<'a> Waiting<'a> {
    fn begin(store: &'a Store, keyspace: &'a OpenKeyspace) -> Self {
        lock(&store.merges).of(keyspace).waiting += 1;
        Waiting { store, keyspace }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.store.change_merges(self.keyspace, |k| k.waiting -= 1);
    }
}

impl Store {
    /// Changes who merges in a keyspace, and wakes those who wait for such changes.
    fn change_merges(&self, keyspace: &OpenKeyspace, change: impl FnOnce(&mut InKeyspace)) {
        let mut merges = lock(&self.merges);
        change(merges.of(keyspace));
        merges.forget_idle();
        drop(merges);
        self.signals.wake_all();
    }

    /// Begins the merge of a keyspace that `pick` chooses beside those that run, if any. What readers
    /// who come later see is not older than its inputs.
    pub(super) fn begin_merge<'a>(
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

    /// Begins the merge of a keyspace that `pick` chooses as soon as no other is in its way; `None` if
    /// it chooses none. It goes before background work that has not begun.
    ///
    /// # Errors
    /// If the store takes no writes any more, or closes.
    pub(super) fn await_merge<'a>(
        &'a self,
        keyspace: &'a OpenKeyspace,
        pick: impl Fn(&Levels) -> Option<Job>,
    ) -> Result<Option<Merge<'a>>> {
        let _waiting = Waiting::begin(self, keyspace);
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
}
