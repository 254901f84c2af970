//! Repairs a damaged store: saves everything that has a valid checksum.
//!
//! The order of the steps makes a crash harmless. New tables are made durable first. Then a new
//! manifest is published that names all files in use. Then logs are cut; until this is done,
//! opening the store fails, and `repair` can be called again. Last, unused files are moved to the
//! sub-directory `lost`.

mod logs;
mod lost;
mod merge;
mod pieces;
mod placing;
mod tables;
mod values;

use std::collections::BTreeSet;
use std::path::Path;

use self::lost::LostFiles;
use self::pieces::Pieces;
use super::directory::{LOST, Progress, StoreDirectory};
use super::report::{Doubt, LostData, RepairReport, Sequences, VerifyProgress};
use crate::db::refuse_lost_edits;
use crate::error::{Error, Result};
use crate::fs::{LockMode, names, ops};
use crate::options::Options;
use crate::version::{self, Edit, Files, Manifest, State};
use crate::wal::{self, sound_frames};

/// Saves of a damaged store what its checksums vouch for, so that it opens again. Damaged files are
/// moved into the sub-directory `lost`, never deleted. A sound store is left as it is.
///
/// The report names what is lost ([`RepairReport::lost`]) and what the files that are left cannot tell
/// ([`RepairReport::doubts`]): only where both are empty all that was written is there. Where a block of
/// a table or a part of a log is lost, older values of its keys may show again, and keys deleted there
/// may come back; [`RepairReport::may_be_missing`] says for which writes. Logs are replayed up to the
/// first damage, since what follows may build on what is lost.
///
/// # Errors
/// If there is no store, it is open already, a file cannot be read or written, or a newer rhumb
/// made it. The store is then as damaged as before, and repair can be called again.
pub fn repair(
    path: &Path,
    options: &Options,
    progress: &mut dyn FnMut(VerifyProgress<'_>),
) -> Result<RepairReport> {
    let directory = StoreDirectory::open(path, options, LockMode::Exclusive)?;
    let mut report = RepairReport::default();
    let mut pieces = gather(&directory, &mut report)?;
    let bytes = pieces.tables.values().map(|t| t.meta.file_bytes).sum();
    let mut repair = Repair {
        next_file: next_file(&directory, &pieces)?,
        changed: pieces.patched || pieces.republish,
        directory,
        options,
        report,
        lost: LostFiles::default(),
        cuts: Vec::new(),
        progress: Progress::new(bytes, progress),
    };
    repair.read_logs(&mut pieces)?;
    if pieces.patched {
        repair.place_strays(&mut pieces)?;
    }
    repair.check_tables(&mut pieces)?;
    if pieces.patched {
        repair.merge_misplaced(&mut pieces)?;
    }
    if repair.changed {
        repair.publish(pieces)?;
    }
    Ok(repair.report)
}

/// A running repair.
struct Repair<'a> {
    directory: StoreDirectory,
    options: &'a Options,
    report: RepairReport,
    /// The next file number that was never used.
    next_file: u64,
    /// Whether anything has to be written.
    changed: bool,
    lost: LostFiles,
    /// The logs to cut, with the lengths to keep.
    cuts: Vec<(u64, usize)>,
    progress: Progress<'a>,
}

impl Repair<'_> {
    fn new_file(&mut self) -> u64 {
        self.next_file += 1;
        self.next_file - 1
    }

    fn note(&mut self, note: impl Into<String>) {
        self.report.notes.push(note.into());
    }

    /// Publishes the new manifest, then cuts logs and moves unused files away.
    fn publish(&mut self, mut pieces: Pieces) -> Result<()> {
        let (number, path) = (self.new_file(), self.directory.path.clone());
        pieces.next_file = self.next_file;
        let unreplayed = pieces.settle_sequences();
        // Where edits are lost, everything is in doubt already.
        if let Some(sequences) = unreplayed.filter(|_| !pieces.patched) {
            let what = "the logs are not whole, so operations in them are not replayed that are older than \
                        tables: those that flushes had kept back are lost";
            doubt(&mut self.report, what, sequences);
        }
        let files = Files::uncached(&self.directory.fs, &path)?;
        let mut state = State::new(&files);
        let applied = state.apply(&pieces.edit());
        applied.map_err(|what| Error::corruption(&path, 0, "pieces that fit together", what))?;
        self.keep_strays(&pieces);
        self.make_room()?;
        let fs = &self.directory.fs;
        for log in pieces.logs.keys() {
            // The new manifest says that all of it is there.
            wal::sync_log(&**fs, &path, *log)?;
        }
        Manifest::create(&files, number, &state.snapshot_edit(), &Edit::default())?;
        version::publish(&files, number)?;
        self.replace_logs()?;
        self.lost.move_away(&self.directory)
    }

    /// Makes the directory for what is moved away, while nothing depends on it.
    fn make_room(&self) -> Result<()> {
        match self.lost.is_empty() && self.cuts.is_empty() {
            true => Ok(()),
            false => ops::create_dir(&*self.directory.fs, &self.directory.path.join(LOST)),
        }
    }

    /// Moves tables away that are not in use and were not removed by an edit, and value files that no table
    /// points into: the next opening would delete them, and it is not known whether an edit that is lost named them.
    fn keep_strays(&mut self, pieces: &Pieces) {
        let numbers = self.directory.tables.iter();
        for number in numbers.filter(|n| !pieces.names_table(**n)) {
            self.lost.add(self.directory.table_path(*number));
        }
        let tables = pieces.tables.values();
        let used = tables.flat_map(|t| t.meta.values.iter().map(|used| used.file));
        let used: BTreeSet<u64> = used.collect();
        let numbers = self.directory.values.iter();
        for number in numbers.filter(|n| !used.contains(n)) {
            self.lost.add(self.directory.values_path(*number));
        }
    }
}

/// A number above all numbers in the manifests and file names.
fn next_file(directory: &StoreDirectory, pieces: &Pieces) -> Result<u64> {
    let named = [
        &directory.manifests,
        &directory.logs,
        &directory.tables,
        &directory.values,
    ];
    let largest = named.iter().filter_map(|n| n.last()).max();
    let above = largest.map_or(Some(1), |n| n.checked_add(1));
    let above = above.map(|n| n.max(pieces.next_file));
    above.ok_or_else(|| {
        let found = "a file with the largest number of all";
        Error::corruption(&directory.path, 0, "a file number that is free", found)
    })
}

/// What is known about the store: from the current manifest if it is sound, otherwise from the
/// sound records of all manifests.
fn gather(directory: &StoreDirectory, report: &mut RepairReport) -> Result<Pieces> {
    let (fs, path) = (&directory.fs, &directory.path);
    let current_path = path.join(names::CURRENT);
    let missing = || Error::corruption(&current_path, 0, "a file", "no such file");
    let current = version::read_current(fs, path).and_then(|n| n.ok_or_else(missing));
    let (candidate, republish) = match current {
        Ok(number) => (Some(number), false),
        Err(e @ Error::Corruption { .. }) => {
            let what = "which manifest counts, so the last one is taken";
            let what = LostData::new(&current_path, what, &e, Sequences::ALL);
            let what = format!("{what}; if a newer one is gone, nothing shows it");
            doubt(report, what, Sequences::ALL);
            (directory.manifests.last().copied(), true)
        }
        Err(e) => return Err(e),
    };
    let Some(number) = candidate else {
        return piece_together(directory, report);
    };
    let mut seen = Pieces::default();
    let files = Files::uncached(fs, path)?;
    match State::read(&files, number, |edit| seen.apply(edit)) {
        Ok((state, tail)) if lost_edits(directory, &state, &seen, tail.torn_bytes > 0)? => {
            piece_together(directory, report)
        }
        Ok((state, tail)) => {
            let mut pieces = Pieces::default();
            pieces.apply(&state.snapshot_edit());
            pieces.republish = republish;
            pieces.removed = seen.removed;
            pieces.torn_manifest = (tail.torn_bytes > 0).then(|| directory.manifest_path(number));
            Ok(pieces)
        }
        Err(Error::Corruption { .. }) => piece_together(directory, report),
        Err(e) => Err(e),
    }
}

/// What the sound records of all manifests say, and the files themselves.
fn piece_together(directory: &StoreDirectory, report: &mut RepairReport) -> Result<Pieces> {
    let what = "edits of the manifest are lost: the files that are left are put together as well as they \
                tell themselves, and do not show whether others are gone";
    doubt(report, what, Sequences::ALL);
    pieces::piece_together(directory, report)
}

fn doubt(report: &mut RepairReport, what: impl Into<String>, sequences: Sequences) {
    let what = what.into();
    report.doubts.push(Doubt { what, sequences });
}

/// Whether the files show that edits behind those that can be read, which say what was `seen`, are
/// lost. Their bytes are damaged (`torn`) or gone.
fn lost_edits(
    directory: &StoreDirectory,
    state: &State,
    seen: &Pieces,
    torn: bool,
) -> Result<bool> {
    match refuse_lost_edits(&directory.path, &*directory.fs, state) {
        Ok(()) => {}
        Err(Error::Corruption { .. }) => return Ok(true),
        Err(e) => return Err(e),
    }
    // A log is deleted only when two things are durable: the edit that removes it, and the edits
    // that name the tables with its operations.
    let gone = |log: &u64| !directory.logs.contains(log);
    let strays = directory.tables.iter().any(|n| !seen.names_table(*n));
    if (torn || strays) && state.logs.keys().any(gone) {
        return Ok(true);
    }
    for &log in state.logs.keys().filter(|log| !gone(log)) {
        let used = keyspaces_in_log(directory, log)?;
        if used.iter().any(|id| *id >= state.next_keyspace_id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The ids of the keyspaces to which the readable operations of a log belong.
fn keyspaces_in_log(directory: &StoreDirectory, log: u64) -> Result<BTreeSet<u32>> {
    let bytes = ops::read_all(&*directory.fs, &directory.log_path(log))?;
    let mut used = BTreeSet::new();
    for frame in sound_frames(&bytes, log) {
        used.extend(frame.operations(&bytes).flatten().map(|o| o.keyspace));
    }
    // No keyspace can have the largest id, since the next id must be larger.
    used.remove(&u32::MAX);
    Ok(used)
}
