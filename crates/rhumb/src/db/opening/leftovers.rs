//! Compares the files in the directory with those that the manifest names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::db::store::Store;
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::{Access, FileSystem, ops};
use crate::options::Options;
use crate::table::TableReader;
use crate::version::{LogState, Manifest, State};
use crate::wal::sound_frames;

/// Refuses a directory with logs or tables but without `CURRENT`: it is a damaged store, not a new
/// one. Only logs without writes may be there before `CURRENT`.
pub(in crate::db) fn refuse_headless(dir: &Path, options: &Options) -> Result<()> {
    let fs = &*options.file_system;
    for name in ops::list(fs, dir)? {
        let data = match names::parse(&name) {
            Some((FileKind::Log, _)) => log_bytes(fs, &dir.join(&name))? > 0,
            Some((FileKind::Table | FileKind::Values, _)) => true,
            _ => false,
        };
        if data {
            let (current, expected) = (dir.join(names::CURRENT), "the name of a manifest");
            let found = format!("no such file, although {name} exists");
            return Err(Error::corruption(&current, 0, expected, found));
        }
    }
    Ok(())
}

fn log_bytes(fs: &dyn FileSystem, path: &Path) -> Result<u64> {
    ops::len(&*ops::open(fs, path, Access::Buffered)?, path)
}

/// Refuses a store whose files show that the manifest lost edits. Damage to the last edit looks
/// like a torn tail. But the tables that the lost edit removed may be gone from the disk, and a log
/// that it began may hold writes, since a log is written to only once its edit is durable. Logs
/// that an edit removed have smaller numbers than the newest log that the manifest names. A table that
/// it added may be the only place of writes whose log is gone ([`refuse_only_copy`]).
///
/// # Errors
/// [`Error::Corruption`] that names a file that shows the loss; or if the directory cannot be read.
pub(crate) fn refuse_lost_edits(dir: &Path, fs: &dyn FileSystem, state: &State) -> Result<()> {
    let newest_log = state.logs.last_key_value().map(|(id, _)| *id);
    let (mut tables, mut values) = (BTreeSet::new(), BTreeSet::new());
    for name in ops::list(fs, dir)? {
        match names::parse(&name) {
            Some((FileKind::Table, number)) => drop(tables.insert(number)),
            Some((FileKind::Values, number)) => drop(values.insert(number)),
            Some((FileKind::Log, id))
                if id >= state.next_file || newest_log.is_some_and(|newest| id > newest) =>
            {
                refuse_writes(fs, &dir.join(name))?;
            }
            _ => {}
        }
    }
    let named = named_tables(state);
    refuse_missing(dir, (FileKind::Table, "a table"), &named, &tables)?;
    let named_values = state.value_files().collect();
    let kind = (FileKind::Values, "a value file");
    refuse_missing(dir, kind, &named_values, &values)?;
    let mut last_in_logs = None;
    for unnamed in tables.difference(&named) {
        refuse_only_copy(dir, fs, state, *unnamed, &mut last_in_logs)?;
    }
    Ok(())
}

/// Refuses a directory without a file that the manifest names.
fn refuse_missing(
    dir: &Path,
    (kind, what): (FileKind, &str),
    named: &BTreeSet<u64>,
    found: &BTreeSet<u64>,
) -> Result<()> {
    let Some(missing) = named.difference(found).next() else {
        return Ok(());
    };
    let expected = format!("{what}, as the manifest says");
    let path = dir.join(kind.name(*missing));
    Err(Error::corruption(&path, 0, expected, "no such file"))
}

/// Refuses a table that the manifest does not name, if it has later writes than the manifest and the logs
/// know of. A crash leaves no such table: a flush first makes the log, which the manifest names, durable
/// through the last write of the table, and that log is removed only after the edit that names the table. A
/// merge writes no sequence that the manifest does not count already. Only the logs of a dropped keyspace
/// are removed without that.
///
/// The logs are read only if a table asks for them, and once: `known` keeps their last sequence.
fn refuse_only_copy(
    dir: &Path,
    fs: &dyn FileSystem,
    state: &State,
    number: u64,
    known: &mut Option<LastInLogs>,
) -> Result<()> {
    let path = dir.join(names::table_name(number));
    let table = match TableReader::open_uncached(fs, &path, number) {
        Ok(table) => table,
        // A crash may have cut it short.
        Err(Error::Corruption { .. }) => return Ok(()),
        Err(e) => return Err(e),
    };
    let last = table.summary().largest_sequence;
    let keyspace = table.properties().number("keyspace");
    let kept = |id| id >= u64::from(state.next_keyspace_id) || state.has_keyspace(id);
    if last <= state.last_sequence || !keyspace.is_some_and(kept) {
        return Ok(());
    }
    let known = match *known {
        Some(known) => known,
        None => *known.insert(last_in_logs(dir, fs, state)?),
    };
    // A missing log is reported when the logs are read.
    if known.is_none_or(|known| last <= known) {
        return Ok(());
    }
    let expected = "a table that the manifest names, or one whose writes are in logs";
    let found = format!("a table of writes up to sequence {last} that the manifest does not name");
    Err(Error::corruption(&path, 0, expected, found))
}

/// The last sequence in the logs that count, 0 if there is none; `None` if a log is missing.
type LastInLogs = Option<Sequence>;

fn last_in_logs(dir: &Path, fs: &dyn FileSystem, state: &State) -> Result<LastInLogs> {
    let (mut last, mut open) = (0, false);
    for (&id, &log) in &state.logs {
        let path = dir.join(names::log_name(id));
        let Some(bytes) = ops::if_found(ops::read_all(fs, &path))? else {
            return Ok(None);
        };
        let frames = sound_frames(&bytes, id);
        let written = frames.iter().filter(|f| !f.clean_end);
        let first = written.clone().next().map(|f| f.first_sequence);
        if log == LogState::BegunAhead && open && first.is_some_and(|first| first != last + 1) {
            // The end of the log before it is lost, so that the rest does not count.
            break;
        }
        open = log.end().is_none() && !frames.iter().any(|f| f.clean_end);
        let ends = written.map(|f| f.first_sequence.saturating_add(f.count.into()));
        last = ends.max().unwrap_or(0).saturating_sub(1).max(last);
    }
    Ok(Some(last))
}

/// Refuses a log that the manifest does not name, unless it is empty.
fn refuse_writes(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let length = log_bytes(fs, path)?;
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
        .flat_map(|k| k.levels.tables().map(|(_, t)| t.meta.number))
        .collect()
}

/// Deletes the files that the manifest does not name, left from earlier openings of the store.
pub(in crate::db) fn remove_leftovers(store: &Store) -> Result<()> {
    let fs = &**store.fs();
    let catalog = crate::sync::lock(&store.catalog);
    let tables = named_tables(&catalog.state);
    let values: BTreeSet<u64> = catalog.state.value_files().collect();
    let manifest = catalog.manifest.as_ref().map(Manifest::number);
    let mut removed_log = false;
    for name in ops::list(fs, &store.files.dir)? {
        let named = match names::parse(&name) {
            Some((FileKind::Table, number)) => tables.contains(&number),
            Some((FileKind::Values, number)) => values.contains(&number),
            Some((FileKind::Log, id)) => catalog.state.logs.contains_key(&id),
            Some((FileKind::Manifest, number)) => Some(number) == manifest,
            None => match (names::tuned_keyspace(&name), names::modelled_table(&name)) {
                (Some(keyspace), _) => catalog.state.has_keyspace(keyspace.into()),
                (_, Some(table)) => tables.contains(&table),
                _ => !names::is_temporary(&name),
            },
        };
        if !named {
            let removed = ops::remove(fs, &store.files.dir.join(&name));
            if !names::is_spare(&name) {
                removed?;
            }
            removed_log |= matches!(names::parse(&name), Some((FileKind::Log, _)));
        }
    }
    // A loss of power must not bring back a log that does not count: once the empty logs behind it are
    // gone, it would look like one whose edit is lost.
    match removed_log {
        true => ops::sync_dir(fs, &store.files.dir),
        false => Ok(()),
    }
}
