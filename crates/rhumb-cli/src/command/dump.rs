//! `rhumb dump`

use std::path::PathBuf;

use clap::Args;
use rhumb::{Options, inspect};

use crate::failure::Failure;
use crate::output;

/// Show a log, table, manifest or CURRENT file as text.
///
/// The file is only read, and the store may be damaged.
#[derive(Debug, Args)]
pub struct Dump {
    /// The file.
    file: PathBuf,
}

impl Dump {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let mut out = output::Watched::new(output::open());
        let outcome = inspect::dump(&self.file, &Options::default(), &mut out);
        // First the error of the output: a closed pipe must not be reported as a failed dump.
        out.finish()?;
        Ok(outcome?)
    }
}
