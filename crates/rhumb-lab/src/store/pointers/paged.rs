//! Files of pages of 4 KiB, read and written through the page cache or past it, and the mark of an index that is
//! open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ::rhumb::fs::Access;
use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// Bytes of a page; also what memory for direct reads and writes is aligned to.
pub const PAGE: usize = 4096;

/// Memory for pages that starts at a multiple of [`PAGE`], as direct reads and writes want it.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// Pages of zeros.
    pub fn new(pages: usize) -> Buffer {
        let length = pages * PAGE;
        let memory = vec![0; length + PAGE];
        let start = memory.as_ptr().align_offset(PAGE).min(PAGE);
        Buffer {
            memory,
            start,
            length,
        }
    }

    /// The bytes of all pages.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// An open file of pages.
#[derive(Debug)]
pub struct PagedFile {
    path: PathBuf,
    file: File,
}

impl PagedFile {
    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn open(path: &Path, access: Access) -> Result<PagedFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let buffered = options.clone();
        let opened = match access {
            Access::Buffered => options.open(path),
            Access::Direct => match options.custom_flags(direct()).open(path) {
                // Some file systems have no direct access.
                Err(why) if why.kind() == io::ErrorKind::InvalidInput => buffered.open(path),
                opened => opened,
            },
        };
        Ok(PagedFile {
            file: opened.map_err(Error::io("open", path))?,
            path: path.to_path_buf(),
        })
    }

    /// The number of its pages.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn pages(&self) -> Result<u64> {
        let about = self.file.metadata();
        Ok(about.map_err(Error::io("measure", &self.path))?.len() / PAGE as u64)
    }

    /// Reads whole pages from page `first` on into memory of a [`Buffer`].
    ///
    /// # Errors
    /// If they cannot be read, or are not there.
    pub fn read(&self, first: u64, into: &mut [u8]) -> Result<()> {
        let read = self.file.read_exact_at(into, first * PAGE as u64);
        read.map_err(Error::io("read", &self.path))
    }

    /// Writes whole pages from page `first` on, out of memory of a [`Buffer`].
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn write(&self, first: u64, from: &[u8]) -> Result<()> {
        let written = self.file.write_all_at(from, first * PAGE as u64);
        written.map_err(Error::io("write", &self.path))
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn sync(&self) -> Result<()> {
        let synced = self.file.sync_data();
        synced.map_err(Error::io("sync", &self.path))
    }

    /// Removes the file; those who read it may go on.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))
    }

    /// The error that the file is not what it should be.
    pub fn damaged(&self, expected: &'static str, found: String) -> Error {
        Error::Input {
            path: self.path.clone(),
            expected,
            found,
        }
    }
}

fn direct() -> i32 {
    OFlags::DIRECT.bits().cast_signed()
}

/// A file that is in the directory of an index from its opening until it was closed without an error. These indexes
/// keep no log, so what was not closed is not to be trusted.
#[derive(Debug)]
pub struct InUse(PathBuf);

impl InUse {
    /// Marks a directory.
    ///
    /// # Errors
    /// If it is marked already, or the operating system refuses.
    pub fn begin(directory: &Path) -> Result<InUse> {
        let path = directory.join("in-use");
        match File::create_new(&path) {
            Ok(_) => Ok(InUse(path)),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(Error::Input {
                path: directory.to_path_buf(),
                expected: "an index that was closed",
                found: "the indexes of the lab survive no crash, so load it again in another \
                        directory"
                    .to_string(),
            }),
            Err(why) => Err(Error::io("create", &path)(why)),
        }
    }

    /// Removes the mark.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn end(&self) -> Result<()> {
        fs::remove_file(&self.0).map_err(Error::io("remove", &self.0))
    }
}
