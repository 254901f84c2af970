//! Key, tab, value, with backslash escapes, as `scan` prints. Further tabs belong to the value.

use super::{Entry, EntryReader, Lines, Malformed};
use crate::escape;

/// Reads `tsv`.
pub struct TsvReader {
    lines: Lines,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl TsvReader {
    pub(super) fn new(lines: Lines) -> Self {
        TsvReader {
            lines,
            key: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl EntryReader for TsvReader {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Malformed> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let line = &self.lines.line;
        let Some(tab) = line.iter().position(|b| *b == b'\t') else {
            return Err(self.lines.malformed("has no tab between key and value"));
        };
        let (key, value) = line.split_at(tab);
        self.key.clear();
        self.value.clear();
        escape::decode(key, &mut self.key)
            .and_then(|()| escape::decode(value.get(1..).unwrap_or_default(), &mut self.value))
            .map_err(|why| self.lines.malformed(format!("is malformed: {why}")))?;
        Ok(Some((&self.key, &self.value)))
    }

    fn place(&self) -> String {
        self.lines.place()
    }
}
