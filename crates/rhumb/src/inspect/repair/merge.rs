//! Merging tables whose places among the levels are lost into one sorted run, which is correct
//! whatever their places were.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhumb_index::KeyMap;

use super::Repair;
use super::pieces::Pieces;
use crate::compaction::{self, Context, Counters, Input, Job};
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::table::TableReader;
use crate::version::{BASE_RUN, Files, Levels, Place, State, TableMeta};

/// Makes the merge keep every sequence; otherwise it would replace by 0 the sequences that no
/// snapshot needs. Older operations may be replayed from logs over the merged tables.
const KEEP_SEQUENCES: &[Sequence] = &[0];

impl Repair<'_> {
    /// Merges the tables of each keyspace whose tables do not fit together.
    pub(super) fn merge_misplaced(&mut self, pieces: &mut Pieces) -> Result<()> {
        let files = Files::uncached(&self.directory.fs, &self.directory.path)?;
        let ids: Vec<u32> = pieces.keyspaces.keys().copied().collect();
        for id in ids {
            let misplaced = pieces.misplaced.contains(&id) || pieces.has_tiers(id);
            if misplaced || !fits_together(id, pieces, &files) {
                self.merge(id, pieces, &files)?;
            }
        }
        Ok(())
    }

    fn merge(&mut self, keyspace: u32, pieces: &mut Pieces, files: &Arc<Files>) -> Result<()> {
        let path = &files.dir;
        let (tables, maps) = self.tables_with_maps(keyspace, pieces)?;
        let free_map = pieces.new_map(keyspace).saturating_add(tables.len() as u64);
        let wrong = |what| Error::corruption(path, 0, "tables that can be merged", what);
        let own_run = |table: &TableMeta| Place {
            level: 0,
            run: table.number,
        };
        let placed = tables.iter().map(|meta| (own_run(meta), meta.clone()));
        let levels = Levels::new(files, placed).map_err(wrong)?;
        let runs = levels.runs(0).iter();
        let job = Job {
            inputs: runs.map(|run| Input::new(0, run, run.tables())).collect(),
            target_level: 1,
            target_run: Some(BASE_RUN),
            trivial: false,
        };
        files.start_at(self.next_file);
        let next_map = AtomicU64::new(free_map);
        let counters = Counters::default();
        let options = pieces.options_of(keyspace);
        let (index, table) = options.layout(self.options);
        let context = Context {
            keyspace,
            files,
            table,
            tier: None,
            index,
            tuner: None,
            next_map: &|| next_map.fetch_add(1, Ordering::Relaxed),
            maps: &maps,
            value_files: levels.value_files(),
            victims: &BTreeSet::new(),
            brings_back: false,
            logged: &[],
            older: &[],
            keeps_blocks: false,
            snapshots: KEEP_SEQUENCES,
            pace: &|_| {},
            go_on: &|| Ok(()),
            counters: &counters,
        };
        let outcome = compaction::execute(&context, &job, &Levels::default())?;
        self.next_file = files.next_number();
        for meta in &tables {
            pieces.tables.remove(&meta.number);
            self.lost.add(self.directory.table_path(meta.number));
        }
        for (number, map) in outcome.maps {
            pieces.maps.insert((keyspace, number), map.to_bytes());
        }
        self.report.tables_rewritten += tables.len() as u64;
        self.report.tables_kept = self.report.tables_kept.saturating_sub(tables.len() as u64);
        for (place, meta) in outcome.levels.adds {
            pieces.add_table(keyspace, place, meta);
        }
        Ok(())
    }

    /// The tables of a keyspace, each with a new key map number, and the key maps stored in the
    /// tables: edits with key maps may be lost.
    fn tables_with_maps(&self, keyspace: u32, pieces: &Pieces) -> Result<(Vec<TableMeta>, Maps)> {
        let (mut tables, mut maps) = (Vec::new(), Maps::new());
        let first_map = pieces.new_map(keyspace);
        for table in pieces.tables_of(keyspace) {
            let mut meta = table.meta.clone();
            let path = self.directory.table_path(meta.number);
            let reader = TableReader::open_uncached(&*self.directory.fs, &path, meta.number)?;
            let reader = Arc::new(reader);
            meta.map_number = first_map.saturating_add(tables.len() as u64);
            let map = match reader.key_map()? {
                Some(map) => map.clone(),
                None => reader.map_of_keys()?,
            };
            maps.insert(meta.map_number, Arc::new(map));
            tables.push(meta);
        }
        Ok((tables, maps))
    }
}

/// Key maps by number.
type Maps = BTreeMap<u64, Arc<KeyMap>>;

/// Whether the tables of a keyspace fit into the levels known for them.
fn fits_together(keyspace: u32, pieces: &Pieces, files: &Arc<Files>) -> bool {
    State::new(files)
        .after(&pieces.edit_of(Some(keyspace)))
        .is_ok()
}
