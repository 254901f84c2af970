//! The file in which a tuner remembers.

use std::path::PathBuf;

use super::memo::Memo;
use crate::error::Result;
use crate::fs::{Access, names, ops};
use crate::version::Files;

/// Far more than any tuner writes.
const MOST_BYTES: u64 = 64 << 10;

fn path(files: &Files, keyspace: u32) -> PathBuf {
    files.dir.join(names::tuner_name(keyspace))
}

/// What the tuner of a keyspace remembers, if it does; or why it cannot be read.
pub(super) fn load(files: &Files, keyspace: u32) -> Result<Option<Memo>, String> {
    let path = path(files, keyspace);
    let read = || {
        let Some(file) = ops::if_found(ops::open(&*files.fs, &path, Access::Buffered))? else {
            return Ok(None);
        };
        // What is longer is cut, and so not whole.
        let bytes = ops::len(&*file, &path)?.min(MOST_BYTES);
        ops::read_range(&*file, &path, 0, bytes).map(Some)
    };
    let read: Result<Option<Vec<u8>>> = read();
    let Some(bytes) = read.map_err(|error| error.to_string())? else {
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
