//! The sub-directory `lost`, to which files that the repaired store does not use are moved.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::directory::{LOST, StoreDirectory};
use crate::error::Result;
use crate::fs::ops;

/// The files to move to `lost` once the new manifest is in force.
#[derive(Debug, Default)]
pub(super) struct LostFiles {
    files: BTreeSet<PathBuf>,
}

impl LostFiles {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Notes a file to be moved away.
    pub fn add(&mut self, path: PathBuf) {
        self.files.insert(path);
    }

    /// Moves the files away.
    pub fn move_away(&mut self, directory: &StoreDirectory) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let fs = &*directory.fs;
        for path in std::mem::take(&mut self.files) {
            let to = free_path(directory, &path)?;
            ops::if_found(ops::rename(fs, &path, &to))?;
        }
        ops::sync_dir(fs, &directory.path.join(LOST))?;
        ops::sync_dir(fs, &directory.path)
    }
}

/// Writes a durable copy of a file with the content `bytes` to `lost`.
pub(super) fn keep_copy(directory: &StoreDirectory, path: &Path, bytes: &[u8]) -> Result<()> {
    let fs = &*directory.fs;
    let to = free_path(directory, path)?;
    write_file(directory, &to, bytes)?;
    ops::sync_dir(fs, &directory.path.join(LOST))
}

/// Writes a new file and syncs it, but not its name in the directory.
pub(super) fn write_file(directory: &StoreDirectory, path: &Path, bytes: &[u8]) -> Result<()> {
    let file = ops::create(&*directory.fs, path)?;
    ops::write_all(&*file, path, bytes)?;
    ops::sync(&*file, path)
}

/// A free path in `lost` for a file: its name, with a number appended if an earlier repair left a
/// file of that name there.
fn free_path(directory: &StoreDirectory, path: &Path) -> Result<PathBuf> {
    let lost = directory.path.join(LOST);
    ops::create_dir(&*directory.fs, &lost)?;
    let taken: BTreeSet<String> = ops::list(&*directory.fs, &lost)?.into_iter().collect();
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("file");
    let mut free = name.to_string();
    let mut copies = 0u64;
    while taken.contains(&free) {
        copies += 1;
        free = format!("{name}.{copies}");
    }
    Ok(lost.join(free))
}
