//! Opening and checking a table outside an open store.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::directory::{Progress, StoreDirectory};
use crate::entry::{Cursor, EntryKind, Pointer};
use crate::error::{Error, Result};
use crate::table::{TableReader, TableReport};
use crate::version::{Files, TableMeta, ValueFiles};

/// Reads and checks a whole table, and compares it with what the manifest says about it. Returns
/// the numbers of blocks and entries.
///
/// # Errors
/// The first damage found; or if the file cannot be read.
pub(super) fn check_table(
    directory: &StoreDirectory,
    keyspace: u32,
    meta: &TableMeta,
    progress: &mut Progress<'_>,
) -> Result<(u64, u64)> {
    let path = directory.table_path(meta.number);
    progress.begin(&path);
    let begun = progress.bytes_done;
    let checked = check(directory, meta, &path, &mut |done, all| {
        let share = u128::from(meta.file_bytes) * u128::from(done) / u128::from(all.max(1));
        progress.bytes_done = begun + share as u64;
        progress.begin(&path);
    });
    progress.bytes_done = begun + meta.file_bytes;
    let (reader, report) = checked?;
    // Its entries point nowhere else: that was checked.
    if !meta.values.is_empty() {
        check_values(directory, keyspace, meta, reader)?;
    }
    Ok((report.blocks, report.entries))
}

/// Reads every value that the entries of a sound table point to, and compares what is used of value files with what
/// the manifest says.
fn check_values(
    directory: &StoreDirectory,
    keyspace: u32,
    meta: &TableMeta,
    reader: TableReader,
) -> Result<()> {
    let path = directory.table_path(meta.number);
    let wrong = |expected: String, found: String| {
        Error::corruption(&path, meta.sections_offset, expected, found)
    };
    let files = Files::uncached(&directory.fs, &directory.path)?;
    let value_files = ValueFiles::of(&files, &meta.values);
    let value_files = value_files.map_err(|what| wrong("value files".into(), what))?;
    let mut found: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut cursor = Arc::new(reader).cursor(false);
    cursor.seek_first()?;
    while let Some(here) = cursor.here() {
        if here.kind == EntryKind::Pointer {
            let pointer = Pointer::of_encoded(cursor.value_bytes());
            let value = value_files.read(keyspace, here.key, pointer)?;
            let group = value_files
                .meta_of(pointer.file)
                .and_then(|meta| meta.group);
            if let Some(group) = group.filter(|group| !group.has(here.key)) {
                let expected = format!("keys of {group} with values in file {}", pointer.file);
                return Err(wrong(expected, format!("{:02x?}", here.key)));
            }
            let (entries, bytes) = found.entry(pointer.file).or_default();
            *entries += 1;
            *bytes += Pointer::record_bytes(keyspace, here.key.len(), value.len() as u64);
        }
        cursor.next()?;
    }
    let named = meta.values.iter().map(|u| (u.file, (u.entries, u.bytes)));
    let named: BTreeMap<u64, (u64, u64)> = named.collect();
    match named == found {
        true => Ok(()),
        false => Err(wrong(
            format!("the entries and bytes in value files that the manifest names, {named:?}"),
            format!("{found:?}"),
        )),
    }
}

fn check(
    directory: &StoreDirectory,
    meta: &TableMeta,
    path: &Path,
    done: &mut dyn FnMut(u64, u64),
) -> Result<(TableReader, TableReport)> {
    let reader = TableReader::open_uncached(&*directory.fs, path, meta.number)?.named_by(meta)?;
    let found = reader.summary();
    let bounds = (&found.smallest, &found.largest);
    let agrees = [
        ("id", found.table_id == meta.table_id),
        ("length", found.file_bytes == meta.file_bytes),
        (
            "end of the blocks",
            found.sections_offset == meta.sections_offset,
        ),
        ("number of entries", found.entries == meta.entries),
        ("number of deletes", found.deletes == meta.deletes),
        (
            "number of range deletes",
            found.range_deletes == meta.range_deletes,
        ),
        ("range of keys", bounds == (&meta.smallest, &meta.largest)),
        (
            "end of keys",
            found.largest_excluded == meta.largest_excluded,
        ),
        (
            "smallest sequence",
            found.smallest_sequence == meta.smallest_sequence,
        ),
        (
            "largest sequence",
            found.largest_sequence == meta.largest_sequence,
        ),
        ("key map", found.map_number == meta.map_number),
        ("index kind", found.index_kind == meta.index_kind),
        ("use of value files", found.values == meta.values),
    ];
    if let Some((what, _)) = agrees.iter().find(|(_, same)| !same) {
        let expected = format!("the {what} that the manifest names");
        return Err(Error::corruption(
            path,
            meta.sections_offset,
            expected,
            "another one",
        ));
    }
    let report = reader.verify(done)?;
    Ok((reader, report))
}
