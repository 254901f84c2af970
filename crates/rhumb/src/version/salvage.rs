//! What can still be read of a manifest, damage or not.

use std::path::Path;

use super::Edit;
use super::manifest::{HEADER_BYTES, RECORD_HEADER_BYTES, check_header, record_at};
use crate::error::Result;

/// A record whose checksum is right.
#[derive(Debug)]
pub(crate) struct SoundRecord {
    /// Where it starts, in bytes.
    pub offset: u64,
    /// Where it ends, in bytes.
    pub end: u64,
    /// What was known to be durable when it was written.
    pub durable: u64,
    /// Its edit, or what in it is not known to this build.
    pub edit: Result<Edit, String>,
}

/// All records of the manifest with this file number whose checksums are right, in the order of the
/// file, those behind damage too: a record knows its place.
///
/// # Errors
/// If the header is not that of a manifest of a version that this build reads.
pub(crate) fn sound_records(path: &Path, bytes: &[u8], number: u64) -> Result<Vec<SoundRecord>> {
    check_header(path, bytes)?;
    let mut records = Vec::new();
    let mut at = HEADER_BYTES;
    while at + RECORD_HEADER_BYTES <= bytes.len() {
        let Some(found) = record_at(bytes, at, number) else {
            at += 1;
            continue;
        };
        let edit = Edit::decode(found.payload).map_err(|(offset, what)| {
            format!("{what} at offset {}", at + RECORD_HEADER_BYTES + offset)
        });
        records.push(SoundRecord {
            offset: at as u64,
            end: found.end as u64,
            durable: found.durable,
            edit,
        });
        at = found.end;
    }
    Ok(records)
}
