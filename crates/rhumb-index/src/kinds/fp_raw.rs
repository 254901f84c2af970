//! Fence pointers as published systems keep them: each block's whole first key.
//!
//! For comparisons: [`super::fp`] gives the same answers and is smaller. A look-up is a binary
//! search over S separators, O(log S) comparisons of keys. Building copies the separators.
//!
//! Byte form, version 2, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  S, number of separators: the table has S + 1 blocks
//!      8     4  B, bytes of all separators
//!     12     4  L, the length of each separator if all have the same, else 0
//!     16    4S  the end of each separator in the separators' bytes; only where L is 0
//!            B  separators, concatenated
//! ```
//!
//! Version 1 had no L and always had the ends. With `boundary=`, version 3 has two fields more before S
//! ([`super::shared::spans`]); then S counts the separators between spans of keys.
//!
//! A separator is a block's first key, or that key with a 0x00 appended where its versions began in
//! the block before.

use super::shared::separators::{Cut, FenceBuilder, Separators};
use super::shared::spans::{self, BOUNDARY, Spans};
use crate::bytes::{Reader, u32_of};
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::{ByteForm, Index, IndexError, Position, Probe};

pub(crate) const KIND: Kind = Kind {
    name: "fp-raw",
    id: 2,
    about: "fence pointers: whole first keys, as in LevelDB's index block without restarts",
    knobs: &[BOUNDARY],
    needs_number: false,
    answers: Answers::Blocks,
    version: spans::VERSION,
    in_memory: FORM_ONLY,
    builder: |settings| {
        let boundary = BOUNDARY.of(settings);
        Box::new(FenceBuilder::new(&KIND, Cut::Whole, boundary, encode))
    },
    open: |bytes| Ok(Box::new(FpRaw::open(bytes)?)),
};

fn encode(separators: &Separators, out: &mut Vec<u8>) {
    let each = separators.get(0).len();
    let alike = (0..separators.len()).all(|i| separators.get(i).len() == each);
    let length = if alike { each } else { 0 };
    for field in [separators.len(), separators.bytes().len(), length] {
        out.extend((field as u32).to_le_bytes());
    }
    if length == 0 {
        let ends = separators.ends().iter();
        out.extend(ends.flat_map(|&end| (end as u32).to_le_bytes()));
    }
    out.extend(separators.bytes());
}

/// Whole first keys, read from the byte form.
#[derive(Debug)]
struct FpRaw<'a> {
    bytes: ByteForm<'a>,
    separators: usize,
    /// The length of each separator; 0 if their ends are stored.
    length: usize,
    spans: Spans,
    /// Offsets of the ends and of the separators.
    ends_at: usize,
    keys_at: usize,
}

impl<'a> FpRaw<'a> {
    fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(1)?;
        let version = reader.u8()?;
        let has_length = version > 1;
        reader.take(2)?;
        let spans = Spans::read(&mut reader, version)?;
        let (separators, total) = (reader.length()?, reader.length()?);
        spans.check(&reader, separators)?;
        let length = if has_length { reader.length()? } else { 0 };
        let ends_at = reader.at();
        let ends = match length {
            0 => reader.take(separators.saturating_mul(4))?,
            _ => &[],
        };
        let keys_at = reader.at();
        reader.take(total)?;
        reader.end()?;
        let end = match length {
            0 => {
                let mut all = (0..separators).map(|i| u32_of(ends, i) as usize);
                all.clone()
                    .is_sorted()
                    .then(|| all.next_back().unwrap_or(0))
            }
            _ => separators.checked_mul(length),
        };
        if end != Some(total) {
            let expected = format!("ascending ends, the last one {total}");
            let found = end.map_or("ends that do not ascend".into(), |end| end.to_string());
            return Err(reader.damaged_at(ends_at, expected, found));
        }
        Ok(FpRaw {
            separators,
            length,
            spans,
            ends_at,
            keys_at,
            bytes,
        })
    }

    /// Separator `i`, which stands before block `i + 1`; empty past the end.
    #[inline]
    fn separator(&self, i: usize) -> &[u8] {
        let keys = self.bytes.get(self.keys_at..).unwrap_or_default();
        let (start, end) = match self.length {
            0 => {
                let ends = self.bytes.get(self.ends_at..).unwrap_or_default();
                let end = |i| u32_of(ends, i) as usize;
                (i.checked_sub(1).map_or(0, end), end(i))
            }
            length => (i * length, (i + 1) * length),
        };
        keys.get(start..end).unwrap_or_default()
    }

    /// How many separators are not above a key; `is_above` compares the separator at an index with
    /// the key.
    ///
    /// Unlike [`crate::search::first_not`] it branches: with no prediction of where the key is, the
    /// separators are out of cache, and the processor can speculate ahead of the slow memory.
    #[inline]
    fn count(&self, is_above: impl Fn(usize) -> bool) -> usize {
        let (mut lo, mut hi) = (0, self.separators);
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            if is_above(middle) {
                hi = middle;
            } else {
                lo = middle + 1;
            }
        }
        lo
    }
}

impl Index for FpRaw<'_> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        KIND.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        let block = match (self.length, probe.key.try_into().map(u64::from_be_bytes)) {
            (8, Ok(key)) => {
                let keys = self.bytes.get(self.keys_at..).unwrap_or_default();
                let keys = keys.as_chunks::<8>().0;
                let number = |i| keys.get(i).map_or(u64::MAX, |key| u64::from_be_bytes(*key));
                self.count(|i| number(i) > key)
            }
            _ => self.count(|i| self.separator(i) > probe.key),
        };
        self.spans.position(block)
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.spans.extent(self.separators)
    }

    fn widest_window(&self) -> u64 {
        self.spans.widest()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn built(keys: &[&[u8]]) -> Vec<u8> {
        let mut builder = (KIND.builder)(&registry::settings("fp-raw"));
        for pair in keys.windows(2) {
            builder.push(pair[0], 0).unwrap();
            builder.cut(pair[0], pair[1]);
        }
        builder.finish().unwrap()
    }

    fn blocks(bytes: Vec<u8>, keys: &[&[u8]]) -> Vec<Position> {
        let index = FpRaw::open(bytes.into()).unwrap();
        let probes = keys.iter().map(|key| Probe { key, number: 0 });
        probes.map(|probe| index.locate(probe)).collect()
    }

    #[test]
    fn both_forms_give_the_same_answers() {
        let alike: [&[u8]; 3] = [b"aaaaaaaa", b"bbbbbbbb", b"bbbbbbbc"];
        let others: [&[u8]; 3] = [b"a", b"bb", b"ccc"];
        for (keys, columns) in [(alike, 0), (others, 8)] {
            let second = built(&keys);
            assert_eq!(second.len(), 16 + columns + second[8] as usize);
            let mut first = [&second[..12], &second[16..]].concat();
            first[1] = 1;
            if columns == 0 {
                let ends = [8u32, 16].map(u32::to_le_bytes).concat();
                first.splice(12..12, ends);
            }
            let probes = [keys[0], keys[1], b"bbbbbbbbx", keys[2], b"", b"zzzzzzzz"];
            let answers = blocks(second, &probes);
            assert_eq!(answers, blocks(first, &probes));
            let expected = [0, 1, 1, 2, 0, 2].map(Position::Block);
            assert_eq!(answers, expected);
        }
    }

    #[test]
    fn bytes_past_the_last_separator_are_damage() {
        let alike: [&[u8]; 3] = [b"aaaaaaaa", b"bbbbbbbb", b"bbbbbbbc"];
        let others: [&[u8]; 3] = [b"a", b"bb", b"ccc"];
        for keys in [alike, others] {
            let mut form = built(&keys);
            // The bytes of all separators are counted in the second field.
            form[8] += 1;
            form.push(0);
            let opened = FpRaw::open(form.into());
            assert!(
                matches!(opened, Err(IndexError::Damaged { .. })),
                "{opened:?}"
            );
        }
    }
}
