//! Puts as records of values: each is followed by a checksum of its own.

use crate::entry::checksum;
use crate::entry::operations::{Op, OperationIter, RECORD_CRC_BYTES};

/// A part of a sealed payload.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// Operations of which at most the last one is a put.
    pub operations: &'a [u8],
    /// That put.
    pub put: Option<SealedPut>,
}

#[derive(Debug)]
pub(super) struct SealedPut {
    /// How many operations of the payload are before it.
    pub before: u64,
    /// Where it begins in the log.
    pub offset: u64,
    /// Its length with the checksum.
    pub bytes: u64,
    pub keyspace: u32,
    pub value_len: usize,
    checksum: [u8; RECORD_CRC_BYTES],
}

impl Piece<'_> {
    /// What follows the operations.
    pub fn checksum(&self) -> &[u8] {
        self.put.as_ref().map_or(&[], |put| &put.checksum)
    }
}

/// The pieces of a payload that begins at an offset of the log `log_id`, made of parts of whole operations.
pub(super) fn seal<'a>(parts: &[&'a [u8]], (log_id, mut offset): (u64, u64)) -> Vec<Piece<'a>> {
    let (mut pieces, mut before) = (Vec::new(), 0);
    for &part in parts {
        let mut operations = OperationIter::new(part);
        let mut begin = 0;
        loop {
            let at = operations.position();
            let Some(Ok(operation)) = operations.next() else {
                break;
            };
            before += 1;
            let Op::Put { value, .. } = operation.op else {
                continue;
            };
            let end = operations.position();
            let put_offset = offset + (at - begin) as u64;
            let put = part.get(at..end).unwrap_or_default();
            let sealed = SealedPut {
                before: before - 1,
                offset: put_offset,
                bytes: (put.len() + RECORD_CRC_BYTES) as u64,
                keyspace: operation.keyspace,
                value_len: value.len(),
                checksum: checksum::stamped(put, log_id, put_offset).to_le_bytes(),
            };
            pieces.push(Piece {
                operations: part.get(begin..end).unwrap_or_default(),
                put: Some(sealed),
            });
            offset += (end - begin + RECORD_CRC_BYTES) as u64;
            begin = end;
        }
        let rest = part.get(begin..).unwrap_or_default();
        if !rest.is_empty() {
            pieces.push(Piece {
                operations: rest,
                put: None,
            });
            offset += rest.len() as u64;
        }
    }
    pieces
}
