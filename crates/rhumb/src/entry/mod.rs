//! What is stored: versions of user keys, ordered by key ascending, then sequence descending.

pub(crate) mod checksum;
#[cfg(test)]
pub(crate) mod cursor_checks;
mod keys;
pub(crate) mod operations;
mod pointer;
mod range_deletes;
pub(crate) mod stretches;
pub(crate) mod varint;

use crate::error::Result;
use crate::memory::Pinned;

pub(crate) use keys::{
    abbreviate, append, append_part, compare, copy_words, hash_key, is_before, is_behind, is_same,
    set_key, successor,
};
pub(crate) use pointer::Pointer;
pub(crate) use range_deletes::{Ascending, Fragment, Piece, RangeDeleteTree, RangeDeletes, Span};

/// An operation's position in the commit order, from 1; 0 marks an entry older than all operations.
pub type Sequence = u64;

/// The largest sequence: a seek to `(key, MAX_SEQUENCE)` finds the key's newest version.
pub const MAX_SEQUENCE: Sequence = u64::MAX;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 65_536;

/// The largest key. It is left out of the key maps of tables, because it shares no prefix and no length with
/// other keys and `clear` deletes it: a map without it numbers it no lower than any other key.
pub(crate) static LARGEST_KEY: &[u8] = &[u8::MAX; MAX_KEY_BYTES];

/// The longest value, in bytes.
pub const MAX_VALUE_BYTES: usize = u32::MAX as usize;

/// Which way a cursor moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To larger keys.
    Forward,
    /// To smaller keys.
    Backward,
}

/// The kind of an entry. The numbers are those of docs/format.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// The key has no value any more.
    Delete = 0,
    /// The key has this value.
    Put = 1,
    /// The key has a value that lies elsewhere, where a [`Pointer`] leads.
    Pointer = 2,
}

impl EntryKind {
    /// The kind with this number; `None` for kinds that this build does not know.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(EntryKind::Delete),
            1 => Some(EntryKind::Put),
            2 => Some(EntryKind::Pointer),
            _ => None,
        }
    }

    /// Whether the key has a value.
    #[inline]
    pub fn has_value(self) -> bool {
        self != EntryKind::Delete
    }
}

/// What an entry has beside its key.
#[derive(Debug, Clone)]
pub enum Content {
    /// The value; empty for a delete.
    Here(Pinned),
    /// Where the value lies.
    Apart(Pointer),
}

impl Content {
    /// No value.
    pub(crate) fn none() -> Self {
        Content::Here(Pinned::empty())
    }

    /// The value, if it is here; else no bytes.
    #[inline]
    pub(crate) fn into_value(self) -> Pinned {
        match self {
            Content::Here(value) => value,
            Content::Apart(_) => Pinned::empty(),
        }
    }
}

/// One version of a user key.
#[derive(Debug, Clone)]
pub struct Version {
    /// The sequence at which it was committed.
    pub sequence: Sequence,
    /// The kind.
    pub kind: EntryKind,
    /// The value, or where it lies.
    pub content: Content,
}

/// A position in a sorted list of entries, ordered by user key ascending, then by sequence
/// descending.
///
/// A new cursor stands on no entry. While it does not stand on one, [`Cursor::here`] returns `None`
/// and the other methods return empty values.
pub trait Cursor: Send {
    /// The current entry, if there is one.
    fn here(&self) -> Option<Here<'_>>;
    /// The current value, pinned where it lies; empty for a delete and a pointer. (Takes `&mut self`, since
    /// cursors keep pins in stock.)
    fn value(&mut self) -> Pinned;
    /// The current value, or the encoded pointer to it, borrowed until the cursor moves.
    fn value_bytes(&self) -> &[u8];
    /// Goes to the first entry.
    fn seek_first(&mut self) -> Result<()>;
    /// Goes to the last entry.
    fn seek_last(&mut self) -> Result<()>;
    /// Goes to the first entry at or after `(key, sequence)`: a larger key, or this key with a
    /// sequence not above `sequence`.
    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()>;
    /// Goes to the last entry whose user key is below `key`.
    fn seek_before(&mut self, key: &[u8]) -> Result<()>;
    /// Goes to the next entry; becomes invalid after the last.
    fn next(&mut self) -> Result<()>;
    /// Goes to the next entry, but may pass versions of the current key with larger sequences than this, where that is fast; all of
    /// its versions if this is 0. A merge may come to copies of the current entry.
    #[inline]
    fn next_seen(&mut self, _visible: Sequence) -> Result<()> {
        self.next()
    }
    /// Goes to the next key, if that is fast; else it may come to a version of the current one.
    #[inline]
    fn next_key(&mut self) -> Result<()> {
        self.next_seen(0)
    }
    /// Goes to the previous entry; becomes invalid before the first.
    fn prev(&mut self) -> Result<()>;
    /// Goes forward to the first entry, from the current one on, that has at least this sequence or
    /// a key not below `to`. The others are hidden by the range delete with this sequence, which
    /// ends at `to`; no entry has the same sequence.
    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()>;
    /// Goes backward to the first entry, from the current one on, that has at least this sequence or
    /// a key below `from`.
    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()>;

    /// Whether the cursor stands on an entry.
    #[inline]
    fn valid(&self) -> bool {
        self.here().is_some()
    }
    /// The current user key.
    #[inline]
    fn key(&self) -> &[u8] {
        self.here().map_or(&[], |here| here.key)
    }
    /// The current sequence.
    #[inline]
    fn sequence(&self) -> Sequence {
        self.here().map_or(0, |here| here.sequence)
    }
}

/// An entry under a cursor, without its value.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// The user key.
    pub key: &'a [u8],
    /// The sequence at which it was committed.
    pub sequence: Sequence,
    /// The kind of the entry.
    pub kind: EntryKind,
}
