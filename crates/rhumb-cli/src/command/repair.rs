//! `rhumb repair`

use clap::Args;
use rhumb::Options;
use rhumb::inspect::{self, RepairReport};

use crate::arguments::Store;
use crate::failure::Failure;
use crate::{output, progress};

/// Save the parts of a damaged store whose checksums are correct, and list what could not be saved.
///
/// Damaged files are moved into the sub-directory `lost`, never deleted. Copy the store first if
/// there is room. The exit code is 1 if something could not be saved.
#[derive(Debug, Args)]
pub struct Repair {
    #[command(flatten)]
    store: Store,
}

impl Repair {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let bar = progress::bytes();
        let report = inspect::repair(&self.store.db, &Options::default(), &mut |at| {
            progress::show(&bar, &at);
        });
        bar.finish_and_clear();
        let report = report?;
        output::print(&report_text(&report))?;
        if report.lost.is_empty() {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "the store can be opened again, but {} could not be saved: see the list above",
            output::count(report.lost.len() as u64, "piece"),
        )))
    }
}

fn report_text(report: &RepairReport) -> String {
    let mut lines: Vec<String> = report.lost.iter().map(|l| format!("lost: {l}")).collect();
    lines.extend(report.notes.iter().map(|n| format!("note: {n}")));
    lines.push(format!(
        "kept {} unchanged, rewrote {} from undamaged blocks, saved {} from {}",
        output::count(report.tables_kept, "table"),
        output::count(report.tables_rewritten, "table"),
        output::count(report.operations_saved, "operation"),
        output::count(report.logs, "log"),
    ));
    lines.join("\n")
}
