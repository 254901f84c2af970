//! How a change of the tables is made: it becomes durable in the manifest first and visible to
//! readers second.

use std::sync::Arc;

use crate::compaction::Outcome;
use crate::db::read::view::{CurrentView, FlushedMemtable};
use crate::db::stats::WriteStats;
use crate::db::store::{Catalog, OpenKeyspace, Store};
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::sync::lock;
use crate::version::{Change, Edit, Levels, Manifest, publish};

/// What the manifest says of a flush. The logs were synced before through the memtable's largest sequence.
fn flushed_changes(keyspace: &OpenKeyspace, flushed: &FlushedMemtable) -> Vec<Change> {
    let before = keyspace.view.load().held.clone();
    let memtables = before.iter().chain([&flushed.memtable]);
    let Some(largest) = memtables.filter_map(|m| m.largest_sequence()).max() else {
        return Vec::new();
    };
    let held = flushed.held.as_ref().and_then(|m| m.smallest_sequence());
    let lowest = held.unwrap_or(largest + 1);
    flushed_through(keyspace, largest, lowest)
}

fn flushed_through(keyspace: &OpenKeyspace, largest: Sequence, lowest: Sequence) -> Vec<Change> {
    let changes = Change::flushed(keyspace.id, largest, lowest);
    changes.chain([Change::LastSequence(largest)]).collect()
}

/// A manifest is replaced when it has grown by more than this or a write buffer, and has more than doubled:
/// what the new one repeats of the whole state costs no more than the edits that led to it.
const LONGEST_MANIFEST: u64 = 4 << 20;

impl Store {
    /// Makes a change of a keyspace's tables durable and shows it to readers. `flushed` is the memtable whose
    /// entries are in the new tables or kept back. `count` updates the statistics before the
    /// change is visible, so a caller that waited for the change finds it counted.
    ///
    /// # Errors
    /// [`Error::NoSuchKeyspace`] if the keyspace was dropped meanwhile, and [`Error::DiskFull`]: the new tables
    /// are deleted. After any other error the store takes no more writes, and the manifest on the disk may
    /// hold the edit, so they are kept. The tables of the store are unchanged in all cases.
    pub(in crate::db) fn install(
        &self,
        keyspace: &OpenKeyspace,
        outcome: &Outcome,
        flushed: Option<&FlushedMemtable>,
        count: impl FnOnce(&mut WriteStats),
    ) -> Result<()> {
        let reached = flushed.map(|flushed| flushed_changes(keyspace, flushed));
        let show = |view: &CurrentView, levels| view.install(levels, flushed);
        self.install_as(keyspace, outcome, reached.unwrap_or_default(), show, count)
    }

    /// As [`Store::install`], for tables that are newer than all memtables, none of which holds entries, and
    /// have this sequence. Nobody writes meanwhile.
    ///
    /// # Errors
    /// As [`Store::install`].
    pub(in crate::db) fn install_newest(
        &self,
        keyspace: &OpenKeyspace,
        outcome: &Outcome,
        sequence: Sequence,
        count: impl FnOnce(&mut WriteStats),
    ) -> Result<()> {
        let reached = flushed_through(keyspace, sequence, sequence + 1);
        let show = |view: &CurrentView, levels| view.install_newest(levels);
        self.install_as(keyspace, outcome, reached, show, count)
    }

    /// Makes a change durable that also says how far the logs `reached`, and shows the new levels to readers.
    fn install_as(
        &self,
        keyspace: &OpenKeyspace,
        outcome: &Outcome,
        reached: Vec<Change>,
        show: impl FnOnce(&CurrentView, Arc<Levels>),
        count: impl FnOnce(&mut WriteStats),
    ) -> Result<()> {
        let mut catalog = lock(&self.catalog);
        let Some(state) = catalog.state.keyspaces.get(&keyspace.id) else {
            outcome.delete(&self.files);
            return Err(Error::NoSuchKeyspace(keyspace.name.clone()));
        };
        let mut changes = outcome.changes(keyspace.id, state);
        changes.extend(reached);
        if let Err(e) = self.commit_edit(&mut catalog, Edit { changes }) {
            // No manifest on the disk names them: only a failed sync leaves that open, and is no full disk.
            // They make room for the next try. After any other error the next opening decides.
            match e {
                Error::DiskFull { .. } => outcome.delete(&self.files),
                _ => outcome.forget_written(&self.files),
            }
            return Err(e);
        }
        self.writes.update(count);
        if let Some(state) = catalog.state.keyspaces.get(&keyspace.id) {
            show(&keyspace.view, Arc::clone(&state.levels));
        }
        drop(catalog);
        self.update_pressure();
        Ok(())
    }

    /// Makes an edit durable and applies it. A manifest that broke (on a full disk), grew long, or is of
    /// a version without such edits is replaced by a new one first.
    ///
    /// # Errors
    /// If the store takes no writes: closing it ended the manifest, and removed logs that it named before.
    pub(in crate::db) fn commit_edit(&self, catalog: &mut Catalog, mut edit: Edit) -> Result<()> {
        self.check_writable()?;
        edit.changes
            .push(Change::NextFile(self.files.next_number()));
        let next = catalog.state.after(&edit);
        let next = next.map_err(Error::InvalidArgument)?;
        let Some(manifest) = &catalog.manifest else {
            return Err(Error::ReadOnly {
                reason: "it was opened for reading only".to_string(),
            });
        };
        let longest = LONGEST_MANIFEST.min(self.options.write_buffer_bytes);
        if manifest.broken()
            || manifest.grown_bytes() > longest.max(manifest.first_bytes())
            || !manifest.takes(&edit)
        {
            self.replace_manifest(catalog, &edit)?;
        }
        if let Some(manifest) = &mut catalog.manifest {
            manifest.append(&edit).inspect_err(|e| {
                // It is unknown whether the edit is on the disk. After a full disk the next edit
                // begins a new manifest; after any other error nothing more may be written.
                self.fail_unless_full(e);
            })?;
        }
        catalog.state.accept(next);
        Ok(())
    }

    /// Begins a new manifest that says what the state says, and makes it count. It can hold `next`.
    fn replace_manifest(&self, catalog: &mut Catalog, next: &Edit) -> Result<()> {
        let number = self.files.new_number();
        let first = catalog.state.snapshot_edit();
        let manifest = Manifest::create(&self.files, number, &first, next)
            .inspect_err(|e| self.fail_unless_full(e))?;
        if let Some(old) = &mut catalog.manifest {
            // If publishing fails, `CURRENT` may name the new manifest already: an edit that is appended to
            // the old one would be lost.
            old.give_up();
        }
        publish(&self.files, number).inspect_err(|e| {
            // After a crash, `CURRENT` may name either manifest. They are equivalent as long as
            // nothing is appended to one of them.
            self.files.keep_stray(number);
            self.fail_unless_full(e);
        })?;
        if let Some(old) = catalog.manifest.replace(manifest) {
            self.files.keep_stray(old.number());
        }
        self.files.delete_strays();
        Ok(())
    }
}
