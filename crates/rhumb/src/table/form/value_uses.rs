//! What a table refers to in value files (docs/format.md, Value references).

use crate::entry::varint::{Reader, encode};
use crate::vlog::{ValueFileMeta, ValueGroup};

/// What a table refers to in one value file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueUse {
    /// The number of the file.
    pub file: u64,
    /// The file itself.
    pub meta: ValueFileMeta,
    /// How many entries of the table point into it.
    pub entries: u64,
    /// The bytes of the records that they point to.
    pub bytes: u64,
}

impl ValueUse {
    /// Whether a file of this length can be used so.
    pub fn is_possible(&self) -> bool {
        self.entries > 0 && self.bytes >= self.entries && self.bytes <= self.meta.bytes
    }

    /// Appends the byte form of a list, which is ascending by file.
    pub fn encode_all(uses: &[ValueUse], into: &mut Vec<u8>) {
        encode(uses.len() as u64, into);
        for used in uses {
            for number in [used.file, used.meta.bytes, used.entries, used.bytes] {
                encode(number, into);
            }
            ValueGroup::encode(used.meta.group, into);
        }
    }

    /// Reads what [`ValueUse::encode_all`] wrote.
    ///
    /// # Errors
    /// What was found in place of such a list.
    pub fn take_all(from: &mut Reader<'_>) -> Result<Vec<ValueUse>, String> {
        let count = from.varint().ok_or("no number of value files")?;
        let mut uses: Vec<ValueUse> = Vec::new();
        for _ in 0..count {
            let mut number = || from.varint().ok_or("an incomplete value reference");
            let (file, file_bytes) = (number()?, number()?);
            let (entries, bytes) = (number()?, number()?);
            let used = ValueUse {
                file,
                meta: ValueFileMeta {
                    bytes: file_bytes,
                    group: ValueGroup::take(from)?,
                },
                entries,
                bytes,
            };
            if uses.last().is_some_and(|last| last.file >= used.file) {
                return Err(format!("value file {} out of order", used.file));
            }
            if !used.is_possible() {
                return Err(format!("value file {} with wrong counts", used.file));
            }
            uses.push(used);
        }
        Ok(uses)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    #[test]
    fn uses_come_back_and_wrong_ones_are_refused() {
        let used = |file, entries, bytes| ValueUse {
            file,
            meta: ValueFileMeta {
                bytes: 1_000,
                group: NonZero::new(7).and_then(|of| ValueGroup::new(bytes as u16 / 100, of)),
            },
            entries,
            bytes,
        };
        let read = |uses: &[ValueUse]| {
            let mut bytes = Vec::new();
            ValueUse::encode_all(uses, &mut bytes);
            for len in 0..bytes.len() {
                let cut = ValueUse::take_all(&mut Reader::new(&bytes[..len]));
                assert!(cut.is_err(), "{len} of {}", bytes.len());
            }
            ValueUse::take_all(&mut Reader::new(&bytes))
        };
        for uses in [vec![], vec![used(3, 1, 30), used(1 << 40, 300, 1_000)]] {
            assert_eq!(read(&uses), Ok(uses.clone()));
        }
        assert!(read(&[used(3, 1, 30), used(3, 1, 30)]).is_err());
        assert!(read(&[used(3, 0, 0)]).is_err());
        assert!(read(&[used(3, 1, 1_001)]).is_err());
    }
}
