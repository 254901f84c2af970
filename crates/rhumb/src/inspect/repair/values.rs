//! Values in value files, as far as they can be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::directory::StoreDirectory;
use super::super::report::{LostData, Sequences};
use super::pieces::PlacedTable;
use crate::entry::Pointer;
use crate::error::{Error, Result};
use crate::fs::Access;
use crate::memory::Pinned;
use crate::table::TableWriter;
use crate::vlog::{KeptValues, ValueFileMeta, ValueReader};

/// What becomes of a value.
pub(super) enum Saved {
    /// It can stay where it is.
    InPlace,
    /// It can be read, but its file is damaged elsewhere.
    Copied(Pinned),
    Lost,
}

/// The values of a table that is written anew.
pub(super) struct SavedValues {
    keyspace: u32,
    /// The files that the table points into.
    files: BTreeMap<u64, NamedFile>,
    /// How many values are lost, and why the first one is.
    lost: Option<(u64, Error)>,
}

struct NamedFile {
    path: PathBuf,
    meta: ValueFileMeta,
    readable: Readable,
}

enum Readable {
    Sound(ValueReader),
    Damaged(ValueReader),
    Missing,
}

impl SavedValues {
    /// The values of a table.
    ///
    /// # Errors
    /// If a file cannot be read, though it is there.
    pub fn new(directory: &StoreDirectory, table: &PlacedTable) -> Result<Self> {
        let mut files = BTreeMap::new();
        for used in &table.meta.values {
            let path = directory.values_path(used.file);
            let readable = match directory.values.contains(&used.file) {
                true => open(directory, &path, (used.file, used.meta.bytes))?,
                false => Readable::Missing,
            };
            files.insert(
                used.file,
                NamedFile {
                    path,
                    meta: used.meta,
                    readable,
                },
            );
        }
        Ok(SavedValues {
            keyspace: table.keyspace,
            files,
            lost: None,
        })
    }

    /// What becomes of the value of a key, to which an encoded pointer leads.
    ///
    /// # Errors
    /// If a file cannot be read for another reason than damage.
    pub fn save(&mut self, key: &[u8], pointer: &[u8]) -> Result<Saved> {
        let file = Pointer::from_bytes(pointer).map(|to| (to, self.files.get(&to.file)));
        let saved = match file {
            Some((to, Some(file))) => file.save(self.keyspace, key, to),
            _ => {
                let expected = "a pointer into a value file of the table";
                let found = "one that leads to none";
                Err(Error::corruption(Path::new(""), 0, expected, found))
            }
        };
        match saved {
            Err(e @ Error::Corruption { .. }) => {
                self.lost.get_or_insert((0, e)).0 += 1;
                Ok(Saved::Lost)
            }
            saved => saved,
        }
    }

    /// What was lost so far of the values of a table.
    pub fn take_lost(&mut self, path: &Path, sequences: Sequences) -> Option<LostData> {
        let (count, why) = self.lost.take()?;
        let path = match &why {
            Error::Corruption { path, .. } if !path.as_os_str().is_empty() => path,
            _ => path,
        };
        let what = format!("the values of {count} entries");
        Some(LostData::new(path, what, &why, sequences))
    }

    /// Notes what the files are that a new table points into.
    ///
    /// # Errors
    /// If it points into another file.
    pub fn set_files(&self, writer: &mut TableWriter) -> Result<()> {
        writer.set_value_files(|file| Some(self.files.get(&file)?.meta))
    }
}

impl NamedFile {
    fn save(&self, keyspace: u32, key: &[u8], pointer: Pointer) -> Result<Saved> {
        match &self.readable {
            Readable::Sound(reader) => {
                reader.read(keyspace, key, pointer, false)?;
                Ok(Saved::InPlace)
            }
            Readable::Damaged(reader) => reader
                .read(keyspace, key, pointer, false)
                .map(Saved::Copied),
            Readable::Missing => Err(Error::corruption(
                &self.path,
                0,
                "a value file",
                "no such file",
            )),
        }
    }
}

/// A value file whose header and length are right, or what is left of it.
fn open(directory: &StoreDirectory, path: &Path, whole: (u64, u64)) -> Result<Readable> {
    let (fs, none) = (&*directory.fs, KeptValues::none()?);
    match ValueReader::open(fs, path, whole, Access::Buffered, &none) {
        Ok(reader) => Ok(Readable::Sound(reader)),
        Err(Error::Corruption { .. }) => ValueReader::open_damaged(fs, path).map(Readable::Damaged),
        Err(e) => Err(e),
    }
}
