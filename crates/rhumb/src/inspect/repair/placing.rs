//! Finds the keyspaces of tables that no readable edit names.

use std::collections::BTreeSet;

use super::super::report::{LostData, Sequences};
use super::Repair;
use super::keyspaces_in_log;
use super::pieces::Pieces;
use crate::db::DEFAULT_KEYSPACE;
use crate::error::{Error, Result};
use crate::table::TableReader;
use crate::version::{Place, TableMeta};

/// A table that no readable edit names.
struct Stray {
    /// The keyspace that the table names itself, if any.
    keyspace: Option<u32>,
    meta: TableMeta,
}

impl Repair<'_> {
    /// Assigns a keyspace to every table that no readable edit names, and a name to every keyspace.
    pub(super) fn place_strays(&mut self, pieces: &mut Pieces) -> Result<()> {
        let strays = self.open_strays(pieces)?;
        self.name_keyspaces(&strays, pieces)?;
        let only = match pieces.keyspaces.len() {
            1 => pieces.keyspaces.keys().next().copied(),
            _ => None,
        };
        for stray in strays {
            self.place_stray(stray, only, pieces);
        }
        Ok(())
    }

    fn open_strays(&mut self, pieces: &Pieces) -> Result<Vec<Stray>> {
        let mut strays = Vec::new();
        let numbers = self.directory.tables.iter();
        for &number in numbers.filter(|n| !pieces.names_table(**n)) {
            let path = self.directory.table_path(number);
            match TableReader::open_uncached(&*self.directory.fs, &path, number) {
                Ok(reader) if reader.takes_sequence() => {
                    let what = "a whole table that was to be ingested, or was";
                    let expected = "an edit that names its sequence";
                    let e = Error::corruption(&path, 0, expected, "none that can be read");
                    let loss = LostData::new(&path, what, &e, Sequences::ALL);
                    self.report.lost.push(loss);
                }
                Ok(reader) => {
                    let keyspace = reader.properties().number("keyspace");
                    let keyspace = keyspace.and_then(|id| u32::try_from(id).ok());
                    strays.push(Stray {
                        keyspace: keyspace.filter(|id| *id < u32::MAX),
                        meta: reader.summary(),
                    });
                }
                Err(e @ Error::Corruption { .. }) => {
                    let what = "a whole table that no readable edit names";
                    let loss = LostData::new(&path, what, &e, Sequences::ALL);
                    self.report.lost.push(loss);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(strays)
    }

    /// Gives new names to keyspaces that are known only from tables and from operations in logs.
    fn name_keyspaces(&mut self, strays: &[Stray], pieces: &mut Pieces) -> Result<()> {
        let mut used: BTreeSet<u32> = strays.iter().filter_map(|s| s.keyspace).collect();
        for &log in pieces.logs.keys() {
            used.extend(keyspaces_in_log(&self.directory, log)?);
        }
        used.extend(pieces.tables.values().map(|t| t.keyspace));
        for id in used {
            if !pieces.keyspaces.contains_key(&id) && !pieces.is_dropped(id) {
                let name = match id {
                    0 => DEFAULT_KEYSPACE.to_string(),
                    id => format!("recovered-keyspace-{id}"),
                };
                self.note(format!(
                    "the name of keyspace {id} is lost: it is now {name}"
                ));
                pieces.keyspaces.insert(id, name);
            }
        }
        pieces
            .keyspaces
            .entry(0)
            .or_insert_with(|| DEFAULT_KEYSPACE.to_string());
        let above = pieces.keyspaces.keys().chain(&pieces.dropped).max();
        let above = above.map_or(0, |id| id.saturating_add(1));
        pieces.next_keyspace_id = pieces.next_keyspace_id.max(above);
        Ok(())
    }

    /// Adds a table to the keyspace that it names. A table that names none is added to the only
    /// keyspace, or, if there are several, to a new one: mixing tables of several keyspaces could
    /// hide entries.
    fn place_stray(&mut self, stray: Stray, only: Option<u32>, pieces: &mut Pieces) {
        let number = stray.meta.number;
        let path = self.directory.table_path(number);
        if let Some(id) = stray.keyspace.filter(|id| pieces.is_dropped(*id)) {
            let path = path.display();
            self.note(format!("{path} is of keyspace {id}, which was dropped"));
            return;
        }
        let keyspace = stray.keyspace.or(only).unwrap_or_else(|| {
            let id = pieces.next_keyspace_id;
            pieces.next_keyspace_id = id.saturating_add(1);
            let name = format!("recovered-table-{number}");
            pieces.keyspaces.insert(id, name);
            id
        });
        let name = pieces.keyspaces.get(&keyspace).cloned().unwrap_or_default();
        self.note(format!(
            "{} is named by no readable edit: it goes to keyspace {name}, where values that were \
             overwritten or deleted may show again",
            path.display()
        ));
        pieces.misplaced.insert(keyspace);
        let place = Place {
            level: 0,
            run: number,
        };
        pieces.add_table(keyspace, place, stray.meta);
    }
}
