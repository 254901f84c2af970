//! A file of a value log, and the pointers into it.
//!
//! ```text
//! file     record*
//! record   key length u32, value length u32, key, value      (little-endian)
//! pointer  file u32, record length u32, offset u64           (little-endian, 16 bytes)
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::rhumb::fs::{Access, FileSystem, OsFileSystem, ReadFile};

use crate::error::{Error, Result};

/// Bytes of a record before its key.
const HEADER: usize = 8;

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    /// The number of its file.
    pub file: u32,
    /// The place of its first byte.
    pub offset: u64,
    /// Its bytes, header and key included.
    pub length: u32,
}

impl Pointer {
    /// Its bytes in the index.
    pub fn to_bytes(self) -> [u8; 16] {
        let number =
            u128::from(self.file) | u128::from(self.length) << 32 | u128::from(self.offset) << 64;
        number.to_le_bytes()
    }

    /// Reads a pointer of the index; `directory` is named in the error.
    ///
    /// # Errors
    /// If these are not the bytes of a pointer.
    pub fn of_bytes(bytes: &[u8], directory: &Path) -> Result<Pointer> {
        let bytes: [u8; 16] = bytes.try_into().map_err(|_| Error::Input {
            path: directory.to_path_buf(),
            expected: "a value log, whose index holds pointers of 16 bytes",
            found: format!("an entry of the index has {} bytes", bytes.len()),
        })?;
        let number = u128::from_le_bytes(bytes);
        Ok(Pointer {
            file: number as u32,
            length: (number >> 32) as u32,
            offset: (number >> 64) as u64,
        })
    }
}

/// Appends the record of a key and a value to some bytes.
///
/// # Errors
/// If its length does not fit into 32 bits.
pub fn encode(key: &[u8], value: &[u8], into: &mut Vec<u8>) -> Result<u32> {
    let length = u32::try_from(HEADER + key.len() + value.len()).map_err(|_| {
        Error::Usage(
            "a record of a value log has less than 4 GiB: write smaller values".to_string(),
        )
    })?;
    into.extend_from_slice(&(key.len() as u32).to_le_bytes());
    into.extend_from_slice(&(value.len() as u32).to_le_bytes());
    into.extend_from_slice(key);
    into.extend_from_slice(value);
    Ok(length)
}

/// The lengths of key and value that the first bytes of a record state; none if they are too few.
pub fn lengths(bytes: &[u8]) -> Option<(usize, usize)> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (value, _) = rest.split_first_chunk()?;
    let length = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) as usize;
    Some((length(key), length(value)))
}

/// The key, the value and the length of the first record of some bytes; none if it is not whole.
pub fn decode(bytes: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let (key, value) = lengths(bytes)?;
    let end = HEADER.checked_add(key)?.checked_add(value)?;
    let body = bytes.get(HEADER..end)?;
    let (key, value) = body.split_at(key);
    Some((key, value, end))
}

/// A file of a value log.
#[derive(Debug)]
pub struct Segment {
    /// Its number.
    pub number: u32,
    path: PathBuf,
    /// For appending.
    file: File,
    reader: Arc<dyn ReadFile>,
    length: AtomicU64,
}

impl Segment {
    /// Opens the file with a number, or creates it.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn open(directory: &Path, number: u32, access: Access) -> Result<Segment> {
        let path = directory.join(format!("{number:06}.values"));
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        let file = file.map_err(Error::io("open", &path))?;
        let length = file.metadata().map_err(Error::io("measure", &path))?.len();
        let system = OsFileSystem::new();
        let reader = system.open(&path, access);
        Ok(Segment {
            number,
            reader: reader.map_err(Error::io("open", &path))?,
            path,
            file,
            length: AtomicU64::new(length),
        })
    }

    /// The number in the name of a file; none for other files.
    pub fn number_of(name: &str) -> Option<u32> {
        name.strip_suffix(".values")?.parse().ok()
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Acquire)
    }

    /// Appends records by one write, and returns the place of the first. The caller holds the lock of
    /// writers.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn append(&self, records: &[u8], sync: bool) -> Result<u64> {
        let at = self.length();
        (&self.file)
            .write_all(records)
            .map_err(Error::io("write", &self.path))?;
        if sync {
            self.file
                .sync_data()
                .map_err(Error::io("sync", &self.path))?;
        }
        self.length
            .store(at + records.len() as u64, Ordering::Release);
        Ok(at)
    }

    /// Reads bytes; fewer at the end of the file.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(&self, offset: u64, length: usize, into: &mut Vec<u8>) -> Result<()> {
        into.resize(length, 0);
        let mut done = 0;
        while done < length {
            let read = self.reader.read_at(&mut into[done..], offset + done as u64);
            match read.map_err(Error::io("read", &self.path))? {
                0 => break,
                bytes => done += bytes,
            }
        }
        into.truncate(done);
        Ok(())
    }

    /// Reads the record that a pointer names, whose key is known, and returns where its value is in `into`.
    ///
    /// # Errors
    /// If it cannot be read, or is that of another key.
    pub fn value(
        &self,
        pointer: Pointer,
        key: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<std::ops::Range<usize>> {
        self.check(pointer)?;
        self.read(pointer.offset, pointer.length as usize, into)?;
        match decode(into) {
            Some((found, value, length)) if found == key && length == into.len() => {
                Ok(length - value.len()..length)
            }
            _ => {
                let (offset, length) = (pointer.offset, pointer.length);
                let place = format!("another record at {offset} with {length} bytes");
                Err(self.damaged("a file of values with the record of this key", place))
            }
        }
    }

    /// Whether a pointer leads into the file.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, pointer: Pointer) -> Result<()> {
        let end = pointer.offset.checked_add(pointer.length.into());
        if end.is_some_and(|end| end <= self.length()) {
            return Ok(());
        }
        let (offset, length) = (pointer.offset, pointer.length);
        let found = format!(
            "it has {} bytes, and a pointer leads to {length} bytes at {offset}",
            self.length()
        );
        Err(self.damaged("a file of values as long as the index says", found))
    }

    /// The error that the file is not what it should be.
    pub fn damaged(&self, expected: &'static str, found: String) -> Error {
        Error::Input {
            path: self.path.clone(),
            expected,
            found,
        }
    }

    /// Removes the file; those who read it may go on.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn remove(&self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))
    }
}
