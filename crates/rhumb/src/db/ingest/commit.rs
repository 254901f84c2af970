//! How new tables become part of a keyspace, all at once, as the newest of all.

use std::borrow::Cow;
use std::mem;

use crate::compaction::{NewTable, Outcome};
use crate::db::store::{OpenKeyspace, Store};
use crate::db::upkeep::background::Unwinding;
use crate::db::write::batch::WriteBatch;
use crate::db::write::group::{Request, queue_is_broken};
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::fs::ops;
use crate::options::Durability;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::version::{LevelChange, TableMeta};

/// What an ingest added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ingested {
    /// The number of entries, deletes included.
    pub entries: u64,
    /// The number of tables.
    pub tables: u64,
    /// The bytes of these tables.
    pub bytes: u64,
}

/// New tables in the directory of the store that nothing names yet. When this is dropped, their files are
/// deleted.
#[derive(Debug)]
pub(super) struct NewTables<'a> {
    store: &'a Store,
    tables: Vec<NewTable>,
}

impl<'a> NewTables<'a> {
    pub fn new(store: &'a Store) -> Self {
        let tables = Vec::new();
        NewTables { store, tables }
    }

    pub fn push(&mut self, table: NewTable) {
        self.tables.push(table);
    }

    fn report(&self) -> Ingested {
        let metas = self.tables.iter().map(|table| &table.meta);
        Ingested {
            entries: metas.clone().map(|meta| meta.entries).sum(),
            tables: self.tables.len() as u64,
            bytes: metas.map(|meta| meta.file_bytes).sum(),
        }
    }
}

impl Drop for NewTables<'_> {
    fn drop(&mut self) {
        for table in &self.tables {
            let files = &self.store.files;
            files.delete(FileKind::Table, table.meta.number);
        }
    }
}

impl Store {
    /// Adds new tables, no two of which hold the same key, to a keyspace, as its newest entries. They are
    /// durable and visible when it returns, and not at all if it fails, unless the store takes no more writes
    /// then: the next opening tells.
    pub(super) fn ingest(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        tables: NewTables<'_>,
    ) -> Result<Ingested> {
        self.check_writable()?;
        let report = tables.report();
        if report.tables == 0 {
            return Ok(report);
        }
        let dir = ops::sync_dir(&**self.fs(), &self.files.dir);
        dir.inspect_err(|e| self.fail_unless_full(e))?;
        // Most of it is flushed while others may still write.
        self.flush_keyspace(keyspace)?;
        // Tables that overlap others go to level 0, as those of flushes do.
        self.wait_for_room(0)?;
        let ingested = self.queue.alone(|| {
            let unwinding = Unwinding::fails(self, "an ingest panicked");
            let ingested = self.ingest_alone(keyspace, tables, report);
            unwinding.end();
            ingested
        });
        ingested.unwrap_or_else(|| Err(queue_is_broken()))?;
        // The ingest stands, whether logs that are not needed any more can go now or later.
        let _ = self.collect_logs();
        Ok(report)
    }

    /// The ingest, while no other write is under way.
    fn ingest_alone(
        &self,
        keyspace: &Arc<OpenKeyspace>,
        mut tables: NewTables<'_>,
        report: Ingested,
    ) -> Result<()> {
        self.flush_all_of(keyspace)?;
        let mut metas: Vec<TableMeta> = tables.tables.iter().map(|t| t.meta.clone()).collect();
        // Dropped at the end, when the sequence is published.
        let (places, _placement) = self.place_ingested(keyspace, &metas, report.bytes);
        let sequence = self.take_sequence(keyspace)?;
        // What is durable of the ingest must not outlive what was written before.
        self.sync_log_through(sequence)?;
        for meta in &mut metas {
            (meta.smallest_sequence, meta.largest_sequence) = (sequence, sequence);
        }
        let levels = LevelChange {
            adds: places.into_iter().zip(metas).collect(),
            removes: Vec::new(),
        };
        let user_bytes = tables.tables.iter().map(|table| table.user_bytes);
        let user_bytes = user_bytes.fold(0, u64::saturating_add);
        // From here on, whether their files are deleted depends on the manifest.
        let maps = mem::take(&mut tables.tables).into_iter().map(|t| t.map);
        let outcome = Outcome {
            levels,
            maps: maps.collect(),
            value_files: Vec::new(),
        };
        self.install_newest(keyspace, &outcome, sequence, |w| {
            w.ingested_tables += report.tables;
            w.ingested_bytes += report.bytes;
            w.user_bytes = w.user_bytes.saturating_add(user_bytes);
        })?;
        self.published.sequence.store(sequence, Ordering::Release);
        Ok(())
    }

    /// Flushes until no memtable of the keyspace has entries. Nobody writes meanwhile.
    fn flush_all_of(&self, keyspace: &Arc<OpenKeyspace>) -> Result<()> {
        loop {
            let view = keyspace.view.load();
            if view.memtables().all(|memtable| memtable.is_empty()) {
                return Ok(());
            }
            drop(view);
            self.flush_keyspace(keyspace)?;
        }
    }

    /// Takes the sequence after the last one. The log has it as an operation that changes nothing: where no
    /// sequence is missing between two logs, the later one is known to continue the earlier one.
    fn take_sequence(&self, keyspace: &Arc<OpenKeyspace>) -> Result<Sequence> {
        let mut batch = WriteBatch::new();
        batch.operations.push_range_delete(keyspace.id, &[], &[]);
        let request = Request {
            batch: Cow::Owned(batch),
            durability: Durability::Immediate,
            condition: None,
        };
        let mut write = self.lock_to_write()?;
        self.check_writable()?;
        // No frame names a keyspace after it was dropped.
        if keyspace.is_dropped() {
            return Err(Error::NoSuchKeyspace(keyspace.name.clone()));
        }
        let sequence = write.last_sequence + 1;
        self.append(&mut write, sequence, &[&request])?;
        write.last_sequence = sequence;
        self.rotate_full(&mut write, &[]);
        Ok(sequence)
    }
}
