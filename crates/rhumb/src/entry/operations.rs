//! Operations as encoded in a log frame; see the section Log of docs/format.md.

use std::path::Path;

use super::varint::{self, Reader};
use crate::error::Error;

/// The bytes of the checksum that ends a put where it is the record of a value.
pub(crate) const RECORD_CRC_BYTES: usize = 4;

const DELETE: u8 = 0;
const PUT: u8 = 1;
const RANGE_DELETE: u8 = 6;

/// One operation on a keyspace, borrowed from its encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation<'a> {
    /// The id of the keyspace.
    pub(crate) keyspace: u32,
    /// What it does in the keyspace.
    pub(crate) op: Op<'a>,
}

/// The effect of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op<'a> {
    /// Gives a key a value.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// Removes the value of a key.
    Delete {
        /// The key.
        key: &'a [u8],
    },
    /// Removes the values of all keys in `start..end`.
    RangeDelete {
        /// The first key.
        start: &'a [u8],
        /// The end, excluded.
        end: &'a [u8],
    },
}

/// Encoded operations, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operations {
    bytes: Vec<u8>,
    count: u32,
}

impl Operations {
    /// The number of operations. It saturates at `u32::MAX`, which no log frame can hold: an
    /// operation has at least three bytes.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The encoded operations.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes all operations and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Appends a put.
    pub(crate) fn push_put(&mut self, keyspace: u32, key: &[u8], value: &[u8]) {
        self.reserve(key, value.len());
        put_head(keyspace, key, value.len(), &mut self.bytes);
        self.bytes.extend_from_slice(value);
        self.count = self.count.saturating_add(1);
    }

    /// Appends a delete.
    pub(crate) fn push_delete(&mut self, keyspace: u32, key: &[u8]) {
        self.push(DELETE, keyspace, key, 0);
    }

    /// Appends a delete of all keys in `start..end`.
    pub(crate) fn push_range_delete(&mut self, keyspace: u32, start: &[u8], end: &[u8]) {
        self.push(RANGE_DELETE, keyspace, start, end.len());
        varint::encode_bytes(end, &mut self.bytes);
    }

    /// Appends an operation without its second field, which has `more` bytes.
    fn push(&mut self, kind: u8, keyspace: u32, key: &[u8], more: usize) {
        self.reserve(key, more);
        head(kind, keyspace, key, &mut self.bytes);
        self.count = self.count.saturating_add(1);
    }

    /// Takes the memory for an operation at once, since the buffer of a single one would grow several times.
    fn reserve(&mut self, key: &[u8], more: usize) {
        let longest = 1 + 3 * varint::MAX_VARINT_BYTES + key.len() + more;
        self.bytes.reserve(longest);
    }
}

fn head(kind: u8, keyspace: u32, key: &[u8], into: &mut Vec<u8>) {
    into.push(kind);
    varint::encode(keyspace.into(), into);
    varint::encode_bytes(key, into);
}

/// Appends what stands before the value of a put.
pub(crate) fn put_head(keyspace: u32, key: &[u8], value_len: usize, into: &mut Vec<u8>) {
    head(PUT, keyspace, key, into);
    varint::encode(value_len as u64, into);
}

/// Why bytes cannot be decoded as an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoOperation {
    /// A reserved kind that this build does not support.
    Reserved {
        /// The name of such operations.
        kind: &'static str,
    },
    /// Bytes that the format does not allow.
    Damaged {
        /// Where the operation starts in the encoded bytes.
        offset: usize,
        /// What was found instead of an operation.
        found: &'static str,
    },
}

impl NoOperation {
    /// The error for encoded bytes that start at `offset` of the file.
    pub(crate) fn into_error(self, path: &Path, offset: u64) -> Error {
        match self {
            NoOperation::Reserved { kind } => Error::Unsupported {
                path: path.to_path_buf(),
                what: format!("{kind} operations"),
            },
            NoOperation::Damaged {
                offset: inside,
                found,
            } => {
                let offset = offset.saturating_add(inside as u64);
                Error::corruption(path, offset, "an operation", found)
            }
        }
    }
}

/// Decodes operations one by one; ends after the first error.
#[derive(Debug, Clone)]
pub(crate) struct OperationIter<'a> {
    reader: Reader<'a>,
    /// The bytes behind each put that belong to its record in a value file.
    checksum_bytes: usize,
}

impl<'a> OperationIter<'a> {
    /// Decodes `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        OperationIter {
            reader: Reader::new(bytes),
            checksum_bytes: 0,
        }
    }

    /// Decodes `bytes`; if they are `sealed`, a checksum follows each put, as in value files. It is skipped: what holds
    /// the operations has one over all of them.
    pub(crate) fn maybe_sealed(bytes: &'a [u8], sealed: bool) -> Self {
        OperationIter {
            reader: Reader::new(bytes),
            checksum_bytes: if sealed { RECORD_CRC_BYTES } else { 0 },
        }
    }

    /// Where the next operation begins in the encoded bytes.
    pub(crate) fn position(&self) -> usize {
        self.reader.position()
    }

    fn decode(&mut self) -> Result<Operation<'a>, NoOperation> {
        let offset = self.reader.position();
        let damaged = |found| NoOperation::Damaged { offset, found };
        let cut_short = damaged("one that is cut short or too large");
        let kind = self.reader.u8().ok_or(cut_short)?;
        known(kind).map_err(|reserved| {
            reserved.map_or(damaged("an unknown kind"), |kind| NoOperation::Reserved {
                kind,
            })
        })?;
        let keyspace = self.reader.varint().ok_or(cut_short)?;
        let keyspace = u32::try_from(keyspace).map_err(|_| cut_short)?;
        let key = self.reader.bytes().ok_or(cut_short)?;
        let op = match kind {
            DELETE => Op::Delete { key },
            PUT => {
                let value = self.reader.bytes().ok_or(cut_short)?;
                self.reader.take(self.checksum_bytes).ok_or(cut_short)?;
                Op::Put { key, value }
            }
            _ => Op::RangeDelete {
                start: key,
                end: self.reader.bytes().ok_or(cut_short)?,
            },
        };
        Ok(Operation { keyspace, op })
    }
}

/// Checks that this build supports a kind; the error is the name of a reserved kind.
fn known(kind: u8) -> Result<(), Option<&'static str>> {
    match kind {
        DELETE | PUT | RANGE_DELETE => Ok(()),
        2 => Err(Some("value pointer")),
        3 => Err(Some("merge")),
        4 => Err(Some("single delete")),
        5 => Err(Some("put with expiry")),
        _ => Err(None),
    }
}

impl<'a> Iterator for OperationIter<'a> {
    type Item = Result<Operation<'a>, NoOperation>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let decoded = self.decode();
        if decoded.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Operations {
        let mut sample = Operations::default();
        sample.push_put(7, b"key", b"value");
        sample.push_delete(u32::MAX, b"");
        sample.push_range_delete(0, b"a", &[0xFF; 300]);
        sample.push_put(1, &[0; 200], b"");
        sample
    }

    #[test]
    fn operations_come_back_in_order() {
        let sample = sample();
        let decoded: Vec<_> = OperationIter::new(sample.bytes())
            .map(|o| o.map(|o| (o.keyspace, o.op)))
            .collect();
        let expected = [
            (
                7,
                Op::Put {
                    key: b"key",
                    value: b"value",
                },
            ),
            (u32::MAX, Op::Delete { key: b"" }),
            (
                0,
                Op::RangeDelete {
                    start: b"a",
                    end: &[0xFF; 300],
                },
            ),
            (
                1,
                Op::Put {
                    key: &[0; 200],
                    value: b"",
                },
            ),
        ];
        assert_eq!(decoded, expected.map(Ok));
        assert_eq!(sample.count(), 4);
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut operations = Operations::default();
        operations.push_put(300, b"k", b"vv");
        operations.push_delete(1, b"d");
        operations.push_range_delete(2, b"a", b"b");
        let expected = b"\x01\xAC\x02\x01k\x02vv\x00\x01\x01d\x06\x02\x01a\x01b";
        assert_eq!(operations.bytes(), expected);
    }

    #[test]
    fn checksums_behind_puts_are_skipped() {
        let mut operations = Operations::default();
        operations.push_put(7, b"k", b"vv");
        let sealed = [
            operations.bytes(),
            b"CRC!",
            b"\x00\x01\x01d",
            operations.bytes(),
        ]
        .concat();
        let mut iter = OperationIter::maybe_sealed(&sealed, true);
        let put = iter.next().unwrap().unwrap();
        assert_eq!((put.keyspace, iter.position()), (7, 11));
        let delete = Op::Delete { key: b"d" };
        assert_eq!(iter.next().unwrap().unwrap().op, delete);
        assert!(iter.next().unwrap().is_err(), "it has no checksum");
        assert!(iter.next().is_none());
    }

    #[test]
    fn bytes_that_are_cut_short_give_one_error() {
        let sample = sample();
        let ends: Vec<usize> = {
            let mut iter = OperationIter::new(sample.bytes());
            std::iter::from_fn(|| iter.next().map(|_| iter.reader.position())).collect()
        };
        for cut in 1..sample.bytes().len() {
            let decoded: Vec<_> = OperationIter::new(&sample.bytes()[..cut]).collect();
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let errors = usize::from(!ends.contains(&cut));
            assert_eq!(decoded.len(), whole + errors, "cut at {cut}");
            assert_eq!(
                decoded.iter().filter(|o| o.is_err()).count(),
                errors,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn unknown_kinds_are_refused_by_name() {
        let refused = |bytes: &[u8]| {
            let error = OperationIter::new(bytes).next().unwrap().unwrap_err();
            error.into_error(Path::new("x.log"), 100).to_string()
        };
        assert!(refused(&[3, 0, 1, 7]).contains("merge"));
        assert!(refused(&[2, 0, 1, 7]).contains("value pointer"));
        assert!(refused(&[7, 0, 1, 7]).contains("damaged at offset 100"));
        // A keyspace above 32 bits.
        assert!(refused(&[0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0]).contains("too large"));
    }
}
