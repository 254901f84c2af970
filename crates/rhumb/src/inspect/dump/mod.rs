//! The files of a store as text.

mod log;
mod manifest;
mod table;
mod values;

use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::ops;
use crate::options::Options;

/// The number of bytes of a value that are shown.
const SHOWN_BYTES: usize = 64;

/// Writes a log, table, value file, manifest or `CURRENT` file as text: its frames, entries or edits, and its
/// damaged parts. The store is not locked: a file that is being written may appear to be cut off.
///
/// # Errors
/// If the file cannot be read, is not one of these, or its header is damaged; if `out` fails, as an
/// [`Error::Io`] on `the output`.
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
        Some((FileKind::Values, number)) => {
            values::dump(file, &ops::read_all(fs, file)?, number, out)
        }
        None => Err(not_a_store_file(file, options)),
    }
}

/// The error for a file without a name of the store's files. The name matters: the number in it is
/// part of the checksums.
fn not_a_store_file(file: &Path, options: &Options) -> Error {
    if let Err(e) = ops::open(&*options.file_system, file, options.access) {
        return e;
    }
    Error::InvalidArgument(format!(
        "{} is not a file of a store: give one that is named CURRENT, NNNNNN.log, NNNNNN.table, \
         NNNNNN.values or NNNNNN.manifest, as the store named it",
        file.display()
    ))
}

/// Converts an error of the output.
fn output(result: io::Result<()>) -> Result<()> {
    result.map_err(|e| Error::io("write to", Path::new("the output"), e))
}

/// A key as text.
fn key(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

/// A value as text; only its beginning if it is long.
fn value(bytes: &[u8]) -> String {
    match bytes.get(..SHOWN_BYTES) {
        Some(start) if start.len() < bytes.len() => {
            format!("\"{}\"... ({} bytes)", start.escape_ascii(), bytes.len())
        }
        _ => key(bytes),
    }
}
