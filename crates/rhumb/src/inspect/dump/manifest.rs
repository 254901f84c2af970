//! A manifest, or `CURRENT`, as text.

use std::io::Write;
use std::path::Path;

use super::{key, output, table::group_of};
use crate::error::{Error, Result};
use crate::fs::{FileSystem, names};
use crate::sync::Arc;
use crate::version::{self, Change, Place, TableMeta};

/// Writes the name of the current manifest.
pub(super) fn dump_current(
    fs: &Arc<dyn FileSystem>,
    path: &Path,
    out: &mut dyn Write,
) -> Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    match version::read_current(fs, directory)? {
        Some(number) => output(writeln!(
            out,
            "the current manifest is {}",
            names::manifest_name(number)
        )),
        None => Err(Error::io("open", path, std::io::ErrorKind::NotFound.into())),
    }
}

/// Writes the edits of a manifest, including those behind damage.
pub(super) fn dump(path: &Path, bytes: &[u8], number: u64, out: &mut dyn Write) -> Result<()> {
    let records = version::sound_records(path, bytes, number)?;
    output(writeln!(out, "manifest {number}, {} bytes", bytes.len()))?;
    let mut end = version::MANIFEST_HEADER_BYTES as u64;
    for record in &records {
        gap(end, record.offset, out)?;
        let (offset, durable) = (record.offset, record.durable);
        output(writeln!(out, "{offset}: edit, durable below {durable}"))?;
        match &record.edit {
            Ok(edit) => {
                for change in &edit.changes {
                    output(writeln!(out, "  {}", describe(change)))?;
                }
            }
            Err(what) => output(writeln!(out, "  unknown to this build: {what}"))?,
        }
        end = record.end;
    }
    gap(end, bytes.len() as u64, out)
}

fn gap(from: u64, to: u64, out: &mut dyn Write) -> Result<()> {
    if from >= to {
        return Ok(());
    }
    let bytes = to - from;
    output(writeln!(out, "{from}: {bytes} bytes that are no record"))
}

fn describe(change: &Change) -> String {
    match change {
        Change::NextFile(next) => format!("next file number {next}"),
        Change::LastSequence(last) => format!("last sequence {last}"),
        Change::CreateKeyspace { id, name } => format!("create keyspace {id} {name:?}"),
        Change::DropKeyspace(id) => format!("drop keyspace {id}"),
        Change::AddTable {
            keyspace,
            place,
            table,
        } => {
            let (Place { level, run }, table) = (place, describe_table(table));
            format!("keyspace {keyspace}, level {level}, run {run}: add {table}")
        }
        Change::RemoveTable {
            keyspace,
            level,
            number,
        } => {
            format!("keyspace {keyspace}, level {level}: remove table {number}")
        }
        Change::LowestUnflushed { keyspace, sequence } => {
            format!("keyspace {keyspace}: lowest unflushed sequence {sequence}")
        }
        Change::BeginLog(id) => format!("log {id} begins"),
        Change::BeginLogAhead(id) => format!("log {id} begins ahead"),
        Change::Log { id, valid_end } => format!("log {id} ends at {valid_end}"),
        Change::RemoveLog(id) => format!("remove log {id}"),
        Change::KeyMap {
            keyspace,
            number,
            map,
        } => {
            format!("keyspace {keyspace}: key map {number}, {} bytes", map.len())
        }
        Change::NextKeyspaceId(next) => format!("next keyspace id {next}"),
        Change::Options { keyspace, options } => format!("keyspace {keyspace}: options: {options}"),
    }
}

fn describe_table(table: &TableMeta) -> String {
    let excluded = if table.largest_excluded {
        " (excluded)"
    } else {
        ""
    };
    let values = table.values.iter();
    let values = values.map(|used| format!("{}{}", used.file, group_of(used)));
    let values: Vec<String> = values.collect();
    let values = match values.is_empty() {
        true => String::new(),
        false => format!(", value files [{}]", values.join(", ")),
    };
    format!(
        "table {}: {} bytes, sections at {}, id {:016x}, {} entries ({} deletes), {} range deletes, \
         keys {} to {}{excluded}, sequences {} to {}, key map {}, index {}{values}",
        table.number,
        table.file_bytes,
        table.sections_offset,
        table.table_id,
        table.entries,
        table.deletes,
        table.range_deletes,
        key(&table.smallest),
        key(&table.largest),
        table.smallest_sequence,
        table.largest_sequence,
        table.map_number,
        table.index_kind,
    )
}
