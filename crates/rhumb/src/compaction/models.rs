//! Training one model over all tables of a run that a merge has written.

use super::context::{Context, Outcome};
use crate::error::Result;
use crate::sync::Arc;
use crate::version::{Levels, Table, TableMeta, train};

/// Trains a model of the run that a merge is about to write whole. A run that keeps other tables gets one later.
///
/// # Errors
/// If the tables cannot be read or the model cannot be written, which makes reads slower and nothing wrong; what
/// [`Context::go_on`] returns.
pub(crate) fn train_merged(
    context: &Context<'_>,
    outcome: &Outcome,
    levels: &Levels,
) -> Result<()> {
    let Some((place, _)) = outcome.levels.adds.first() else {
        return Ok(());
    };
    let is_removed = |table: &Table| {
        let removes = &mut outcome.levels.removes.iter();
        removes.any(|(level, number)| (*level, *number) == (place.level, table.meta.number))
    };
    let mut runs = levels.runs(place.level).iter();
    let run = runs.find(|run| run.number() == place.run);
    let is_whole = run.is_none_or(|run| run.tables().iter().all(|table| is_removed(table)));
    if !is_whole || outcome.made().count() < 2 {
        return Ok(());
    }
    // What was kept in memory of these tables is for those that read them later.
    let files = context.files.without_cache()?;
    let open = |meta: &TableMeta| Arc::new(Table::new(Arc::clone(&files), meta.clone()));
    let tables: Vec<Arc<Table>> = outcome.made().map(open).collect();
    train(context.files, &tables, context.index, context.go_on).map(|_| ())
}
