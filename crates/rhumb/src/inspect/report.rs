//! What the tools say.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// How far a tool is.
#[derive(Debug, Clone, Copy)]
pub struct VerifyProgress<'a> {
    /// The file that is being read.
    pub file: &'a Path,
    /// Bytes of the files that were read already.
    pub bytes_done: u64,
    /// Bytes of all files that will be read.
    pub bytes: u64,
}

/// What [`verify`](super::verify()) found.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// Tables that were checked.
    pub tables: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Entries in them, deletes included.
    pub entries: u64,
    /// Logs that were checked.
    pub logs: u64,
    /// Operations in them.
    pub log_operations: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// What is damaged. A store with any damage must not be relied on.
    pub damage: Vec<Error>,
    /// What is unusual, and harms nothing.
    pub warnings: Vec<String>,
}

/// What [`repair`](super::repair()) did.
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// Tables that were sound and were left as they are.
    pub tables_kept: u64,
    /// Tables that were written anew: from their sound blocks, or merged because their places among
    /// the levels were lost.
    pub tables_rewritten: u64,
    /// Logs that go on to count.
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
    /// The file in which it stood.
    pub path: PathBuf,
    /// Where it stood there, in bytes.
    pub offset: u64,
    /// What it was.
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
