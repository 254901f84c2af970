//! The one error type of the lab.

use std::io;
use std::path::{Path, PathBuf};

/// The result type of the lab's functions.
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
        /// The error of the index library.
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
        /// The store's name.
        store: &'static str,
        /// Its error message.
        error: String,
    },
    /// The results could not be saved.
    #[error("cannot save the results in {}: {source}", path.display())]
    Results {
        /// The SQLite file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// A file of results that this program does not read.
    #[error("{} holds {found}, but this program uses version {expected}: choose another file with --results, or use the program that wrote this one", path.display())]
    ResultsVersion {
        /// The SQLite file.
        path: PathBuf,
        /// The content of the file.
        found: String,
        /// The version that this program writes and reads.
        expected: i64,
    },
    /// The operating system refused or failed a file operation.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// The operation that failed, as a verb.
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An input file that does not have the expected form.
    #[error("{} is not {expected}: {found}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The expected form.
        expected: &'static str,
        /// What is wrong with it.
        found: String,
    },
    /// An index returned a wrong window or rank.
    #[error("an index gave a wrong answer: {0}")]
    Broken(String),
    /// A store's answer differs from what was written.
    #[error(
        "WRONG ANSWER by {store} to {operation} of key {key}: expected {expected}, found {found}"
    )]
    WrongAnswer {
        /// The store's name.
        store: String,
        /// The operation.
        operation: &'static str,
        /// The key asked for, escaped.
        key: String,
        /// What was written.
        expected: String,
        /// What the store returned.
        found: String,
    },
    /// Invalid arguments or a request that cannot be carried out.
    #[error("{0}")]
    Usage(String),
    /// Ctrl-C.
    #[error("interrupted: temporary files were removed, finished cells were saved")]
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
