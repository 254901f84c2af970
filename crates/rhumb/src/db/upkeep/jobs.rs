//! The kinds of background jobs, and which job is done next.
//!
//! A further kind is a further variant of [`Work`], and of [`RunningJob`] unless it is a merge, with an arm in each
//! function below: whose threads do it, when it is due and how urgent it is, what it claims, how it is done.

use super::background::Crew;
use super::flush::Flush;
use super::merges::Merge;
use super::scheduler::{KeyspaceJobs, Running};
use crate::compaction::{
    Collection, Draining, Victims, brings_back, full_levels, pick_collection, pick_level,
};
use crate::db::store::{OpenKeyspace, Store};
use crate::db::write::pressure::{WAITING, level0};
use crate::error::{Error, Result};
use crate::memtable::Memtable;
use crate::options::Compaction;
use crate::sync::Arc;
use crate::version::Levels;

/// How urgent a job is, in comparison with others of its crew, whatever their keyspaces: first by
/// `stall`, then by `score`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Urgency {
    /// How near the keyspace is to a stall that this job averts: from 1 on, writers of all keyspaces
    /// wait. 0 if it is not near.
    stall: f64,
    /// How much there is to do. Among equal jobs, the one of the older keyspace comes first.
    score: f64,
}

/// A job that is due in a keyspace.
struct Due {
    urgency: Urgency,
    keyspace: Arc<OpenKeyspace>,
    work: Work,
}

impl Due {
    /// The keyspace and the level of a merge.
    fn merged_level(&self) -> Option<(u32, usize)> {
        match self.work {
            Work::Merge { level, .. } => Some((self.keyspace.id, level)),
            Work::Flush(_) | Work::Collect(_) => None,
        }
    }
}

/// What a job would do.
enum Work {
    /// Writes the oldest waiting memtable to a table.
    Flush(Arc<Memtable>),
    /// Merges tables of a level.
    Merge { levels: Arc<Levels>, level: usize },
    /// Rewrites a table to empty value files.
    Collect(Arc<Levels>),
}

/// A running job with what it claims.
enum RunningJob<'a> {
    Flush(Flush<'a>),
    Merge(Merge<'a>),
}

impl Store {
    /// Does the most urgent job of a crew that can run beside the running ones. Returns whether there
    /// was one.
    pub(in crate::db) fn do_most_urgent(&self, crew: Crew) -> Result<bool> {
        let done = match self.begin_most_urgent(crew) {
            None => return Ok(false),
            Some(RunningJob::Flush(flush)) => self.flush_memtable(&flush),
            Some(RunningJob::Merge(merge)) => {
                let merged = self.merge_tables(&merge);
                let no_room = matches!(merged, Err(Error::DiskFull { .. }));
                self.scheduler.change(merge.keyspace.id, |jobs| {
                    jobs.victims_wait = merge.collects && no_room;
                });
                let keyspace = merge.keyspace.clone();
                drop(merge);
                if merged.is_ok() {
                    self.measure_forms(&keyspace);
                }
                merged
            }
        };
        match done {
            // The keyspace was dropped meanwhile, and with it the work.
            Err(Error::NoSuchKeyspace(_)) => Ok(true),
            done => done.map(|()| true),
        }
    }

    fn begin_most_urgent(&self, crew: Crew) -> Option<RunningJob<'_>> {
        let mut running = self.scheduler.running();
        let mut due = Vec::new();
        let none = KeyspaceJobs::default();
        for keyspace in self.keyspaces.load().values() {
            let jobs = running.get(keyspace.id).unwrap_or(&none);
            match crew {
                // The log belongs to no keyspace, and learning stands behind all jobs.
                Crew::Log | Crew::Learn => {}
                Crew::Flush => due.extend(self.due_flush(keyspace, jobs)),
                Crew::Merge => {
                    let (mut draining, mut victims) = (jobs.draining, jobs.victims.clone());
                    due.extend(self.due_merges(keyspace, jobs, &mut draining));
                    due.extend(self.due_collection(keyspace, jobs, &mut victims));
                    if (draining, &victims) != (jobs.draining, &jobs.victims) {
                        let jobs = running.of(keyspace.id);
                        (jobs.draining, jobs.victims) = (draining, victims);
                    }
                }
            }
        }
        due.sort_by(|a, b| {
            let stall = f64::total_cmp(&b.urgency.stall, &a.urgency.stall);
            stall.then(f64::total_cmp(&b.urgency.score, &a.urgency.score))
        });
        let mut refused = Vec::new();
        due.into_iter().find_map(|due| {
            let place = due.merged_level();
            let begun = self.begin(due, &mut running, &refused);
            refused.extend(place.filter(|_| begun.is_none()));
            begun
        })
    }

    /// Begins a job, if it can run beside the running ones. Merges of some keyspaces and levels were `refused`, since
    /// they cannot: a collection of their tables would keep them waiting for longer.
    fn begin(
        &self,
        due: Due,
        running: &mut Running,
        refused: &[(u32, usize)],
    ) -> Option<RunningJob<'_>> {
        let Due { keyspace, work, .. } = due;
        let (compaction, percent) = (
            self.options.levels.compaction,
            self.options.over_provision_percent,
        );
        let (Collection { job, brings_back }, levels, collects) = match work {
            Work::Flush(memtable) => {
                let flush = Flush::begin(&self.scheduler, running, keyspace, memtable);
                return Some(RunningJob::Flush(flush));
            }
            Work::Merge { levels, level } => {
                let claims = &running.of(keyspace.id).claims;
                let job = pick_level(&levels, &self.options.levels, level, claims)?;
                let brings_back = brings_back(&levels, &job, (compaction, percent), claims);
                (Collection { job, brings_back }, levels, false)
            }
            Work::Collect(levels) => {
                let jobs = running.of(keyspace.id);
                let is_awaited = |level| {
                    let merges = refused.iter().filter(|(id, _)| *id == keyspace.id);
                    let mut levels = merges.map(|(_, from)| *from..=from + 1);
                    levels.any(|levels| compaction == Compaction::Tiered || levels.contains(&level))
                };
                let (victims, claims) = (&jobs.victims, &jobs.claims);
                let space = (compaction, percent);
                let picked = pick_collection(&levels, victims, space, claims, is_awaited)?;
                (picked, levels, true)
            }
        };
        let mut merge = Merge::begin(&self.scheduler, running, keyspace, job, levels);
        merge.allow_to_give_up(running);
        merge.collects = collects;
        if brings_back {
            merge.bring_back(running);
        }
        Some(RunningJob::Merge(merge))
    }

    /// The flush of the oldest waiting memtable of a keyspace. The oldest of all goes first, since it
    /// keeps its log from being deleted, except where a keyspace stalls writers. A slowdown does not
    /// count: it can last, and the others would have to wait for its end.
    fn due_flush(&self, keyspace: &Arc<OpenKeyspace>, jobs: &KeyspaceJobs) -> Option<Due> {
        if jobs.flushing {
            return None;
        }
        let view = keyspace.view.load();
        let held = view.held.as_ref().and_then(|m| m.smallest_sequence());
        // What stays kept back keeps its log either way.
        let held = held.filter(|oldest| keyspace.is_flushed_whole(*oldest));
        let memtable = match view.waiting.last() {
            Some(memtable) => memtable.clone(),
            // What is kept back is to be written, and nothing comes along with it.
            None if held.is_some() => Arc::default(),
            None => return None,
        };
        let oldest = held.or(memtable.smallest_sequence());
        let age = oldest.map_or(f64::INFINITY, |s| self.visible().saturating_sub(s) as f64);
        let near = WAITING.nearness(view.waiting.len());
        Some(Due {
            urgency: Urgency {
                stall: if near >= 1.0 { near } else { 0.0 },
                score: age,
            },
            keyspace: keyspace.clone(),
            work: Work::Flush(memtable),
        })
    }

    /// The merges of the full levels of a keyspace.
    fn due_merges(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        jobs: &KeyspaceJobs,
        draining: &mut Draining,
    ) -> Vec<Due> {
        let levels = keyspace.view.load().levels.clone();
        let options = &self.options.levels;
        if jobs.waiting > 0 {
            return Vec::new();
        }
        let percent = self.options.over_provision_percent;
        let full = full_levels(&levels, options, percent, &jobs.claims, draining);
        let near = level0(options).nearness(levels.runs(0).len());
        // Level 0, or level 1, for which it waits.
        let uppermost = full.iter().map(|(level, _)| *level).min();
        let due = full.into_iter().map(|(level, score)| Due {
            urgency: Urgency {
                stall: if Some(level) == uppermost { near } else { 0.0 },
                score,
            },
            keyspace: keyspace.clone(),
            work: Work::Merge {
                levels: levels.clone(),
                level,
            },
        });
        due.collect()
    }

    /// The next step towards less garbage in the value files of a keyspace.
    fn due_collection(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        jobs: &KeyspaceJobs,
        victims: &mut Victims,
    ) -> Option<Due> {
        let levels = keyspace.view.load().levels.clone();
        let most = self.options.over_provision_percent;
        let tier = self.options.levels.compaction.tier();
        let score = victims.update(&levels, most, tier, keyspace.value_groups())?;
        (jobs.waiting == 0).then(|| Due {
            urgency: Urgency {
                stall: 0.0,
                score: if jobs.victims_wait { 0.0 } else { score },
            },
            keyspace: keyspace.clone(),
            work: Work::Collect(levels),
        })
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::db::handle::Handle;
    use crate::db::opening::open::open_without_threads;
    use crate::fs::{FaultyFileSystem, FileSystem, MemoryFileSystem, Plan};
    use crate::options::Options;
    use crate::sync::lock;

    /// A store with tables of 64 pointers, whose level 0 is full with two.
    fn options(compaction: Compaction, file_system: Arc<dyn FileSystem>) -> Options {
        let mut options = Options {
            file_system,
            ..Options::in_memory()
        };
        options.table.separate_values = Some(50);
        options.table.table_bytes = 1 << 10;
        options.levels.compaction = compaction;
        options.levels.level0_tables = 2;
        options.levels.base_bytes = 1 << 30;
        options.over_provision_percent = 10;
        options
    }

    /// A store in which a third of the values were overwritten.
    fn overwritten(options: Options) -> Db {
        let store = open_without_threads(std::path::Path::new("store"), options).unwrap();
        let db = Db::from_handle(Handle::new(store, Vec::new())).unwrap();
        flush(&db, 1, 1);
        flush(&db, 3, 2);
        db
    }

    /// A store that collects what a third of overwritten values left, with 64 tables in level 1.
    fn store_with_victims(compaction: Compaction, file_system: Arc<dyn FileSystem>) -> Db {
        let db = overwritten(options(compaction, file_system));
        let store = &db.handle.store;
        assert!(store.do_most_urgent(Crew::Merge).unwrap());
        db
    }

    /// Writes every `step`th of 3,000 keys and the last one, and flushes them.
    fn flush(db: &Db, step: usize, seed: u8) {
        for n in (0..2_999u32).step_by(step).chain([2_999]) {
            db.put(n.to_be_bytes(), [seed; 100]).unwrap();
        }
        let store = &db.handle.store;
        {
            let _write = lock(&store.write);
            db.state().view.rotate();
        }
        assert!(store.do_most_urgent(Crew::Flush).unwrap());
    }

    /// While writers wait for a merge of level 0 that cannot begin beside a running collection, no other collection
    /// begins that would keep it waiting.
    #[test]
    fn collections_leave_the_tables_alone_that_a_stall_waits_for() {
        for compaction in [Compaction::Leveled, Compaction::Tiered] {
            let db = store_with_victims(compaction, Arc::new(MemoryFileSystem::new()));
            let store = &db.handle.store;
            let Some(RunningJob::Merge(collection)) = store.begin_most_urgent(Crew::Merge) else {
                panic!("{compaction:?}: no collection");
            };
            assert!(collection.job.is_rewrite());
            // So that they reach into the last table, whichever is collected.
            for n in 0..18 {
                flush(&db, 49, n);
            }
            assert!(store.begin_most_urgent(Crew::Merge).is_none());
            store.merge_tables(&collection).unwrap();
            drop(collection);
            let Some(RunningJob::Merge(merge)) = store.begin_most_urgent(Crew::Merge) else {
                panic!("{compaction:?}: no merge");
            };
            assert_eq!(merge.job.inputs[0].place.level, 0);
        }
    }

    /// Where newer entries hide much of what value files may hold, merges show it, however few runs there are.
    #[test]
    fn hidden_values_are_shown_before_level_0_is_full() {
        for (percent, merges) in [(10, true), (u32::MAX, false)] {
            let mut options = options(Compaction::Leveled, Arc::new(MemoryFileSystem::new()));
            options.levels.level0_tables = 8;
            options.over_provision_percent = percent;
            let db = overwritten(options);
            let store = &db.handle.store;
            let due = store.begin_most_urgent(Crew::Merge);
            let Some(RunningJob::Merge(merge)) = due else {
                assert!(!merges);
                continue;
            };
            assert!(merges && merge.job.inputs[0].place.level == 0);
            store.merge_tables(&merge).unwrap();
            let levels = db.state().view.load().levels.clone();
            assert_eq!(levels.hidden_value_bytes(), 0.0);
        }
    }

    /// Writers may wait for a collection that found no room, so it is tried again although nothing else is due.
    #[test]
    fn a_collection_is_tried_again_until_there_is_room() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let db = store_with_victims(Compaction::Leveled, Arc::new(disk.clone()));
        let store = &db.handle.store;
        disk.set_budget(Some(0));
        for _ in 0..3 {
            let full = store.do_most_urgent(Crew::Merge);
            assert!(matches!(full, Err(Error::DiskFull { .. })), "{full:?}");
        }
        disk.set_budget(None);
        assert!(store.do_most_urgent(Crew::Merge).unwrap());
    }
}
