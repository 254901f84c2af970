//! The hash-enhanced prefix table: turns a string into a number that hardly ever is out of proportion
//! to its rank.
//!
//! As in arithmetic coding a string narrows an interval, byte by byte: the bytes before it, hashed,
//! choose a row, which says what share of the interval belongs to each byte that may follow. The number
//! is where the interval begins at last. All of it is integers: intervals are of `low` and `range`,
//! from `0` and `2^48`, and a row holds `cum`, ascending 16-bit fractions. A byte `c` leads to
//!
//! ```text
//! low + floor(range * cum[c] / 2^16),   range of floor(range * (cum[c + 1] - cum[c]) / 2^16)
//! ```
//!
//! # Numbers never descend while strings ascend
//!
//! *Whatever follows a prefix has a number in `low..=low + range` of that prefix.* Narrowed, an interval
//! starts not before `low`, and ends at
//! `floor(range * cum[c] / 2^16) + floor(range * (cum[c + 1] - cum[c]) / 2^16)` behind it, which is at
//! most `floor(range * cum[c + 1] / 2^16)`, for `floor(x) + floor(y) <= floor(x + y)`, and so at most
//! `range`.
//!
//! Let `a < b`. If `a` is a prefix of `b`, its number is `low` of that prefix and the number of `b` is not below it. Else
//! they part at bytes `c < d` behind the same prefix, which chose the same row: the interval of `c` ends
//! at or before `floor(range * cum[c + 1] / 2^16)` behind `low`, where that of `d` begins at the earliest,
//! as `cum[c + 1] <= cum[d]`. Bytes that the table does not know have no share: they lead to where the
//! share of the next known byte begins, and end the walk there, so what follows them does not count, and the
//! interval is empty. Where the walk ends early because `range` is below a limit, it does so for all
//! strings with this prefix alike. In a sound table `cum` ascends by 1 at least; a reader checks that.
//!
//! A string's end has a share too, before that of all bytes, so that a string and what it is a prefix of
//! are not alike.

use crate::IndexError;
use crate::bytes::Reader;

use super::keys::CONTEXT_BYTES;

/// Numbers are below 2 to this, or equal.
pub(super) const BITS: u32 = 48;

/// The most bytes of rows.
pub(super) const MOST_BYTES: usize = 2 << 20;

/// What of the bytes before a byte chooses its row: a mask of the last four, and of the position.
pub(super) const CONTEXTS: [(u32, u32); 5] = [
    (0x0000_00ff, 31),
    (0x0000_ffff, 0),
    (0x00ff_ffff, 0),
    (0x0000_ffff, 31),
    (0xffff_ffff, 0),
];

/// In an entry of the class table: the table does not know the byte.
const UNKNOWN: u16 = 0x8000;

/// How to read the rows, which lie elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Hpt {
    /// The place in a row where the share of each byte begins; that of the end is at 0.
    classes: Box<[u16; 256]>,
    /// Bytes that the table knows.
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

    /// Bytes that the table knows.
    pub(super) fn symbols(&self) -> usize {
        self.symbols
    }

    /// Entries of a row: the end, then the known bytes. The entry behind the last, which is the next row's
    /// first, is 0 and stands for 2^16.
    pub(super) fn stride(&self) -> usize {
        self.symbols + 1
    }

    /// Bytes that the rows take, with two entries of 0 behind them.
    pub(super) fn rows_bytes(symbols: usize, row_bits: u32) -> usize {
        (((symbols + 1) << row_bits) + 2) * 2
    }

    /// A byte's entry in its row; `None` if the table does not know it.
    pub(super) fn class(&self, byte: u8) -> Option<usize> {
        let class = self.classes[usize::from(byte)];
        (class & UNKNOWN == 0).then_some(class.into())
    }

    /// The row that the bytes before a position choose.
    #[inline(always)]
    pub(super) fn row(&self, prior: u32, position: usize) -> usize {
        let context = (prior & self.mask) ^ (position as u32 & self.position_mask) << 16;
        let hash = (context ^ context >> 15).wrapping_mul(0x9e37_79b1);
        (u64::from(hash) >> (32 - self.row_bits)) as usize
    }

    /// The last bytes before a position, as [`Hpt::row`] wants them.
    #[inline]
    pub(super) fn prior(key: &[u8], at: usize) -> u32 {
        let before = key.get(at.saturating_sub(CONTEXT_BYTES)..at);
        let before = before.unwrap_or_default().iter();
        before.fold(0, |prior, byte| prior << 8 | u32::from(*byte))
    }

    /// The number of what is behind the first `at` bytes of a key, of which `skipped` bytes are left
    /// out; exact but for `least`, the width of an interval that need not be narrowed. Also how many
    /// bytes were looked at.
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

    /// Writes how to read the rows; these follow.
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
    /// [`IndexError::Damaged`] if it cannot be used.
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

    /// Fails unless shares ascend in every row.
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
            false => Err(reader.damaged_at(offset, "rows whose shares ascend from 0", "others")),
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.classes)
    }
}
