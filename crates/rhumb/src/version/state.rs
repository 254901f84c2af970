//! The state that results from the edits of a manifest.

use std::collections::BTreeMap;
use std::ops::Bound;

use rhumb_index::KeyMap;

use crate::entry::Sequence;
use crate::fs::names::LARGEST_NUMBER;
use crate::options::KeyspaceOptions;
use crate::sync::Arc;
use crate::version::{Change, Edit, LEVELS, LogState, Place, TableMeta};

/// The whole state that a manifest describes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// File numbers from this one on are unused.
    pub next_file: u64,
    /// At least the largest sequence in tables.
    pub last_sequence: Sequence,
    /// Keyspace ids from this one on are unused.
    pub next_keyspace_id: u32,
    /// The keyspaces by id.
    pub keyspaces: BTreeMap<u32, KeyspaceState>,
    /// The logs that must exist.
    pub logs: BTreeMap<u64, LogState>,
}

/// The state of a keyspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyspaceState {
    /// Its name.
    pub name: String,
    /// What is set for it alone.
    pub options: KeyspaceOptions,
    /// All operations in logs below this sequence are in tables, or were dropped.
    pub lowest_unflushed: Sequence,
    /// The key maps of its tables, by number.
    pub maps: BTreeMap<u64, Arc<KeyMap>>,
    /// Above the number of every map so far. Maps that no table uses are forgotten, but their
    /// numbers are not reused while the store is open.
    pub next_map: u64,
    /// The number of tables that use each map.
    map_uses: BTreeMap<u64, u64>,
    /// The place and the smallest key of each table, by file number.
    places: BTreeMap<u64, (Place, Box<[u8]>)>,
    /// The runs that hold tables.
    runs: BTreeMap<Place, RunState>,
}

/// The tables of a run, by their smallest keys.
type RunState = BTreeMap<Box<[u8]>, TableMeta>;

impl State {
    /// Applies an edit.
    ///
    /// # Errors
    /// A change that does not fit. The state is then partly changed and must not be used any more:
    /// the edit came from a damaged file, or the store is about to write a wrong one.
    pub fn apply(&mut self, edit: &Edit) -> Result<(), String> {
        for change in &edit.changes {
            self.change(change)?;
        }
        let touched = edit.changes.iter().filter_map(|c| match c {
            Change::AddTable { keyspace, .. }
            | Change::RemoveTable { keyspace, .. }
            | Change::KeyMap { keyspace, .. } => Some(*keyspace),
            _ => None,
        });
        let mut touched: Vec<u32> = touched.collect();
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            // A keyspace may have been dropped by the same edit.
            if let Some(keyspace) = self.keyspaces.get_mut(&id) {
                keyspace.settle_maps()?;
            }
        }
        Ok(())
    }

    fn change(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::NextFile(next) => self.next_file = self.next_file.max(*next),
            Change::LastSequence(last) => self.use_sequence(*last)?,
            Change::CreateKeyspace { id, name } => return self.create(*id, name),
            Change::DropKeyspace(id) => {
                self.keyspace(*id)?;
                self.keyspaces.remove(id);
            }
            Change::AddTable {
                keyspace,
                place,
                table,
            } => {
                self.keyspace(*keyspace)?.add(*place, table)?;
                self.use_file(table.number)?;
                // Later runs must get larger numbers.
                self.use_file(place.run)?;
                self.use_sequence(table.largest_sequence)?;
            }
            Change::RemoveTable {
                keyspace,
                level,
                number,
            } => {
                self.keyspace(*keyspace)?.remove(*level, *number)?;
            }
            Change::LowestUnflushed { keyspace, sequence } => {
                self.keyspace(*keyspace)?.lowest_unflushed = *sequence;
            }
            Change::Log { id, valid_end } => {
                self.use_file(*id)?;
                self.logs.insert(*id, LogState::Ended(*valid_end));
            }
            Change::BeginLog(id) => {
                self.use_file(*id)?;
                self.logs.insert(*id, LogState::Begun);
            }
            Change::BeginLogAhead(id) => {
                self.use_file(*id)?;
                self.logs.insert(*id, LogState::BegunAhead);
            }
            Change::RemoveLog(id) => {
                self.logs.remove(id);
            }
            Change::KeyMap {
                keyspace,
                number,
                map,
            } => {
                self.keyspace(*keyspace)?.add_map(*number, map)?;
            }
            Change::NextKeyspaceId(next) => {
                self.next_keyspace_id = self.next_keyspace_id.max(*next);
            }
            Change::Options { keyspace, options } => {
                self.keyspace(*keyspace)?.options = options.clone();
            }
        }
        Ok(())
    }

    fn create(&mut self, id: u32, name: &str) -> Result<(), String> {
        if self.keyspaces.contains_key(&id) {
            return Err(format!("a second keyspace {id}"));
        }
        if self.keyspaces.values().any(|k| k.name == name) {
            return Err(format!("a second keyspace named {name:?}"));
        }
        let after = id
            .checked_add(1)
            .ok_or_else(|| format!("keyspace id {id}, which is too large"))?;
        self.next_keyspace_id = self.next_keyspace_id.max(after);
        let keyspace = KeyspaceState {
            name: name.to_string(),
            ..KeyspaceState::default()
        };
        self.keyspaces.insert(id, keyspace);
        Ok(())
    }

    fn keyspace(&mut self, id: u32) -> Result<&mut KeyspaceState, String> {
        self.keyspaces
            .get_mut(&id)
            .ok_or_else(|| format!("a change of keyspace {id}, which does not exist"))
    }

    fn use_sequence(&mut self, sequence: Sequence) -> Result<(), String> {
        if sequence > LARGEST_NUMBER {
            return Err(format!("sequence {sequence}, which is too large"));
        }
        self.last_sequence = self.last_sequence.max(sequence);
        Ok(())
    }

    fn use_file(&mut self, number: u64) -> Result<(), String> {
        if number > LARGEST_NUMBER {
            return Err(format!("file number {number}, which is too large"));
        }
        let after = number + 1;
        self.next_file = self.next_file.max(after);
        Ok(())
    }

    /// Whether there is a keyspace with this id.
    pub fn has_keyspace(&self, id: u64) -> bool {
        u32::try_from(id).is_ok_and(|id| self.keyspaces.contains_key(&id))
    }

    /// The last sequence up to which a flush wrote a keyspace to tables, 0 if there was none. The logs were
    /// durable through it before.
    pub fn last_flushed(&self) -> Sequence {
        let lowest = self.keyspaces.values().map(|k| k.lowest_unflushed);
        lowest.max().unwrap_or(0).saturating_sub(1)
    }

    /// One edit that describes the whole state, for the start of a new manifest.
    pub fn snapshot_edit(&self) -> Edit {
        let mut changes = vec![
            Change::NextFile(self.next_file),
            Change::LastSequence(self.last_sequence),
            Change::NextKeyspaceId(self.next_keyspace_id),
        ];
        changes.extend(self.logs.iter().map(|(id, log)| log.change(*id)));
        for (&keyspace, state) in &self.keyspaces {
            let (name, sequence) = (state.name.clone(), state.lowest_unflushed);
            changes.push(Change::CreateKeyspace { id: keyspace, name });
            changes.push(Change::LowestUnflushed { keyspace, sequence });
            if state.options != KeyspaceOptions::default() {
                let options = state.options.clone();
                changes.push(Change::Options { keyspace, options });
            }
            for (&number, map) in &state.maps {
                let map = map.to_bytes();
                changes.push(Change::KeyMap {
                    keyspace,
                    number,
                    map,
                });
            }
            for (place, table) in state.tables() {
                let table = table.clone();
                changes.push(Change::AddTable {
                    keyspace,
                    place,
                    table,
                });
            }
        }
        changes.into()
    }
}

impl KeyspaceState {
    /// The tables with their places, in key order within a run.
    pub fn tables(&self) -> impl Iterator<Item = (Place, &TableMeta)> {
        let runs = self.runs.iter();
        runs.flat_map(|(place, tables)| tables.values().map(move |t| (*place, t)))
    }

    fn add(&mut self, place: Place, table: &TableMeta) -> Result<(), String> {
        let number = table.number;
        if place.level >= LEVELS {
            let level = place.level;
            return Err(format!("a table at level {level}, which does not exist"));
        }
        let standing = (place, table.smallest.clone());
        if self.places.insert(number, standing).is_some() {
            return Err(format!("a second table {number}"));
        }
        let run = self.runs.entry(place).or_default();
        if let Some(other) = overlapping(run, table) {
            let (Place { level, run }, other) = (place, other.number);
            return Err(format!(
                "table {number} at level {level}, run {run}, overlapping table {other}"
            ));
        }
        run.insert(table.smallest.clone(), table.clone());
        *self.map_uses.entry(table.map_number).or_default() += 1;
        Ok(())
    }

    fn remove(&mut self, level: u8, number: u64) -> Result<(), String> {
        let table = self.take(level, number);
        let table = table.ok_or_else(|| format!("no table {number} at level {level} to remove"))?;
        if let Some(uses) = self.map_uses.get_mut(&table.map_number) {
            *uses -= 1;
        }
        Ok(())
    }

    fn take(&mut self, level: u8, number: u64) -> Option<TableMeta> {
        let (place, _) = self.places.get(&number)?;
        if place.level != usize::from(level) {
            return None;
        }
        let (place, smallest) = self.places.remove(&number)?;
        let run = self.runs.get_mut(&place)?;
        let table = run.remove(&smallest);
        if run.is_empty() {
            self.runs.remove(&place);
        }
        table
    }

    fn add_map(&mut self, number: u64, bytes: &[u8]) -> Result<(), String> {
        let map = KeyMap::from_bytes(bytes).map_err(|e| format!("key map {number}: {e}"))?;
        match self.maps.get(&number) {
            Some(known) if **known != map => {
                return Err(format!("a different key map with number {number}"));
            }
            Some(_) => {}
            None => drop(self.maps.insert(number, Arc::new(map))),
        }
        self.next_map = self.next_map.max(number.saturating_add(1));
        Ok(())
    }

    /// Forgets maps that no table uses, and checks that all used maps are known.
    fn settle_maps(&mut self) -> Result<(), String> {
        self.map_uses.retain(|_, uses| *uses > 0);
        self.maps
            .retain(|number, _| self.map_uses.contains_key(number));
        match self
            .map_uses
            .keys()
            .find(|number| !self.maps.contains_key(number))
        {
            Some(number) => Err(format!(
                "tables with key map {number}, which does not exist"
            )),
            None => Ok(()),
        }
    }
}

/// A table of the run that may hold a user key of `table`, if any.
fn overlapping<'a>(run: &'a RunState, table: &TableMeta) -> Option<&'a TableMeta> {
    let smallest = &*table.smallest;
    let upto = (Bound::Unbounded, Bound::Included(smallest));
    let before = run.range::<[u8], _>(upto).next_back();
    let onward = (Bound::Included(smallest), Bound::Unbounded);
    let after = run.range::<[u8], _>(onward).next();
    let mut neighbours = before.into_iter().chain(after).map(|(_, other)| other);
    neighbours.find(|other| other.overlaps(table))
}
