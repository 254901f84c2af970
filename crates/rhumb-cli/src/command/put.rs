//! `rhumb put`

use clap::Args;
use rhumb::Options;

use crate::arguments::{self, Bytes, InKeyspace, Store};
use crate::failure::Failure;

/// Store a value under a key; the store is created if there is none.
///
/// The write is on the disk when the command ends.
#[derive(Debug, Args)]
pub struct Put {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    /// The key, with backslash escapes.
    #[arg(value_parser = arguments::bytes())]
    key: Bytes,
    /// The value, with backslash escapes.
    #[arg(value_parser = arguments::bytes())]
    value: Bytes,
}

impl Put {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.write_or_create(Options::default())?;
        let keyspace = self.keyspace.open(&db)?;
        keyspace.put(&self.key.0, &self.value.0)?;
        drop(keyspace);
        Ok(db.close()?)
    }
}
