//! Errors of decoders that do not know the path of the file.

use std::path::Path;

use crate::error::Error;

/// Why bytes are refused: damaged, or of a kind that this build does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    at: usize,
    expected: String,
    found: String,
    unsupported: bool,
}

impl Damage {
    /// Wrong bytes at `at`, counted from the start of the decoded piece.
    pub fn new(at: usize, expected: impl ToString, found: impl ToString) -> Self {
        Damage {
            at,
            expected: expected.to_string(),
            found: found.to_string(),
            unsupported: false,
        }
    }

    /// Something that only a newer or differently built rhumb can read.
    pub fn unsupported(what: impl ToString) -> Self {
        Damage {
            at: 0,
            expected: what.to_string(),
            found: String::new(),
            unsupported: true,
        }
    }

    /// The same damage relative to a larger piece, in which this one starts at `by`.
    pub fn moved(mut self, by: usize) -> Self {
        self.at += by;
        self
    }

    /// The error for a piece at `offset` of the file at `path`.
    pub fn in_file(self, path: &Path, offset: u64) -> Error {
        if self.unsupported {
            return Error::Unsupported {
                path: path.to_path_buf(),
                what: self.expected,
            };
        }
        let offset = offset.saturating_add(self.at as u64);
        Error::corruption(path, offset, self.expected, self.found)
    }

    /// The error for the raw form of a block stored at `offset`. If the block is compressed, a
    /// position in the raw form has none in the file, so the text states it.
    pub fn in_block(mut self, path: &Path, offset: u64) -> Error {
        let at = std::mem::take(&mut self.at);
        self.expected = match self.unsupported {
            true => self.expected,
            false => format!("{} (byte {at} of the raw block)", self.expected),
        };
        self.in_file(path, offset)
    }
}
