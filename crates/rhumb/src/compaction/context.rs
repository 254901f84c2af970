//! What a flush or a compaction needs to know, and what it gives back.

use std::collections::BTreeMap;
use std::time::Duration;

use rhumb_index::{IndexSpec, KeyMap};

use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::options::TableSpec;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::version::{Change, Files, KeyspaceState, LevelChange, TableMeta};

/// What a flush or a compaction of one keyspace needs.
pub(crate) struct Context<'a> {
    /// The id of the keyspace.
    pub keyspace: u32,
    /// Where tables lie.
    pub files: &'a Arc<Files>,
    /// Layout of new tables.
    pub table: &'a TableSpec,
    /// Index of new tables.
    pub index: &'a IndexSpec,
    /// Gives file numbers that were never used.
    pub next_file: &'a dyn Fn() -> u64,
    /// Gives key map numbers that were never used in the keyspace.
    pub next_map: &'a dyn Fn() -> u64,
    /// The key maps of the keyspace's tables.
    pub maps: &'a BTreeMap<u64, Arc<KeyMap>>,
    /// The sequences that somebody reads at, ascending, taken after the job's inputs were chosen.
    /// Later readers must read at a sequence not below any in the inputs.
    pub snapshots: &'a [Sequence],
    /// Set to end the work early.
    pub cancelled: &'a AtomicBool,
    /// What is counted on the way.
    pub counters: &'a Counters,
}

/// What one flush or compaction has done so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// What building the indexes of the tables that were written took.
    pub training_nanos: AtomicU64,
    /// What the calls took that read blocks of the tables that were merged.
    pub read_nanos: AtomicU64,
    /// What the calls took that created, wrote and synced the tables.
    pub write_nanos: AtomicU64,
}

impl Counters {
    pub(super) fn add_time(counter: &AtomicU64, more: Duration) {
        let nanos = u64::try_from(more.as_nanos()).unwrap_or(u64::MAX);
        counter.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The time that a counter of nanoseconds has come to.
    pub fn time(counter: &AtomicU64) -> Duration {
        Duration::from_nanos(counter.load(Ordering::Relaxed))
    }
}

/// A key map and its number within the keyspace.
pub(crate) type NumberedMap = (u64, Arc<KeyMap>);

/// What a flush or a compaction did, with its tables synced and its directory entries durable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// The tables that come and go.
    pub levels: LevelChange,
    /// The key maps of the tables that come, known ones too: by the time the outcome is put into
    /// the manifest, another job may have taken the last table away that used one.
    pub maps: Vec<NumberedMap>,
}

impl Outcome {
    /// The tables that were written, not those that only move.
    pub fn made(&self) -> impl Iterator<Item = &TableMeta> {
        let moved = |t: &TableMeta| self.levels.removes.iter().any(|(_, n)| *n == t.number);
        self.levels
            .adds
            .iter()
            .map(|(_, t)| t)
            .filter(move |t| !moved(t))
    }

    /// The changes that put this outcome into the manifest, whose keyspace now stands as `state`.
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
            if !state.maps.contains_key(number) {
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
    /// The number under which tables use `map`: that of a known map that numbers alike, or a new one.
    pub(super) fn number_map(&self, map: KeyMap) -> NumberedMap {
        match self.maps.iter().find(|(_, known)| known.numbers_like(&map)) {
            Some((number, known)) => (*number, Arc::clone(known)),
            None => ((self.next_map)(), Arc::new(map)),
        }
    }

    /// An error if the work is to end.
    pub(super) fn check_cancelled(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        Ok(())
    }
}
