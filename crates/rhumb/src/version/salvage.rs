//! Reading what is left of a damaged manifest.

use std::path::Path;

use super::Edit;
use super::manifest::{HEADER_BYTES, RECORD_HEADER_BYTES, Records, check_header};
use crate::error::Result;

/// A record whose checksum matches.
#[derive(Debug)]
pub(crate) struct SoundRecord {
    /// Its offset in bytes.
    pub offset: u64,
    /// The offset of its end in bytes.
    pub end: u64,
    /// The offset up to which the manifest was durable when the record was written.
    pub durable: u64,
    /// Its edit, or a description of what this build cannot decode.
    pub edit: Result<Edit, String>,
}

/// All records of the manifest with this file number whose checksums match, in file order,
/// including those after damage: a record's checksum depends on its offset.
///
/// # Errors
/// If the header is damaged, or is that of a version that this build does not read.
pub(crate) fn sound_records(path: &Path, bytes: &[u8], number: u64) -> Result<Vec<SoundRecord>> {
    let version = check_header(path, bytes)?;
    let (mut records, mut end) = (Vec::new(), HEADER_BYTES);
    let all = Records::new(bytes, number);
    while let Some((at, found)) = all.next(end) {
        let edit = Edit::decode(found.payload, version).map_err(|(offset, what)| {
            format!("{what} at offset {}", at + RECORD_HEADER_BYTES + offset)
        });
        records.push(SoundRecord {
            offset: at as u64,
            end: found.end as u64,
            durable: found.durable,
            edit,
        });
        end = found.end;
    }
    Ok(records)
}
