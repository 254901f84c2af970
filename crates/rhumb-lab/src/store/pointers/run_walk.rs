//! Walking over the pairs of a run in the order of their keys.

use super::paged::{Buffer, PAGE};
use super::run::Run;
use super::run_file::{AT_ONCE, RunFile};
use crate::error::Result;

/// A place in a run, moved forwards.
pub struct RunWalk {
    rank: u64,
    buffer: Buffer,
    /// The page that the buffer begins with, and how many of its pages are read.
    first: u64,
    read: u64,
    /// Pages to read by the next call.
    ahead: usize,
}

impl RunWalk {
    /// A walk that reads so many pages first, and more and more as it goes on.
    pub fn new(ahead: usize) -> RunWalk {
        RunWalk {
            rank: 0,
            buffer: Buffer::new(0),
            first: 0,
            read: 0,
            ahead,
        }
    }

    /// Moves to the first pair whose key is `key` or greater. Returns false if there is none.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn seek(&mut self, run: &Run, key: &[u8]) -> Result<bool> {
        let rank = run.search(key)?.rank;
        self.ahead = 1;
        self.move_to(run.file(), rank)
    }

    /// Moves to the next pair. Returns false if there is none.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn advance(&mut self, run: &RunFile) -> Result<bool> {
        self.move_to(run, self.rank + 1)
    }

    /// Moves to a pair by its rank. Returns false if there are not as many.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn move_to(&mut self, run: &RunFile, rank: u64) -> Result<bool> {
        self.rank = rank;
        if rank >= run.pairs() {
            return Ok(false);
        }
        let per_page = run.per_page();
        let page = rank / per_page;
        if !(self.first..self.first + self.read).contains(&page) {
            let pages = (run.pages() - page).min(self.ahead as u64);
            if self.buffer.bytes().len() != pages as usize * PAGE {
                self.buffer = Buffer::new(pages as usize);
            }
            run.read(page, self.buffer.bytes_mut())?;
            (self.first, self.read) = (page, pages);
            self.ahead = (2 * self.ahead).min(AT_ONCE);
        }
        run.cell(self.buffer.bytes(), self.at(run)).map(|_| true)
    }

    /// The place of the present cell in the buffer.
    fn at(&self, run: &RunFile) -> usize {
        (self.rank - self.first * run.per_page()) as usize
    }

    /// The present pair; empty if there is none.
    pub fn pair<'a>(&'a self, run: &RunFile) -> (&'a [u8], &'a [u8]) {
        if self.rank >= run.pairs() {
            return (&[], &[]);
        }
        let cell = run.cell(self.buffer.bytes(), self.at(run));
        cell.unwrap_or_default()
    }
}
