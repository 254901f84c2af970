//! `rhumb explain-get`

use clap::Args;
use serde_json::json;

use crate::arguments::{self, Bytes, InKeyspace, Store};
use crate::failure::Failure;
use crate::{escape, output};

/// Show step by step how a key is looked up: write buffers, filters, windows, blocks.
///
/// The look-up of an absent key is explained too; the exit code is 0.
#[derive(Debug, Args)]
pub struct ExplainGet {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    /// Print {"key", "steps", "value"}; key and value with backslash escapes, value null if absent.
    #[arg(long)]
    json: bool,
    /// The key, with backslash escapes.
    #[arg(value_parser = arguments::bytes())]
    key: Bytes,
}

impl ExplainGet {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.read()?;
        let explanation = self.keyspace.open(&db)?.explain_get(&self.key.0)?;
        let value = explanation.value.as_deref().map(escape::encode);
        if self.json {
            return output::print_json(&json!({
                "key": escape::encode(&self.key.0),
                "steps": explanation.steps,
                "value": value,
            }));
        }
        output::print(explanation.to_string().trim_end())
    }
}
