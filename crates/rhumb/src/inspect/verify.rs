//! Reads every file of a store and checks everything that can be checked.

use std::collections::BTreeSet;
use std::path::Path;

use super::directory::{Progress, StoreDirectory};
use super::report::{VerifyProgress, VerifyReport};
use super::table_check::check_table;
use crate::db::{LogCheck, refuse_lost_edits};
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::fs::{LockMode, names};
use crate::options::Options;
use crate::version::{self, Files, State, TableMeta};

/// Checks a store: `CURRENT`, the manifest, every log and every table, and that the tables fit into
/// the levels. The store is locked as by a reader, and nothing is changed.
///
/// # Errors
/// If there is no store, a writer has it open, a file cannot be read, or a newer version of rhumb
/// made it. Damage is not returned as an error; it is listed in the report.
pub fn verify(
    path: &Path,
    options: &Options,
    progress: &mut dyn FnMut(VerifyProgress<'_>),
) -> Result<VerifyReport> {
    let directory = StoreDirectory::open(path, options, LockMode::Shared)?;
    let mut report = VerifyReport::default();
    let checked = read_state(&directory, &mut report.warnings);
    let Some((manifest, state)) = report.take(checked)? else {
        report.warnings.push(
            "the other files were not checked, since only the manifest tells what they hold"
                .to_string(),
        );
        return Ok(report);
    };
    let mut bytes = directory.file_bytes(&directory.manifest_path(manifest))?;
    for log in state.logs.keys() {
        bytes += directory.file_bytes(&directory.log_path(*log))?;
    }
    bytes += tables_of(&state).map(|t| t.file_bytes).sum::<u64>();
    let mut progress = Progress::new(bytes, progress);
    progress.begin(&directory.manifest_path(manifest));
    progress.done(directory.file_bytes(&directory.manifest_path(manifest))?);

    check_numbers(&directory, manifest, &state, &mut report);
    check_logs(&directory, &state, &mut report, &mut progress)?;
    check_tables(&directory, &state, &mut report, &mut progress)?;
    check_edits(&directory, &state, &mut report)?;
    look_for_strays(&directory, manifest, &state, &mut report);
    report.bytes = progress.bytes_done;
    Ok(report)
}

impl VerifyReport {
    /// Records damage in the report and continues. Other errors end the check.
    fn take<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(damage @ Error::Corruption { .. }) => {
                self.damage.push(damage);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Whether the report lists damage in a file.
    fn names(&self, file: &Path) -> bool {
        let names =
            |damage: &Error| matches!(damage, Error::Corruption { path, .. } if path == file);
        self.damage.iter().any(names)
    }
}

fn tables_of(state: &State) -> impl Iterator<Item = &TableMeta> {
    tables_by_keyspace(state).map(|(_, table)| table)
}

/// All tables, with the ids of their keyspaces.
fn tables_by_keyspace(state: &State) -> impl Iterator<Item = (u32, &TableMeta)> {
    state.keyspaces.iter().flat_map(|(id, keyspace)| {
        let tables = keyspace.levels.tables();
        tables.map(|(_, table)| (*id, &table.meta))
    })
}

/// The number of the current manifest and the state that it holds. Fails if tables overlap that
/// must not.
fn read_state(directory: &StoreDirectory, warnings: &mut Vec<String>) -> Result<(u64, State)> {
    let (fs, path) = (&directory.fs, &directory.path);
    let Some(number) = version::read_current(fs, path)? else {
        let current = path.join(names::CURRENT);
        return Err(Error::corruption(&current, 0, "a file", "no such file"));
    };
    let files = Files::uncached(fs, path)?;
    let (state, tail) = State::read(&files, number, |_| {})?;
    if tail.torn_bytes > 0 {
        warnings.push(torn(
            &directory.manifest_path(number),
            tail.torn_bytes,
            tail.valid_end,
        ));
    }
    Ok((number, state))
}

fn torn(path: &Path, bytes: u64, offset: u64) -> String {
    let path = path.display();
    format!(
        "{path} has a torn tail of {bytes} bytes at offset {offset}: a write that a crash cut \
         short, or damage to the last write"
    )
}

/// Checks that the next numbers in the manifest are larger than all numbers in use.
fn check_numbers(
    directory: &StoreDirectory,
    manifest: u64,
    state: &State,
    report: &mut VerifyReport,
) {
    let path = directory.manifest_path(manifest);
    let mut wrong = |expected: String, found: String| {
        report
            .damage
            .push(Error::corruption(&path, 0, expected, found));
    };
    for table in tables_of(state) {
        if table.number >= state.next_file {
            let expected = format!("a next file number above table {}", table.number);
            wrong(expected, state.next_file.to_string());
        }
        if table.largest_sequence > state.last_sequence {
            let expected = format!("a last sequence of at least {}", table.largest_sequence);
            wrong(expected, state.last_sequence.to_string());
        }
    }
    if let Some((id, _)) = state.keyspaces.last_key_value()
        && *id >= state.next_keyspace_id
    {
        let expected = format!("a next keyspace id above {id}");
        wrong(expected, state.next_keyspace_id.to_string());
    }
}

fn check_logs(
    directory: &StoreDirectory,
    state: &State,
    report: &mut VerifyReport,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut check = LogCheck::new(state.next_keyspace_id, state.last_flushed());
    let damaged_before = report.damage.len();
    for (&log, &named) in &state.logs {
        let path = directory.log_path(log);
        progress.begin(&path);
        if !directory.logs.contains(&log) {
            let damage = Error::corruption(&path, 0, "a log, as the manifest says", "no such file");
            report.damage.push(damage);
            check.skip();
            continue;
        }
        let operations = &mut report.log_operations;
        let read = check.read(
            &*directory.fs,
            &directory.path,
            (log, named),
            &mut |_, _, _| {
                *operations += 1;
                Ok(())
            },
        );
        let summary = report.take(read)?;
        if let Some(summary) = summary.filter(|s| s.torn_bytes > 0) {
            report
                .warnings
                .push(torn(&path, summary.torn_bytes, summary.valid_end));
        }
        report.logs += 1;
        progress.done(directory.file_bytes(&path)?);
    }
    match report.damage.len() == damaged_before {
        true => report.take(check.end()).map(|_| ()),
        // What is missing was reported.
        false => Ok(()),
    }
}

fn check_tables(
    directory: &StoreDirectory,
    state: &State,
    report: &mut VerifyReport,
    progress: &mut Progress<'_>,
) -> Result<()> {
    for (keyspace, meta) in tables_by_keyspace(state) {
        let path = directory.table_path(meta.number);
        progress.begin(&path);
        if !directory.tables.contains(&meta.number) {
            let damage =
                Error::corruption(&path, 0, "a table, as the manifest says", "no such file");
            report.damage.push(damage);
            continue;
        }
        let checked = check_table(directory, keyspace, meta, progress);
        if let Some((blocks, entries)) = report.take(checked)? {
            report.blocks += blocks;
            report.entries += entries;
        }
        report.tables += 1;
    }
    Ok(())
}

/// Checks for files which show that the manifest lost edits. Opening the store fails in this case.
fn check_edits(directory: &StoreDirectory, state: &State, report: &mut VerifyReport) -> Result<()> {
    match refuse_lost_edits(&directory.path, &*directory.fs, state) {
        // A missing table was reported already.
        Err(Error::Corruption { path, .. }) if report.names(&path) => Ok(()),
        checked => report.take(checked).map(|_| ()),
    }
}

fn look_for_strays(
    directory: &StoreDirectory,
    manifest: u64,
    state: &State,
    report: &mut VerifyReport,
) {
    let used: BTreeSet<u64> = tables_of(state).map(|t| t.number).collect();
    let tables = directory.tables.iter().filter(|n| !used.contains(n));
    let manifests = directory.manifests.iter().filter(|n| **n != manifest);
    let values_used: BTreeSet<u64> = state.value_files().collect();
    let values = directory.values.iter().filter(|n| !values_used.contains(n));
    let logs = directory
        .logs
        .iter()
        .filter(|n| !state.logs.contains_key(n));
    let names = tables.map(|n| names::table_name(*n));
    let names = names.chain(manifests.map(|n| names::manifest_name(*n)));
    let names = names.chain(logs.map(|n| names::log_name(*n)));
    let names = names.chain(values.map(|n| FileKind::Values.name(*n)));
    let harmless = |name: &String| !report.names(&directory.path.join(name));
    let names: Vec<String> = names.filter(harmless).collect();
    for name in names {
        report.warnings.push(format!(
            "{name} is not in use: the next opening for writing deletes it"
        ));
    }
    for name in &directory.others {
        report.warnings.push(match names::is_temporary(name) {
            true => {
                format!("{name} is an unfinished file or a sample: the next opening for writing deletes it")
            }
            false => format!("{name} is not a file of the store: it is left as it is"),
        });
    }
}
