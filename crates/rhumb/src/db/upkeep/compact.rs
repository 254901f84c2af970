//! Compactions: those that the shape of the levels calls for, and those that a user asks for.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::merges::Merge;
use crate::compaction::{self, Context, Counters, Hull, Outcome};
use crate::db::store::{OpenKeyspace, Store};
use crate::entry::is_behind;
use crate::error::{Error, Result};
use crate::options::{Compaction, Granularity, TierSpec};
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::version::{LEVELS, Levels};

/// The longest sleep of a merge, after which it looks whether it still has to wait.
pub(super) const LONGEST_NAP: Duration = Duration::from_millis(10);

impl Store {
    /// Flushes, and merges the tables that may hold keys of a range down to the last level with tables, into
    /// one run.
    pub(in crate::db) fn compact_range(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Result<()> {
        // What would be merged meanwhile would be merged again with what is flushed.
        let merges_held_off = self.hold_off_merges(keyspace);
        self.flush_keyspace(keyspace)?;
        drop(merges_held_off);
        let before = self.files.next_number();
        let compaction = self.options.levels.compaction;
        let from = from.unwrap_or_default();
        let to = to.map_or(Bound::Unbounded, Bound::Excluded);
        if let Some(tier) = compaction.tier() {
            self.convert_range(keyspace, tier, (from, to), before)?;
            self.collect_garbage();
            return Ok(());
        }
        let pick_whole = || {
            self.await_merge(keyspace, |levels| {
                compaction::pick_whole(levels, compaction, from, to, before)
            })
        };
        // The last round must find nothing to do while no merge runs and none begins: a merge that is
        // still running may leave two runs in a level, or move tables to a deeper one.
        let mut quiet = None;
        loop {
            let mut works = false;
            if let Some(merge) = pick_whole()? {
                (quiet, works) = (None, true);
                self.run_merge(&merge)?;
            }
            if compaction != Compaction::Leveled {
                break;
            }
            for level in 0..LEVELS {
                while let Some(merge) = self.await_merge(keyspace, |levels| {
                    compaction::pick_step(levels, from, to, level, before)
                })? {
                    (quiet, works) = (None, true);
                    self.run_merge(&merge)?;
                }
            }
            if quiet.is_some() {
                break;
            }
            if !works {
                quiet = Some(self.await_quiet(keyspace)?);
            }
        }
        drop(quiet);
        self.collect_garbage();
        Ok(())
    }

    /// Converts the ranges of a learned tier that may hold some keys, one after the other, together with all tables
    /// that were flushed before file number `before`.
    fn convert_range(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        tier: TierSpec,
        (from, to): (&[u8], Bound<&[u8]>),
        before: u64,
    ) -> Result<()> {
        let stack = |levels: &Levels| compaction::pick_stack(levels, tier, (from, to), before);
        while let Some(merge) = self.await_merge(keyspace, stack)? {
            self.run_merge(&merge)?;
        }
        // Each range once, and none that begins behind all that was there, whatever is written meanwhile.
        let levels = keyspace.view.load().levels.clone();
        let end = Hull::of(levels.tables().map(|(_, table)| table));
        let end = end.map_or(Bound::Unbounded, |hull| hull.to);
        let mut next = Some(from.to_vec());
        while let Some(from) = next.filter(|from| !is_behind(from, end)) {
            let convert = |levels: &Levels| compaction::pick_conversion(levels, tier, (&from, to));
            let Some(merge) = self.await_merge(keyspace, convert)? else {
                break;
            };
            next = merge.job.hull().and_then(|hull| hull.next_key());
            self.run_merge(&merge)?;
        }
        Ok(())
    }

    /// Frees the views that no reader uses any more, and deletes the tables that are in no view.
    pub(in crate::db) fn collect_garbage(&self) {
        self.free_views();
        self.delete_garbage();
    }

    /// Deletes the files of the tables that are in no view. A file that cannot be deleted now is
    /// deleted when the store is opened again.
    pub(in crate::db) fn delete_garbage(&self) {
        self.files.delete_garbage();
    }

    /// Frees the replaced views that no reader uses any more, and the memtables that only those views
    /// hold. Returns whether those were all.
    pub(in crate::db) fn free_views(&self) -> bool {
        let mut all = true;
        for keyspace in self.keyspaces.load().values() {
            all &= keyspace.view.free_replaced();
        }
        let mut dropped = lock(&self.dropped);
        dropped.retain(|keyspace| !keyspace.view.free_replaced());
        all && dropped.is_empty()
    }

    fn run_merge(&self, merge: &Merge<'_>) -> Result<()> {
        self.measure_forms(&merge.keyspace);
        match self.merge_tables(merge) {
            // The keyspace was dropped meanwhile, so its tables need not be merged.
            Err(Error::NoSuchKeyspace(_)) => Ok(()),
            result => result,
        }
    }

    /// # Errors
    /// [`Error::NoSuchKeyspace`] if the keyspace was dropped meanwhile; nothing is lost then.
    pub(super) fn merge_tables(&self, merge: &Merge<'_>) -> Result<()> {
        let started = Instant::now();
        let (keyspace, job) = (&merge.keyspace, &merge.job);
        let counters = Counters::default();
        let paced = Cell::new(0);
        let pace = |bytes| {
            paced.set(paced.get() + bytes);
            self.pace(keyspace, bytes);
        };
        let outcome = self.with_context(keyspace, &counters, &pace, |context| {
            let go_on = || match merge.is_given_up() {
                true => Err(Error::Closed),
                false => (context.go_on)(),
            };
            let context = Context {
                go_on: &go_on,
                victims: &merge.victims,
                brings_back: merge.brings_back,
                ..*context
            };
            let outcome = compaction::execute(&context, job, &merge.levels)?;
            if !job.trivial {
                self.train_model(&context, &outcome, &merge.levels);
            }
            Ok(outcome)
        });
        let outcome = match outcome {
            Err(Error::Closed) if merge.is_given_up() => {
                let written = paced.get();
                self.writes
                    .update(|w| w.compaction_bytes_written += written);
                return Ok(());
            }
            outcome => outcome?,
        };
        let (made, moved) = (
            outcome.bytes(),
            counters.moved_bytes.load(Ordering::Relaxed),
        );
        self.install(keyspace, &outcome, None, |w| {
            if job.trivial {
                w.trivial_moves += job.tables().count() as u64;
            } else {
                w.compactions += 1;
                w.collections += u64::from(moved > 0);
                w.moved_value_bytes += moved;
                w.compaction_bytes_read += job.bytes() + moved;
                w.compaction_bytes_written += made;
                w.compaction_time += started.elapsed();
                w.compaction_training_time += Counters::time(&counters.training_nanos);
                w.compaction_read_time += Counters::time(&counters.read_nanos);
                w.compaction_write_time += Counters::time(&counters.write_nanos);
            }
        })?;
        self.make_models(keyspace);
        self.remember_tuning(keyspace);
        Ok(())
    }

    /// Waits until a merge of a keyspace may write `bytes` more. There is no limit while writers are held up,
    /// and for the rest of a merge that is not wanted any more.
    pub(super) fn pace(&self, keyspace: &OpenKeyspace, bytes: u64) {
        let Some(limit) = &self.scheduler.rate_limit else {
            return;
        };
        let started = Instant::now();
        let wait = limit.reserve(bytes, started);
        while !self.scheduler.signals.is_pressed() && self.is_wanted(keyspace).is_ok() {
            let rest = wait.saturating_sub(started.elapsed());
            if rest.is_zero() {
                return;
            }
            thread::sleep(rest.min(LONGEST_NAP));
        }
        limit.forgive(Instant::now());
    }

    /// Fails if the work on a keyspace is not wanted any more: the store closes, or the keyspace was dropped.
    pub(super) fn is_wanted(&self, keyspace: &OpenKeyspace) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        match self.keyspaces.load().contains_key(&keyspace.id) {
            true => Ok(()),
            false => Err(Error::NoSuchKeyspace(keyspace.name.clone())),
        }
    }

    /// Trains a model of what a merge has written, if the store has such models. It can do without one.
    fn train_model(&self, context: &Context<'_>, outcome: &Outcome, levels: &Levels) {
        if self.options.levels.granularity != Granularity::Trained {
            return;
        }
        let started = Instant::now();
        let _ = compaction::train_merged(context, outcome, levels);
        self.writes.update(|w| w.model_time += started.elapsed());
    }

    /// Makes the models over several tables that a merge made necessary, so that no reader has to.
    fn make_models(&self, keyspace: &OpenKeyspace) {
        let (started, levels) = (Instant::now(), keyspace.view.load().levels.clone());
        let tables = levels.make_models();
        if tables > 0 {
            self.writes.update(|w| {
                w.modelled_tables += tables;
                w.model_time += started.elapsed();
            });
        }
    }

    /// Calls `work` with the context that a flush or a compaction of a keyspace needs. The
    /// snapshots in it are read after the inputs were chosen, so a reader that starts later sees at
    /// least the newest sequence of the inputs.
    pub(in crate::db) fn with_context<T>(
        &self,
        keyspace: &OpenKeyspace,
        counters: &Counters,
        pace: &dyn Fn(u64),
        work: impl FnOnce(&Context<'_>) -> Result<T>,
    ) -> Result<T> {
        let snapshots = self.pinned_sequences();
        let (maps, options, value_files) = {
            let catalog = lock(&self.catalog);
            let state = catalog.state.keyspaces.get(&keyspace.id);
            let state = state.ok_or_else(|| Error::NoSuchKeyspace(keyspace.name.clone()))?;
            keyspace
                .next_map
                .fetch_max(state.maps.next(), Ordering::Relaxed);
            let value_files = state.levels.value_files().clone();
            (
                Arc::clone(state.maps.by_number()),
                state.options.clone(),
                value_files,
            )
        };
        let (index, table) = options.layout(&self.options);
        work(&Context {
            keyspace: keyspace.id,
            files: &self.files,
            table,
            tier: self.options.levels.compaction.tier(),
            index,
            tuner: keyspace.tuner_of(table),
            next_map: &|| keyspace.next_map.fetch_add(1, Ordering::Relaxed),
            maps: &maps,
            value_files: &value_files,
            victims: &BTreeSet::new(),
            brings_back: false,
            logged: &[],
            older: &[],
            keeps_blocks: false,
            snapshots: &snapshots,
            pace,
            go_on: &|| self.is_wanted(keyspace),
            counters,
        })
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::compaction::{Input, Job};
    use crate::db::upkeep::merges::Asked;
    use crate::{Db, Options};

    #[test]
    fn work_on_a_dropped_keyspace_ends_early() {
        let db = Db::open("store", Options::in_memory()).unwrap();
        let dropped = db.create_keyspace("dropped").unwrap();
        let store = &db.handle.store;
        let work = |context: &Context<'_>| {
            (context.go_on)()?;
            db.drop_keyspace("dropped").unwrap();
            (context.go_on)()
        };
        let keyspace = dropped.state();
        let ended = store.with_context(keyspace, &Counters::default(), &|_| {}, work);
        assert!(matches!(ended, Err(Error::NoSuchKeyspace(name)) if name == "dropped"));
    }

    /// Begins a merge as background work does.
    fn begin_merge<'a>(
        store: &'a Store,
        keyspace: &Arc<OpenKeyspace>,
        job: impl FnOnce(&Levels) -> Job,
    ) -> Merge<'a> {
        let mut running = store.scheduler.running();
        let levels = keyspace.view.load().levels.clone();
        let job = job(&levels);
        Merge::begin(
            &store.scheduler,
            &mut running,
            keyspace.clone(),
            job,
            levels,
        )
    }

    /// What a merge of all runs of level 0 that began in the background would write, a merge that is asked for
    /// would write again with the runs that came since.
    #[test]
    fn a_merge_is_given_up_for_one_that_takes_more() {
        let mut options = Options::in_memory();
        options.levels.level0_tables = 100;
        let db = Db::open("store", options).unwrap();
        let (store, keyspace) = (&db.handle.store, db.state());
        let flush = || {
            for number in 0..2_000u32 {
                db.put(number.to_be_bytes(), [7; 100]).unwrap();
            }
            db.flush().unwrap();
        };
        let all_runs = |levels: &Levels| Job {
            inputs: (levels.runs(0).iter())
                .map(|run| Input::new(0, run, run.tables()))
                .collect(),
            target_level: 1,
            target_run: Some(0),
            trivial: false,
        };
        flush();
        flush();
        let merge = begin_merge(store, keyspace, all_runs);
        merge.allow_to_give_up(&mut store.scheduler.running());
        let ask = || store.begin_asked(keyspace, |levels| Some(all_runs(levels)));
        assert!(matches!(ask(), Asked::Waits) && !merge.is_given_up());
        flush();
        assert!(matches!(ask(), Asked::Waits) && merge.is_given_up());
        store.run_merge(&merge).unwrap();
        drop(merge);
        let writes = || db.stats().unwrap().writes;
        assert_eq!(writes().compactions, 0);
        assert_eq!(keyspace.view.load().levels.runs(0).len(), 3);
        db.compact_range(None, None).unwrap();
        assert_eq!(writes().compactions, 1);
        let levels = &keyspace.view.load().levels;
        let entries = levels.tables().map(|(_, table)| table.meta.entries);
        assert_eq!(entries.sum::<u64>(), 2_000);
    }

    /// Waits until background work may begin no merge in a keyspace, because `compact_range` waits.
    fn await_waiting(store: &Store, keyspace: &OpenKeyspace, compacted: impl Fn() -> bool) {
        let waits = || store.scheduler.running().of(keyspace.id).waiting > 0;
        while !waits() && !compacted() {
            std::thread::yield_now();
        }
    }

    /// A merge that moved a table to a deeper level while `compact_range` looked at the levels left
    /// two runs, since nothing was left to do before the merge ended.
    #[test]
    fn a_range_is_compacted_below_a_merge_that_is_running() {
        let mut options = Options::in_memory();
        options.levels.level0_tables = 100;
        let db = Db::open("store", options).unwrap();
        let (store, keyspace) = (&db.handle.store, db.state());
        for key in ["a", "b"] {
            db.put(key, "value").unwrap();
            db.compact_range(None, None).unwrap();
        }
        let merge = begin_merge(store, keyspace, |levels| {
            let run = &levels.runs(1)[0];
            assert_eq!(run.tables().len(), 2);
            Job {
                inputs: vec![Input::one(1, run, &run.tables()[0])],
                target_level: 2,
                target_run: Some(0),
                trivial: true,
            }
        });
        std::thread::scope(|scope| {
            let compacted = scope.spawn(|| db.compact_range(None, None));
            await_waiting(store, keyspace, || compacted.is_finished());
            store.run_merge(&merge).unwrap();
            drop(merge);
            compacted.join().unwrap().unwrap();
        });
        let levels = &keyspace.view.load().levels;
        assert_eq!(levels.all_runs().count(), 1);
    }

    /// A run can still be the target of a merge after its last table has left it. If another merge
    /// begins a new run in that level meanwhile, the level ends up with two runs, which
    /// step-by-step compaction cannot handle.
    #[test]
    fn a_range_is_compacted_although_its_level_gets_a_second_run() {
        let mut options = Options::in_memory();
        options.levels.level0_tables = 100;
        let db = Db::open("store", options).unwrap();
        let (store, keyspace) = (&db.handle.store, db.state());
        // Overlapping, so that both tables stay in level 0.
        for keys in [&["a", "c"][..], &["b"]] {
            for key in keys {
                db.delete(key).unwrap();
            }
            db.flush().unwrap();
        }
        let begin = |table: usize, run| {
            let job = |levels: &Levels| Job {
                inputs: vec![Input::new(
                    0,
                    &levels.runs(0)[table],
                    levels.runs(0)[table].tables(),
                )],
                target_level: 1,
                target_run: Some(run),
                trivial: true,
            };
            begin_merge(store, keyspace, job)
        };
        let merges = [begin(0, 12), begin(1, 0)];
        std::thread::scope(|scope| {
            let compacted = scope.spawn(|| db.compact_range(None, None));
            await_waiting(store, keyspace, || compacted.is_finished());
            for merge in merges {
                store.run_merge(&merge).unwrap();
            }
            compacted.join().unwrap().unwrap();
        });
        let levels = &keyspace.view.load().levels;
        assert_eq!(
            levels.tables().count(),
            0,
            "deletes are left although there is nothing below them"
        );
    }
}
