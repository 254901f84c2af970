//! `rhumb verify`

use clap::Args;
use indicatif::HumanBytes;
use rhumb::Options;
use rhumb::inspect::{self, VerifyReport};
use serde_json::{Value, json};

use crate::arguments::{Store, shown};
use crate::failure::Failure;
use crate::{output, progress};

/// Read every file of the store and check it
///
/// All checksums, the order of entries, and the order of tables in levels are checked. Nothing is
/// changed. The exit code is 1 if damage was found.
#[derive(Debug, Args)]
pub struct Verify {
    #[command(flatten)]
    store: Store,
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
}

impl Verify {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let bar = progress::bytes();
        let report = inspect::verify(&self.store.db, &Options::default(), &mut |at| {
            progress::show(&bar, &at);
        });
        bar.finish_and_clear();
        let report = report?;
        match self.json {
            true => output::print_json(&report_json(&report))?,
            false => output::print(&report_text(&report))?,
        }
        if report.damage.is_empty() {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "{} is damaged in {}, listed above: restore it from a backup or run `rhumb repair`",
            shown(&self.store.db),
            output::count(report.damage.len() as u64, "place"),
        )))
    }
}

fn report_text(report: &VerifyReport) -> String {
    let mut lines: Vec<String> = report
        .damage
        .iter()
        .map(|d| format!("damage: {d}"))
        .collect();
    lines.extend(report.warnings.iter().map(|w| format!("warning: {w}")));
    lines.push(format!(
        "checked {} ({}, {}), {} ({}), {} in all",
        output::count(report.tables, "table"),
        output::count(report.blocks, "block"),
        output::count(report.entries, "entry"),
        output::count(report.logs, "log"),
        output::count(report.log_operations, "operation"),
        HumanBytes(report.bytes),
    ));
    lines.join("\n")
}

fn report_json(report: &VerifyReport) -> Value {
    let damage: Vec<String> = report.damage.iter().map(ToString::to_string).collect();
    json!({
        "sound": damage.is_empty(),
        "tables": report.tables,
        "blocks": report.blocks,
        "entries": report.entries,
        "logs": report.logs,
        "log_operations": report.log_operations,
        "bytes": report.bytes,
        "damage": damage,
        "warnings": report.warnings,
    })
}
