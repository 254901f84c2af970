//! `rhumb keyspace`

use clap::{Args, Subcommand};
use rhumb::{KeyspaceOptions, Options};
use serde_json::json;

use crate::arguments::{NewTables, Store};
use crate::failure::Failure;
use crate::output;

/// Commands on keyspaces.
#[derive(Debug, Subcommand)]
pub enum KeyspaceCommand {
    /// Print the names of all keyspaces
    List(List),
    /// Create a keyspace, and the store if there is none
    Create(Tables),
    /// Set how new tables of a keyspace are made
    Set(Set),
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

/// How new tables of a keyspace are made, kept in the store. What is not given is as each opening of the
/// store says, now and from now on.
#[derive(Debug, Args)]
pub struct Tables {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    tables: NewTables,
}

/// What is set for a keyspace from now on.
#[derive(Debug, Args)]
pub struct Set {
    #[command(flatten)]
    tables: Tables,
    /// Set neither: new tables are made as each opening of the store says.
    #[arg(long, conflicts_with_all = ["preset", "index", "table"])]
    clear: bool,
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
            KeyspaceCommand::Create(Tables { named, tables }) => {
                let db = named.store.write_or_create(Options::default())?;
                db.create_keyspace_with(&named.name, tables.options())?;
                Ok(db.close()?)
            }
            KeyspaceCommand::Set(Set { tables, clear }) => {
                let Tables { named, tables } = tables;
                let options = tables.options();
                if options == KeyspaceOptions::default() && !clear {
                    return Err(Failure::Usage(
                        "give what to set: --index, --table or both, or --preset; or --clear to set neither"
                            .to_string(),
                    ));
                }
                let db = named.store.write(Options::default())?;
                db.keyspace(&named.name)?.set_options(options)?;
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
