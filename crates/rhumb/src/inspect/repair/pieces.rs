//! What is known about a damaged store: the sum of the readable edits, whether they fit together or
//! not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::super::directory::StoreDirectory;
use super::super::report::{LostData, RepairReport, Sequences};
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::ops;
use crate::options::KeyspaceOptions;
use crate::version::{
    BASE_RUN, Change, Edit, LogState, MANIFEST_HEADER_BYTES, Place, TableMeta, sound_records,
};

/// A table with its keyspace and place.
#[derive(Debug, Clone)]
pub(super) struct PlacedTable {
    pub keyspace: u32,
    pub place: Place,
    pub meta: TableMeta,
}

/// The parts of a state. Unlike [`State`](crate::version::State), it accepts every edit.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Whether edits may be missing, so that the parts were put together from all manifests.
    pub patched: bool,
    /// The manifest, if bytes follow its last edit that are none.
    pub torn_manifest: Option<PathBuf>,
    /// Whether the manifest is sound, but `CURRENT` has to be written anew.
    pub republish: bool,
    pub next_file: u64,
    pub last_sequence: Sequence,
    pub next_keyspace_id: u32,
    /// Keyspace names by id.
    pub keyspaces: BTreeMap<u32, String>,
    /// What is set for keyspaces, by id.
    pub options: BTreeMap<u32, KeyspaceOptions>,
    /// A whole description of the store named all keyspaces with ids below this.
    pub described: u32,
    /// The ids of keyspaces that were dropped.
    pub dropped: BTreeSet<u32>,
    pub lowest_unflushed: BTreeMap<u32, Sequence>,
    /// The sequences up to which keyspaces were flushed, except for what was kept back.
    pub flushed_through: BTreeMap<u32, Sequence>,
    /// Whether a log, or a part of one, is lost.
    pub cut_logs: bool,
    /// The last sequence in the logs.
    pub last_logged: Sequence,
    /// The keyspaces that have tables with unknown levels.
    pub misplaced: BTreeSet<u32>,
    /// By file number.
    pub tables: BTreeMap<u64, PlacedTable>,
    /// The file numbers of tables that were removed.
    pub removed: BTreeSet<u64>,
    /// Key maps as bytes, by keyspace and number.
    pub maps: BTreeMap<(u32, u64), Vec<u8>>,
    /// The logs by id.
    pub logs: BTreeMap<u64, LogState>,
    /// The ids of logs that were removed.
    pub removed_logs: BTreeSet<u64>,
}

impl Pieces {
    /// Applies an edit.
    pub fn apply(&mut self, edit: &Edit) {
        for change in &edit.changes {
            self.change(change);
        }
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::NextFile(next) => self.next_file = self.next_file.max(*next),
            Change::LastSequence(last) => self.last_sequence = self.last_sequence.max(*last),
            Change::NextKeyspaceId(next) => {
                self.next_keyspace_id = self.next_keyspace_id.max(*next);
            }
            Change::CreateKeyspace { id, name } => drop(self.keyspaces.insert(*id, name.clone())),
            Change::DropKeyspace(id) => self.drop_keyspace(*id),
            Change::AddTable {
                keyspace,
                place,
                table,
            } => {
                self.removed.remove(&table.number);
                self.add_table(*keyspace, *place, table.clone());
            }
            Change::RemoveTable { number, .. } => {
                self.tables.remove(number);
                self.removed.insert(*number);
            }
            Change::LowestUnflushed { keyspace, sequence } => {
                self.lowest_unflushed.insert(*keyspace, *sequence);
                let through = self.flushed_through.entry(*keyspace).or_default();
                *through = (*through).max(sequence.saturating_sub(1));
            }
            Change::BeginLog(id) => drop(self.logs.entry(*id).or_default()),
            Change::BeginLogAhead(id) => {
                self.logs.entry(*id).or_insert(LogState::BegunAhead);
            }
            Change::Log { id, valid_end } => {
                self.logs.insert(*id, LogState::Ended(*valid_end));
            }
            Change::RemoveLog(id) => {
                self.logs.remove(id);
                self.removed_logs.insert(*id);
            }
            Change::KeyMap {
                keyspace,
                number,
                map,
            } => {
                self.maps.insert((*keyspace, *number), map.clone());
            }
            Change::Options { keyspace, options } => {
                self.options.insert(*keyspace, options.clone());
            }
        }
    }

    /// Adds a table at a place in a keyspace.
    pub fn add_table(&mut self, keyspace: u32, place: Place, meta: TableMeta) {
        let table = PlacedTable {
            keyspace,
            place,
            meta,
        };
        self.tables.insert(table.meta.number, table);
    }

    fn drop_keyspace(&mut self, id: u32) {
        self.keyspaces.remove(&id);
        self.dropped.insert(id);
        let gone: Vec<u64> = self.tables_of(id).map(|t| t.meta.number).collect();
        self.tables.retain(|_, table| table.keyspace != id);
        self.removed.extend(gone);
    }

    /// Starts again with the first edit of a later manifest, which describes the whole store.
    /// Everything that it does not name was removed.
    fn begin_manifest(&mut self, edit: &Edit) {
        let before = std::mem::take(self);
        self.patched = before.patched;
        self.apply(edit);
        self.described = self.next_keyspace_id;
        self.removed.extend(before.removed);
        self.removed.extend(before.tables.keys());
        self.removed
            .retain(|number| !self.tables.contains_key(number));
        self.removed_logs.extend(before.removed_logs);
        self.removed_logs.extend(before.logs.keys());
        self.removed_logs.retain(|id| !self.logs.contains_key(id));
        self.dropped.extend(before.dropped);
        self.dropped.extend(before.keyspaces.keys());
        self.dropped.retain(|id| !self.keyspaces.contains_key(id));
    }

    /// Whether a table is or was in use.
    pub fn names_table(&self, number: u64) -> bool {
        self.tables.contains_key(&number) || self.removed.contains(&number)
    }

    /// Whether a keyspace was dropped.
    pub fn is_dropped(&self, keyspace: u32) -> bool {
        let left_out = keyspace < self.described && !self.keyspaces.contains_key(&keyspace);
        left_out || self.dropped.contains(&keyspace)
    }

    /// Whether every operation below `sequence` is in a table, or of a keyspace that was dropped.
    pub fn all_flushed_below(&self, sequence: Sequence) -> bool {
        self.least_unflushed() >= sequence
    }

    /// The sequences of the operations that a table may hold. A merge writes 0 for those that all
    /// readers see: of them nothing is known but that they were flushed.
    pub fn sequences_of(&self, table: &PlacedTable) -> Sequences {
        let (smallest, largest) = (table.meta.smallest_sequence, table.meta.largest_sequence);
        let through = self.flushed_through.get(&table.keyspace);
        let flushed = through.copied().unwrap_or(0);
        Sequences {
            first: smallest.max(1),
            last: Some(match smallest {
                0 => largest.max(flushed),
                _ => largest,
            }),
        }
    }

    /// The last sequence up to which a flush wrote a keyspace to tables, 0 if there was none.
    pub fn last_flushed(&self) -> Sequence {
        self.flushed_through.values().copied().max().unwrap_or(0)
    }

    /// The least sequence of an operation that may be in logs only.
    pub fn least_unflushed(&self) -> Sequence {
        let lowest = |id| self.lowest_unflushed.get(id).copied().unwrap_or(0);
        self.keyspaces.keys().map(lowest).min().unwrap_or(0)
    }

    /// A key map number that was never used in the keyspace.
    pub fn new_map(&self, keyspace: u32) -> u64 {
        let known = self.maps.range((keyspace, 0)..=(keyspace, u64::MAX));
        let used = self.tables.values().filter(|t| t.keyspace == keyspace);
        let known = known.map(|((_, number), _)| *number);
        let largest = known.chain(used.map(|t| t.meta.map_number)).max();
        largest.map_or(0, |n| n.saturating_add(1))
    }

    /// Makes all later sequences larger than those in use, and keeps operations in logs from being
    /// replayed over newer tables.
    ///
    /// Where the logs are whole up to the tables' sequences, the operations that are replayed are all that
    /// follow on the first of them, so they may hide what tables hold. Elsewhere newer ones may be in tables
    /// alone. Then none is replayed that is not newer than a table of its keyspace. It is in a table, unless it
    /// was kept back when that was flushed: returns the sequences of which this may be so.
    pub fn settle_sequences(&mut self) -> Option<Sequences> {
        let mut lost: Option<Sequences> = None;
        for table in self.tables.values() {
            let largest = table.meta.largest_sequence;
            let through = self.flushed_through.entry(table.keyspace).or_default();
            *through = (*through).max(largest);
        }
        let flushed = self
            .flushed_through
            .iter()
            .filter(|(_, through)| **through > 0);
        for (keyspace, through) in flushed {
            let lowest = self.lowest_unflushed.entry(*keyspace).or_default();
            // Where no edit is lost, nothing is replayed behind the first damage.
            let whole = self.last_logged >= *through && !(self.cut_logs && self.patched);
            if *lowest <= *through && !whole {
                let first = lost.map_or(*lowest, |lost| lost.first.min(*lowest));
                let last = lost.and_then(|lost| lost.last).unwrap_or(0).max(*through);
                lost = Some(Sequences {
                    first,
                    last: Some(last),
                });
                *lowest = through.saturating_add(1);
            }
        }
        // Operations below the lowest unflushed sequence are skipped when logs are replayed.
        let flushed = self.flushed_through.values().copied();
        self.last_sequence = self.last_sequence.max(flushed.max().unwrap_or(0));
        lost
    }

    /// What is set for a keyspace.
    pub fn options_of(&self, keyspace: u32) -> KeyspaceOptions {
        self.options.get(&keyspace).cloned().unwrap_or_default()
    }

    /// The tables of a keyspace.
    pub fn tables_of(&self, keyspace: u32) -> impl Iterator<Item = &PlacedTable> {
        self.tables.values().filter(move |t| t.keyspace == keyspace)
    }

    /// Whether the keyspace has runs of tiered compaction. If an edit that moved such a run is
    /// lost, later edits still apply, and the run would be placed above newer ones.
    pub fn has_tiers(&self, keyspace: u32) -> bool {
        let mut tables = self.tables_of(keyspace);
        tables.any(|t| t.place.level > 0 && t.place.run != BASE_RUN)
    }

    /// One edit with everything.
    pub fn edit(&self) -> Edit {
        self.edit_of(None)
    }

    /// One edit with everything, or with everything of one keyspace.
    pub fn edit_of(&self, only: Option<u32>) -> Edit {
        let wanted = |id: &u32| only.is_none_or(|only| only == *id);
        let mut changes = vec![
            Change::NextFile(self.next_file),
            Change::LastSequence(self.last_sequence),
        ];
        for (&id, name) in self.keyspaces.iter().filter(|(id, _)| wanted(id)) {
            let name = name.clone();
            changes.push(Change::CreateKeyspace { id, name });
            if let Some(&lowest) = self.lowest_unflushed.get(&id) {
                let through = self.flushed_through.get(&id).copied().unwrap_or(0);
                changes.extend(Change::flushed(id, through, lowest));
            }
            if let Some(options) = self.options.get(&id) {
                let (keyspace, options) = (id, options.clone());
                changes.push(Change::Options { keyspace, options });
            }
        }
        changes.push(Change::NextKeyspaceId(self.next_keyspace_id));
        changes.extend(self.logs.iter().map(|(id, log)| log.change(*id)));
        for (&(keyspace, number), map) in &self.maps {
            if wanted(&keyspace) && self.keyspaces.contains_key(&keyspace) {
                let map = map.clone();
                changes.push(Change::KeyMap {
                    keyspace,
                    number,
                    map,
                });
            }
        }
        for table in self.tables.values().filter(|t| wanted(&t.keyspace)) {
            let (keyspace, place, table) = (table.keyspace, table.place, table.meta.clone());
            changes.push(Change::AddTable {
                keyspace,
                place,
                table,
            });
        }
        changes.into()
    }
}

/// Gathers the sound records of all manifests, including those behind damage.
pub(super) fn piece_together(
    directory: &StoreDirectory,
    report: &mut RepairReport,
) -> Result<Pieces> {
    let mut pieces = Pieces {
        patched: true,
        ..Pieces::default()
    };
    for &number in &directory.manifests {
        read_manifest(directory, number, &mut pieces, report)?;
    }
    Ok(pieces)
}

fn read_manifest(
    directory: &StoreDirectory,
    number: u64,
    pieces: &mut Pieces,
    report: &mut RepairReport,
) -> Result<()> {
    let path = directory.manifest_path(number);
    let bytes = ops::read_all(&*directory.fs, &path)?;
    let records = match sound_records(&path, &bytes, number) {
        Ok(records) => records,
        Err(e @ Error::Corruption { .. }) => {
            let loss = LostData::new(&path, "a whole manifest", &e, Sequences::ALL);
            report.lost.push(loss);
            return Ok(());
        }
        Err(e) => return Err(e),
    };
    let mut end = MANIFEST_HEADER_BYTES as u64;
    let mut gap = |from: u64, to: u64| {
        if from < to {
            report.lost.push(LostData {
                path: path.clone(),
                offset: from,
                what: format!("{} bytes of edits", to - from),
                why: "no record with a right checksum".to_string(),
                sequences: Sequences::ALL,
            });
        }
    };
    for record in records {
        gap(end, record.offset);
        let edit = record.edit.map_err(|what| Error::Unsupported {
            path: path.clone(),
            what,
        })?;
        match record.offset == MANIFEST_HEADER_BYTES as u64 {
            true => pieces.begin_manifest(&edit),
            false => pieces.apply(&edit),
        }
        end = record.end;
    }
    gap(end, bytes.len() as u64);
    Ok(())
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_back_is_replayed_if_the_logs_are_whole_up_to_the_tables() {
        // Flushed through 80, but for what was kept back from 50 on.
        let settled = |patched, cut_logs, last_logged| {
            let mut pieces = Pieces {
                patched,
                cut_logs,
                last_logged,
                ..Pieces::default()
            };
            pieces.apply(&Edit {
                changes: Change::flushed(1, 80, 50).collect(),
            });
            let lost = pieces.settle_sequences();
            (
                lost.map(|lost| (lost.first, lost.last)),
                pieces.lowest_unflushed[&1],
            )
        };
        for patched in [false, true] {
            assert_eq!(settled(patched, false, 80), (None, 50));
            assert_eq!(settled(patched, true, 79), (Some((50, Some(80))), 81));
            assert_eq!(settled(patched, false, 79), (Some((50, Some(80))), 81));
        }
        assert_eq!(settled(false, true, 80), (None, 50));
        assert_eq!(settled(true, true, 80), (Some((50, Some(80))), 81));
    }
}
