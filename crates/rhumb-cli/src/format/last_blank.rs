//! The key is the text before a line's last run of blanks, the value the text after it: the
//! layout of Debian's `Contents` files, whose paths may contain blanks.

use super::{Entry, EntryReader, Lines, Malformed};

/// Reads `last-blank`.
pub struct LastBlankReader(Lines);

impl LastBlankReader {
    pub(super) fn new(lines: Lines) -> Self {
        LastBlankReader(lines)
    }
}

fn blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The text before and after the last run of blanks.
fn split(line: &[u8]) -> Option<Entry<'_>> {
    let last = line.iter().rposition(blank)?;
    let (before, after) = (line.get(..last)?, line.get(last + 1..)?);
    let end = before.iter().rposition(|b| !blank(b)).map_or(0, |i| i + 1);
    Some((before.get(..end)?, after))
}

impl EntryReader for LastBlankReader {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Malformed> {
        if !self.0.advance()? {
            return Ok(None);
        }
        match split(&self.0.line) {
            Some(entry) => Ok(Some(entry)),
            None => Err(self.0.malformed("has no blank between key and value")),
        }
    }

    fn place(&self) -> String {
        self.0.place()
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn lines_are_split_at_the_last_run_of_blanks() {
        let parts = |line: &'static str| split(line.as_bytes());
        assert_eq!(parts("a b  \t c"), Some((&b"a b"[..], &b"c"[..])));
        assert_eq!(parts("a "), Some((&b"a"[..], &b""[..])));
        assert_eq!(parts(" a"), Some((&b""[..], &b"a"[..])));
        assert_eq!(parts("ab"), None);
    }
}
