//! The tables of one keyspace at one moment. A `Levels` never changes: a flush or a compaction makes
//! a new one, and readers keep theirs for as long as they need.

use std::collections::HashSet;
use std::ops::Bound;

use crate::sync::Arc;
use crate::version::{Files, Table, TableMeta};

/// How many levels a keyspace has.
pub(crate) const LEVELS: usize = 7;

/// What a flush or a compaction does to the levels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LevelChange {
    /// Tables that come, with their levels.
    pub adds: Vec<(usize, TableMeta)>,
    /// File numbers of the tables that go, with their levels. A table that moves is in both.
    pub removes: Vec<(usize, u64)>,
}

/// The tables of one keyspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Levels {
    /// Level 0 has the newest table first, and its tables may overlap. The other levels are sorted
    /// by key and their tables are disjoint.
    levels: [Vec<Arc<Table>>; LEVELS],
    /// Which levels have tables with range deletes.
    range_deletes: [bool; LEVELS],
}

impl Levels {
    /// The levels that hold `tables`, in any order.
    ///
    /// # Errors
    /// What is wrong, if there is no such level, or tables below level 0 overlap.
    pub fn new(
        files: &Arc<Files>,
        tables: impl IntoIterator<Item = (usize, TableMeta)>,
    ) -> Result<Self, String> {
        let adds = tables.into_iter().collect();
        Levels::default().change(
            files,
            &LevelChange {
                adds,
                removes: Vec::new(),
            },
        )
    }

    /// These levels after a change. A table that moves keeps its open reader.
    ///
    /// # Errors
    /// What is wrong, if a table to remove is not there, there is no such level, or tables below
    /// level 0 would overlap.
    pub fn change(&self, files: &Arc<Files>, change: &LevelChange) -> Result<Self, String> {
        let mut levels = self.levels.clone();
        let mut removed = Vec::new();
        for &(level, number) in &change.removes {
            let tables = levels
                .get_mut(level)
                .ok_or_else(|| format!("level {level}"))?;
            let at = tables.iter().position(|t| t.meta.number == number);
            let at = at.ok_or_else(|| format!("no table {number} at level {level} to remove"))?;
            removed.push(tables.remove(at));
        }
        for (level, meta) in &change.adds {
            let moved = removed.iter().find(|t| t.meta.number == meta.number);
            let table = match moved {
                Some(table) => Arc::clone(table),
                None => Arc::new(Table::new(Arc::clone(files), meta.clone())),
            };
            let tables = levels
                .get_mut(*level)
                .ok_or_else(|| format!("level {level}"))?;
            tables.push(table);
        }
        let deletes = |tables: &Vec<Arc<Table>>| tables.iter().any(|t| t.meta.range_deletes > 0);
        let range_deletes = levels.each_ref().map(deletes);
        let levels = Levels {
            levels,
            range_deletes,
        };
        levels.sorted()
    }

    fn sorted(mut self) -> Result<Self, String> {
        let [level0, deeper @ ..] = &mut self.levels;
        level0.sort_by_key(|t| std::cmp::Reverse((t.meta.largest_sequence, t.meta.number)));
        for (level, tables) in deeper.iter_mut().enumerate() {
            tables.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
            for pair in tables.windows(2) {
                let [a, b] = pair else { continue };
                if a.meta.overlaps(&b.meta) {
                    let (a, b) = (a.meta.number, b.meta.number);
                    return Err(format!("tables {a} and {b} overlap at level {}", level + 1));
                }
            }
        }
        Ok(self)
    }

    /// The tables of a level, in its order; none where there is no such level.
    pub fn level(&self, level: usize) -> &[Arc<Table>] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// Whether a table of a level has range deletes.
    pub fn has_range_deletes(&self, level: usize) -> bool {
        self.range_deletes.get(level).is_some_and(|has| *has)
    }

    /// All tables with their levels, newer levels first.
    pub fn tables(&self) -> impl Iterator<Item = (usize, &Arc<Table>)> {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(level, tables)| tables.iter().map(move |t| (level, t)))
    }

    /// The deepest level that holds a table.
    pub fn deepest(&self) -> Option<usize> {
        self.levels.iter().rposition(|tables| !tables.is_empty())
    }

    /// The table of a level from 1 on that may hold `key`.
    pub fn table_for(&self, level: usize, key: &[u8]) -> Option<&Arc<Table>> {
        let tables = self.level(level);
        let at = tables.partition_point(|t| t.meta.ends_before(key));
        tables.get(at).filter(|t| &*t.meta.smallest <= key)
    }

    /// The tables of a level that may hold keys from `from` on up to `to`, in the level's order.
    pub fn overlapping(&self, level: usize, from: &[u8], to: Bound<&[u8]>) -> Vec<Arc<Table>> {
        let tables = self.level(level);
        let meets = |t: &Arc<Table>| !t.meta.ends_before(from) && !starts_behind(t, to);
        if level == 0 {
            return tables.iter().filter(|t| meets(t)).cloned().collect();
        }
        let first = tables.partition_point(|t| t.meta.ends_before(from));
        let rest = tables.get(first..).unwrap_or_default();
        let rest = rest.iter().take_while(|t| !starts_behind(t, to));
        rest.cloned().collect()
    }

    /// Whether a table of a level from 1 on may hold keys from `from` on up to `to`.
    pub fn overlaps(&self, level: usize, from: &[u8], to: Bound<&[u8]>) -> bool {
        let tables = self.level(level);
        let first = tables.partition_point(|t| t.meta.ends_before(from));
        tables.get(first).is_some_and(|t| !starts_behind(t, to))
    }

    /// Marks the tables that `newer` does not hold any more: each one's file is deleted once its
    /// last reader is gone. To be called when the manifest says so durably, and not before.
    pub fn retire(&self, newer: &Levels) {
        let kept: HashSet<u64> = newer.tables().map(|(_, t)| t.meta.number).collect();
        for (_, table) in self.tables() {
            if !kept.contains(&table.meta.number) {
                table.mark_obsolete();
            }
        }
    }
}

/// Whether every key of the table is behind `to`.
fn starts_behind(table: &Table, to: Bound<&[u8]>) -> bool {
    match to {
        Bound::Included(to) => &*table.meta.smallest > to,
        Bound::Excluded(to) => &*table.meta.smallest >= to,
        Bound::Unbounded => false,
    }
}
