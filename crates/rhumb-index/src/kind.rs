//! What a kind of index is: its name, its knobs, and how one is built and opened.
//!
//! Each file in `kinds` has a [`Kind`]; the registry lists them. Nothing here knows which kinds there are.
//!
//! Every byte form starts with the same four bytes, which say how to read the rest:
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

/// How many bytes the common header takes.
pub(crate) const HEADER: usize = 4;

/// Opens a byte form whose common header has been checked.
pub(crate) type Opener = for<'a> fn(ByteForm<'a>) -> Result<Box<dyn Index + 'a>, IndexError>;

/// Makes an empty index that changes in place.
pub(crate) type Maker<K> = fn(&Settings) -> Box<dyn Updatable<K>>;

/// For kinds that only have byte forms.
pub(crate) const FORM_ONLY: (Option<Maker<u64>>, Option<Maker<[u8]>>) = (None, None);

/// What the indexes of a kind answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// [`crate::Position::Block`]: fence pointers.
    Blocks,
    /// Windows in which a key is somewhere.
    Windows,
    /// Windows of the keys that are looked up and no others, whatever the knobs say.
    Exact,
}

/// An index kind.
#[derive(Debug)]
pub struct Kind {
    /// Its name in specifications.
    pub name: &'static str,
    /// Its number in byte forms.
    pub id: u8,
    /// One line for people, with the paper it comes from.
    pub about: &'static str,
    /// What can be set, each with its default and range.
    pub knobs: &'static [Knob],
    /// Whether [`crate::Probe::number`] and the numbers given to the builder matter.
    pub needs_number: bool,
    /// What it answers with.
    pub answers: Answers,
    /// The newest version of the byte form.
    pub(crate) version: u8,
    /// An empty builder with these knobs.
    pub(crate) builder: fn(&Settings) -> Box<dyn IndexBuilder>,
    pub(crate) open: Opener,
    /// Makes one that changes in place, for integers and for strings; `None` where the kind cannot.
    pub(crate) in_memory: (Option<Maker<u64>>, Option<Maker<[u8]>>),
}

impl Kind {
    /// Whether [`crate::registry::in_memory`] and [`crate::registry::in_memory_texts`] make it: over
    /// integers, over strings of bytes. Such kinds know the place of every key, in tables too.
    pub fn is_updatable(&self) -> [bool; 2] {
        [self.in_memory.0.is_some(), self.in_memory.1.is_some()]
    }

    /// The common header of this kind.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        [self.id, self.version, 0, 0]
    }
}
