//! A state on the way to a new one: edits are checked and applied, and what they change is copied.

use std::collections::BTreeMap;

use crate::entry::Sequence;
use crate::fs::names::LARGEST_NUMBER;
use crate::sync::Arc;
use crate::version::levels_draft::LevelsDraft;
use crate::version::{
    Change, Edit, Files, KeyspaceState, Levels, LogState, Place, State, Table, TableMeta, ValueFile,
};

/// Edits of a [`State`], which itself stays as it is: one while the store runs, all of a manifest when it is
/// read. Each change takes a time that is logarithmic in what there is, but the first one of a run copies
/// its list of tables.
pub(super) struct Draft<'a> {
    base: &'a State,
    next_file: u64,
    last_sequence: Sequence,
    next_keyspace_id: u32,
    logs: BTreeMap<u64, LogState>,
    /// The keyspaces that changed; `None` for one that was dropped.
    keyspaces: BTreeMap<u32, Option<KeyspaceDraft>>,
    /// The names that were taken or given up, and whether they are taken.
    names: BTreeMap<String, bool>,
    /// The tables of the keyspaces of `base` that were dropped.
    dropped: Vec<Arc<Levels>>,
}

struct KeyspaceDraft {
    state: KeyspaceState,
    levels: LevelsDraft,
}

/// What edits made of a state: see [`State::accept`].
#[derive(Debug)]
pub(crate) struct Next {
    pub(super) next_file: u64,
    pub(super) last_sequence: Sequence,
    pub(super) next_keyspace_id: u32,
    pub(super) logs: BTreeMap<u64, LogState>,
    /// The keyspaces that changed; `None` for one that was dropped.
    pub(super) keyspaces: Vec<(u32, Option<KeyspaceState>)>,
    /// The names that changed, and whether they are taken.
    pub(super) names: BTreeMap<String, bool>,
    /// The tables that are not part of the store any more.
    pub(super) gone: Vec<Arc<Table>>,
    /// The value files that are not part of the store any more.
    pub(super) unused: Vec<Arc<ValueFile>>,
}

impl<'a> Draft<'a> {
    /// No edits of `base` yet.
    pub fn of(base: &'a State) -> Self {
        Draft {
            base,
            next_file: base.next_file,
            last_sequence: base.last_sequence,
            next_keyspace_id: base.next_keyspace_id,
            logs: base.logs.clone(),
            keyspaces: BTreeMap::new(),
            names: BTreeMap::new(),
            dropped: Vec::new(),
        }
    }

    /// Applies an edit.
    ///
    /// # Errors
    /// A change that does not fit. The draft is then partly changed and must not be used any more.
    pub fn apply(&mut self, edit: &Edit) -> Result<(), String> {
        for change in &edit.changes {
            self.change(change)?;
        }
        for change in &edit.changes {
            // What an edit adds uses key maps that it may add later. A keyspace may have been dropped by
            // the same edit.
            if let Change::AddTable { keyspace, .. }
            | Change::RemoveTable { keyspace, .. }
            | Change::KeyMap { keyspace, .. } = change
                && let Some(Some(keyspace)) = self.keyspaces.get_mut(keyspace)
            {
                keyspace.state.maps.settle()?;
            }
        }
        Ok(())
    }

    /// What the edits made of the state.
    pub fn finish(self) -> Next {
        let dropped = self.dropped.iter().flat_map(|levels| levels.tables());
        let mut gone: Vec<Arc<Table>> = dropped.map(|(_, table)| Arc::clone(table)).collect();
        let dropped = self.dropped.iter().flat_map(|l| l.value_files().iter());
        let mut unused: Vec<_> = dropped.map(|(_, used)| Arc::clone(&used.file)).collect();
        let mut keyspaces = Vec::with_capacity(self.keyspaces.len());
        for (id, keyspace) in self.keyspaces {
            let keyspace = keyspace.map(|keyspace| {
                let drafted = keyspace.levels.finish();
                gone.extend(drafted.gone);
                unused.extend(drafted.unused);
                KeyspaceState {
                    levels: drafted.levels,
                    ..keyspace.state
                }
            });
            keyspaces.push((id, keyspace));
        }
        Next {
            next_file: self.next_file,
            last_sequence: self.last_sequence,
            next_keyspace_id: self.next_keyspace_id,
            logs: self.logs,
            keyspaces,
            names: self.names,
            gone,
            unused,
        }
    }

    fn change(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::NextFile(next) => self.next_file = self.next_file.max(*next),
            Change::LastSequence(last) => self.use_sequence(*last)?,
            Change::CreateKeyspace { id, name } => return self.create(*id, name),
            Change::DropKeyspace(id) => return self.drop_keyspace(*id),
            Change::AddTable {
                keyspace,
                place,
                table,
            } => {
                let files = &self.base.files;
                self.keyspace(*keyspace)?.add(files, *place, table)?;
                self.use_file(table.number)?;
                for used in &table.values {
                    self.use_file(used.file)?;
                }
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
                let state = &mut self.keyspace(*keyspace)?.state;
                state.lowest_unflushed = *sequence;
                let before = sequence.saturating_sub(1);
                state.flushed_through = state.flushed_through.max(before);
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
                self.keyspace(*keyspace)?.state.maps.add(*number, map)?;
            }
            Change::NextKeyspaceId(next) => {
                self.next_keyspace_id = self.next_keyspace_id.max(*next);
            }
            Change::Options { keyspace, options } => {
                self.keyspace(*keyspace)?.state.options = options.clone();
            }
        }
        Ok(())
    }

    fn create(&mut self, id: u32, name: &str) -> Result<(), String> {
        if self.exists(id) {
            return Err(format!("a second keyspace {id}"));
        }
        let taken = self.names.get(name).copied();
        if taken.unwrap_or_else(|| self.base.names.contains(name)) {
            return Err(format!("a second keyspace named {name:?}"));
        }
        let after = id
            .checked_add(1)
            .ok_or_else(|| format!("keyspace id {id}, which is too large"))?;
        self.next_keyspace_id = self.next_keyspace_id.max(after);
        let name = name.to_string();
        self.names.insert(name.clone(), true);
        let state = KeyspaceState {
            name,
            ..KeyspaceState::default()
        };
        let keyspace = KeyspaceDraft::of(&state);
        self.keyspaces.insert(id, Some(keyspace));
        Ok(())
    }

    fn drop_keyspace(&mut self, id: u32) -> Result<(), String> {
        let name = self.keyspace(id)?.state.name.clone();
        self.names.insert(name, false);
        self.keyspaces.insert(id, None);
        if let Some(known) = self.base.keyspaces.get(&id) {
            self.dropped.push(Arc::clone(&known.levels));
        }
        Ok(())
    }

    fn exists(&self, id: u32) -> bool {
        match self.keyspaces.get(&id) {
            Some(changed) => changed.is_some(),
            None => self.base.keyspaces.contains_key(&id),
        }
    }

    /// A keyspace, for changing it.
    fn keyspace(&mut self, id: u32) -> Result<&mut KeyspaceDraft, String> {
        let known = || self.base.keyspaces.get(&id).map(KeyspaceDraft::of);
        let keyspace = self.keyspaces.entry(id).or_insert_with(known);
        keyspace
            .as_mut()
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
}

impl KeyspaceDraft {
    fn of(state: &KeyspaceState) -> Self {
        KeyspaceDraft {
            levels: LevelsDraft::of(Arc::clone(&state.levels)),
            state: state.clone(),
        }
    }

    fn add(&mut self, files: &Arc<Files>, place: Place, table: &TableMeta) -> Result<(), String> {
        self.levels.add(files, place, table)?;
        self.state.maps.begin_use(table.map_number);
        Ok(())
    }

    fn remove(&mut self, level: u8, number: u64) -> Result<(), String> {
        let table = self.levels.remove(level.into(), number)?;
        self.state.maps.end_use(table.meta.map_number);
        Ok(())
    }
}
