//! The tables of one keyspace at one moment. A `Levels` never changes: a flush or a compaction
//! makes a new one, which shares the runs that stay as they are, and readers keep theirs as long as they
//! need it.

use crate::sync::Arc;
use crate::version::levels_draft::LevelsDraft;
use crate::version::{Files, Run, Table, TableMeta, ValueFiles};

/// The number of levels of a keyspace.
pub(crate) const LEVELS: usize = 7;
/// The number of the run that leveled compaction writes into a level: it is the smallest, so the
/// run counts as older than all others.
pub(crate) const BASE_RUN: u64 = 0;

/// The position of a table in the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The level, from 0.
    pub level: usize,
    /// The number of the run within the level.
    pub run: u64,
}

/// The change that a flush or a compaction makes to the levels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LevelChange {
    /// Tables to add, with their places.
    pub adds: Vec<(Place, TableMeta)>,
    /// The file numbers of the tables to remove, with their levels. A table that moves is in both
    /// lists.
    pub removes: Vec<(usize, u64)>,
}

/// The tables of one keyspace: each level is a list of sorted runs. The versions of a key in a
/// level are newer than those in deeper levels, and within a level newer in earlier runs than in
/// later ones.
///
/// A flush adds a run of one table to level 0. Deeper levels have one run each, or several under
/// tiered compaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Levels {
    /// The runs of each level, newest first; no run is empty.
    levels: [Vec<Arc<Run>>; LEVELS],
    /// All runs with their levels, in one list, for reads.
    all: Box<[(usize, Arc<Run>)]>,
    /// Whether a run has range deletes.
    range_deletes: bool,
    /// The value files that the tables point into.
    value_files: ValueFiles,
}

impl Levels {
    /// Levels that hold `tables`, which may come in any order.
    ///
    /// # Errors
    /// The problem, if a level does not exist, a table comes twice, or tables of a run overlap.
    pub fn new(
        files: &Arc<Files>,
        tables: impl IntoIterator<Item = (Place, TableMeta)>,
    ) -> Result<Arc<Self>, String> {
        let mut draft = LevelsDraft::of(Arc::default());
        for (place, table) in tables {
            draft.add(files, place, &table)?;
        }
        Ok(draft.finish().levels)
    }

    /// These levels with other runs, given with their levels, in place of those with the same numbers. A run
    /// without tables goes. Together the tables point into `value_files`.
    pub(super) fn with_runs(
        &self,
        runs: impl IntoIterator<Item = (usize, Run)>,
        value_files: ValueFiles,
    ) -> Self {
        let mut levels = self.levels.clone();
        for (level, run) in runs {
            let Some(level) = levels.get_mut(level) else {
                continue;
            };
            let at = level.partition_point(|other| other.number() > run.number());
            let stands = level.get(at).is_some_and(|o| o.number() == run.number());
            let new = (!run.tables().is_empty()).then(|| Arc::new(run));
            level.splice(at..at + usize::from(stands), new);
        }
        let all = levels.iter().enumerate();
        let all = all.flat_map(|(level, runs)| runs.iter().map(move |run| (level, run.clone())));
        let all: Box<[(usize, Arc<Run>)]> = all.collect();
        Levels {
            range_deletes: all.iter().any(|(_, run)| run.has_range_deletes()),
            levels,
            all,
            value_files,
        }
    }

    /// The value files that the tables point into.
    pub fn value_files(&self) -> &ValueFiles {
        &self.value_files
    }

    /// About the bytes in value files that tables use for values which newer entries hide: as many as hide one, of the
    /// mean length. Nothing is older than the oldest run.
    pub fn hidden_value_bytes(&self) -> f64 {
        let totals = self.value_files.totals();
        totals.used_bytes * self.hidden_share(totals.entries)
    }

    /// About the share of so many entries that newer ones hide, at most a half.
    pub fn hidden_share(&self, entries: f64) -> f64 {
        let hides = self.newer_runs().iter();
        let hides: f64 = hides.map(|(_, run)| run.hides() as f64).sum();
        (hides / entries.max(1.0)).min(0.5)
    }

    /// Whether a run has range deletes.
    pub fn have_range_deletes(&self) -> bool {
        self.range_deletes
    }

    /// All runs but the oldest, with their levels.
    fn newer_runs(&self) -> &[(usize, Arc<Run>)] {
        self.all.split_last().map_or(&[], |(_, newer)| newer)
    }

    /// The level whose entries hide the most; `None` if none seems to hide any that is older.
    pub fn most_hiding(&self) -> Option<usize> {
        let levels = self.newer_runs().chunk_by(|(a, _), (b, _)| a == b);
        let hides = levels.map(|runs| {
            let hides = runs.iter().map(|(_, run)| run.hides()).sum::<u64>();
            (hides, runs.first().map(|(level, _)| *level))
        });
        let most = hides.filter(|(hides, _)| *hides > 0).max();
        most.and_then(|(_, level)| level)
    }

    /// The runs of a level, newest first; empty if the level does not exist.
    pub fn runs(&self, level: usize) -> &[Arc<Run>] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// All runs with their levels, newest first.
    pub fn all_runs(&self) -> impl Iterator<Item = (usize, &Arc<Run>)> + Clone {
        self.all.iter().map(|(level, run)| (*level, run))
    }

    /// Makes the models over several tables that are not there yet, so that no reader has to wait for them.
    /// Returns of how many tables.
    pub fn make_models(&self) -> u64 {
        self.all.iter().map(|(_, run)| run.make_models()).sum()
    }

    /// The number of runs.
    pub fn runs_count(&self) -> usize {
        self.all.len()
    }

    /// The tables of a level: newer runs first, each in key order.
    pub fn level(&self, level: usize) -> impl DoubleEndedIterator<Item = &Arc<Table>> {
        self.runs(level).iter().flat_map(|run| run.tables())
    }

    /// All tables with their places, newer runs first.
    pub fn tables(&self) -> impl Iterator<Item = (Place, &Arc<Table>)> {
        self.all_runs().flat_map(|(level, run)| {
            let run_number = run.number();
            let place = Place {
                level,
                run: run_number,
            };
            run.tables().iter().map(move |table| (place, table))
        })
    }

    /// The deepest level that holds a table.
    pub fn deepest(&self) -> Option<usize> {
        self.levels.iter().rposition(|runs| !runs.is_empty())
    }

    /// The number of the oldest run of a level; [`BASE_RUN`] if the level is empty.
    pub fn oldest_run(&self, level: usize) -> u64 {
        self.runs(level).last().map_or(BASE_RUN, |run| run.number())
    }

    /// The run at a place.
    pub(super) fn run_at(&self, place: Place) -> Option<&Arc<Run>> {
        let runs = self.runs(place.level);
        let at = runs.partition_point(|run| run.number() > place.run);
        runs.get(at).filter(|run| run.number() == place.run)
    }

    /// The table with a file number, and its place. Takes a time that is logarithmic in the tables of each
    /// run.
    pub(super) fn find(&self, number: u64) -> Option<(Place, &Arc<Table>)> {
        self.all_runs().find_map(|(level, run)| {
            let table = run.find(number)?;
            let run = run.number();
            Some((Place { level, run }, table))
        })
    }

    /// The bytes of the tables of a level.
    pub fn bytes(&self, level: usize) -> u64 {
        self.runs(level).iter().map(|run| run.bytes()).sum()
    }
}
