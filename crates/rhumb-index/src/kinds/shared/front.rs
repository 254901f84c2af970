//! Front coding: each string of a group as the length that it shares with the one before it, and its other bytes.
//!
//! ```text
//! the first: length, bytes; the others: shared length, length, bytes; lengths as LEB128
//! ```

use std::cmp::Ordering;

use crate::bytes::{put_varint, take_varint};
use crate::search::common_prefix;

/// Appends the next string of a group, which is its first if there is none before it.
pub(in crate::kinds) fn put(before: Option<&[u8]>, own: &[u8], out: &mut Vec<u8>) {
    let shared = before.map_or(0, |before| common_prefix(before, own));
    if before.is_some() {
        put_varint(out, shared);
    }
    put_varint(out, own.len() - shared);
    out.extend(own.iter().skip(shared));
}

/// Splits off a length and that many bytes: the first string of a group.
pub(in crate::kinds) fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_varint(bytes)?;
    let (piece, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(piece)
}

/// How many of a group's ascending strings are not above the key. Compares each byte of the key once, and rebuilds no string.
///
/// `matched` is the length that the key shares with the previous string, which is not above
/// the key. The next string shares `shared` bytes with the previous one and is not below it.
/// If `shared` is greater than `matched`, the next one differs from the key at the same byte as
/// the previous one and is below the key too. If it is less, the next one is above the previous
/// one at a byte where the previous one equals the key, so it is above the key.
pub(in crate::kinds) fn not_above(mut group: &[u8], members: usize, key: &[u8]) -> usize {
    let mut matched = 0;
    for member in 0..members {
        let shared = match member {
            0 => Some(0),
            _ => take_varint(&mut group),
        };
        // Unreadable lengths end the scan: damaged bytes may give wrong answers but no panic.
        let (Some(shared), Some(own)) = (shared, take(&mut group)) else {
            return member;
        };
        match shared.cmp(&matched) {
            Ordering::Greater => {}
            Ordering::Less => return member,
            Ordering::Equal => {
                let key_rest = key.get(matched..).unwrap_or_default();
                let common = common_prefix(own, key_rest);
                // Of two bytes of which one is missing, that is the smaller one.
                if own.get(common) > key_rest.get(common) {
                    return member;
                }
                matched += common;
            }
        }
    }
    members
}
