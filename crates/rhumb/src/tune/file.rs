//! The file in which a tuner remembers.

use std::path::PathBuf;

use super::memo::Memo;
use crate::error::Result;
use crate::fs::{names, ops};
use crate::version::Files;

fn path(files: &Files, keyspace: u32) -> PathBuf {
    files.dir.join(names::tuner_name(keyspace))
}

/// What the tuner of a keyspace remembers, if it does; or why it cannot be read.
pub(super) fn load(files: &Files, keyspace: u32) -> Result<Option<Memo>, String> {
    let path = path(files, keyspace);
    let read = ops::if_found(ops::read_all(&*files.fs, &path)).map_err(|e| e.to_string())?;
    let Some(bytes) = read else {
        return Ok(None);
    };
    let damaged = || format!("{} is damaged, or of a later version", path.display());
    Memo::decode(&bytes).map(Some).ok_or_else(damaged)
}

/// Replaces what is remembered. A crash may lose it, since it is not synced.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save(files: &Files, keyspace: u32, memo: &Memo) -> Result<()> {
    let (fs, path) = (&*files.fs, path(files, keyspace));
    ops::if_found(ops::remove(fs, &path))?;
    let file = ops::create(fs, &path)?;
    ops::write_all(&*file, &path, &memo.encode())
}
