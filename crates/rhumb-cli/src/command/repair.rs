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
/// there is room. The exit code is 1 if something could not be saved, or if the files that are left
/// cannot tell whether all was saved.
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
        if report.all_saved() {
            return Ok(());
        }
        let known = match report.lost.len() {
            0 => "whether all was saved cannot be known".to_string(),
            pieces => format!(
                "{} could not be saved",
                output::count(pieces as u64, "piece")
            ),
        };
        Err(Failure::Failed(format!(
            "the store can be opened again, but {known}: see the list above"
        )))
    }
}

fn report_text(report: &RepairReport) -> String {
    let mut lines: Vec<String> = report.lost.iter().map(|l| format!("lost: {l}")).collect();
    lines.extend(report.doubts.iter().map(|d| format!("not known: {d}")));
    lines.extend(report.notes.iter().map(|n| format!("note: {n}")));
    lines.extend(missing_text(report));
    lines.push(format!(
        "kept {} unchanged, rewrote {}, kept {} in {}",
        output::count(report.tables_kept, "table"),
        output::count(report.tables_rewritten, "table"),
        output::count(report.operations_saved, "operation"),
        output::count(report.logs, "log"),
    ));
    lines.join("\n")
}

/// For which writes the store may not answer right.
fn missing_text(report: &RepairReport) -> Option<String> {
    let missing = report.may_be_missing();
    if missing.is_empty() {
        return None;
    }
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Some(format!(
        "may be missing: writes with {}. Where one is, an older value of its key shows again, or a key \
         that it deleted is back; all other writes were saved",
        missing.join(", ")
    ))
}
