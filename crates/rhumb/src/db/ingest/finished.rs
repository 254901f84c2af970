//! Ingest of finished tables.

use std::path::{Path, PathBuf};

use rhumb_index::KeyMap;

use super::commit::{Ingested, NewTables};
use crate::compaction::{Counters, NewTable};
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::fs::{Access, ops};
use crate::sync::Arc;
use crate::table::TableReader;
use crate::version::{TableMeta, first_overlap};

/// The bytes that are copied at a time.
const COPIED_BYTES: u64 = 1 << 20;

impl Store {
    /// Copies finished tables into the store, checks them wholly, and adds them to a keyspace.
    pub(in crate::db) fn ingest_files(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        paths: &[PathBuf],
    ) -> Result<Ingested> {
        self.check_writable()?;
        let mut sources = Vec::with_capacity(paths.len());
        for (number, path) in paths.iter().enumerate() {
            sources.push((self.look_at(path, number as u64)?, path));
        }
        sources.sort_by(|(a, _), (b, _)| a.smallest.cmp(&b.smallest));
        if let Some((a, b)) = first_overlap(sources.iter().map(|(meta, _)| meta)) {
            let path = |meta: &TableMeta| {
                let path = usize::try_from(meta.number)
                    .ok()
                    .and_then(|at| paths.get(at));
                path.map(|path| path.display().to_string())
                    .unwrap_or_default()
            };
            return Err(Error::InvalidArgument(format!(
                "{} and {} may hold the same key: tables that are ingested together must not overlap",
                path(a),
                path(b),
            )));
        }
        let mut tables = NewTables::new(self);
        for (seen, path) in &sources {
            tables.push(self.copy_in(keyspace, path, seen)?);
        }
        self.ingest(keyspace, tables)
    }

    /// The description of a table that is to be ingested. Its blocks are not looked at.
    fn look_at(&self, path: &Path, number: u64) -> Result<TableMeta> {
        let table = TableReader::open_uncached(&**self.fs(), path, number);
        let table = table.map_err(|e| of_source(path, e))?;
        if !table.takes_sequence() {
            let why =
                "it is a table of a store, with sequences of its own; TableWriter writes others";
            return Err(refusal(path, why));
        }
        match table.entries() {
            0 => Err(refusal(path, "it has no entries")),
            _ => Ok(table.summary()),
        }
    }

    /// Copies a table that was looked at into the store and checks the copy.
    fn copy_in(&self, keyspace: &OpenKeyspace, from: &Path, seen: &TableMeta) -> Result<NewTable> {
        let number = self.files.new_number();
        let copied = self.copy(from, number);
        let checked = copied.and_then(|()| self.checked(number));
        let checked = checked.map_err(|e| of_source(from, e));
        let table = checked.and_then(|(copy, map, user_bytes)| {
            // What was found out about the tables together holds for the copies only if they are the same.
            let same = TableMeta {
                number: seen.number,
                ..copy.clone()
            };
            if same != *seen {
                return Err(refusal(from, "it changed meanwhile"));
            }
            self.with_context(keyspace, &Counters::default(), &|_| {}, |context| {
                Ok(NewTable::with_map(context, copy, map, user_bytes))
            })
        });
        table.inspect_err(|_| self.files.delete(FileKind::Table, number))
    }

    fn copy(&self, from: &Path, number: u64) -> Result<()> {
        let (fs, to) = (&**self.fs(), self.files.table_path(number));
        let source = ops::open(fs, from, Access::Buffered)?;
        let length = ops::len(&*source, from)?;
        ops::refuse_sparse(&*source, from, length)?;
        let of_store = |e: &Error| self.fail_after_io(e);
        let target = ops::create(fs, &to).inspect_err(of_store)?;
        let mut at = 0;
        while at < length {
            let bytes = COPIED_BYTES.min(length - at);
            let bytes = ops::read_range(&*source, from, at, bytes)?;
            ops::write_all(&*target, &to, &bytes).inspect_err(of_store)?;
            at += bytes.len() as u64;
        }
        ops::sync(&*target, &to).inspect_err(of_store)
    }

    /// Checks the whole table with this number; returns its description, the map of its keys, and the bytes of its
    /// keys and values.
    fn checked(&self, number: u64) -> Result<(TableMeta, KeyMap, u64)> {
        let path = self.files.table_path(number);
        let table = TableReader::open_uncached(&**self.fs(), &path, number)?;
        if !table.takes_sequence() {
            return Err(Error::corruption(&path, 0, "no sequences", "some"));
        }
        table.verify(&mut |_, _| {})?;
        let table = Arc::new(table);
        let map = match table.key_map()? {
            Some(map) => map.clone(),
            None => table.map_of_keys()?,
        };
        let bytes = |name| table.properties().number(name).unwrap_or(0);
        let user_bytes = bytes("key.bytes").saturating_add(bytes("value.bytes"));
        Ok((table.summary(), map, user_bytes))
    }
}

/// The error for a table that cannot be ingested, given what is wrong with it or with its copy: the store is not
/// damaged.
fn of_source(path: &Path, error: Error) -> Error {
    match error {
        Error::Corruption {
            offset,
            expected,
            found,
            ..
        } => {
            let why = format!("at offset {offset} it has {found} in place of {expected}");
            refusal(path, &format!("{why}; write the table again"))
        }
        Error::Unsupported { what, .. } => Error::Unsupported {
            path: path.to_path_buf(),
            what,
        },
        other => other,
    }
}

fn refusal(path: &Path, why: &str) -> Error {
    let path = path.display();
    Error::InvalidArgument(format!("{path} cannot be ingested: {why}"))
}
