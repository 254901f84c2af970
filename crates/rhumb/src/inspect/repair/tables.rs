//! Sound tables are kept as they are; damaged tables are rewritten from their sound blocks.

use std::path::Path;
use std::sync::Arc;

use rhumb_index::{KeyMap, KeyMapBuilder};

use super::super::report::{LostData, Sequences};
use super::super::table_check::check_table;
use super::Repair;
use super::pieces::{Pieces, PlacedTable};
use super::values::{Saved, SavedValues};
use crate::entry::{EntryKind, LARGEST_KEY};
use crate::error::{Error, Result};
use crate::options::KeyspaceOptions;
use crate::table::{LostBlock, Salvage, TableSettings, TableWriter};
use crate::version::TableMeta;

impl Repair<'_> {
    /// Checks all tables.
    pub(super) fn check_tables(&mut self, pieces: &mut Pieces) -> Result<()> {
        let tables: Vec<PlacedTable> = pieces.tables.values().cloned().collect();
        for table in tables {
            let number = table.meta.number;
            if !self.directory.tables.contains(&number) {
                self.miss_table(&table, pieces);
                continue;
            }
            match check_table(
                &self.directory,
                table.keyspace,
                &table.meta,
                &mut self.progress,
            ) {
                Ok(_) => self.report.tables_kept += 1,
                Err(e @ Error::Corruption { .. }) => self.rewrite(&table, &e, pieces)?,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Handles a missing table: it is lost, unless it may have been merged into a table that lost
    /// edits name.
    fn miss_table(&mut self, table: &PlacedTable, pieces: &mut Pieces) {
        let number = table.meta.number;
        let path = self.directory.table_path(number);
        if pieces.misplaced.contains(&table.keyspace) {
            let note = "is not there: it is taken for one that a lost edit removed";
            self.note(format!("{} {note}", path.display()));
            pieces.tables.remove(&number);
            return;
        }
        let e = Error::corruption(&path, 0, "a table", "no such file");
        self.lose_table(table, &e, pieces);
    }

    fn lose_table(&mut self, table: &PlacedTable, error: &Error, pieces: &mut Pieces) {
        let meta = &table.meta;
        let path = self.directory.table_path(meta.number);
        let what = format!(
            "a whole table of level {}: {} entries with keys from \"{}\" to \"{}\"",
            table.place.level,
            meta.entries,
            meta.smallest.escape_ascii(),
            meta.largest.escape_ascii()
        );
        let sequences = pieces.sequences_of(table);
        self.report
            .lost
            .push(LostData::new(&path, what, error, sequences));
        pieces.tables.remove(&meta.number);
        self.lost.add(path);
        self.changed = true;
    }

    /// Replaces a damaged table by a new one with everything readable in it, in the same place.
    fn rewrite(&mut self, table: &PlacedTable, why: &Error, pieces: &mut Pieces) -> Result<()> {
        let path = self.directory.table_path(table.meta.number);
        let salvage = match Salvage::open(&*self.directory.fs, &path) {
            Ok(salvage) if salvage.table_id() == table.meta.table_id => {
                salvage.named_by(&table.meta)
            }
            // Another table has this name; its entries belong elsewhere.
            Ok(_) => {
                self.lose_table(table, why, pieces);
                return Ok(());
            }
            Err(e @ Error::Corruption { .. }) => {
                self.lose_table(table, &e, pieces);
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        self.changed = true;
        let sequences = pieces.sequences_of(table);
        let mut values = SavedValues::new(&self.directory, table)?;
        let map = self.survey(&path, &salvage, &mut values, sequences)?;
        if salvage.range_deletes_lost() {
            let e = salvage.damaged_sections().first().unwrap_or(why);
            let what = "the range deletes of the table";
            self.report
                .lost
                .push(LostData::new(&path, what, e, sequences));
        }
        pieces.tables.remove(&table.meta.number);
        self.lost.add(path.clone());
        let Some(map) = map else {
            return Ok(());
        };
        let map_number = pieces.new_map(table.keyspace);
        pieces
            .maps
            .insert((table.keyspace, map_number), map.to_bytes());
        let options = pieces.options_of(table.keyspace);
        let meta = self.write_anew(&salvage, table, &options, (map_number, map), &mut values)?;
        self.note(format!(
            "{} was damaged and is now table {} with {} entries",
            path.display(),
            meta.number,
            meta.entries
        ));
        self.report.tables_rewritten += 1;
        pieces.add_table(table.keyspace, table.place, meta);
        Ok(())
    }

    /// Notes what is lost of a table, and gives the key map of what is not; `None` if that is nothing.
    fn survey(
        &mut self,
        path: &Path,
        salvage: &Salvage,
        values: &mut SavedValues,
        sequences: Sequences,
    ) -> Result<Option<Arc<KeyMap>>> {
        let mut map = KeyMapBuilder::new();
        let (mut last, mut entries) = (Vec::new(), 0u64);
        let lost = &mut self.report.lost;
        salvage.entries(
            &mut |key, _, kind, value| {
                let is_lost =
                    kind == EntryKind::Pointer && matches!(values.save(key, value)?, Saved::Lost);
                if is_lost {
                    return Ok(());
                }
                if (entries == 0 || last != key) && key != LARGEST_KEY {
                    map.push(key);
                    last.clear();
                    last.extend_from_slice(key);
                }
                entries += 1;
                Ok(())
            },
            &mut |block| lost.push(loss_of_block(path, &block, sequences)),
        )?;
        self.report.lost.extend(values.take_lost(path, sequences));
        let nothing = entries == 0 && salvage.range_deletes().is_empty();
        Ok((!nothing).then(|| Arc::new(map.build())))
    }

    fn write_anew(
        &mut self,
        salvage: &Salvage,
        table: &PlacedTable,
        options: &KeyspaceOptions,
        (map_number, map): (u64, Arc<KeyMap>),
        values: &mut SavedValues,
    ) -> Result<TableMeta> {
        let (index, spec) = options.layout(self.options);
        let settings = TableSettings {
            keyspace: Some(table.keyspace),
            given_sequence: false,
            spec: spec.clone(),
            index: index.clone(),
            map,
            map_number,
            chosen: String::new(),
        };
        let number = self.new_file();
        let directory = &self.directory;
        let mut writer = TableWriter::create(&directory.fs, &directory.path, number, &settings)?;
        let written = salvage.entries(
            &mut |key, sequence, kind, value| match kind {
                EntryKind::Pointer => match values.save(key, value)? {
                    Saved::InPlace => writer.add(key, sequence, kind, value),
                    Saved::Copied(value) => writer.add(key, sequence, EntryKind::Put, &value),
                    Saved::Lost => Ok(()),
                },
                _ => writer.add(key, sequence, kind, value),
            },
            &mut |_| {},
        );
        if let Err(e) = written {
            // If this fails, the next opening of the store deletes the file.
            let _ = writer.abandon();
            return Err(e);
        }
        values.set_files(&mut writer)?;
        Ok(writer.finish(salvage.range_deletes())?.summary)
    }
}

fn loss_of_block(path: &Path, block: &LostBlock<'_>, sequences: Sequences) -> LostData {
    let behind = match block.behind {
        Some(key) => format!("behind \"{}\"", key.escape_ascii()),
        None => "at the start".to_string(),
    };
    let what = format!("a block of {} keys {behind}", block.keys);
    let mut loss = LostData::new(path, what, &block.error, sequences);
    loss.offset = block.offset;
    loss
}
