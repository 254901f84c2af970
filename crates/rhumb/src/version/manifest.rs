//! The manifest, a header followed by one record for each edit, and `CURRENT`, which names the
//! current manifest (docs/format.md, "CURRENT" and "Manifest").
//!
//! ```text
//! header   0  8  magic "rhumbMAN"      record   0   4  crc of bytes 4..16 and the payload, stamped
//!          8  4  format version                 4   4  payload length
//!         12  4  crc of bytes 0..12             8   8  durable offset when this was written
//!                                              16      payload: one edit
//! ```

use std::path::{Path, PathBuf};

use crate::entry::checksum::{crc, crc_append, stamp};
use crate::entry::stretches::Stretches;
use crate::entry::varint::Reader;
use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::{FileSystem, WriteFile, ops};
use crate::sync::Arc;
use crate::version::option_list::Refusal;
use crate::version::{Edit, Files};

const MAGIC: &[u8; 8] = b"rhumbMAN";
const CURRENT_MAGIC: &[u8; 8] = b"rhumbCUR";
/// The format version of `CURRENT`, of the logs that a manifest names, and of manifests whose edits have no
/// options of keyspaces.
const FORMAT_VERSION: u32 = 1;
/// The last format version of manifests: see [`Edit::version`].
const LAST_VERSION: u32 = 3;
/// The offset of the first record.
pub(crate) const HEADER_BYTES: usize = 16;
pub(super) const RECORD_HEADER_BYTES: usize = 16;
const CURRENT_BYTES: usize = 24;

/// A manifest open for writing.
#[derive(Debug)]
pub(crate) struct Manifest {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    number: u64,
    version: u32,
    first_bytes: u64,
    bytes: u64,
    broken: bool,
}

impl Manifest {
    /// Creates a manifest, durably, whose first edit describes the whole state. It takes effect
    /// only when it is published. Its version is the least that can
    /// hold that edit and `next`.
    ///
    /// # Errors
    /// If the file exists or cannot be written; an incomplete file is removed if possible.
    pub fn create(files: &Files, number: u64, first: &Edit, next: &Edit) -> Result<Self> {
        let version = first.version().max(next.version());
        let path = files.path(FileKind::Manifest, number);
        let file = ops::create(&*files.fs, &path)?;
        let (first_bytes, bytes, broken) = (0, 0, false);
        let mut manifest = Manifest {
            file,
            path,
            number,
            version,
            first_bytes,
            bytes,
            broken,
        };
        let begun = manifest
            .begin(first)
            .and_then(|()| ops::sync_dir(&*files.fs, &files.dir));
        if let Err(e) = begun {
            files.delete(FileKind::Manifest, number);
            return Err(e);
        }
        Ok(manifest)
    }

    fn begin(&mut self, first: &Edit) -> Result<()> {
        let mut bytes = header(self.version).to_vec();
        bytes.extend(record(
            self.number,
            HEADER_BYTES as u64,
            0,
            first,
            &self.path,
        )?);
        ops::write_all(&*self.file, &self.path, &bytes)?;
        ops::sync(&*self.file, &self.path)?;
        self.bytes = bytes.len() as u64;
        self.first_bytes = self.bytes;
        Ok(())
    }

    /// Appends an edit, durably.
    ///
    /// # Errors
    /// If it cannot be written or synced. It is then unknown whether the edit will be found, and
    /// every later call fails as well: the owner must begin a new manifest.
    #[track_caller]
    pub fn append(&mut self, edit: &Edit) -> Result<()> {
        if self.broken {
            let reason = format!("an earlier write to {} failed", self.path.display());
            return Err(Error::ReadOnly { reason });
        }
        let record = record(self.number, self.bytes, self.bytes, edit, &self.path)?;
        self.broken = true;
        ops::write_all(&*self.file, &self.path, &record)?;
        // A failed write leaves a torn record, which never counts. A failed sync may leave a whole
        // one, so that nothing more may be written, even if the disk is only full.
        ops::sync(&*self.file, &self.path).map_err(|e| Error::ReadOnly {
            reason: format!("{e}; opening the store again decides whether the last change counts"),
        })?;
        self.broken = false;
        self.bytes += record.len() as u64;
        Ok(())
    }

    /// Whether it takes no more edits: an append failed, or it was given up.
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// Gives it up: every later append fails.
    pub fn give_up(&mut self) {
        self.broken = true;
    }

    /// Whether the manifest can hold an edit.
    pub fn takes(&self, edit: &Edit) -> bool {
        edit.version() <= self.version
    }

    /// The file number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The number of bytes with the first edit.
    pub fn first_bytes(&self) -> u64 {
        self.first_bytes
    }

    /// The number of bytes appended after the first edit.
    pub fn grown_bytes(&self) -> u64 {
        self.bytes - self.first_bytes
    }
}

/// Makes `CURRENT` name a manifest, durably and atomically.
///
/// # Errors
/// If a file operation fails. `CURRENT` then names the previous manifest or this one.
#[track_caller]
pub(crate) fn publish(files: &Files, number: u64) -> Result<()> {
    let (fs, dir) = (&*files.fs, &files.dir);
    let mut bytes = CURRENT_MAGIC.to_vec();
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend(crc(&bytes).to_le_bytes());
    let made = dir.join(names::CURRENT_TMP);
    // A crash may have left one.
    ops::if_found(ops::remove(fs, &made))?;
    let file = ops::create(fs, &made)?;
    ops::write_all(&*file, &made, &bytes)?;
    ops::sync(&*file, &made)?;
    drop(file);
    ops::rename(fs, &made, &dir.join(names::CURRENT))?;
    ops::sync_dir(fs, dir)
}

/// The number of the current manifest; `None` if there is no `CURRENT`.
///
/// # Errors
/// If it cannot be read or is damaged.
pub(crate) fn read_current(fs: &Arc<dyn FileSystem>, dir: &Path) -> Result<Option<u64>> {
    let path = dir.join(names::CURRENT);
    let Some(bytes) = ops::if_found(ops::read_all(&**fs, &path))? else {
        return Ok(None);
    };
    let damaged = |offset, expected: &str, found: &str| {
        Err(Error::corruption(&path, offset, expected, found))
    };
    let mut reader = Reader::new(&bytes);
    if bytes.len() != CURRENT_BYTES {
        return damaged(0, "24 bytes", &format!("{} bytes", bytes.len()));
    }
    if reader.take(8) != Some(CURRENT_MAGIC) {
        return damaged(0, "the magic rhumbCUR", "other bytes");
    }
    let (version, number, stored) = (reader.u32(), reader.u64(), reader.u32());
    if stored != bytes.get(..20).map(crc) {
        return damaged(20, "the checksum of bytes 0..20", "a different one");
    }
    check_version(&path, version, FORMAT_VERSION)?;
    Ok(number)
}

/// How the reading of a manifest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The end of the last edit that was applied, in bytes.
    pub valid_end: u64,
    /// The number of bytes after it, which were never durable and are ignored.
    pub torn_bytes: u64,
}

/// Reads a manifest and passes its edits to `apply`, in order.
///
/// # Errors
/// If the file cannot be read, is damaged below its durable end, or holds an edit that `apply`
/// refuses.
pub(crate) fn read(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    number: u64,
    apply: impl FnMut(Edit) -> Result<(), String>,
) -> Result<Tail> {
    let path = dir.join(names::manifest_name(number));
    match ops::if_found(ops::read_all(&**fs, &path))? {
        Some(bytes) => replay(&path, &bytes, number, apply),
        None => {
            let expected = "a manifest, as CURRENT says";
            Err(Error::corruption(&path, 0, expected, "no such file"))
        }
    }
}

/// Replays the bytes of a manifest; see [`read`].
pub(super) fn replay(
    path: &Path,
    bytes: &[u8],
    number: u64,
    mut apply: impl FnMut(Edit) -> Result<(), String>,
) -> Result<Tail> {
    let version = check_header(path, bytes)?;
    let records = Records::new(bytes, number);
    let mut at = HEADER_BYTES;
    while let Some(found) = records.at(at) {
        let edit = Edit::decode(found.payload, version).map_err(|(offset, what)| match what {
            Refusal::Damaged(what) => {
                let offset = at + RECORD_HEADER_BYTES + offset;
                Error::corruption(path, offset as u64, "a change that this build knows", what)
            }
            Refusal::Later(what) => Error::Unsupported {
                path: path.to_path_buf(),
                what,
            },
        })?;
        apply(edit).map_err(|what| {
            Error::corruption(path, at as u64, "an edit that fits those before it", what)
        })?;
        at = found.end;
    }
    if at == HEADER_BYTES || records.durable_end(at) > at as u64 {
        // A manifest is durable with its first edit before CURRENT names it.
        return Err(Error::corruption(
            path,
            at as u64,
            "a sound record",
            "a damaged one",
        ));
    }
    let torn_bytes = (bytes.len() - at) as u64;
    Ok(Tail {
        valid_end: at as u64,
        torn_bytes,
    })
}

/// A record whose checksum matches.
pub(super) struct ManifestRecord<'a> {
    pub durable: u64,
    pub payload: &'a [u8],
    pub end: usize,
}

/// The records of a manifest, found by their checksums.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    checksums: Stretches<'a>,
    /// The file number of the manifest.
    number: u64,
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8], number: u64) -> Self {
        Records {
            bytes,
            checksums: Stretches::new(bytes),
            number,
        }
    }

    /// The record at `at`, if a sound one stands there.
    fn at(&self, at: usize) -> Option<ManifestRecord<'a>> {
        let mut reader = Reader::new(self.bytes.get(at..)?);
        let stored = reader.u32()?;
        let length = usize::try_from(reader.u32()?).ok()?;
        let durable = reader.u64()?;
        let payload = reader.take(length)?;
        if durable > at as u64 {
            return None;
        }
        let end = at + RECORD_HEADER_BYTES + length;
        let computed = self.checksums.crc(at + 4..end)?;
        let computed = computed.wrapping_add(stamp(self.number, at as u64));
        (stored == computed).then_some(ManifestRecord {
            durable,
            payload,
            end,
        })
    }

    /// The first sound record from `from` on, and where it stands.
    pub fn next(&self, from: usize) -> Option<(usize, ManifestRecord<'a>)> {
        let last = self.bytes.len().checked_sub(RECORD_HEADER_BYTES)?;
        (from..=last).find_map(|at| Some((at, self.at(at)?)))
    }

    /// The greatest durable offset that any sound record from `from` on names. Records before name no
    /// more than their own offsets.
    fn durable_end(&self, from: usize) -> u64 {
        let (mut at, mut durable) = (from, 0);
        while let Some((_, found)) = self.next(at) {
            durable = durable.max(found.durable);
            at = found.end;
        }
        durable
    }
}

fn record(number: u64, offset: u64, durable: u64, edit: &Edit, path: &Path) -> Result<Vec<u8>> {
    let payload = edit.encode();
    let length = u32::try_from(payload.len()).map_err(|_| {
        let (bytes, path) = (payload.len(), path.display());
        Error::InvalidArgument(format!(
            "an edit of {bytes} bytes does not fit into {path}: use larger tables"
        ))
    })?;
    let mut fixed = length.to_le_bytes().to_vec();
    fixed.extend(durable.to_le_bytes());
    let checksum = crc_append(crc(&fixed), &payload).wrapping_add(stamp(number, offset));
    let mut bytes = checksum.to_le_bytes().to_vec();
    bytes.extend(fixed);
    bytes.extend(payload);
    Ok(bytes)
}

fn header(version: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let (fixed, checksum) = header.split_at_mut(12);
    let (magic, stored) = fixed.split_at_mut(8);
    magic.copy_from_slice(MAGIC);
    stored.copy_from_slice(&version.to_le_bytes());
    checksum.copy_from_slice(&crc(fixed).to_le_bytes());
    header
}

/// Checks the header and gives the version.
pub(super) fn check_header(path: &Path, bytes: &[u8]) -> Result<u32> {
    let mut reader = Reader::new(bytes);
    if reader.take(8) != Some(MAGIC) {
        return Err(Error::corruption(
            path,
            0,
            "the magic rhumbMAN",
            "other bytes",
        ));
    }
    let version = reader.u32();
    if reader.u32() != bytes.get(..12).map(crc) {
        let expected = "the checksum of bytes 0..12";
        return Err(Error::corruption(path, 12, expected, "a different one"));
    }
    check_version(path, version, LAST_VERSION)
}

fn check_version(path: &Path, version: Option<u32>, last: u32) -> Result<u32> {
    let version = version.unwrap_or(FORMAT_VERSION);
    if (FORMAT_VERSION..=last).contains(&version) {
        return Ok(version);
    }
    let known = match last {
        FORMAT_VERSION => "version 1".to_string(),
        last => format!("versions 1 to {last}"),
    };
    Err(Error::Unsupported {
        path: path.to_path_buf(),
        what: format!("format version {version} (this build reads {known})"),
    })
}
