//! Merges that have begun, and callers that wait for merges.

use std::collections::BTreeSet;

use super::scheduler::{Running, Scheduler};
use crate::compaction::Job;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::Result;
use crate::options::TierForm;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::version::Levels;

/// A running merge with its claims. Dropping it releases them.
pub(in crate::db) struct Merge<'a> {
    scheduler: &'a Scheduler,
    pub(in crate::db) keyspace: Arc<OpenKeyspace>,
    pub(in crate::db) job: Job,
    /// The levels it was picked from.
    pub(in crate::db) levels: Arc<Levels>,
    /// The value files that are to be emptied.
    pub(in crate::db) victims: Arc<BTreeSet<u64>>,
    /// Whether it runs only to make room: to empty them, or for what newer entries hide.
    pub(in crate::db) collects: bool,
    /// Whether it brings all values back to their keys.
    pub(in crate::db) brings_back: bool,
    claim: u64,
    given_up: Arc<AtomicBool>,
}

/// What comes of a merge that a caller asks for.
pub(in crate::db) enum Asked<'a> {
    NothingToDo,
    Begun(Merge<'a>),
    /// It has to wait for running ones.
    Waits,
}

impl<'a> Merge<'a> {
    /// Claims the inputs and the output of a job, which was picked from `levels` while `running` was
    /// locked. All writes in its inputs are visible to readers that start later.
    pub(in crate::db) fn begin(
        scheduler: &'a Scheduler,
        running: &mut Running,
        keyspace: Arc<OpenKeyspace>,
        job: Job,
        levels: Arc<Levels>,
    ) -> Self {
        let jobs = running.of(keyspace.id);
        Merge {
            scheduler,
            claim: jobs.claims.take(&job),
            victims: Arc::clone(jobs.victims.files()),
            collects: false,
            brings_back: false,
            keyspace,
            job,
            levels,
            given_up: Arc::default(),
        }
    }

    /// Lets it be given up for a larger merge that somebody asks for.
    pub(in crate::db) fn allow_to_give_up(&self, running: &mut Running) {
        let claims = &mut running.of(self.keyspace.id).claims;
        claims.allow_to_give_up(self.claim, &self.given_up);
    }

    /// Lets it bring all values back to their keys.
    pub(in crate::db) fn bring_back(&mut self, running: &mut Running) {
        self.brings_back = true;
        let claims = &mut running.of(self.keyspace.id).claims;
        claims.note_copies(self.claim, self.job.bytes_apart());
    }

    /// Whether it should end early, without a result.
    pub(in crate::db) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        // Others may wait for these tables, or found no merge that can run beside this one.
        // A table that is written anew where it is makes no level larger.
        let grows = !self.job.trivial && !self.job.is_rewrite();
        let merged = grows && !self.keyspace.is_dropped();
        self.scheduler.change(self.keyspace.id, |jobs| {
            jobs.claims.release(self.claim);
            if merged {
                jobs.draining.note_merge(self.job.target_level);
            }
        });
        self.scheduler.signals.wake_all();
    }
}

/// While this exists, background work begins no merge in the keyspace.
pub(in crate::db) struct WaitingCaller<'a> {
    scheduler: &'a Scheduler,
    keyspace: u32,
}

impl<'a> WaitingCaller<'a> {
    fn begin(scheduler: &'a Scheduler, keyspace: u32) -> Self {
        scheduler.change(keyspace, |jobs| jobs.waiting += 1);
        WaitingCaller {
            scheduler,
            keyspace,
        }
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.scheduler
            .change(self.keyspace, |jobs| jobs.waiting -= 1);
        self.scheduler.signals.wake_all();
    }
}

impl Store {
    /// Waits until the merge that `pick` chooses can run beside the running ones, and begins it.
    /// Returns `None` if `pick` chooses none. Meanwhile background work begins no merge in the
    /// keyspace.
    ///
    /// # Errors
    /// If the store takes no writes any more, or closes.
    pub(in crate::db) fn await_merge<'a>(
        &'a self,
        keyspace: &Arc<OpenKeyspace>,
        pick: impl Fn(&Levels) -> Option<Job>,
    ) -> Result<Option<Merge<'a>>> {
        let _waiting = self.hold_off_merges(keyspace);
        loop {
            self.check_writable()?;
            let seen = self.scheduler.signals.changes();
            match self.begin_asked(keyspace, &pick) {
                Asked::NothingToDo => return Ok(None),
                Asked::Begun(merge) => return Ok(Some(merge)),
                Asked::Waits => self.scheduler.signals.wait_past(seen)?,
            }
        }
    }

    /// Begins the merge that `pick` chooses, if it can run beside the running ones. Those that are part of it
    /// are given up.
    pub(in crate::db) fn begin_asked<'a>(
        &'a self,
        keyspace: &Arc<OpenKeyspace>,
        pick: impl Fn(&Levels) -> Option<Job>,
    ) -> Asked<'a> {
        let scheduler = &self.scheduler;
        let mut running = scheduler.running();
        let levels = keyspace.view.load().levels.clone();
        let Some(job) = pick(&levels) else {
            return Asked::NothingToDo;
        };
        let claims = &running.of(keyspace.id).claims;
        if !claims.admits(&job) {
            claims.give_up_parts_of(&job);
            return Asked::Waits;
        }
        let mut merge = Merge::begin(scheduler, &mut running, keyspace.clone(), job, levels);
        let tier = self.options.levels.compaction.tier();
        match merge.job.converts(tier) {
            Some(TierForm::Inline) => merge.bring_back(&mut running),
            Some(TierForm::Published) => {
                let values = merge.job.tables().flat_map(|table| &table.meta.values);
                merge.victims = Arc::new(values.map(|used| used.file).collect());
            }
            Some(TierForm::Keys) | None => {}
        }
        Asked::Begun(merge)
    }

    /// Lets background work begin no merge in a keyspace as long as the result exists.
    pub(in crate::db) fn hold_off_merges(&self, keyspace: &OpenKeyspace) -> WaitingCaller<'_> {
        WaitingCaller::begin(&self.scheduler, keyspace.id)
    }

    /// Waits until no merge runs in a keyspace. While the result exists, background work begins none.
    ///
    /// # Errors
    /// If the store takes no writes any more, or closes.
    pub(in crate::db) fn await_quiet<'a>(
        &'a self,
        keyspace: &OpenKeyspace,
    ) -> Result<WaitingCaller<'a>> {
        let scheduler = &self.scheduler;
        let waiting = self.hold_off_merges(keyspace);
        loop {
            self.check_writable()?;
            let seen = scheduler.signals.changes();
            if scheduler.running().of(keyspace.id).claims.is_empty() {
                return Ok(waiting);
            }
            scheduler.signals.wait_past(seen)?;
        }
    }
}
