//! A model trained on all keys of a run ("Evaluating Learned Indexes in LSM-tree Systems", section 4.3, and Bourbon, section 4.3).

use std::collections::BTreeMap;

use rhumb_index::registry::Answers;
use rhumb_index::{IndexBuilder, IndexSpec, KeyMap, registry};

use super::file;
use super::slices::Extent;
use crate::entry::Cursor;
use crate::error::Result;
use crate::sync::Arc;
use crate::version::{Files, Table};

/// After so many keys it is asked whether to go on.
const KEYS_AT_ONCE: u64 = 1 << 16;

/// Trains a model of a kind on all keys of neighbouring tables, and writes its file. It leaves out tables that are placed by their
/// models, number their keys in another way, or have fences where others have models. Whether there are several others, whose
/// keys the kind suits. Takes the time to read the tables once.
///
/// # Errors
/// If a table cannot be read, the file not be written, or `go_on` returns one.
pub(crate) fn train(
    files: &Files,
    tables: &[Arc<Table>],
    spec: &IndexSpec,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<bool> {
    let map_number = commonest_map(tables);
    let rows: Result<Vec<_>> = tables
        .iter()
        .map(|table| Ok((Arc::clone(table), row_of(table, spec, map_number)?)))
        .collect();
    let rows = rows?;
    let covered = || rows.iter().filter(|(_, row)| *row != Extent::default());
    let map = match spec.kind().needs_number {
        true => file::map_of(tables, map_number),
        false => None,
    };
    let (false, Ok(builder)) = (covered().count() < 2, registry::builder(spec)) else {
        return Ok(false);
    };
    let mut training = Training {
        builder,
        map: map.as_ref(),
        last: None,
        keys: 0,
    };
    for (table, _) in covered() {
        if !training.take(table, go_on)? {
            return Ok(false);
        }
    }
    let Ok(index) = training.builder.finish() else {
        return Ok(false);
    };
    file::save(files, &rows, map_number, &index)?;
    Ok(true)
}

/// The number of the key map that most tables have.
fn commonest_map(tables: &[Arc<Table>]) -> u64 {
    let mut uses = BTreeMap::<u64, usize>::new();
    for table in tables {
        *uses.entry(table.meta.map_number).or_default() += 1;
    }
    let most = uses.into_iter().max_by_key(|(_, tables)| *tables);
    most.map_or(0, |(number, _)| number)
}

/// What a model of this kind has of a table.
fn row_of(table: &Table, spec: &IndexSpec, map_number: u64) -> Result<Extent> {
    let reader = table.reader()?;
    let answers_with_ranks = match spec.answers() {
        Answers::Slots => return Ok(Extent::default()),
        Answers::Windows | Answers::Exact => true,
        // Fences may stand at every so many keys.
        Answers::Blocks => spec.promised_window().is_some(),
    };
    let ranks = reader.ranks();
    // The keys of one that fell back would make the whole model unfit.
    let is_unfit = spec.kind().needs_number && reader.fell_back();
    if reader.is_placed() || is_unfit || table.meta.map_number != map_number {
        return Ok(Extent::default());
    }
    if answers_with_ranks && ranks.is_none() {
        return Ok(Extent::default());
    }
    Ok(Extent {
        ranks: ranks.unwrap_or(0),
        blocks: reader.blocks(),
    })
}

struct Training<'a> {
    builder: Box<dyn IndexBuilder>,
    map: Option<&'a KeyMap>,
    last: Option<Vec<u8>>,
    keys: u64,
}

impl Training<'_> {
    /// Takes the keys of the next table; false if the kind does not suit them.
    fn take(&mut self, table: &Table, go_on: &dyn Fn() -> Result<()>) -> Result<bool> {
        let mut cursor = table.reader()?.cursor(false);
        cursor.seek_first()?;
        let mut block = None;
        while let Some(here) = cursor.here() {
            let key = here.key;
            let is_cut = block.replace(cursor.block()) != Some(cursor.block());
            if let Some(last) = self.last.as_ref().filter(|_| is_cut) {
                self.builder.cut(last, key);
            }
            if self.last.as_ref().is_none_or(|last| last != key) {
                let number = self.map.map_or(0, |map| map.number(key));
                if self.builder.push(key, number).is_err() || self.builder.is_unfit() {
                    return Ok(false);
                }
                let last = self.last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
                self.keys += 1;
                if self.keys.is_multiple_of(KEYS_AT_ONCE) {
                    go_on()?;
                }
            }
            cursor.next()?;
        }
        Ok(true)
    }
}
