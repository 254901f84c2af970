//! `rhumb-lab claims`: whether the published claims hold in the results.

use std::path::PathBuf;

use clap::Args;

use super::RESULTS;
use crate::claims::{self, Evidence, Judged};
use crate::error::{Error, Result};
use crate::experiment::{self, Scale};
use crate::results::ResultsFile;

#[derive(Debug, Args)]
pub struct Claims {
    /// Claims to judge, such as C-E1 [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Print a line for each claim
    #[arg(long, conflicts_with = "json")]
    brief: bool,
    /// Print a JSON array with an object for each claim
    #[arg(long)]
    json: bool,
    /// SQLite file with the results
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Scale of the experiments [default: that with the most cells in the results]
    #[arg(long, value_name = "SCALE")]
    scale: Option<Scale>,
    /// Seed of the experiments [default: that with the most cells in the results]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
}

impl Claims {
    /// Prints the ledger.
    ///
    /// # Errors
    /// If the results cannot be read, or there is no claim with an id.
    pub fn run(&self) -> Result<()> {
        check(&self.ids)?;
        let cells = ResultsFile::open(&self.results)?.cells()?;
        let chosen = experiment::chosen(self.scale, self.seed, cells);
        let mut judged = claims::judge(&Evidence::new(&chosen.cells, chosen.scale)?);
        let wanted =
            |one: &Judged| self.ids.is_empty() || self.ids.iter().any(|id| id == one.claim.id);
        judged.retain(wanted);
        match (self.json, self.brief) {
            (true, _) => print!("{}", claims::json(&judged)),
            (_, true) => print!("At {}:\n{}", chosen.text(), claims::brief(&judged)),
            _ => print!("At {}:\n{}", chosen.text(), claims::table(&judged)),
        }
        Ok(())
    }
}

/// Refuses an id of no claim.
fn check(ids: &[String]) -> Result<()> {
    let unknown = ids
        .iter()
        .find(|id| claims::all().all(|claim| claim.id != **id));
    match unknown {
        None => Ok(()),
        Some(id) => {
            let known: Vec<&str> = claims::all().map(|claim| claim.id).collect();
            Err(Error::Usage(format!(
                "there is no claim {id:?}: the claims are {}",
                known.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_no_claim_are_refused() {
        let check = |ids: &[&str]| check(&ids.iter().map(|id| id.to_string()).collect::<Vec<_>>());
        assert!(check(&[]).is_ok() && check(&["C-E1", "C-D11"]).is_ok());
        let error = check(&["C-E1", "C-E99"]).unwrap_err().to_string();
        assert!(
            error.contains("C-E99") && error.contains("C-E1, C-E2"),
            "{error}"
        );
    }
}
