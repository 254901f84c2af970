//! The keys of a leaf in one byte string: their common prefix (its length as LEB128, then its
//! bytes), and the rest of each key as [`Partings`].

use std::cmp::Ordering;
use std::ops::Range;

use super::keys::Keys;
use super::partings::{KeyPlace, Partings, PartingsMut};
use crate::bytes::{put_varint, take_varint};

/// Some keys, at most [`super::plan::LEAF`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Pack<'a> {
    prefix: &'a [u8],
    rests: Partings<'a>,
    count: usize,
}

impl<'a> Pack<'a> {
    /// Reads `count` keys with room for `room`; `None` if the bytes are invalid.
    #[inline]
    pub(super) fn read(mut bytes: &'a [u8], count: usize, room: usize) -> Option<Self> {
        let shared = take_varint(&mut bytes)?;
        let (prefix, rests) = bytes.split_at_checked(shared)?;
        Some(Pack {
            prefix,
            rests: Partings::with_room(rests, count, room),
            count,
        })
    }

    /// The length of the prefix that some keys share, at least `at`.
    pub(super) fn shared(keys: &Keys, range: &Range<usize>, at: usize) -> usize {
        match range.len() {
            0 => at,
            _ => keys.shared(range.start, range.end - 1).max(at),
        }
    }

    /// Appends the form of some keys whose first `shared` bytes are equal, without their first `at`
    /// bytes and with room for `room` keys.
    pub(super) fn lay(
        keys: &Keys,
        range: Range<usize>,
        (at, shared): (usize, usize),
        room: usize,
        out: &mut Vec<u8>,
    ) {
        let first = keys.get(range.start);
        put_prefix(first.get(at..shared).unwrap_or_default(), out);
        Partings::lay(range.map(|i| keys.rest(i, shared)), room, out);
    }

    /// The place of a key, present or not.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> KeyPlace {
        let absent = |not_above| KeyPlace {
            not_above,
            is_there: false,
        };
        let (own, rest) = key
            .split_at_checked(self.prefix.len())
            .unwrap_or((key, &[]));
        match own.cmp(self.prefix) {
            Ordering::Less => absent(0),
            Ordering::Equal => self.rests.find(rest),
            Ordering::Greater => absent(self.count),
        }
    }

    /// Appends a key.
    pub(super) fn push_to(&self, i: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix);
        self.rests.push_to(i, out);
    }
}

/// Inserts a key at index `i`. Returns false, and changes nothing, if there is no room or the key
/// does not have the common prefix.
pub(super) fn insert(pack: &mut [u8], (count, room): (usize, usize), i: usize, key: &[u8]) -> bool {
    let (prefix, rests) = split(pack);
    match key.strip_prefix(&*prefix) {
        Some(rest) if count > 0 => PartingsMut::new(rests, count, room).insert(i, rest),
        _ => false,
    }
}

/// Removes the key at index `i`.
pub(super) fn remove(pack: &mut [u8], (count, room): (usize, usize), i: usize) {
    PartingsMut::new(split(pack).1, count, room).remove(i);
}

/// The common prefix of the keys, and the rest of them.
fn split(pack: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    let mut bytes = &*pack;
    let shared = take_varint(&mut bytes).unwrap_or_default();
    let at = pack.len() - bytes.len();
    let pack = pack.get_mut(at..).unwrap_or_default();
    pack.split_at_mut(shared.min(pack.len()))
}

fn put_prefix(prefix: &[u8], out: &mut Vec<u8>) {
    put_varint(out, prefix.len());
    out.extend_from_slice(prefix);
}
