//! The binary files of the SOSD benchmark: the number of keys, then the keys, all 64-bit
//! little-endian. Keys are stored as 8 bytes big-endian, so that they sort as numbers do.

use std::io::{self, BufRead, Read};

use super::{Entry, EntryReader, Malformed, unreadable};

/// Reads `sosd`.
pub struct SosdReader {
    reader: Box<dyn BufRead>,
    count: Option<u64>,
    done: u64,
    key: [u8; 8],
}

impl SosdReader {
    pub(super) fn new(reader: Box<dyn BufRead>) -> Self {
        SosdReader {
            reader,
            count: None,
            done: 0,
            key: [0; 8],
        }
    }

    fn number(&mut self, what: impl Fn() -> String) -> Result<u64, Malformed> {
        let mut bytes = [0; 8];
        self.reader.read_exact(&mut bytes).map_err(|e| Malformed {
            place: what(),
            why: match e.kind() {
                io::ErrorKind::UnexpectedEof => "is missing: the file is cut short".to_string(),
                _ => unreadable(&e),
            },
        })?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn end(&mut self, count: u64) -> Result<(), Malformed> {
        match self.reader.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(Malformed {
                place: format!("key {count}"),
                why: "is the last according to the count at the start, but more bytes follow"
                    .to_string(),
            }),
            Err(e) => Err(Malformed {
                place: "the end".to_string(),
                why: unreadable(&e),
            }),
        }
    }
}

impl EntryReader for SosdReader {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Malformed> {
        let count = match self.count {
            Some(count) => count,
            None => self.number(|| "the count of keys".to_string())?,
        };
        self.count = Some(count);
        if self.done == count {
            self.end(count)?;
            return Ok(None);
        }
        let next = self.done + 1;
        let key = self.number(|| format!("key {next} of {count}"))?;
        self.done += 1;
        self.key = key.to_be_bytes();
        Ok(Some((&self.key, &[])))
    }

    fn place(&self) -> String {
        format!("key {}", self.done)
    }
}
