//! The subcommands, one in each file.

mod compact;
mod del;
mod dump;
mod explain_get;
mod get;
mod keyspace;
mod load;
mod put;
mod repair;
mod scan;
mod stats;
mod verify;

use clap::Subcommand;

use crate::failure::Failure;

/// The subcommand to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Store a value under a key
    Put(put::Put),
    /// Print the value of a key
    Get(get::Get),
    /// Delete a key
    Del(del::Del),
    /// Print keys and values in order
    Scan(scan::Scan),
    /// Load the entries of a file
    Load(load::Load),
    /// Show levels, tables and entries of a store, and its memory
    Stats(stats::StatsCommand),
    /// Check every byte of a store
    Verify(verify::Verify),
    /// Save the undamaged parts of a damaged store
    Repair(repair::Repair),
    /// Show a log, table, manifest or CURRENT file as text
    Dump(dump::Dump),
    /// Show step by step how a key is looked up
    ExplainGet(explain_get::ExplainGet),
    /// Merge the tables of an interval of keys
    Compact(compact::Compact),
    /// List, create or drop keyspaces
    #[command(subcommand)]
    Keyspace(keyspace::KeyspaceCommand),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Put(c) => c.run(),
            Command::Get(c) => c.run(),
            Command::Del(c) => c.run(),
            Command::Scan(c) => c.run(),
            Command::Load(c) => c.run(),
            Command::Stats(c) => c.run(),
            Command::Verify(c) => c.run(),
            Command::Repair(c) => c.run(),
            Command::Dump(c) => c.run(),
            Command::ExplainGet(c) => c.run(),
            Command::Compact(c) => c.run(),
            Command::Keyspace(c) => c.run(),
        }
    }
}
