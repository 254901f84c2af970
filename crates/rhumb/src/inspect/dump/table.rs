//! A table as text: its description and its entries.

use std::io::Write;
use std::path::Path;

use super::{key, output, value};
use crate::entry::{EntryKind, Pointer};
use crate::error::Result;
use crate::options::Options;
use crate::table::{Salvage, TableReader, ValueUse};

/// Writes a table. Damaged parts are described and skipped.
pub(super) fn dump(path: &Path, number: u64, options: &Options, out: &mut dyn Write) -> Result<()> {
    let fs = &*options.file_system;
    let salvage = Salvage::open(fs, path)?;
    output(writeln!(
        out,
        "table {number}, id {:016x}",
        salvage.table_id()
    ))?;
    match TableReader::open_uncached(fs, path, number) {
        Ok(reader) => describe(&reader, out)?,
        Err(e) => output(writeln!(out, "damaged: {e}"))?,
    }
    for error in salvage.damaged_sections() {
        output(writeln!(out, "damaged: {error}"))?;
    }
    output(write!(out, "{}", salvage.blocks()))?;
    output(writeln!(out, "range deletes:"))?;
    for fragment in salvage.range_deletes().fragments() {
        let (start, end, at) = (
            key(&fragment.start),
            key(&fragment.end),
            &fragment.sequences,
        );
        output(writeln!(out, "  {start} to {end} (excluded) at {at:?}"))?;
    }
    output(writeln!(out, "entries:"))?;
    dump_entries(&salvage, out)
}

fn describe(reader: &TableReader, out: &mut dyn Write) -> Result<()> {
    let (found, memory) = (reader.summary(), reader.memory());
    output(writeln!(
        out,
        "{} bytes, {} entries ({} deletes) in {} blocks before {}, {} fragments of range deletes",
        found.file_bytes,
        found.entries,
        found.deletes,
        reader.blocks(),
        found.sections_offset,
        found.range_deletes,
    ))?;
    output(writeln!(
        out,
        "in memory: directory {}, index {} ({}), filter {}, key map {} ({}), range deletes {} \
         bytes",
        memory.directory,
        memory.index,
        found.index_kind,
        memory.filter,
        memory.key_map,
        reader.key_map()?.map_or("none", |map| map.kind()),
        memory.range_deletes,
    ))?;
    if reader.takes_sequence() {
        output(writeln!(
            out,
            "its sequence is the one that the manifest names"
        ))?;
    }
    for used in &found.values {
        output(writeln!(
            out,
            "value file {} of {} bytes{}: {} values, {} bytes with their keys",
            used.file,
            used.meta.bytes,
            group_of(used),
            used.entries,
            used.bytes
        ))?;
    }
    output(writeln!(out, "properties:"))?;
    for (name, text) in reader.properties().iter() {
        output(writeln!(out, "  {name} = {}", text.escape_ascii()))?;
    }
    Ok(())
}

/// The group of a value file, if it has one.
pub(super) fn group_of(used: &ValueUse) -> String {
    let group = used.meta.group;
    group.map_or(String::new(), |group| format!(" ({group})"))
}

fn pointer(bytes: &[u8]) -> String {
    match Pointer::from_bytes(bytes) {
        Some(pointer) => format!("= {pointer}"),
        None => "points nowhere".to_string(),
    }
}

fn dump_entries(salvage: &Salvage, out: &mut dyn Write) -> Result<()> {
    // Both closures write to it, but never at the same time.
    let out = std::cell::RefCell::new(out);
    let mut failed = Ok(());
    salvage.entries(
        &mut |k, sequence, kind, v| {
            let out = &mut *out.borrow_mut();
            output(match kind {
                EntryKind::Delete => writeln!(out, "  {} @{sequence} deleted", key(k)),
                EntryKind::Put => writeln!(out, "  {} @{sequence} = {}", key(k), value(v)),
                EntryKind::Pointer => writeln!(out, "  {} @{sequence} {}", key(k), pointer(v)),
            })
        },
        &mut |lost| {
            let out = &mut *out.borrow_mut();
            let (offset, keys) = (lost.offset, lost.keys);
            let line = writeln!(
                out,
                "  {offset}: a damaged block of {keys} keys: {}",
                lost.error
            );
            failed = std::mem::replace(&mut failed, Ok(())).and(output(line));
        },
    )?;
    failed
}
