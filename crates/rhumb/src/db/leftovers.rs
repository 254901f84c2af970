//! Compares the files in the directory with those that the manifest names.

use std::collections::BTreeSet;
use std::path::Path;

use super::store::Store;
use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::{Access, FileSystem, ops};
use crate::options::Options;
use crate::version::{Manifest, State};

/// Refuses a directory with logs or tables but without `CURRENT`: it is a damaged store, not a new
/// one, since the first log is created after `CURRENT`.
pub(super) fn refuse_headless(dir: &Path, options: &Options) -> Result<()> {
    let names = ops::list(&*options.file_system, dir)?;
    let data = |name: &&String| {
        matches!(
            names::parse(name),
            Some((FileKind::Log | FileKind::Table, _))
        )
    };
    match names.iter().find(data) {
        Some(name) => {
            let found = format!("no such file, although {name} exists");
            Err(Error::corruption(
                &dir.join(names::CURRENT),
                0,
                "the name of a manifest",
                found,
            ))
        }
        None => Ok(()),
    }
}

/// Refuses a store whose files show that the manifest lost edits. Damage to the last edit looks
/// like a torn tail. But the tables that the lost edit removed may be gone from the disk, and a log
/// that it began may hold writes, since a log is written to only once its edit is durable. Logs
/// that an edit removed have smaller numbers than the newest log that the manifest names.
///
/// # Errors
/// [`Error::Corruption`] that names a file that shows the loss; or if the directory cannot be read.
pub(crate) fn refuse_lost_edits(dir: &Path, fs: &dyn FileSystem, state: &State) -> Result<()> {
    let newest_log = state.logs.last_key_value().map(|(id, _)| *id);
    let mut tables = BTreeSet::new();
    for name in ops::list(fs, dir)? {
        match names::parse(&name) {
            Some((FileKind::Table, number)) => drop(tables.insert(number)),
            Some((FileKind::Log, id))
                if id >= state.next_file || newest_log.is_some_and(|newest| id > newest) =>
            {
                refuse_writes(fs, &dir.join(name))?;
            }
            _ => {}
        }
    }
    match named_tables(state).difference(&tables).next() {
        Some(missing) => {
            let path = dir.join(names::table_name(*missing));
            Err(Error::corruption(
                &path,
                0,
                "a table, as the manifest says",
                "no such file",
            ))
        }
        None => Ok(()),
    }
}

/// Refuses a log that the manifest does not name, unless it is empty.
fn refuse_writes(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let length = ops::len(&*ops::open(fs, path, Access::Buffered)?, path)?;
    if length > 0 {
        let expected = "a log that the manifest names, or an empty one";
        let found = format!("a log with {length} bytes that the manifest does not name");
        return Err(Error::corruption(path, 0, expected, found));
    }
    Ok(())
}

fn named_tables(state: &State) -> BTreeSet<u64> {
    state
        .keyspaces
        .values()
        .flat_map(|k| k.tables().map(|(_, t)| t.number))
        .collect()
}

/// Deletes the files that the manifest does not name, left from earlier openings of the store.
pub(super) fn remove_leftovers(store: &Store) -> Result<()> {
    let fs = &**store.fs();
    let catalog = crate::sync::lock(&store.catalog);
    let tables = named_tables(&catalog.state);
    let manifest = catalog.manifest.as_ref().map(Manifest::number);
    for name in ops::list(fs, &store.dir)? {
        let named = match names::parse(&name) {
            Some((FileKind::Table, number)) => tables.contains(&number),
            Some((FileKind::Log, id)) => catalog.state.logs.contains_key(&id),
            Some((FileKind::Manifest, number)) => Some(number) == manifest,
            None => !names::is_temporary(&name),
        };
        if !named {
            ops::remove(fs, &store.dir.join(&name))?;
        }
    }
    Ok(())
}
