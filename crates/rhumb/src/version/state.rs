//! The state that results from the edits of a manifest.

use std::collections::{BTreeMap, BTreeSet};

use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::options::KeyspaceOptions;
use crate::sync::Arc;
use crate::version::draft::{Draft, Next};
use crate::version::manifest::{self, Tail};
use crate::version::{Change, Edit, Files, KeyMaps, Levels, LogState};

/// The whole state that a manifest describes. An edit makes a new one, which shares what did not change.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) files: Arc<Files>,
    /// File numbers from this one on are unused.
    pub next_file: u64,
    /// At least the largest sequence in tables.
    pub last_sequence: Sequence,
    /// Keyspace ids from this one on are unused.
    pub next_keyspace_id: u32,
    /// The keyspaces by id.
    pub keyspaces: BTreeMap<u32, KeyspaceState>,
    /// Their names.
    pub(super) names: BTreeSet<String>,
    /// The logs that must exist.
    pub logs: BTreeMap<u64, LogState>,
}

/// The state of a keyspace. Clones share its tables and key maps.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyspaceState {
    /// Its name.
    pub name: String,
    /// What is set for it alone.
    pub options: KeyspaceOptions,
    /// All operations in logs below this sequence are in tables, or were dropped.
    pub lowest_unflushed: Sequence,
    /// A sequence up to which the logs were durable when it was flushed; some operations before it may have
    /// been kept back.
    pub flushed_through: Sequence,
    /// The key maps of its tables.
    pub maps: KeyMaps,
    /// Its tables, as readers use them.
    pub levels: Arc<Levels>,
}

impl State {
    /// The state of a store without anything in it; its tables will be read from `files`.
    pub fn new(files: &Arc<Files>) -> Self {
        State {
            files: Arc::clone(files),
            next_file: 0,
            last_sequence: 0,
            next_keyspace_id: 0,
            keyspaces: BTreeMap::new(),
            names: BTreeSet::new(),
            logs: BTreeMap::new(),
        }
    }

    /// Reads the state from a manifest among `files`, and shows `seen` each edit before it counts.
    ///
    /// # Errors
    /// If the manifest cannot be read, is damaged below its durable end, or holds an edit that does not
    /// fit.
    pub fn read(
        files: &Arc<Files>,
        manifest: u64,
        mut seen: impl FnMut(&Edit),
    ) -> Result<(Self, Tail)> {
        let mut state = State::new(files);
        let mut draft = Draft::of(&state);
        let tail = manifest::read(&files.fs, &files.dir, manifest, |edit| {
            seen(&edit);
            draft.apply(&edit)
        })?;
        let next = draft.finish();
        state.accept(next);
        if let Some(file) = state.shared_value_file() {
            let path = files.path(FileKind::Manifest, manifest);
            let expected = "each value file in one keyspace";
            let found = format!("value file {file} in two");
            return Err(Error::corruption(&path, 0, expected, found));
        }
        Ok((state, tail))
    }

    /// A value file of several keyspaces, which no writer makes: the first keyspace without it would delete it.
    fn shared_value_file(&self) -> Option<u64> {
        let mut seen = BTreeSet::new();
        self.value_files().find(|number| !seen.insert(*number))
    }

    /// The numbers of the value files that tables point into.
    pub fn value_files(&self) -> impl Iterator<Item = u64> {
        let keyspaces = self.keyspaces.values();
        let files = keyspaces.flat_map(|k| k.levels.value_files().iter());
        files.map(|(number, _)| number)
    }

    /// What an edit makes of this state.
    ///
    /// # Errors
    /// A change that does not fit: the edit came from a damaged file, or the store is about to write a
    /// wrong one.
    pub fn after(&self, edit: &Edit) -> Result<Next, String> {
        let mut draft = Draft::of(self);
        draft.apply(edit)?;
        Ok(draft.finish())
    }

    /// Takes over what [`State::after`] made of this state. The files of the tables that are gone are
    /// deleted when no reader uses them any more, so the edit must be durable.
    pub fn accept(&mut self, next: Next) {
        self.next_file = next.next_file;
        self.last_sequence = next.last_sequence;
        self.next_keyspace_id = next.next_keyspace_id;
        self.logs = next.logs;
        for (id, keyspace) in next.keyspaces {
            match keyspace {
                Some(keyspace) => drop(self.keyspaces.insert(id, keyspace)),
                None => drop(self.keyspaces.remove(&id)),
            }
        }
        for (name, taken) in next.names {
            match taken {
                true => drop(self.names.insert(name)),
                false => drop(self.names.remove(&name)),
            }
        }
        for table in next.gone {
            table.mark_obsolete();
        }
        for file in next.unused {
            file.mark_obsolete();
        }
    }

    /// Applies an edit.
    ///
    /// # Errors
    /// As [`State::after`]; the state is then as before.
    pub fn apply(&mut self, edit: &Edit) -> Result<(), String> {
        let next = self.after(edit)?;
        self.accept(next);
        Ok(())
    }

    /// Whether there is a keyspace with this id.
    pub fn has_keyspace(&self, id: u64) -> bool {
        u32::try_from(id).is_ok_and(|id| self.keyspaces.contains_key(&id))
    }

    /// The last sequence up to which a flush wrote a keyspace to tables, 0 if there was none. The logs were
    /// durable through it before.
    pub fn last_flushed(&self) -> Sequence {
        let flushed = self.keyspaces.values().map(|k| k.flushed_through);
        flushed.max().unwrap_or(0)
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
            let name = state.name.clone();
            changes.push(Change::CreateKeyspace { id: keyspace, name });
            let lowest = state.lowest_unflushed;
            changes.extend(Change::flushed(keyspace, state.flushed_through, lowest));
            if state.options != KeyspaceOptions::default() {
                let options = state.options.clone();
                changes.push(Change::Options { keyspace, options });
            }
            for (&number, map) in &**state.maps.by_number() {
                let map = map.to_bytes();
                changes.push(Change::KeyMap {
                    keyspace,
                    number,
                    map,
                });
            }
            for (place, table) in state.levels.tables() {
                let table = table.meta.clone();
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
