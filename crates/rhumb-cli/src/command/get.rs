//! `rhumb get`

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::arguments::{self, Bytes, InKeyspace, Store};
use crate::failure::Failure;
use crate::{escape, output};

/// Print the value of a key unchanged, and a line end.
#[derive(Debug, Args)]
pub struct Get {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    /// Print {"key": ..., "value": ...}; both strings with the backslash escapes of `scan`.
    #[arg(long)]
    json: bool,
    /// The key, with backslash escapes.
    #[arg(value_parser = arguments::bytes())]
    key: Bytes,
}

impl Get {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.read()?;
        let keyspace = self.keyspace.open(&db)?;
        let key = escape::encode(&self.key.0);
        let Some(value) = keyspace.get(&self.key.0)? else {
            return Err(Failure::Failed(format!(
                "key {key} is not in keyspace {}",
                self.keyspace.keyspace
            )));
        };
        if self.json {
            return output::print_json(&json!({"key": key, "value": escape::encode(&value)}));
        }
        let mut out = output::open();
        out.write_all(&value)?;
        out.write_all(b"\n")?;
        output::finish(out)
    }
}
