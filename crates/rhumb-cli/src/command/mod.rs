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

/// The subcommand to run. Its help is the documentation of its type.
#[derive(Debug, Subcommand)]
pub enum Command {
    Put(put::Put),
    Get(get::Get),
    Del(del::Del),
    Scan(scan::Scan),
    Load(load::Load),
    Stats(stats::StatsCommand),
    Verify(verify::Verify),
    Repair(repair::Repair),
    Dump(dump::Dump),
    ExplainGet(explain_get::ExplainGet),
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
