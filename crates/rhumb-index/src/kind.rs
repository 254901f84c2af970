//! The description of an index kind: its name, its knobs, and how an index is built and opened.
//!
//! Each file in `kinds` has a [`Kind`]; the registry lists them. This file does not depend on any
//! kind.
//!
//! Every byte form starts with the same four bytes, which tell how to read the rest:
//!
//! ```text
//! offset  size  field
//!      0     1  kind id, never used for another kind
//!      1     1  version of this kind's form
//!      2     2  reserved, zero
//! ```

use crate::knob::{Knob, Settings};
use crate::updatable::Updatable;
use crate::{ByteForm, Index, IndexBuilder, IndexError};

/// Bytes of the common header.
pub(crate) const HEADER: usize = 4;

/// Opens a byte form whose common header has been checked.
pub(crate) type Opener = for<'a> fn(ByteForm<'a>) -> Result<Box<dyn Index + 'a>, IndexError>;

/// Makes an empty index in memory that can be changed.
pub(crate) type Maker<K> = fn(&Settings) -> Box<dyn Updatable<K>>;

/// For kinds that only have byte forms.
pub(crate) const FORM_ONLY: (Option<Maker<u64>>, Option<Maker<[u8]>>) = (None, None);

/// The form in which indexes of a kind answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// [`crate::Position::Block`]: fence pointers, and trees over the bounds of blocks.
    Blocks,
    /// [`crate::Position::Slot`]: models of blocks.
    Slots,
    /// Windows that contain the key.
    Windows,
    /// Windows of exactly the keys that are looked up, for all values of the knobs.
    Exact,
}

/// An index kind.
#[derive(Debug)]
pub struct Kind {
    /// Its name in specifications.
    pub name: &'static str,
    /// Its number in byte forms.
    pub id: u8,
    /// One line of description, with the paper it comes from.
    pub about: &'static str,
    /// Its knobs, each with its default and range.
    pub knobs: &'static [Knob],
    /// Whether [`crate::Probe::number`] and the numbers given to the builder are used.
    pub needs_number: bool,
    /// The form of its answers, with default knobs: see [`crate::IndexSpec::answers`].
    pub answers: Answers,
    /// The newest version of the byte form.
    pub(crate) version: u8,
    /// Makes an empty builder with these settings.
    pub(crate) builder: fn(&Settings) -> Box<dyn IndexBuilder>,
    pub(crate) open: Opener,
    /// Make an index that can be changed in memory, for integers and for byte strings; `None` if
    /// the kind cannot.
    pub(crate) in_memory: (Option<Maker<u64>>, Option<Maker<[u8]>>),
}

impl Kind {
    /// Whether [`crate::registry::in_memory`] and [`crate::registry::in_memory_texts`] make this
    /// kind: over integers, over byte strings. Such kinds answer with exact ranks in tables too.
    pub fn is_updatable(&self) -> [bool; 2] {
        [self.in_memory.0.is_some(), self.in_memory.1.is_some()]
    }

    /// The error for bytes of this kind that are not as expected.
    pub(crate) fn damaged(&self, offset: usize, expected: String, found: String) -> IndexError {
        IndexError::Damaged {
            what: self.name,
            offset,
            expected,
            found,
        }
    }

    /// The common header of this kind.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        [self.id, self.version, 0, 0]
    }
}
