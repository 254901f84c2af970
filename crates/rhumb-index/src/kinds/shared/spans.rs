//! What fence pointers answer: a block, or the keys between two separators.
//!
//! With a position boundary b, separators are between ranks i x b - 1 and i x b, wherever blocks are
//! cut. The byte form has version 3 then, with these fields after the common header of 4 bytes; without
//! a boundary it has the version before, and no such fields:
//!
//! ```text
//! offset  size  field
//!      4     4  b, at least 1
//!      8     8  number of keys
//! ```

use crate::bytes::Reader;
use crate::knob::Knob;
use crate::{IndexError, Position, Window};

/// The version of byte forms with a boundary.
pub(crate) const VERSION: u8 = 3;

pub(crate) const BOUNDARY: Knob = Knob {
    name: "boundary",
    about: "keys from one fence to the next, wherever blocks are cut: answers are windows; 0: a fence \
            for each block",
    default: 0,
    min: 0,
    max: 1024,
    choices: &[],
};

/// The keys between separators, if these are not at cuts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans {
    /// 0 if separators are where blocks are cut.
    boundary: u64,
    keys: u64,
}

impl Spans {
    pub(crate) fn new(boundary: u64, keys: u64) -> Spans {
        Spans { boundary, keys }
    }

    /// Puts the version into the common header in `out`, unless it is one of a kind without boundaries, and appends the fields.
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        let Ok(boundary @ 1..) = u32::try_from(self.boundary) else {
            if let Some(version) = out.get_mut(1) {
                *version = (*version).min(VERSION - 1);
            }
            return;
        };
        out.extend(boundary.to_le_bytes());
        out.extend(self.keys.to_le_bytes());
    }

    /// Reads the fields of a form of this version.
    pub(crate) fn read(reader: &mut Reader<'_>, version: u8) -> Result<Spans, IndexError> {
        if version < VERSION {
            return Ok(Spans::new(0, 0));
        }
        let at = reader.at();
        let spans = Spans::new(reader.u32()?.into(), reader.u64()?);
        match spans.boundary {
            0 => Err(reader.damaged_at(at, "a boundary of at least 1", 0)),
            _ => Ok(spans),
        }
    }

    /// Checks that there are as many separators as keys need.
    pub(crate) fn check(self, reader: &Reader<'_>, separators: usize) -> Result<(), IndexError> {
        let needed = self.keys.saturating_sub(1).checked_div(self.boundary);
        match needed {
            Some(needed) if needed != separators as u64 => {
                let expected = format!("{needed} separators for {} keys", self.keys);
                Err(reader.damaged(expected, separators))
            }
            _ => Ok(()),
        }
    }

    /// The answer for a key that is not below this many separators.
    #[inline]
    pub(crate) fn position(self, separators: usize) -> Position {
        let before = separators as u64;
        if self.boundary == 0 {
            return Position::Block(before);
        }
        let lo = before.saturating_mul(self.boundary).min(self.keys);
        let hi = lo.saturating_add(self.boundary).min(self.keys);
        Position::Window(Window { lo, hi })
    }

    /// As [`crate::Index::extent`].
    pub(crate) fn extent(self, separators: usize) -> u64 {
        match self.boundary {
            0 => separators as u64 + 1,
            _ => self.keys,
        }
    }

    /// As [`crate::Index::widest_window`].
    pub(crate) fn widest(self) -> u64 {
        self.boundary.min(self.keys)
    }
}
