//! Reading values by their places.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kept::KeptValues;
use super::record::Wanted;
use crate::entry::Pointer;
use crate::entry::checksum::crc;
use crate::error::{Error, Result};
use crate::fs::ring::Part;
use crate::fs::{Access, FileSystem, ReadFile, ops};
use crate::memory::{OwnedBytes, Pinned};

/// The bytes before the first record.
pub(crate) const HEADER_BYTES: usize = 24;
/// Where a log that got a second name as a value file has its number.
const LOG_ID_AT: usize = 16;
const MAGIC: &[u8; 8] = b"rhumbVAL";
const VERSION: u32 = 1;

/// The header of the value file with a number.
pub(crate) fn header(number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let (body, sum) = header.split_at_mut(HEADER_BYTES - 4);
    body.copy_from_slice(&[&MAGIC[..], &VERSION.to_le_bytes(), &number.to_le_bytes()].concat());
    sum.copy_from_slice(&crc(body).to_le_bytes());
    header
}

/// Whether a value file that begins so is a log: its first frame says which one, where a value file has other bytes.
pub(crate) fn is_log(found: &[u8], number: u64) -> bool {
    let log_id = found.get(LOG_ID_AT..).and_then(|id| id.first_chunk());
    !found.starts_with(MAGIC) && log_id.is_some_and(|id| u64::from_le_bytes(*id) == number)
}

/// Refuses a header that is not the one of the value file with this number, nor of the log.
pub(super) fn check_header(found: &[u8], path: &Path, number: u64) -> Result<()> {
    let expected = header(number);
    if found == expected || is_log(found, number) {
        return Ok(());
    }
    let (body, sum) = found.split_at_checked(HEADER_BYTES - 4).unwrap_or_default();
    let is_header = body.starts_with(MAGIC) && sum == crc(body).to_le_bytes();
    let version = body.get(8..12).and_then(|v| v.first_chunk());
    match version.map(|v| u32::from_le_bytes(*v)) {
        Some(version) if is_header && version != VERSION => Err(Error::Unsupported {
            path: path.to_path_buf(),
            what: format!("value file version {version} (this build reads version {VERSION})"),
        }),
        _ => {
            let expected = format!("the header of value file {number}, {expected:02x?}");
            Err(Error::corruption(
                path,
                0,
                expected,
                format!("{found:02x?}"),
            ))
        }
    }
}

/// A value file open for reading. Any number of threads may use it.
#[derive(Debug)]
pub(crate) struct ValueReader {
    path: PathBuf,
    file: Arc<dyn ReadFile>,
    /// The end of the last record.
    end: u64,
    /// Where values are kept that were read for gets.
    kept: Arc<KeptValues>,
}

impl ValueReader {
    /// Opens the value file `number`, whose records end at `end`.
    ///
    /// # Errors
    /// If it cannot be read, is shorter, or is not that file.
    pub fn open(
        fs: &dyn FileSystem,
        path: &Path,
        (number, end): (u64, u64),
        access: Access,
        kept: &Arc<KeptValues>,
    ) -> Result<ValueReader> {
        let file = ops::if_found(ops::open(fs, path, access))?;
        let missing = || Error::corruption(path, 0, "a value file", "no such file");
        let file = file.ok_or_else(missing)?;
        let length = ops::len(&*file, path)?;
        if length < end.max(HEADER_BYTES as u64) {
            let expected = format!("a value file of {end} bytes");
            let found = format!("{length} bytes");
            return Err(Error::corruption(path, length, expected, found));
        }
        ops::refuse_sparse(&*file, path, length)?;
        let mut found = [0; HEADER_BYTES];
        ops::read_exact_at(&*file, path, &mut found, 0)?;
        check_header(&found, path, number)?;
        Ok(ValueReader {
            path: path.to_path_buf(),
            file,
            end,
            kept: Arc::clone(kept),
        })
    }

    #[cfg(test)]
    pub(super) fn for_tests(file: Arc<dyn ReadFile>, end: u64) -> ValueReader {
        ValueReader {
            path: "000003.values".into(),
            file,
            end,
            kept: KeptValues::none().unwrap(),
        }
    }

    /// Opens what is left of a value file: only single values can be trusted. Keeps none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open_damaged(fs: &dyn FileSystem, path: &Path) -> Result<ValueReader> {
        let file = ops::open(fs, path, Access::Buffered)?;
        let end = ops::len(&*file, path)?;
        ops::refuse_sparse(&*file, path, end)?;
        Ok(ValueReader {
            path: path.to_path_buf(),
            file,
            end,
            kept: KeptValues::none()?,
        })
    }

    /// The value of `key` at a place in this file, if it is in memory.
    pub fn kept(&self, keyspace: u32, key: &[u8], pointer: Pointer) -> Option<Pinned> {
        self.kept.get(Wanted {
            keyspace,
            key,
            pointer,
        })
    }

    /// The value of `key` at a place in this file: one read of the record alone, which is verified. With `keep` it
    /// stays in memory, where there is room.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, lies outside of the file, or is not the value of this key in this
    /// keyspace.
    pub fn read(&self, keyspace: u32, key: &[u8], pointer: Pointer, keep: bool) -> Result<Pinned> {
        let wanted = Wanted {
            keyspace,
            key,
            pointer,
        };
        let bytes = self.record_bytes(wanted)?;
        let record = ops::read_range(&*self.file, &self.path, pointer.offset, bytes)?;
        let value = self.value_in(wanted, &record)?;
        let kept = keep.then(|| self.kept.keep(wanted, &record)).flatten();
        Ok(kept.unwrap_or_else(|| {
            let owned = Arc::new(OwnedBytes::new(record));
            Pinned::owned(owned, value.start, value.len())
        }))
    }

    /// The value in a record that was read with others, as [`ValueReader::read`]: a copy, so that one that is held does
    /// not hold the others.
    pub(super) fn copy(&self, wanted: Wanted<'_>, record: &[u8], keep: bool) -> Result<Pinned> {
        let value = self.value_in(wanted, record)?;
        let kept = keep.then(|| self.kept.keep(wanted, record)).flatten();
        let copy = || Pinned::from(record.get(value).unwrap_or_default().to_vec());
        Ok(kept.unwrap_or_else(copy))
    }

    /// Some bytes of the records of the file.
    ///
    /// # Errors
    /// If they do not all lie inside the file, or cannot be read.
    pub(super) fn read_bytes(&self, from: u64, to: u64) -> Result<Vec<u8>> {
        if !self.holds(from, to) {
            let expected = format!("records in a file of {} bytes", self.end);
            let found = format!("some up to {to}");
            return Err(Error::corruption(&self.path, from, expected, found));
        }
        ops::read_range(&*self.file, &self.path, from, to - from)
    }

    /// The same, to be read together with others; `None` if they do not all lie inside the file, or its file system
    /// has to see each read.
    pub(super) fn part(&self, from: u64, to: u64) -> Option<Part<'_>> {
        match self.holds(from, to) {
            true => Part::of(&*self.file, from, to - from),
            false => None,
        }
    }

    fn holds(&self, from: u64, to: u64) -> bool {
        from >= HEADER_BYTES as u64 && from <= to && to <= self.end
    }

    /// The length of a record, all of which lies inside the file.
    fn record_bytes(&self, wanted: Wanted<'_>) -> Result<u64> {
        let (pointer, bytes) = (wanted.pointer, wanted.record_bytes());
        let offset = pointer.offset;
        // The numbers may be forged, so memory is taken only for what is inside the file.
        if offset < HEADER_BYTES as u64 || offset.saturating_add(bytes) > self.end {
            let expected = format!("a value of {} bytes in a file of {}", pointer.len, self.end);
            let found = "a pointer beyond its ends";
            return Err(Error::corruption(&self.path, offset, expected, found));
        }
        Ok(bytes)
    }

    /// Where the value lies in its record, which is verified.
    fn value_in(&self, wanted: Wanted<'_>, record: &[u8]) -> Result<Range<usize>> {
        wanted.value_in(record).map_err(|mismatch| {
            let offset = wanted.pointer.offset;
            Error::corruption(&self.path, offset, mismatch.expected, mismatch.found)
        })
    }
}
