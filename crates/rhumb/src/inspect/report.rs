//! The reports of the tools.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The progress of a tool.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct VerifyProgress<'a> {
    /// The file that is being read.
    pub file: &'a Path,
    /// The bytes of the files that have been read.
    pub bytes_done: u64,
    /// The bytes of all files to read.
    pub bytes: u64,
}

/// The findings of [`verify`](super::verify()).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of tables checked.
    pub tables: u64,
    /// The number of blocks in these tables.
    pub blocks: u64,
    /// The number of entries in these tables, including deletes.
    pub entries: u64,
    /// The number of logs checked.
    pub logs: u64,
    /// The number of operations in these logs.
    pub log_operations: u64,
    /// The number of bytes read.
    pub bytes: u64,
    /// The damage found. A store with any damage cannot be relied on.
    pub damage: Vec<Error>,
    /// Unusual findings that do no harm.
    pub warnings: Vec<String>,
}

/// The outcome of [`repair`](super::repair()).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// The number of sound tables, left as they are.
    pub tables_kept: u64,
    /// The number of tables rewritten: from their sound blocks, or by a merge because their places
    /// among the levels were lost.
    pub tables_rewritten: u64,
    /// The number of logs that remain in use.
    pub logs: u64,
    /// Operations in them. When the store is opened next those are replayed that are in no table yet.
    pub operations_saved: u64,
    /// What could not be saved.
    pub lost: Vec<LostData>,
    /// What cannot be known: more may be lost than [`lost`](Self::lost) names.
    pub doubts: Vec<Doubt>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

impl RepairReport {
    /// Whether all that was written is there: nothing is lost, and no file is missing or cut short that
    /// could have held more. A store that was not closed may have written more than its log shows.
    pub fn all_saved(&self) -> bool {
        self.lost.is_empty() && self.doubts.is_empty()
    }

    /// Which writes may be missing, in ascending order: older values of their keys may show again, and
    /// keys that they deleted may be back. Other keys have the values that were written last.
    pub fn may_be_missing(&self) -> Vec<Sequences> {
        let lost = self.lost.iter().map(|loss| loss.sequences);
        let mut all: Vec<Sequences> = lost
            .chain(self.doubts.iter().map(|d| d.sequences))
            .collect();
        all.sort_unstable_by_key(|sequences| sequences.first);
        let mut joined: Vec<Sequences> = Vec::new();
        for next in all {
            match joined.last_mut() {
                Some(before) if before.last.is_none_or(|last| next.first <= last + 1) => {
                    before.last = before.last.zip(next.last).map(|(a, b)| a.max(b));
                }
                _ => joined.push(next),
            }
        }
        joined
    }
}

/// The sequences of some writes. Each operation has one; the first of a store has 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sequences {
    /// The first of them.
    pub first: u64,
    /// The last of them; `None` if all from the first on may be among them.
    pub last: Option<u64>,
}

impl Sequences {
    /// Those of all writes.
    pub(super) const ALL: Sequences = Sequences::from(1);

    /// Those from `first` on.
    pub(super) const fn from(first: u64) -> Self {
        Sequences { first, last: None }
    }

    /// Whether a sequence is among them.
    pub fn contains(&self, sequence: u64) -> bool {
        sequence >= self.first && self.last.is_none_or(|last| sequence <= last)
    }
}

impl fmt::Display for Sequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) if last == self.first => write!(f, "sequence {last}"),
            Some(last) => write!(f, "sequences {} to {last}", self.first),
            None => write!(f, "sequences from {} on", self.first),
        }
    }
}

/// Something that the files that are left do not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Doubt {
    /// What is not known, and why.
    pub what: String,
    /// The writes that may be missing.
    pub sequences: Sequences,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} may be missing)", self.what, self.sequences)
    }
}

/// Something that could not be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostData {
    /// The file that held it.
    pub path: PathBuf,
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// A description of what was lost.
    pub what: String,
    /// Why it could not be read.
    pub why: String,
    /// The writes that may have stood there. A key may have a newer version elsewhere.
    pub sequences: Sequences,
}

impl fmt::Display for LostData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, offset, sequences) = (self.path.display(), self.offset, self.sequences);
        let (what, why) = (&self.what, &self.why);
        write!(f, "{path} at offset {offset}: {what}; {sequences} ({why})")
    }
}

impl LostData {
    /// What was lost because of `error`, whose place in the file is used if it names one.
    pub(super) fn new(
        path: &Path,
        what: impl Into<String>,
        error: &Error,
        sequences: Sequences,
    ) -> Self {
        let (offset, why) = match error {
            Error::Corruption {
                offset,
                expected,
                found,
                ..
            } => (*offset, format!("expected {expected}, found {found}")),
            other => (0, other.to_string()),
        };
        LostData {
            path: path.to_path_buf(),
            offset,
            what: what.into(),
            why,
            sequences,
        }
    }
}
