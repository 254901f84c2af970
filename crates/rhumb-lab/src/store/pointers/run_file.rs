//! The file of a sorted run: a first page that says what it holds, and pages of cells ([`super::cells`]).

use std::path::Path;

use ::rhumb::fs::Access;

use super::cells::Widths;
use super::paged::{Buffer, PAGE, PagedFile};
use crate::error::Result;

/// Pages that are written, or read ahead, by one call.
pub const AT_ONCE: usize = 64;

/// A file of sorted pairs.
#[derive(Debug)]
pub struct RunFile {
    file: PagedFile,
    widths: Widths,
    pairs: u64,
}

impl RunFile {
    /// A file of which all pages but the first are written.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn new(file: PagedFile, widths: Widths, pairs: u64) -> Result<RunFile> {
        let (mut page, header) = (Buffer::new(1), widths.header(pairs));
        page.bytes_mut()[..header.len()].copy_from_slice(&header);
        file.write(0, page.bytes())?;
        Ok(RunFile {
            file,
            widths,
            pairs,
        })
    }

    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no run.
    pub fn open(path: &Path, access: Access) -> Result<RunFile> {
        let file = PagedFile::open(path, access)?;
        let mut page = Buffer::new(1);
        file.read(0, page.bytes_mut())?;
        let (widths, pairs) = Widths::of_header(page.bytes(), &file)?;
        Ok(RunFile {
            file,
            widths,
            pairs,
        })
    }

    /// The number of its pairs.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// The lengths of its pairs.
    pub fn widths(&self) -> Widths {
        self.widths
    }

    /// Pairs in a page.
    pub fn per_page(&self) -> u64 {
        self.widths.per_page() as u64
    }

    /// Pages of cells.
    pub fn pages(&self) -> u64 {
        self.pairs.div_ceil(self.per_page())
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        (1 + self.pages()) * PAGE as u64
    }

    /// Reads pages of cells into memory of a [`Buffer`].
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(&self, first: u64, into: &mut [u8]) -> Result<()> {
        self.file.read(1 + first, into)
    }

    /// A pair, counted from the first of some pages.
    ///
    /// # Errors
    /// If its cell makes no sense.
    pub fn cell<'a>(&self, pages: &'a [u8], at: usize) -> Result<(&'a [u8], &'a [u8])> {
        let per_page = self.widths.per_page();
        let page = pages.get(at / per_page * PAGE..).unwrap_or_default();
        let cell = self.widths.decode(page, at % per_page);
        cell.ok_or_else(|| {
            let found = "a pair is longer than its cell".to_string();
            self.file.damaged("a run of the lab", found)
        })
    }

    /// Removes the file; those who read it may go on.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn remove(&self) -> Result<()> {
        self.file.remove()
    }
}
