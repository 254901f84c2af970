//! Logs are kept up to the first damage.

use std::path::Path;

use super::super::report::{Doubt, LostData, Sequences};
use super::Repair;
use super::lost::{keep_copy, write_file};
use super::pieces::Pieces;
use crate::db::LogCheck;
use crate::entry::Sequence;
use crate::error::{Error, Result};
use crate::fs::names::{self, LARGEST_NUMBER};
use crate::fs::ops;
use crate::version::LogState;
use crate::wal::{SoundFrame, sound_frames};

impl Repair<'_> {
    /// Reads the logs in order and cuts the first damaged one. The logs after it are lost.
    pub(super) fn read_logs(&mut self, pieces: &mut Pieces) -> Result<()> {
        if pieces.patched {
            self.choose_logs(pieces);
        }
        // Where edits are lost, it is not known what was flushed.
        let last_flushed = if pieces.patched {
            0
        } else {
            pieces.last_flushed()
        };
        let mut check = LogCheck::new(next_keyspace_id(pieces), last_flushed);
        let mut last = 0;
        let mut before: Option<Sequence> = None;
        let mut cut = false;
        for (log, named) in pieces.logs.clone() {
            let path = self.directory.log_path(log);
            if !self.directory.logs.contains(&log) {
                cut |= self.miss_log(log, &path, last, pieces)?;
                check.skip();
                continue;
            }
            if named != LogState::BegunAhead
                && let Some(path) = check.open_log()
            {
                self.doubt_end(path, last);
            }
            let mut operations = 0;
            let (fs, directory) = (&*self.directory.fs, &self.directory.path);
            let read = match cut {
                true => Err(behind_damage(&path)),
                false => check.read(fs, directory, (log, named), &mut |sequence, _, _| {
                    operations += 1;
                    let follows = before.is_none_or(|before| sequence == before + 1);
                    // Between logs that edits name, sequences may be left out; others may be gone.
                    pieces.cut_logs |= pieces.patched && !follows;
                    before = Some(sequence);
                    Ok(())
                }),
            };
            match read {
                Ok(summary) => {
                    last = check.last();
                    self.report.logs += 1;
                    self.report.operations_saved += operations;
                    // A new manifest says where it ends.
                    pieces.logs.insert(log, LogState::Ended(summary.valid_end));
                }
                Err(e @ Error::Corruption { .. }) => {
                    self.changed = true;
                    pieces.cut_logs = true;
                    cut |= matches!(&e, Error::Corruption { path: lost, .. } if *lost != path);
                    self.cut_log(log, cut, &e, &mut last, pieces)?;
                    cut = true;
                }
                Err(e) => return Err(e),
            }
        }
        if let Some(path) = check.open_log() {
            match check.end() {
                Err(e) if !cut => {
                    pieces.cut_logs = true;
                    self.lose_end(path, &e, last);
                }
                _ => self.doubt_end(path, last),
            }
        }
        pieces.last_logged = last;
        if let Some(manifest) = &pieces.torn_manifest {
            let what = format!(
                "{} ends with bytes that are no edit: a crash cut it short, or it is damaged, and the \
                 last change of a keyspace, table or log may be lost",
                manifest.display()
            );
            let sequences = Sequences::from(last.max(pieces.last_sequence).saturating_add(1));
            self.report.doubts.push(Doubt { what, sequences });
        }
        Ok(())
    }

    /// A log that is not there is lost, unless nothing of it was needed any more: then the edit that
    /// removed it is. Whether the logs behind it do not count either.
    fn miss_log(
        &mut self,
        log: u64,
        path: &Path,
        last: Sequence,
        pieces: &mut Pieces,
    ) -> Result<bool> {
        pieces.logs.remove(&log);
        self.changed = true;
        let next = self.first_sequence_behind(log, pieces)?;
        if next.is_some_and(|next| pieces.all_flushed_below(next)) {
            let path = path.display();
            self.note(format!(
                "{path} is not there, and all of its operations are in tables: it is taken for one \
                 that a lost edit removed"
            ));
            return Ok(false);
        }
        let e = Error::corruption(path, 0, "a log", "no such file");
        let what = "all operations of the log that are in no table";
        let sequences = Sequences {
            first: pieces.least_unflushed().max(last.saturating_add(1)),
            last: next.map(|next| next.saturating_sub(1)),
        };
        self.report
            .lost
            .push(LostData::new(path, what, &e, sequences));
        pieces.cut_logs = true;
        // Where edits are lost, one of them most likely removed it.
        Ok(!pieces.patched)
    }

    /// The first sequence in the logs after the given one.
    fn first_sequence_behind(&self, log: u64, pieces: &Pieces) -> Result<Option<Sequence>> {
        let later = pieces.logs.range(log.saturating_add(1)..);
        for (&later, _) in later.filter(|(id, _)| self.directory.logs.contains(id)) {
            let path = self.directory.log_path(later);
            let bytes = ops::read_all(&*self.directory.fs, &path)?;
            let frames = sound_frames(&bytes, later);
            if let Some(frame) = frames.iter().find(|f| !f.clean_end) {
                return Ok(Some(frame.first_sequence));
            }
        }
        Ok(None)
    }

    /// Adds the logs that no readable edit names or removes, since the edits that name them may be
    /// lost.
    fn choose_logs(&mut self, pieces: &mut Pieces) {
        let there = &self.directory.logs;
        for log in there
            .iter()
            .filter(|log| !pieces.removed_logs.contains(log))
        {
            pieces.logs.entry(*log).or_default();
        }
    }

    /// What a crash cut short looks like what damage cut off, if the log was not closed.
    fn doubt_end(&mut self, log: &Path, last: Sequence) {
        let log = log.display();
        self.report.doubts.push(Doubt {
            what: format!(
                "{log} was not closed: if more was written to it, the file does not show it"
            ),
            sequences: Sequences::from(last.saturating_add(1)),
        });
    }

    /// Notes that operations behind the last one are lost. A new manifest says where the log ends.
    fn lose_end(&mut self, log: &Path, error: &Error, last: Sequence) {
        self.changed = true;
        let sequences = Sequences::from(last.saturating_add(1));
        let loss = LostData::new(log, "the rest of the log", error, sequences);
        self.report.lost.push(loss);
    }

    /// Keeps the frames before the damage; none if the log is `behind` a damaged one.
    fn cut_log(
        &mut self,
        log: u64,
        behind: bool,
        error: &Error,
        last: &mut Sequence,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let path = self.directory.log_path(log);
        let bytes = ops::read_all(&*self.directory.fs, &path)?;
        let frames = sound_frames(&bytes, log);
        // The sequences of lost operations are not used again, so that new operations cannot be
        // mistaken for them.
        let ends = frames
            .iter()
            .map(|f| f.first_sequence.saturating_add(f.count.into()))
            .filter(|end| *end <= LARGEST_NUMBER);
        pieces.last_sequence = pieces.last_sequence.max(ends.max().unwrap_or(0));
        let kept = match behind {
            true => 0,
            false => good_frames(&frames, &bytes, last, next_keyspace_id(pieces)),
        };
        let (good, rest) = frames.split_at(kept);
        let end = good.last().map_or(0, |f| f.payload.end);
        let sequences = Sequences::from(last.saturating_add(1));
        let mut loss = LostData::new(&path, what_is_lost(rest), error, sequences);
        loss.offset = end as u64;
        self.report.lost.push(loss);
        if good.is_empty() {
            pieces.logs.remove(&log);
            self.lost.add(path);
            return Ok(());
        }
        self.report.logs += 1;
        self.report.operations_saved += good.iter().map(|f| u64::from(f.count)).sum::<u64>();
        pieces.logs.insert(log, LogState::Ended(end as u64));
        self.cuts.push((log, end));
        Ok(())
    }

    /// Cuts the logs that end earlier in the new manifest, after copying them to `lost`.
    pub(super) fn replace_logs(&mut self) -> Result<()> {
        for (log, end) in std::mem::take(&mut self.cuts) {
            let path = self.directory.log_path(log);
            let bytes = ops::read_all(&*self.directory.fs, &path)?;
            keep_copy(&self.directory, &path, &bytes)?;
            self.replace_log(log, &path, bytes.get(..end).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Replaces a log by its beginning atomically: the store must find one of the two when it is
    /// opened.
    fn replace_log(&self, log: u64, path: &Path, bytes: &[u8]) -> Result<()> {
        let fs = &*self.directory.fs;
        let made = (self.directory.path).join(format!("{}.tmp", names::log_name(log)));
        ops::if_found(ops::remove(fs, &made))?;
        write_file(&self.directory, &made, bytes)?;
        ops::rename(fs, &made, path)?;
        ops::sync_dir(fs, &self.directory.path)
    }
}

fn behind_damage(path: &Path) -> Error {
    Error::corruption(path, 0, "a log behind sound ones", "damage before it")
}

/// An id above those of all keyspaces; the largest id if edits are lost, since a lost edit may have
/// created a keyspace, which then gets a new name.
fn next_keyspace_id(pieces: &Pieces) -> u32 {
    match pieces.patched {
        true => u32::MAX,
        false => pieces.next_keyspace_id,
    }
}

fn what_is_lost(frames: &[SoundFrame]) -> String {
    let operations: u64 = frames.iter().map(|f| u64::from(f.count)).sum();
    let frames = frames.len();
    format!(
        "the rest of the log; {frames} sound frames with {operations} operations in it are not replayed"
    )
}

/// Counts the frames at the start of a log that are adjacent and sound, with readable operations of
/// keyspaces below `next_keyspace_id`, and with sequences that ascend from `last`. Sets `last` to
/// their last sequence.
fn good_frames(
    frames: &[SoundFrame],
    log: &[u8],
    last: &mut Sequence,
    next_keyspace_id: u32,
) -> usize {
    let mut end = 0;
    for (number, frame) in frames.iter().enumerate() {
        let operations = frame.operations(log).map_while(Result::ok);
        let readable = operations
            .take_while(|o| o.keyspace < next_keyspace_id)
            .count() as u64;
        let ascends = frame.first_sequence > *last && frame.first_sequence <= LARGEST_NUMBER;
        let sound = frame.offset == end
            && (frame.clean_end || ascends)
            && readable == u64::from(frame.count)
            && frame.durable <= frame.offset as u64;
        if !sound {
            return number;
        }
        let next = frame.first_sequence.saturating_add(frame.count.into());
        *last = (*last).max(next.saturating_sub(1));
        end = frame.payload.end;
    }
    frames.len()
}
