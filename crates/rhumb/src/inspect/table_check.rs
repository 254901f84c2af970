//! Opening and checking a table outside an open store.

use std::path::Path;

use super::directory::{Progress, StoreDirectory};
use crate::error::{Error, Result};
use crate::table::TableReader;
use crate::version::TableMeta;

/// Reads and checks a whole table, and compares it with what the manifest says about it. Returns
/// the numbers of blocks and entries.
///
/// # Errors
/// The first damage found; or if the file cannot be read.
pub(super) fn check_table(
    directory: &StoreDirectory,
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
    checked
}

fn check(
    directory: &StoreDirectory,
    meta: &TableMeta,
    path: &Path,
    done: &mut dyn FnMut(u64, u64),
) -> Result<(u64, u64)> {
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
    Ok((report.blocks, report.entries))
}
