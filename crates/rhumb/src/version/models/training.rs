//! A model trained on all keys of a run ("Evaluating Learned Indexes in LSM-tree Systems", section 4.3, and Bourbon, section 4.3).

use std::collections::BTreeMap;

use rhumb_index::IndexSpec;
use rhumb_index::registry::Answers;

use super::file;
use super::slices::Extent;
use crate::error::Result;
use crate::sync::Arc;
use crate::table::{Learning, Training};
use crate::version::{Files, Table};

/// Trains a model of a kind on all keys of neighbouring tables, and writes its file. It leaves out tables that are placed by their
/// models, number their keys in another way, or have fences where others have models. Whether there are several others, whose
/// keys the kind suits. Takes the time to read the tables once.
///
/// # Errors
/// If a table cannot be read, the kind not be built or its file not be written, or `go_on` returns one.
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
    if covered().count() < 2 {
        return Ok(false);
    }
    let map = match spec.kind().needs_number {
        true => file::map_of(tables, map_number).map(Arc::new),
        false => None,
    };
    let mut training = Training::begin(spec, map)?;
    for (table, _) in covered() {
        let mut asked = Ok(());
        let mut goes_on = || {
            asked = go_on();
            asked.is_ok()
        };
        match training.take(table.reader()?, &mut goes_on, &mut |_, _| {})? {
            Learning::GoesOn => {}
            Learning::Unfit => return Ok(false),
            Learning::Stopped => return asked.map(|()| false),
        }
    }
    let Some(index) = training.end()? else {
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
