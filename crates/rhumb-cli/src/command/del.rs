//! `rhumb del`

use clap::Args;
use rhumb::Options;

use crate::arguments::{self, Bytes, InKeyspace, Store};
use crate::failure::Failure;

/// Delete a key; deleting an absent key is not an error.
#[derive(Debug, Args)]
pub struct Del {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    /// The key, with backslash escapes.
    #[arg(value_parser = arguments::bytes())]
    key: Bytes,
}

impl Del {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.write(Options::default())?;
        let keyspace = self.keyspace.open(&db)?;
        keyspace.delete(&self.key.0)?;
        drop(keyspace);
        Ok(db.close()?)
    }
}
