//! The tables of one keyspace at one moment. A `Levels` never changes: a flush or a compaction
//! makes a new one, and readers keep theirs as long as they need it.

use std::collections::HashSet;

use crate::sync::Arc;
use crate::version::{Files, Run, Table, TableMeta};

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
}

impl Levels {
    /// Levels that hold `tables`, which may come in any order.
    ///
    /// # Errors
    /// The problem, if a level does not exist or tables of a run overlap.
    pub fn new(
        files: &Arc<Files>,
        tables: impl IntoIterator<Item = (Place, TableMeta)>,
    ) -> Result<Self, String> {
        let change = LevelChange {
            adds: tables.into_iter().collect(),
            removes: Vec::new(),
        };
        Levels::default().change(files, &change)
    }

    /// These levels after a change. A table that moves keeps its open reader, and an unchanged run
    /// is shared.
    ///
    /// # Errors
    /// The problem, if a table to remove is missing, a level does not exist, or tables of a run
    /// would overlap.
    pub fn change(&self, files: &Arc<Files>, change: &LevelChange) -> Result<Self, String> {
        let mut levels = self.clone();
        let mut removed = Vec::new();
        for &(level, number) in &change.removes {
            let table = levels.take(level, number);
            removed.push(table.ok_or_else(|| format!("no table {number} at level {level}"))?);
        }
        for (place, meta) in &change.adds {
            let moved = removed.iter().find(|t| t.meta.number == meta.number);
            let table = match moved {
                Some(table) => Arc::clone(table),
                None => Arc::new(Table::new(Arc::clone(files), meta.clone())),
            };
            levels.run_at(*place)?.push(table);
        }
        levels.settle()?;
        Ok(levels)
    }

    fn take(&mut self, level: usize, number: u64) -> Option<Arc<Table>> {
        self.levels.get_mut(level)?.iter_mut().find_map(|run| {
            let at = run.position(number)?;
            Some(Arc::make_mut(run).remove(at))
        })
    }

    /// The run at a place, for changing it; a new one if there is none.
    fn run_at(&mut self, place: Place) -> Result<&mut Run, String> {
        let runs = self.levels.get_mut(place.level);
        let runs = runs.ok_or_else(|| format!("no level {}", place.level))?;
        let at = runs.partition_point(|run| run.number() > place.run);
        if runs.get(at).is_none_or(|run| run.number() != place.run) {
            runs.insert(at, Arc::new(Run::new(place.run)));
        }
        let run = runs.get_mut(at).map(Arc::make_mut);
        run.ok_or_else(|| format!("no run {}", place.run))
    }

    fn settle(&mut self) -> Result<(), String> {
        for (level, runs) in self.levels.iter_mut().enumerate() {
            runs.retain(|run| !run.tables().is_empty());
            // Runs that are shared with the previous levels have not changed.
            for run in runs.iter_mut().filter_map(Arc::get_mut) {
                let settled = run.settle();
                settled.map_err(|(a, b)| format!("tables {a} and {b} overlap at level {level}"))?;
            }
        }
        let levels = self.levels.iter().enumerate();
        let runs = levels.flat_map(|(level, runs)| runs.iter().map(move |r| (level, r.clone())));
        self.all = runs.collect();
        Ok(())
    }

    /// The runs of a level, newest first; empty if the level does not exist.
    pub fn runs(&self, level: usize) -> &[Arc<Run>] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// All runs with their levels, newest first.
    pub fn all_runs(&self) -> impl Iterator<Item = (usize, &Arc<Run>)> + Clone {
        self.all.iter().map(|(level, run)| (*level, run))
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

    /// Marks the tables that `newer` does not hold as obsolete: the file of each is deleted after
    /// its last reader is gone. Call it only after the manifest has recorded the change durably.
    pub fn retire(&self, newer: &Levels) {
        let kept: HashSet<u64> = newer.tables().map(|(_, t)| t.meta.number).collect();
        for (_, table) in self.tables() {
            if !kept.contains(&table.meta.number) {
                table.mark_obsolete();
            }
        }
    }
}
