//! A file of a store as text.

mod log;
mod manifest;
mod table;

use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::ops;
use crate::options::Options;

/// Bytes of a value that are shown.
const SHOWN_BYTES: usize = 64;

/// Writes a log, table, manifest or `CURRENT` file as text: its frames, entries or edits, and where
/// it is damaged. The store is not locked: a file that is being written may seem cut short.
///
/// # Errors
/// If the file cannot be read, is none of these, or is damaged where it says what it is; if `out`
/// fails, which is an [`Error::Io`] on `the output`.
pub fn dump(file: &Path, options: &Options, out: &mut dyn Write) -> Result<()> {
    let name = file.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let fs = &*options.file_system;
    if name == names::CURRENT {
        return manifest::dump_current(&options.file_system, file, out);
    }
    match names::parse(name) {
        Some((FileKind::Manifest, number)) => {
            manifest::dump(file, &ops::read_all(fs, file)?, number, out)
        }
        Some((FileKind::Log, number)) => log::dump(file, &ops::read_all(fs, file)?, number, out),
        Some((FileKind::Table, number)) => table::dump(file, number, options, out),
        None => Err(none_of_ours(file, options)),
    }
}

/// Numbers are mixed into the checksums, so that a file cannot be read under another name.
fn none_of_ours(file: &Path, options: &Options) -> Error {
    if let Err(e) = ops::open(&*options.file_system, file, options.access) {
        return e;
    }
    Error::InvalidArgument(format!(
        "{} is no file of a store: give one that is named CURRENT, NNNNNN.log, NNNNNN.table or \
         NNNNNN.manifest, as the store named it",
        file.display()
    ))
}

/// An error of the output.
fn output(result: io::Result<()>) -> Result<()> {
    result.map_err(|e| Error::io("write to", Path::new("the output"), e))
}

/// A key as text.
fn key(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

/// A value as text, its beginning if it is long.
fn value(bytes: &[u8]) -> String {
    match bytes.get(..SHOWN_BYTES) {
        Some(start) if start.len() < bytes.len() => {
            format!("\"{}\"... ({} bytes)", start.escape_ascii(), bytes.len())
        }
        _ => key(bytes),
    }
}
