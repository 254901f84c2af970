//! The one error type of the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the store returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store. Each message names its operands and the remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused or failed a file operation.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: `read`, `sync`, `create`.
        op: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// Bytes that are not what was written.
    #[error(
        "{} is damaged at offset {offset}: expected {expected}, found {found}; \
         restore it from a backup or run `rhumb repair`", path.display()
    )]
    Corruption {
        /// The damaged file.
        path: PathBuf,
        /// Where in the file, in bytes.
        offset: u64,
        /// What stands there in a sound file.
        expected: String,
        /// What stands there now.
        found: String,
    },
    /// A file that needs a newer or differently built rhumb.
    #[error("{} needs {what}: use a rhumb that has it", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What this build lacks.
        what: String,
    },
    /// Another process holds the store.
    #[error("{} is open already: close it there first, and drop its handles", path.display())]
    Locked {
        /// The store's directory.
        path: PathBuf,
    },
    /// There is no store in the directory.
    #[error("{} holds no rhumb store: check the path, or create one by opening it for writing", path.display())]
    NotFound {
        /// The directory.
        path: PathBuf,
    },
    /// The store takes no writes any more.
    #[error("the store is read-only: {reason}")]
    ReadOnly {
        /// Why, and what lifts it.
        reason: String,
    },
    /// The disk is full; reads go on, and writes resume once there is room.
    #[error("the disk is full at {}: free some space and write again", path.display())]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// An argument that cannot be served.
    #[error("{0}")]
    InvalidArgument(String),
    /// No keyspace of that name.
    #[error("there is no keyspace named {0:?}: create it first")]
    NoSuchKeyspace(String),
    /// A keyspace of that name exists already.
    #[error("a keyspace named {0:?} exists already: choose another name or drop it first")]
    KeyspaceExists(String),
    /// The store was closed, before the call or while it was under way. Reads still work.
    #[error("the store is closed: drop its handles and open it again to write")]
    Closed,
}

impl Error {
    /// An I/O error with its context; a full disk becomes [`Error::DiskFull`].
    pub(crate) fn io(op: &'static str, path: &Path, source: io::Error) -> Self {
        if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            return Error::DiskFull {
                path: path.to_path_buf(),
            };
        }
        Error::Io {
            op,
            path: path.to_path_buf(),
            source: Arc::new(source),
        }
    }

    /// Damage found in a file.
    pub(crate) fn corruption(
        path: &Path,
        offset: u64,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Error::Corruption {
            path: path.to_path_buf(),
            offset,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}
