//! One record of a value file: a put with the checksum behind it.

use std::ops::Range;

use crate::entry::Pointer;
use crate::entry::checksum::{crc, stamp};
use crate::entry::operations::{Op, OperationIter, RECORD_CRC_BYTES, put_head};

/// The value that a reader expects at a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub keyspace: u32,
    pub key: &'a [u8],
    pub pointer: Pointer,
}

/// A record that is not the one that was wanted, or damaged: what was expected, and what was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub expected: String,
    pub found: String,
}

/// Appends the record of a value that lies at `offset` of a file.
pub(crate) fn encode(
    (keyspace, key, value): (u32, &[u8], &[u8]),
    (file, offset): (u64, u64),
    into: &mut Vec<u8>,
) {
    let start = into.len();
    into.reserve(key.len() + value.len() + 64);
    put_head(keyspace, key, value.len(), into);
    into.extend_from_slice(value);
    let sum = crc(into.get(start..).unwrap_or_default());
    into.extend_from_slice(&sum.wrapping_add(stamp(file, offset)).to_le_bytes());
}

impl Wanted<'_> {
    /// The length of the record in bytes.
    pub fn record_bytes(&self) -> u64 {
        Pointer::record_bytes(self.keyspace, self.key.len(), self.pointer.len.into())
    }

    /// Where the value lies in `record`.
    pub fn value_in(&self, record: &[u8]) -> Result<Range<usize>, Mismatch> {
        let Pointer { file, offset, .. } = self.pointer;
        let sum = record.len().checked_sub(RECORD_CRC_BYTES);
        let Some((body, sum)) = sum.and_then(|at| record.split_at_checked(at)) else {
            return Err(mismatch("a record", format!("{} bytes", record.len())));
        };
        let sum = sum.first_chunk().map_or(0, |sum| u32::from_le_bytes(*sum));
        let found = crc(body).wrapping_add(stamp(file, offset));
        if sum != found {
            let expected = format!("a record with checksum {sum:#010x}");
            return Err(mismatch(expected, format!("{found:#010x}")));
        }
        self.value_in_body(body).ok_or_else(|| {
            let expected = format!("the value of the key {:02x?}", self.key);
            mismatch(expected, "that of another key")
        })
    }

    /// Where the value lies in a record that was verified before, if it is the one of this key in this keyspace.
    pub fn value_unchecked(&self, record: &[u8]) -> Option<Range<usize>> {
        self.value_in_body(record.get(..record.len().checked_sub(RECORD_CRC_BYTES)?)?)
    }

    fn value_in_body(&self, body: &[u8]) -> Option<Range<usize>> {
        let mut operations = OperationIter::new(body);
        let put = operations.next()?.ok()?;
        let Op::Put { key, value } = put.op else {
            return None;
        };
        let found = (put.keyspace, key, value.len());
        let is_wanted = found == (self.keyspace, self.key, self.pointer.len as usize);
        let is_all = operations.next().is_none();
        (is_wanted && is_all).then(|| body.len() - value.len()..body.len())
    }
}

fn mismatch(expected: impl ToString, found: impl ToString) -> Mismatch {
    Mismatch {
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(key: &[u8], offset: u64, len: usize) -> Wanted<'_> {
        Wanted {
            keyspace: 300,
            key,
            pointer: Pointer::new(7, offset, len).unwrap(),
        }
    }

    fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode((300, key, value), (7, 100), &mut bytes);
        bytes
    }

    #[test]
    fn a_record_is_a_put_of_the_log_with_a_checksum() {
        let bytes = record(b"k", b"vv");
        let (body, _) = bytes.split_at(bytes.len() - 4);
        assert_eq!(body, b"\x01\xAC\x02\x01k\x02vv");
        assert_eq!(wanted(b"k", 100, 2).record_bytes(), bytes.len() as u64);
        let value = wanted(b"k", 100, 2).value_in(&bytes).unwrap();
        assert_eq!(&bytes[value], b"vv");
    }

    #[test]
    fn every_flipped_bit_and_every_other_place_is_noticed() {
        let bytes = record(b"key", b"value");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                wanted(b"key", 100, 5).value_in(&flipped).is_err(),
                "bit {bit}"
            );
        }
        for len in 0..bytes.len() {
            assert!(wanted(b"key", 100, 5).value_in(&bytes[..len]).is_err());
        }
        assert!(wanted(b"key", 101, 5).value_in(&bytes).is_err());
        let other = wanted(b"kez", 100, 5).value_in(&bytes).unwrap_err();
        assert_eq!(other.found, "that of another key");
        assert!(wanted(b"key", 100, 4).value_in(&bytes).is_err());
        let keyspace = Wanted {
            keyspace: 301,
            ..wanted(b"key", 100, 5)
        };
        assert!(keyspace.value_in(&bytes).is_err());
    }
}
