//! Writing a sorted run, page by page.

use std::path::Path;

use ::rhumb::fs::Access;
use rhumb_index::KeyMap;

use super::cells::Widths;
use super::page_index::{Form, PageIndexBuilder};
use super::paged::{Buffer, PAGE, PagedFile};
use super::run::Run;
use super::run_file::{AT_ONCE, RunFile};
use crate::error::Result;

/// A run that is being written.
pub struct RunWriter {
    file: PagedFile,
    widths: Widths,
    pairs: u64,
    index: PageIndexBuilder,
    buffer: Buffer,
    /// Pages before those of the buffer.
    written: u64,
    last: Vec<u8>,
}

impl RunWriter {
    /// Begins a run in a new file for pairs of these lengths, whose keys the map was made of, among others perhaps.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn create(
        path: &Path,
        form: Form,
        access: Access,
        widths: Widths,
        map: KeyMap,
    ) -> Result<RunWriter> {
        Ok(RunWriter {
            file: PagedFile::open(path, access)?,
            widths,
            pairs: 0,
            index: PageIndexBuilder::new(form, map, widths.per_page() as u64)?,
            buffer: Buffer::new(AT_ONCE),
            written: 0,
            last: Vec::new(),
        })
    }

    /// Whether a pair can be the next one: its key is above the last, and its lengths are those of all.
    pub fn takes(&self, key: &[u8], value: &[u8]) -> bool {
        self.widths.are_those_of(key, value) && (self.pairs == 0 || self.last[..] < *key)
    }

    /// Adds the next pair.
    ///
    /// # Errors
    /// If it cannot be written, or the index cannot have the key.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let per_page = self.widths.per_page() as u64;
        let page = (self.pairs / per_page - self.written) as usize;
        if page == AT_ONCE {
            self.file.write(1 + self.written, self.buffer.bytes())?;
            self.written += AT_ONCE as u64;
            return self.push(key, value);
        }
        let width = self.widths.cell();
        let start = page * PAGE + (self.pairs % per_page) as usize * width;
        let cell = self.buffer.bytes_mut().get_mut(start..start + width);
        let encoded = cell.and_then(|cell| self.widths.encode(key, value, cell));
        encoded.ok_or_else(|| {
            let found = format!("a key of {} bytes does not fit", key.len());
            self.file.damaged("a run for pairs of these lengths", found)
        })?;
        self.index.push(key)?;
        self.pairs += 1;
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If it cannot be written, or the index cannot serve its keys.
    pub fn finish(self) -> Result<Run> {
        let pages = self.pairs.div_ceil(self.widths.per_page() as u64) - self.written;
        let rest = &self.buffer.bytes()[..pages as usize * PAGE];
        self.file.write(1 + self.written, rest)?;
        let file = RunFile::new(self.file, self.widths, self.pairs)?;
        Ok(Run::new(file, self.index.finish()?))
    }
}
