//! The one error type of the lab.

use std::io;
use std::path::{Path, PathBuf};

/// What the lab's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an experiment ended early. Each message names its operands and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A store failed.
    #[error("{0}")]
    Store(#[from] rhumb::Error),
    /// An index could not be built or opened.
    #[error("index {name}: {error}")]
    Index {
        /// Its specification.
        name: String,
        /// What the index library said.
        error: rhumb_index::IndexError,
    },
    /// LMDB failed.
    #[cfg(feature = "peer-lmdb")]
    #[error("LMDB: {0}")]
    Lmdb(#[from] heed::Error),
    /// One of the other stores failed.
    #[cfg(feature = "peers")]
    #[error("{store}: {error}")]
    Peer {
        /// Which.
        store: &'static str,
        /// What it said.
        error: String,
    },
    /// The results could not be kept.
    #[error("cannot keep the results in {}: {source}", path.display())]
    Results {
        /// The SQLite file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A file of results that this program does not read.
    #[error("{} holds {found}, this program keeps version {expected}: name another file by --results, or use the program that wrote it", path.display())]
    ResultsVersion {
        /// The SQLite file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// The version that this program keeps.
        expected: i64,
    },
    /// The operating system refused or failed a file operation.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        op: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// An input file that is not in the form it should have.
    #[error("{} is not {expected}: {found}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The form it should have.
        expected: &'static str,
        /// What is wrong with it.
        found: String,
    },
    /// An index broke its promise.
    #[error("an index broke its promise: {0}")]
    Broken(String),
    /// A store gave an answer that is not what was written.
    #[error(
        "WRONG ANSWER by {store} to {operation} of key {key}: expected {expected}, found {found}"
    )]
    WrongAnswer {
        /// Which store.
        store: String,
        /// Which operation.
        operation: &'static str,
        /// The key asked for, escaped.
        key: String,
        /// What was written.
        expected: String,
        /// What came back.
        found: String,
    },
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// Ctrl-C.
    #[error("interrupted: temporary files were removed, finished cells are kept")]
    Interrupted,
}

impl Error {
    /// An index that could not be built or opened.
    pub fn index(name: &impl ToString, error: rhumb_index::IndexError) -> Error {
        Error::Index {
            name: name.to_string(),
            error,
        }
    }

    /// For `map_err`: an I/O error with its context.
    pub fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { op, path, source }
    }
}
