//! Writes batches, and reads all contents in every way.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Durability, Keyspace, Snapshot, TableWriter, WriteBatch};

use super::oracle::{Change, Content, OPTIONS_KEY, difference, options_entry};
use super::script;
use super::tiny;
use super::world::Trouble;

/// Writes changes as one batch.
pub fn write(db: &Db, changes: &[(String, Change)], durability: Durability) -> rhumb::Result<()> {
    let mut batch = WriteBatch::new();
    for (name, change) in changes {
        let keyspace = db.keyspace(name)?;
        match change {
            Change::Put(key, value) => batch.put(&keyspace, key, value)?,
            Change::Delete(key) => batch.delete(&keyspace, key)?,
            Change::DeleteRange(from, to) => batch.delete_range(&keyspace, &from[..]..&to[..])?,
        }
    }
    db.write_with(batch, durability)
}

/// Writes entries as one or two finished tables outside of the store, and returns their paths.
pub fn finished_tables(
    file_system: &MemoryFileSystem,
    entries: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
) -> rhumb::Result<Vec<String>> {
    let options = tiny(Arc::new(file_system.clone()));
    let outside = Path::new("/outside");
    // If it is not there, no table can be created.
    let _ = file_system.create_dir(outside);
    let mut paths = Vec::new();
    let entries: Vec<_> = entries.iter().collect();
    for part in entries.chunks(entries.len().div_ceil(2)) {
        let path = format!("/outside/{}", paths.len());
        // A loss of power may have brought back one that was removed.
        let _ = file_system.remove(Path::new(&path));
        let mut table = TableWriter::create(&path, &options)?;
        for (key, value) in part {
            match value {
                Some(value) => table.put(key, value)?,
                None => table.delete(key)?,
            }
        }
        table.finish()?;
        paths.push(path);
    }
    Ok(paths)
}

/// Ingests finished tables or, without any, the entries.
pub fn ingest(
    keyspace: &Keyspace,
    entries: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    tables: &[String],
) -> rhumb::Result<()> {
    if !tables.is_empty() {
        return keyspace.ingest(tables).map(drop);
    }
    let mut ingest = keyspace.sorted_ingest()?;
    for (key, value) in entries {
        match value {
            Some(value) => ingest.put(key, value)?,
            None => ingest.delete(key)?,
        }
    }
    ingest.finish().map(drop)
}

/// Ingests the puts and deletes of one keyspace; the last one of a key counts.
pub fn ingest_changes(db: &Db, changes: &[(String, Change)]) -> rhumb::Result<()> {
    let mut entries = BTreeMap::new();
    for (_, change) in changes {
        match change {
            Change::Put(key, value) => drop(entries.insert(key.clone(), Some(value.clone()))),
            Change::Delete(key) => drop(entries.insert(key.clone(), None)),
            Change::DeleteRange(..) => {}
        }
    }
    let Some((name, _)) = changes.first() else {
        return Ok(());
    };
    ingest(&db.keyspace(name)?, &entries, &[])
}

/// The contents of a store: read forwards, backwards and key by key, which must agree.
pub fn read_all(db: &Db) -> Result<Content, Trouble> {
    let mut content = Content::new();
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name)?;
        let mut forwards = Vec::new();
        for entry in keyspace.iter()? {
            let (key, value) = entry?;
            forwards.push((key.to_vec(), value.to_vec()));
        }
        if !forwards.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(Trouble::Wrong(format!("{name} is not sorted")));
        }
        let mut backwards = Vec::new();
        for entry in keyspace.iter()?.rev() {
            let (key, value) = entry?;
            backwards.push((key.to_vec(), value.to_vec()));
        }
        backwards.reverse();
        if forwards != backwards {
            let difference = compare(&name, forwards, backwards);
            let message = format!("forwards and backwards differ\n  {difference}");
            return Err(Trouble::Wrong(message));
        }
        for (key, value) in &forwards {
            let found = keyspace.get(key)?.map(|value| value.to_vec());
            if found.as_ref() != Some(value) {
                let key = String::from_utf8_lossy(key);
                return Err(Trouble::Wrong(format!(
                    "a get of {key} differs from a scan"
                )));
            }
        }
        let absent = (0..4u64).map(|n| script::key(n * 17 + 1));
        for key in absent.filter(|key| forwards.iter().all(|(k, _)| k != key)) {
            if keyspace.get(&key)?.is_some() {
                let key = String::from_utf8_lossy(&key);
                return Err(Trouble::Wrong(format!(
                    "a get finds {key}, which a scan does not"
                )));
            }
        }
        let mut entries: BTreeMap<_, _> = forwards.into_iter().collect();
        if let Change::Put(key, text) = options_entry(&keyspace.options()?) {
            entries.insert(key, text);
        }
        content.insert(name, entries);
    }
    Ok(content)
}

fn compare(name: &str, a: Vec<(Vec<u8>, Vec<u8>)>, b: Vec<(Vec<u8>, Vec<u8>)>) -> String {
    let of = |entries: Vec<_>| Content::from([(name.to_string(), entries.into_iter().collect())]);
    difference(&of(a), &of(b))
}

/// Checks that a snapshot still shows the expected contents.
pub fn read_held(db: &Db, snapshot: &Snapshot, expected: &Content) -> Result<(), Trouble> {
    let mut found = Content::new();
    for name in expected.keys() {
        let keyspace = db.keyspace(name)?;
        let mut keys = BTreeMap::new();
        for entry in snapshot.iter(&keyspace)? {
            let (key, value) = entry?;
            keys.insert(key.to_vec(), value.to_vec());
        }
        for (key, value) in &keys {
            if snapshot.get(&keyspace, key)?.as_deref() != Some(&value[..]) {
                return Err(Trouble::Wrong(
                    "a snapshot's get differs from its scan".to_string(),
                ));
            }
        }
        // Options are not of a moment.
        if let Some(options) = expected.get(name).and_then(|e| e.get(OPTIONS_KEY)) {
            keys.insert(OPTIONS_KEY.to_vec(), options.clone());
        }
        found.insert(name.clone(), keys);
    }
    if found != *expected {
        let difference = difference(expected, &found);
        return Err(Trouble::Wrong(format!(
            "a snapshot changed\n  {difference}"
        )));
    }
    Ok(())
}
