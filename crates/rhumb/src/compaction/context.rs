//! The inputs and results of a flush or a compaction.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rhumb_index::{IndexSpec, KeyMap};

use super::logged::LoggedFile;
use crate::entry::Sequence;
use crate::error::Result;
use crate::fs::names::FileKind;
use crate::options::{TableSpec, TierSpec};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::table::TableSettings;
use crate::tune::Chooser;
use crate::version::{Change, Files, KeyspaceState, LevelChange, Table, TableMeta, ValueFiles};

/// The parameters of a flush or a compaction of one keyspace.
pub(crate) struct Context<'a> {
    /// The id of the keyspace.
    pub keyspace: u32,
    /// The files of the store.
    pub files: &'a Arc<Files>,
    /// The layout of new tables.
    pub table: &'a TableSpec,
    /// The form of the learned tier, if there is one.
    pub tier: Option<TierSpec>,
    /// The index of new tables.
    pub index: &'a IndexSpec,
    /// Chooses these for each table, if the store does.
    pub tuner: Option<&'a Chooser>,
    /// Returns a new key map number of the keyspace.
    pub next_map: &'a dyn Fn() -> u64,
    /// The key maps of the keyspace's tables.
    pub maps: &'a BTreeMap<u64, Arc<KeyMap>>,
    /// The value files that the keyspace's tables point into.
    pub value_files: &'a ValueFiles,
    /// The numbers of those value files that are to be emptied: what survives in them is written elsewhere.
    pub victims: &'a BTreeSet<u64>,
    /// Whether all values that lie apart come back to their keys.
    pub brings_back: bool,
    /// The logs in which values of the entries lie that are flushed.
    pub logged: &'a [LoggedFile],
    /// The tables that may hold older versions of the keys that are written, as lists of tables in key order; empty if
    /// nobody asks how many keys hide one.
    pub older: &'a [Vec<&'a Table>],
    /// Whether the blocks that are written stay in memory where that is left.
    pub keeps_blocks: bool,
    /// The sequences at which readers read, ascending; collected after the job's inputs were
    /// chosen. Later readers must read at a sequence not below any in the inputs.
    pub snapshots: &'a [Sequence],
    /// Called with the number of bytes, about, that are written next; waits as long as it has to.
    pub pace: &'a dyn Fn(u64),
    /// Asked from time to time; an error ends the work early, and is its result.
    pub go_on: &'a dyn Fn() -> Result<()>,
    /// The counters to add to.
    pub counters: &'a Counters,
}

/// The work of one flush or compaction so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// The time spent building the indexes of new tables.
    pub training_nanos: AtomicU64,
    /// The time spent in calls that read blocks of the input tables.
    pub read_nanos: AtomicU64,
    /// The time spent in calls that create, write and sync new tables.
    pub write_nanos: AtomicU64,
    /// The bytes of the values that were moved out of files that are to be emptied.
    pub moved_bytes: AtomicU64,
}

impl Counters {
    pub(super) fn add_time(counter: &AtomicU64, more: Duration) {
        let nanos = u64::try_from(more.as_nanos()).unwrap_or(u64::MAX);
        Self::add(counter, nanos);
    }

    pub(super) fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }

    /// The value of a counter of nanoseconds.
    pub fn time(counter: &AtomicU64) -> Duration {
        Duration::from_nanos(counter.load(Ordering::Relaxed))
    }
}

/// A key map and its number within the keyspace.
pub(crate) type NumberedMap = (u64, Arc<KeyMap>);

/// The result of a flush or a compaction. Its tables are synced and their names durable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// The tables to add and to remove.
    pub levels: LevelChange,
    /// The key maps of the tables to add, including known ones: by the time the outcome reaches the
    /// manifest, another job may have removed the last other table that used a map.
    pub maps: Vec<NumberedMap>,
    /// The new value files: their numbers, and the bytes written for each, 0 for a log that got a second name.
    pub value_files: Vec<(u64, u64)>,
}

impl Outcome {
    /// Deletes the new files, as far as possible; the next opening deletes the rest.
    pub fn delete(&self, files: &Files) {
        self.forget_written(files);
        self.made()
            .for_each(|t| files.delete(FileKind::Table, t.number));
        let values = self.value_files.iter();
        values.for_each(|(number, _)| files.delete(FileKind::Values, *number));
    }

    /// Frees the blocks of the new tables, which will not be read.
    pub fn forget_written(&self, files: &Files) {
        let made = self.made();
        made.for_each(|t| files.cache.forget_written(t.table_id));
    }

    /// The new tables, without those that only move.
    pub fn made(&self) -> impl Iterator<Item = &TableMeta> {
        let moved = |t: &TableMeta| self.levels.removes.iter().any(|(_, n)| *n == t.number);
        self.levels
            .adds
            .iter()
            .map(|(_, t)| t)
            .filter(move |t| !moved(t))
    }

    /// The bytes of the new tables and value files.
    pub fn bytes(&self) -> u64 {
        let values = self.value_files.iter().map(|(_, bytes)| *bytes);
        self.made().map(|t| t.file_bytes).chain(values).sum()
    }

    /// The changes that record this outcome in the manifest, given the keyspace's current state.
    pub fn changes(&self, keyspace: u32, state: &KeyspaceState) -> Vec<Change> {
        let mut changes = Vec::new();
        for &(level, number) in &self.levels.removes {
            changes.push(Change::RemoveTable {
                keyspace,
                level: level as u8,
                number,
            });
        }
        for (number, map) in &self.maps {
            if !state.maps.by_number().contains_key(number) {
                let (number, map) = (*number, map.to_bytes());
                changes.push(Change::KeyMap {
                    keyspace,
                    number,
                    map,
                });
            }
        }
        for (place, table) in &self.levels.adds {
            let (place, table) = (*place, table.clone());
            changes.push(Change::AddTable {
                keyspace,
                place,
                table,
            });
        }
        changes
    }
}

impl Context<'_> {
    /// The settings of new tables, whose keys a map numbers.
    pub fn table_settings(&self, (map_number, map): NumberedMap) -> TableSettings {
        TableSettings {
            keyspace: Some(self.keyspace),
            given_sequence: false,
            spec: self.table.clone(),
            index: self.index.clone(),
            map,
            map_number,
            chosen: String::new(),
        }
    }

    /// The number of `map`: that of a known map that numbers keys alike, or a new one.
    pub fn number_map(&self, map: KeyMap) -> NumberedMap {
        match self.maps.iter().find(|(_, known)| known.numbers_like(&map)) {
            Some((number, known)) => (*number, Arc::clone(known)),
            None => ((self.next_map)(), Arc::new(map)),
        }
    }
}
