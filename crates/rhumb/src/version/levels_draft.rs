//! Levels on the way to new ones: only the runs that change are copied.
#![expect(
    clippy::mutable_key_type,
    reason = "the smallest key of a table, by which it is ordered, never changes"
)]

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::sync::Arc;
use crate::version::{Files, LEVELS, Levels, Place, Run, Table, TableMeta, ValueFile, ValueFiles};

/// Changes of [`Levels`], each of which is checked against those before. Every change takes a time that is
/// logarithmic in the number of tables, but the first one of a run copies the run's list of tables.
#[derive(Debug)]
pub(super) struct LevelsDraft {
    base: Arc<Levels>,
    /// The runs that changed, with all their tables.
    runs: BTreeMap<Place, BTreeSet<ByKey>>,
    /// The tables that were added, by file number.
    added: BTreeMap<u64, (Place, Arc<Table>)>,
    /// The tables of `base` that were removed, by file number. One that moved was added again.
    removed: BTreeMap<u64, Arc<Table>>,
    value_files: ValueFiles,
}

/// What changes made of [`Levels`].
#[derive(Debug)]
pub(super) struct Drafted {
    /// The new levels, which share all runs that did not change.
    pub levels: Arc<Levels>,
    /// The tables that are no longer part of them.
    pub gone: Vec<Arc<Table>>,
    /// The value files that no table of them points into any more.
    pub unused: Vec<Arc<ValueFile>>,
}

/// A table, ordered by its smallest key.
#[derive(Debug)]
struct ByKey(Arc<Table>);

impl LevelsDraft {
    /// No changes of `base` yet.
    pub fn of(base: Arc<Levels>) -> Self {
        LevelsDraft {
            value_files: base.value_files().clone(),
            base,
            runs: BTreeMap::new(),
            added: BTreeMap::new(),
            removed: BTreeMap::new(),
        }
    }

    /// Adds a table. One that was removed before, and so moves, keeps its open reader.
    ///
    /// # Errors
    /// If the level does not exist, the table exists already, or a table of the run overlaps it.
    pub fn add(
        &mut self,
        files: &Arc<Files>,
        place: Place,
        table: &TableMeta,
    ) -> Result<(), String> {
        let number = table.number;
        if place.level >= LEVELS {
            let level = place.level;
            return Err(format!("a table at level {level}, which does not exist"));
        }
        if self.find(number).is_some() {
            return Err(format!("a second table {number}"));
        }
        if let Some(other) = overlapping(self.run_at(place), table) {
            let Place { level, run } = place;
            return Err(format!(
                "table {number} at level {level}, run {run}, overlapping table {other}"
            ));
        }
        self.value_files.begin_use(files, &table.values)?;
        let moved = self.removed.get(&number).filter(|t| t.meta == *table);
        let table = match moved {
            Some(table) => Arc::clone(table),
            None => Arc::new(Table::new(Arc::clone(files), table.clone())),
        };
        self.run_at(place).insert(ByKey(Arc::clone(&table)));
        self.added.insert(number, (place, table));
        Ok(())
    }

    /// Removes the table with a file number from a level, and returns it.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn remove(&mut self, level: usize, number: u64) -> Result<Arc<Table>, String> {
        let found = self.find(number).filter(|(place, _)| place.level == level);
        let (place, table) =
            found.ok_or_else(|| format!("no table {number} at level {level} to remove"))?;
        self.run_at(place).remove(&*table.meta.smallest);
        self.value_files.end_use(&table.meta.values);
        if self.added.remove(&number).is_none() {
            self.removed.insert(number, Arc::clone(&table));
        }
        Ok(table)
    }

    fn find(&self, number: u64) -> Option<(Place, Arc<Table>)> {
        if let Some((place, table)) = self.added.get(&number) {
            return Some((*place, Arc::clone(table)));
        }
        if self.removed.contains_key(&number) {
            return None;
        }
        let (place, table) = self.base.find(number)?;
        Some((place, Arc::clone(table)))
    }

    /// The tables of the run at a place, for changing them.
    fn run_at(&mut self, place: Place) -> &mut BTreeSet<ByKey> {
        self.runs.entry(place).or_insert_with(|| {
            let tables = self.base.run_at(place).map_or(&[][..], |run| run.tables());
            tables.iter().cloned().map(ByKey).collect()
        })
    }

    /// What the changes made of the levels.
    pub fn finish(mut self) -> Drafted {
        if self.runs.is_empty() {
            return Drafted {
                levels: self.base,
                gone: Vec::new(),
                unused: Vec::new(),
            };
        }
        let unused = self.value_files.settle(self.base.value_files());
        let runs = self.runs.into_iter().map(|(place, tables)| {
            let tables = tables.into_iter().map(|ByKey(table)| table).collect();
            let before = self.base.run_at(place);
            (
                place.level,
                Run::new(place.run, tables, before.map(|run| &**run)),
            )
        });
        let levels = Arc::new(self.base.with_runs(runs, self.value_files));
        let removed = self.removed.into_iter();
        let gone = removed.filter(|(number, _)| !self.added.contains_key(number));
        Drafted {
            levels,
            gone: gone.map(|(_, table)| table).collect(),
            unused,
        }
    }
}

/// The number of a table of the run that may hold a user key of `table`, if there is one.
fn overlapping(run: &BTreeSet<ByKey>, table: &TableMeta) -> Option<u64> {
    let smallest = &*table.smallest;
    let upto = (Bound::Unbounded, Bound::Included(smallest));
    let before = run.range::<[u8], _>(upto).next_back();
    let onward = (Bound::Included(smallest), Bound::Unbounded);
    let after = run.range::<[u8], _>(onward).next();
    let mut neighbours = before.into_iter().chain(after);
    let other = neighbours.find(|other| other.0.meta.overlaps(table))?;
    Some(other.0.meta.number)
}

impl Borrow<[u8]> for ByKey {
    fn borrow(&self) -> &[u8] {
        &self.0.meta.smallest
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.meta.smallest.cmp(&other.0.meta.smallest)
    }
}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByKey {}
