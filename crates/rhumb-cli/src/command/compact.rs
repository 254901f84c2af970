//! `rhumb compact`

use clap::Args;

use crate::arguments::{Bounds, InKeyspace, Layout, Store};
use crate::failure::Failure;

/// Merge the tables of an interval of keys, or all tables if no bound is given.
///
/// The new tables get the index and layout given here, so the command converts an existing store.
#[derive(Debug, Args)]
pub struct Compact {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    bounds: Bounds,
}

impl Compact {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.write(self.layout.options())?;
        let keyspace = self.keyspace.open(&db)?;
        let (from, to) = (self.bounds.from, self.bounds.to);
        keyspace.compact_range(
            from.as_ref().map(|k| k.0.as_slice()),
            to.as_ref().map(|k| k.0.as_slice()),
        )?;
        drop(keyspace);
        Ok(db.close()?)
    }
}
