//! What lies in the directory, held against what the manifest says.

use std::collections::BTreeSet;
use std::path::Path;

use super::store::Store;
use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::{Access, FileSystem, ops};
use crate::options::Options;
use crate::version::{Manifest, State};

/// A directory with logs or tables but without `CURRENT` is a damaged store, not a new one: the
/// first log is begun after `CURRENT` is there.
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
            let found = format!("no such file beside {name}");
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

/// Refuses a store whose files show that the manifest lost edits. Damage to its last edit looks like
/// a torn tail; but a table that it took away is gone from the disk, and a log that it began holds
/// writes, since these come after the edit is durable. Logs that were taken away are older than all
/// that are named.
///
/// # Errors
/// [`Error::Corruption`] with the first file that shows it, and if the directory cannot be read.
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

/// Refuses a log that the manifest never named, unless it is empty.
fn refuse_writes(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let length = ops::len(&*ops::open(fs, path, Access::Buffered)?, path)?;
    if length > 0 {
        let expected = "a log that the manifest names";
        let found = format!("{length} bytes of a log that it does not name");
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

/// Removes the files of earlier lives that nothing names any more.
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
