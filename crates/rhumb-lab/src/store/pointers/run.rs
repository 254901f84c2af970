//! A sorted run on disk with its static index.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;

use ::rhumb::fs::Access;
use rhumb_index::{KeyMap, KeyMapBuilder};

use super::page_index::{Form, PageIndex, PageIndexBuilder};
use super::paged::Buffer;
use super::run_file::{AT_ONCE, RunFile};
use super::run_walk::RunWalk;
use crate::error::Result;

/// A sorted run that never changes.
#[derive(Debug)]
pub struct Run {
    file: RunFile,
    index: PageIndex,
    index_bytes: u64,
}

impl Run {
    /// A run with the index of its pages.
    pub fn new(file: RunFile, index: PageIndex) -> Run {
        let index_bytes = index.size_in_bytes();
        Run {
            file,
            index,
            index_bytes,
        }
    }

    /// Opens a run and makes its index, for which all of it is read, twice if its keys are not all 8 bytes.
    ///
    /// # Errors
    /// If it cannot be read, or is none; if the index cannot serve its keys.
    pub fn open(path: &Path, form: Form, access: Access) -> Result<Run> {
        let file = RunFile::open(path, access)?;
        let map = match file.widths().have_keys_of_eight() {
            true => KeyMap::eight_bytes(),
            false => {
                let mut builder = KeyMapBuilder::new();
                for_keys(&file, &mut |key| {
                    builder.push(key);
                    Ok(())
                })?;
                builder.build()
            }
        };
        let mut builder = PageIndexBuilder::new(form, map, file.per_page())?;
        for_keys(&file, &mut |key| builder.push(key))?;
        Ok(Run::new(file, builder.finish()?))
    }

    /// Its file.
    pub fn file(&self) -> &RunFile {
        &self.file
    }

    /// Bytes of the static index.
    pub fn index_bytes(&self) -> u64 {
        self.index_bytes
    }

    /// Sets `into` to the value of a key. Returns whether it is there, and how many pages were read.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<(bool, u64)> {
        into.clear();
        let place = self.search(key)?;
        let mut is_there = false;
        if let Some((page, pages)) = &place.found {
            let (_, value) = self.file.cell(pages.bytes(), *page)?;
            into.extend_from_slice(value);
            is_there = true;
        }
        Ok((is_there, place.read))
    }

    /// Finds a key or the first above it.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn search(&self, key: &[u8]) -> Result<Place> {
        let (range, probed) = self.narrow(key)?;
        let first = range.start * self.file.per_page();
        let pages = range.end.saturating_sub(range.start);
        let mut place = Place {
            rank: first,
            read: probed + pages,
            found: None,
        };
        if pages == 0 {
            return Ok(place);
        }
        let mut buffer = Buffer::new(pages as usize);
        self.file.read(range.start, buffer.bytes_mut())?;
        let end = (range.end * self.file.per_page()).min(self.file.pairs());
        let (mut low, mut high) = (0, end.saturating_sub(first) as usize);
        while low < high {
            let middle = low.midpoint(high);
            match self.file.cell(buffer.bytes(), middle)?.0.cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    place.rank = first + middle as u64;
                    place.found = Some((middle, buffer));
                    return Ok(place);
                }
            }
        }
        place.rank = first + low as u64;
        Ok(place)
    }

    /// The one or two pages that may hold a key, and how many were read to tell. The index gives more of them only where
    /// keys share numbers, or where fewer than four pairs fit into a page.
    fn narrow(&self, key: &[u8]) -> Result<(Range<u64>, u64)> {
        let mut range = self.index.of(key);
        let mut read = 0;
        while range.end.saturating_sub(range.start) > 2 {
            let mut page = Buffer::new(1);
            let middle = range.start.midpoint(range.end);
            self.file.read(middle, page.bytes_mut())?;
            read += 1;
            match self.file.cell(page.bytes(), 0)?.0 <= key {
                true => range.start = middle,
                false => range.end = middle,
            }
        }
        Ok((range, read))
    }
}

fn for_keys(file: &RunFile, with: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut walk = RunWalk::new(AT_ONCE);
    let mut more = walk.move_to(file, 0)?;
    while more {
        with(walk.pair(file).0)?;
        more = walk.advance(file)?;
    }
    Ok(())
}

/// Where a key is, or the first above it.
pub struct Place {
    /// Its rank; the number of pairs if there is none.
    pub rank: u64,
    /// Pages that were read to find it.
    read: u64,
    /// The pages that were read last, and the cell in them, if the key is there.
    found: Option<(usize, Buffer)>,
}
