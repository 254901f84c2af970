//! The reports of the tools.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The progress of a tool.
#[derive(Debug, Clone, Copy)]
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
pub struct RepairReport {
    /// The number of sound tables, left as they are.
    pub tables_kept: u64,
    /// The number of tables rewritten: from their sound blocks, or by a merge because their places
    /// among the levels were lost.
    pub tables_rewritten: u64,
    /// The number of logs that remain in use.
    pub logs: u64,
    /// Operations in them; they are replayed when the store is opened next.
    pub operations_saved: u64,
    /// What could not be saved.
    pub lost: Vec<Loss>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// Something that could not be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The file that held it.
    pub path: PathBuf,
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// A description of what was lost.
    pub what: String,
    /// Why it could not be read.
    pub why: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, offset) = (self.path.display(), self.offset);
        write!(f, "{path} at offset {offset}: {} ({})", self.what, self.why)
    }
}

impl Loss {
    /// What was lost because of `error`, whose place in the file is used if it names one.
    pub(super) fn new(path: &Path, what: impl Into<String>, error: &Error) -> Self {
        let (offset, why) = match error {
            Error::Corruption {
                offset,
                expected,
                found,
                ..
            } => (*offset, format!("expected {expected}, found {found}")),
            other => (0, other.to_string()),
        };
        Loss {
            path: path.to_path_buf(),
            offset,
            what: what.into(),
            why,
        }
    }
}
