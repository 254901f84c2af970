//! What is stored: versions of user keys, ordered by key ascending, then sequence descending.

pub(crate) mod checksum;
#[cfg(test)]
pub(crate) mod cursor_checks;
mod merge;
pub(crate) mod operations;
mod range_deletes;
pub(crate) mod varint;

use crate::error::Result;
use crate::memory::Pinned;

pub(crate) use merge::MergeCursor;
pub(crate) use range_deletes::{Fragment, Piece, RangeDeleteTree, RangeDeletes, Span};

/// The place of an operation in the commit order, from 1; 0 marks an entry older than everything.
pub type Sequence = u64;

/// The largest sequence: a seek to `(key, MAX_SEQUENCE)` finds the key's newest version.
pub const MAX_SEQUENCE: Sequence = u64::MAX;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 65_536;

/// The longest value, in bytes.
pub const MAX_VALUE_BYTES: usize = u32::MAX as usize;

/// What an entry says of its key. The numbers are those of docs/format.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// The key has no value any more.
    Delete = 0,
    /// The key has this value.
    Put = 1,
}

impl EntryKind {
    /// The kind with this number; `None` for kinds that this build does not know.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(EntryKind::Delete),
            1 => Some(EntryKind::Put),
            _ => None,
        }
    }
}

/// One version of a user key.
#[derive(Debug, Clone)]
pub struct Version {
    /// When it was committed.
    pub sequence: Sequence,
    /// What it says.
    pub kind: EntryKind,
    /// The value; empty for a delete.
    pub value: Pinned,
}

/// A position in a sorted run of entries, in the order (user key ascending, sequence descending).
///
/// A new cursor stands nowhere ([`Cursor::here`] is `None`). `value` may be called only while it stands
/// somewhere; otherwise it gives an empty answer, as `key`, `sequence` and `kind` do.
pub trait Cursor: Send {
    /// The entry that the cursor stands on, if it does.
    fn here(&self) -> Option<Here<'_>>;
    /// The value here, pinned where it lies. (By `&mut`, since cursors keep pins in stock.)
    fn value(&mut self) -> Pinned;
    /// The value here, where it lies, for as long as the cursor stays.
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
    /// Goes one entry on; becomes invalid after the last.
    fn next(&mut self) -> Result<()>;
    /// Goes one entry back; becomes invalid before the first.
    fn prev(&mut self) -> Result<()>;

    /// Whether the cursor stands on an entry.
    #[inline]
    fn valid(&self) -> bool {
        self.here().is_some()
    }
    /// The user key here.
    #[inline]
    fn key(&self) -> &[u8] {
        self.here().map_or(&[], |here| here.key)
    }
    /// The sequence here.
    #[inline]
    fn sequence(&self) -> Sequence {
        self.here().map_or(0, |here| here.sequence)
    }
    /// The kind of the entry here.
    #[inline]
    fn kind(&self) -> EntryKind {
        self.here().map_or(EntryKind::Delete, |here| here.kind)
    }
}

/// An entry under a cursor, but for its value.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// The user key.
    pub key: &'a [u8],
    /// When it was committed.
    pub sequence: Sequence,
    /// What it says of the key.
    pub kind: EntryKind,
}

/// Makes `key` the same as another, by whole words where they are short and of one length, as keys that
/// follow each other often are.
#[inline]
pub(crate) fn set_key(key: &mut Vec<u8>, from: &[u8]) {
    if key.len() != from.len() || !copy_words(key, from) {
        key.clear();
        key.extend_from_slice(from);
    }
}

/// Copies 8 to 32 bytes by whole words; false, with nothing copied, if they are not as many in both.
#[inline]
pub(crate) fn copy_words(to: &mut [u8], from: &[u8]) -> bool {
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) -> Option<()> {
        let (first, last) = (*from.first_chunk::<N>()?, *from.last_chunk::<N>()?);
        *to.first_chunk_mut()? = first;
        *to.last_chunk_mut()? = last;
        Some(())
    }
    let copied = match from.len() {
        len if len != to.len() => None,
        8..=16 => ends::<8>(to, from),
        17..=32 => ends::<16>(to, from),
        _ => None,
    };
    copied.is_some()
}

/// How many bytes two keys have in common at the start.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    // Eight bytes at a time, and what is left byte by byte.
    let (words_a, words_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let same = 8 * words_a.zip(words_b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (
        a.get(same..).unwrap_or_default(),
        b.get(same..).unwrap_or_default(),
    );
    same + rest_a
        .iter()
        .zip(rest_b)
        .take_while(|(x, y)| x == y)
        .count()
}

/// Whether two keys are one. Told by whole words where the keys are short, as most are: the C library
/// reads them in wider pieces, which waits if the key was written piece by piece just before.
#[inline]
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let ends = |key: &[u8]| {
        let (first, last) = (key.first_chunk::<8>()?, key.last_chunk::<8>()?);
        Some((u64::from_ne_bytes(*first), u64::from_ne_bytes(*last)))
    };
    match (ends(one), ends(other)) {
        (Some(some), Some(others)) if one.len() <= 16 => some == others && one.len() == other.len(),
        _ => one == other,
    }
}

/// The eight bytes behind the prefix as a number; the least or greatest number for keys before or
/// behind all that have the prefix. Smaller keys never have larger numbers, so only keys whose
/// numbers are alike need be compared in full.
#[inline]
pub(crate) fn abbreviate(prefix: &[u8], key: &[u8]) -> u64 {
    // Told apart since an empty slice may point to no memory, and comparing none of that takes as
    // long as a cache miss (the C library's comparison loads from there under an empty mask).
    if prefix.is_empty() {
        return first_eight(key);
    }
    match key.strip_prefix(prefix) {
        Some(rest) => first_eight(rest),
        None if key < prefix => 0,
        None => u64::MAX,
    }
}

/// The first eight bytes of a key as a big-endian number, as if zeros followed: keys with smaller
/// numbers are smaller, and only those with the same number need be compared in full.
#[inline]
pub(crate) fn first_eight(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => key
            .iter()
            .rfold(0, |number, &byte| number >> 8 | u64::from(byte) << 56),
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::common_prefix;

    #[test]
    fn common_prefixes_are_those_of_a_loop_over_bytes() {
        let bytes: Vec<u8> = (0..40).collect();
        for start in 0..8 {
            for (long, short) in (0..=26).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                let a = &bytes[start..start + long];
                // The last round changes nothing.
                for changed in 0..=short {
                    let mut b = bytes[start..start + short].to_vec();
                    b.iter_mut()
                        .skip(changed)
                        .take(1)
                        .for_each(|byte| *byte ^= 128);
                    let alike = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
                    assert_eq!(alike, changed);
                    assert_eq!(common_prefix(a, &b), alike, "{a:?} and {b:?}");
                    assert_eq!(common_prefix(&b, a), alike, "{b:?} and {a:?}");
                }
            }
        }
    }
}
