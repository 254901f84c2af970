//! The hash-enhanced prefix table: maps a string to a number that is approximately proportional to
//! its rank.
//!
//! As in arithmetic coding, a string narrows an interval byte by byte: the bytes before a position,
//! hashed, choose a row, which tells the share of the interval that belongs to each possible next
//! byte. The number is the start of the final interval. All arithmetic is on integers: an interval
//! is `low` and `range`, starting with `0` and `2^48`, and a row holds `cum`, ascending 16-bit
//! fractions. A byte `c` leads to
//!
//! ```text
//! low + floor(range * cum[c] / 2^16),   range of floor(range * (cum[c + 1] - cum[c]) / 2^16)
//! ```
//!
//! # Numbers never descend while strings ascend
//!
//! *All strings with a prefix have numbers in `low..=low + range` of that prefix.* A narrowed
//! interval does not start before `low`. It ends at `floor(range * cum[c] / 2^16) + floor(range *
//! (cum[c + 1] - cum[c]) / 2^16)` above `low`, which is at most `floor(range * cum[c + 1] / 2^16)`,
//! since `floor(x) + floor(y) <= floor(x + y)`, and therefore at most `range`.
//!
//! Let `a < b`. If `a` is a prefix of `b`, its number is `low` of that prefix and the number of `b`
//! is not below it. Otherwise they differ first at bytes `c < d` after the same prefix, which chose
//! the same row: the interval of `c` ends at or before `floor(range * cum[c + 1] / 2^16)` above
//! `low`, and that of `d` does not begin before this, since `cum[c + 1] <= cum[d]`. Bytes unknown
//! to the table have no share: they lead to the start of the next known byte's share and end the
//! walk there, so the bytes after them do not count, and the interval is empty. If the walk ends
//! early because `range` is below a limit, it does so for all strings with this prefix. In a valid
//! table `cum` ascends by at least 1; a reader checks this.
//!
//! The end of a string has a share too, before those of all bytes, so that a string and its
//! extensions have different numbers.

use crate::IndexError;
use crate::bytes::Reader;

use super::keys::CONTEXT_BYTES;

/// Numbers are at most 2 to this power.
pub(super) const BITS: u32 = 48;

/// The most bytes of rows.
pub(super) const MOST_BYTES: usize = 2 << 20;

/// The contexts, which choose a row by the preceding bytes: a mask of the last four bytes, and one
/// of the position.
pub(super) const CONTEXTS: [(u32, u32); 5] = [
    (0x0000_00ff, 31),
    (0x0000_ffff, 0),
    (0x00ff_ffff, 0),
    (0x0000_ffff, 31),
    (0xffff_ffff, 0),
];

/// Set in an entry of the class table if the byte is unknown.
const UNKNOWN: u16 = 0x8000;

/// Describes rows that are stored elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Hpt {
    /// For each byte the index of its share in a row; the share of the end is at 0.
    classes: Box<[u16; 256]>,
    /// How many bytes are known to the table.
    symbols: usize,
    row_bits: u32,
    mask: u32,
    position_mask: u32,
    context: u8,
}

impl Hpt {
    /// A table of 2^`row_bits` rows over an alphabet.
    pub(super) fn new(alphabet: &[bool; 256], context: u8, row_bits: u32) -> Self {
        let mut classes = Box::new([0; 256]);
        let mut symbols = 0;
        for (class, is_known) in classes.iter_mut().zip(alphabet) {
            *class = symbols + 1;
            match is_known {
                true => symbols += 1,
                false => *class |= UNKNOWN,
            }
        }
        let (mask, position_mask) = CONTEXTS
            .get(usize::from(context))
            .copied()
            .unwrap_or_default();
        Hpt {
            classes,
            symbols: symbols.into(),
            row_bits,
            mask,
            position_mask,
            context,
        }
    }

    /// How many bytes are known to the table.
    pub(super) fn symbols(&self) -> usize {
        self.symbols
    }

    /// Entries of a row: one for the end, then one for each known byte. The entry after the last,
    /// which is the next row's first, is 0 and stands for 2^16.
    pub(super) fn stride(&self) -> usize {
        self.symbols + 1
    }

    /// Bytes of the rows, including two entries of 0 after them.
    pub(super) fn rows_bytes(symbols: usize, row_bits: u32) -> usize {
        (((symbols + 1) << row_bits) + 2) * 2
    }

    /// The index of a byte in a row; `None` if the byte is unknown.
    pub(super) fn class(&self, byte: u8) -> Option<usize> {
        let class = self.classes[usize::from(byte)];
        (class & UNKNOWN == 0).then_some(class.into())
    }

    /// The row chosen by the bytes before a position.
    #[inline(always)]
    pub(super) fn row(&self, prior: u32, position: usize) -> usize {
        let context = (prior & self.mask) ^ (position as u32 & self.position_mask) << 16;
        let hash = (context ^ context >> 15).wrapping_mul(0x9e37_79b1);
        (u64::from(hash) >> (32 - self.row_bits)) as usize
    }

    /// The last bytes before a position, for [`Hpt::row`].
    #[inline]
    pub(super) fn prior(key: &[u8], at: usize) -> u32 {
        let before = key.get(at.saturating_sub(CONTEXT_BYTES)..at);
        let before = before.unwrap_or_default().iter();
        before.fold(0, |prior, byte| prior << 8 | u32::from(*byte))
    }

    /// The number of a key after its first `at` bytes, where `key` lacks `skipped` bytes at its
    /// start. It is exact except that intervals narrower than `least` are not narrowed further.
    /// Also returns how many bytes were read.
    #[inline]
    pub(super) fn number(
        &self,
        rows: &[u8],
        key: &[u8],
        at: usize,
        skipped: usize,
        least: u64,
    ) -> (u64, usize) {
        let stride = self.stride();
        let mut prior = Hpt::prior(key, at);
        let (mut low, mut range) = (0u64, 1u64 << BITS);
        let rest = key.get(at..).unwrap_or_default();
        for (i, &byte) in rest.iter().enumerate() {
            let class = self.classes[usize::from(byte)];
            let entry = usize::from(class & !UNKNOWN);
            let place = (self.row(prior, skipped + at + i) * stride + entry) * 2;
            let pair = rows.get(place..).and_then(<[u8]>::first_chunk::<4>);
            let pair = u32::from_le_bytes(pair.copied().unwrap_or_default());
            let (cum, next) = (pair as u16, (pair >> 16) as u16);
            if class & UNKNOWN != 0 {
                let below = match entry > self.symbols {
                    true => range,
                    false => (range * u64::from(cum)) >> 16,
                };
                return (low + below, i + 1);
            }
            low += (range * u64::from(cum)) >> 16;
            range = (range * u64::from(next.wrapping_sub(cum))) >> 16;
            if range < least {
                return (low, i + 1);
            }
            prior = prior << 8 | u32::from(byte);
        }
        (low, rest.len())
    }

    /// Writes the description of the rows, which must follow.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend([self.context, self.row_bits as u8]);
        let mut alphabet = [0u8; 32];
        for byte in 0..=255u8 {
            if self.class(byte).is_some() {
                alphabet[usize::from(byte / 8)] |= 1 << (byte % 8);
            }
        }
        out.extend(alphabet);
    }

    /// Reads what [`Hpt::put`] wrote.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if it is invalid.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Hpt, IndexError> {
        let offset = reader.at();
        let (context, row_bits) = (reader.u8()?, u32::from(reader.u8()?));
        let bits = reader.take(32)?;
        let mut alphabet = [false; 256];
        for (eight, byte) in alphabet.chunks_mut(8).zip(bits) {
            for (bit, is_known) in eight.iter_mut().enumerate() {
                *is_known = byte >> bit & 1 == 1;
            }
        }
        let symbols = alphabet.iter().filter(|is_known| **is_known).count();
        let fits = row_bits <= 20 && Hpt::rows_bytes(symbols, row_bits) <= MOST_BYTES + 4;
        if usize::from(context) >= CONTEXTS.len() || !fits {
            let expected = format!("a context below {} and 2 MiB of rows", CONTEXTS.len());
            let found = format!("{context} and 2^{row_bits} rows of {symbols} bytes");
            return Err(reader.damaged_at(offset, expected, found));
        }
        Ok(Hpt::new(&alphabet, context, row_bits))
    }

    /// Fails unless the shares ascend in every row.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if they do not.
    pub(super) fn read_rows<'a>(&self, reader: &mut Reader<'a>) -> Result<&'a [u8], IndexError> {
        let offset = reader.at();
        let rows = reader.take(Hpt::rows_bytes(self.symbols, self.row_bits))?;
        let entries = rows.as_chunks::<2>().0;
        let (body, end) = entries.split_at(entries.len().saturating_sub(2));
        let ascends = |row: &[[u8; 2]]| {
            let mut entries = row.iter().map(|entry| u16::from_le_bytes(*entry));
            entries.next() == Some(0)
                && entries
                    .try_fold(0, |before, entry| (entry > before).then_some(entry))
                    .is_some()
        };
        let is_sound = body.chunks(self.stride()).all(ascends) && end == [[0; 2]; 2];
        match is_sound {
            true => Ok(rows),
            false => {
                Err(reader.damaged_at(offset, "rows whose shares ascend from 0", "other shares"))
            }
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.classes)
    }
}
