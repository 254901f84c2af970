//! `rhumb keyspace`

use clap::{Args, Subcommand};
use rhumb::Options;
use serde_json::json;

use crate::arguments::Store;
use crate::failure::Failure;
use crate::output;

/// Commands on keyspaces.
#[derive(Debug, Subcommand)]
pub enum KeyspaceCommand {
    /// Print the names of all keyspaces
    List(List),
    /// Create a keyspace, and the store if there is none
    Create(Named),
    /// Drop a keyspace with everything in it
    Drop(Named),
}

/// Print the names of all keyspaces
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    store: Store,
    /// Print one JSON array of names.
    #[arg(long)]
    json: bool,
}

/// A keyspace of a store.
#[derive(Debug, Args)]
pub struct Named {
    #[command(flatten)]
    store: Store,
    /// The name of the keyspace.
    name: String,
}

impl KeyspaceCommand {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            KeyspaceCommand::List(list) => {
                let names = list.store.read()?.keyspaces();
                match list.json {
                    true => output::print_json(&json!(names)),
                    false => output::print(&names.join("\n")),
                }
            }
            KeyspaceCommand::Create(named) => {
                let db = named.store.write_or_create(Options::default())?;
                db.create_keyspace(&named.name)?;
                Ok(db.close()?)
            }
            KeyspaceCommand::Drop(named) => {
                let db = named.store.write(Options::default())?;
                db.drop_keyspace(&named.name)?;
                Ok(db.close()?)
            }
        }
    }
}
