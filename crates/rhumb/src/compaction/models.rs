//! Training one model over all tables of a run that a merge has written.

use super::context::{Context, Outcome};
use crate::error::Result;
use crate::options::Granularity;
use crate::sync::Arc;
use crate::version::{Levels, Table, train};

/// Trains a model of the run that a merge is about to write whole, if the store has such models. A run that keeps other tables
/// gets one later. Whether one was trained.
///
/// # Errors
/// If the tables cannot be read or the model cannot be written, which makes reads slower and nothing wrong; what
/// [`Context::go_on`] returns.
pub(crate) fn train_merged(
    context: &Context<'_>,
    outcome: &Outcome,
    levels: &Levels,
) -> Result<bool> {
    let made: Vec<_> = outcome.made().cloned().collect();
    let Some((place, _)) = outcome.levels.adds.first() else {
        return Ok(false);
    };
    let is_removed = |table: &Table| {
        let removes = &mut outcome.levels.removes.iter();
        removes.any(|(level, number)| (*level, *number) == (place.level, table.meta.number))
    };
    let mut runs = levels.runs(place.level).iter();
    let run = runs.find(|run| run.number() == place.run);
    let is_whole = run.is_none_or(|run| run.tables().iter().all(|table| is_removed(table)));
    if context.files.granularity != Granularity::Trained || !is_whole || made.len() < 2 {
        return Ok(false);
    }
    let open = |meta| Arc::new(Table::new(Arc::clone(context.files), meta));
    let tables: Vec<Arc<Table>> = made.into_iter().map(open).collect();
    train(context.files, &tables, context.index, context.go_on)
}
