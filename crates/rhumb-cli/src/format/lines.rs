//! Each line is a key; values are empty.

use super::{Entry, EntryReader, Lines, Malformed};

/// Reads `lines`.
pub struct LinesReader(Lines);

impl LinesReader {
    pub(super) fn new(lines: Lines) -> Self {
        LinesReader(lines)
    }
}

impl EntryReader for LinesReader {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Malformed> {
        Ok(self.0.advance()?.then_some((&self.0.line[..], &[][..])))
    }

    fn place(&self) -> String {
        self.0.place()
    }
}
